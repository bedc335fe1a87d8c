"""Workers that would compute other bits than the driver has planned."""

import dataclasses

import pytest
from support import SELECTION, TRAINING, points, run
from threads import Here, Threads

from jfed.core.errors import ConfigError


@pytest.mark.parametrize(
    ("unlike", "sentence"),
    [
        (lambda hello: hello._replace(versions=hello.versions | {"jax": "0.1"}), "jax is .* and 0.1 on worker 2"),
        (
            lambda hello: hello._replace(site=dataclasses.replace(hello.site, device="H100")),
            "device is cpu on the first worker and H100 on worker 2",
        ),
    ],
)
def test_workers_that_would_compute_other_bits_are_refused(unlike, sentence):
    crew = Threads(2, unlike=unlike)
    with pytest.raises(ConfigError, match=f"All workers must be the same: {sentence}"):
        run(points(SELECTION, "uniform", "e3cs-0.5"), range(4), executor=crew)
    assert all(worker.ended for worker in crew.begun)


@pytest.mark.parametrize(
    ("unlike", "sentence"),
    [
        ({"data": "other"}, "the data set digits on"),
        ({"code": {"selector": "other", "model": "other"}}, "the code of the scheme and the code of the model on"),
        ({"data": "other", "code": {"model": "other"}}, "the data set digits and the code of the model on"),
    ],
)
def test_a_worker_with_other_data_or_members_refuses_its_task(unlike, sentence, monkeypatch):
    def elsewhere(self, task):
        (unit, *_) = task.units
        what = unit.runs[0].kind.what
        planned = what | unlike | {"code": what["code"] | unlike.get("code", {})}
        runs = [dataclasses.replace(r, kind=dataclasses.replace(r.kind, what=planned)) for r in unit.runs]
        yield from self.station.work(task._replace(units=[dataclasses.replace(unit, runs=tuple(runs))]))

    monkeypatch.setattr(Here, "work", elsewhere)
    with pytest.raises(ConfigError, match=f"All workers must be the same: {sentence} .* differ from the driver's."):
        run(points(TRAINING, "uniform"), [0], executor=Threads(1))
