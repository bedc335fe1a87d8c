"""What cannot be run is refused in one sentence, before anything compiles."""

import dataclasses
import re

import jaxtyping
import numpy as np
import pytest
from support import LAYOUT, SELECTION, TRAINING, points

import jfed
from jfed import catalog
from jfed.algorithms import local_sgd
from jfed.controllers import epochs
from jfed.core.errors import ConfigError, DataError
from jfed.engine import simulate
from jfed.envs import volatility
from jfed.models import dense
from jfed.runner import units
from jfed.runner.units import Layout
from jfed.selectors import best_allocation, e3cs, pow_d


def refused(action, match, kind=ConfigError):
    before = len(simulate.TRACES)
    with pytest.raises(kind, match=match) as caught:
        action()
    assert len(simulate.TRACES) == before
    message = str(caught.value)
    assert message and "\n" not in message
    assert not re.search(r"[.!?] +[A-Z]", message), f"more than one sentence: {message}"


@pytest.fixture(autouse=True)
def _types_unchecked():
    """As for a user: without the tests' own checks of types, which would refuse much of this first."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def attempt(base=SELECTION, delta=None, seeds=(0,), layout=LAYOUT):
    def action():
        point = jfed.Point(jfed.replace(base, delta or {}), {"method": "x", "mode": "faithful"})
        jfed.run([point], seeds, layout=layout, progress=False)

    return action


SETTINGS = {
    "k above K": ({"cohort_size": 9}, r"k = 9.*K = 8"),
    "k = 0": ({"cohort_size": 0}, "k = 0"),
    "no clients": ({"num_clients": 0}, "K = 0"),
    "T = 0": ({"num_rounds": 0}, "T = 0"),
    "eval_every = 0": ({"eval_every": 0}, "eval_every"),
    "quota above 1": ({"selector.quota": 1.5}, "quota.*1.5"),
    "quota below 0": ({"selector.quota": -0.1}, "quota.*-0.1"),
    "quota NaN": ({"selector.quota": float("nan")}, "quota"),
    "unknown quota schedule": ({"selector.quota": "dec"}, "dec"),
    "quota schedule of another length": ({"selector.quota": (0.5, 0.5)}, "2 values for 6 rounds"),
    "empty quota schedule": ({"selector.quota": ()}, "quota"),
    "quota schedule of two axes": ({"selector.quota": ((0.5,) * 6,) * 6}, "quota"),
    "quota of the optimum": ({"selector": best_allocation.Options(quota=2.0)}, "quota.*2"),
    "eta = 0": ({"selector.eta": 0.0}, "eta"),
    "eta infinite": ({"selector.eta": float("inf")}, "eta"),
    "eta NaN": ({"selector.eta": float("nan")}, "eta"),
    "unknown sampler": ({"selector.sampler": "poisson"}, "poisson"),
    "rate above 1": ({"environment.success_rates": (0.5, 1.1)}, "1.1"),
    "rate below 0": ({"environment.success_rates": (-0.5,)}, "-0.5"),
    "rate NaN": ({"environment.success_rates": (float("nan"),)}, "nan"),
    "no rates": ({"environment.success_rates": ()}, "success rate"),
    "more classes than clients": ({"environment.success_rates": (0.5,) * 9}, "9 classes"),
    "options of another room": (
        {"selector": volatility.Options()},
        r"scheme must be a name.*jfed\.envs\.volatility\.Options",
    ),
    "no options at all": (
        {"environment": None},
        "world must be a name or options on jfed.EnvironmentOptions, found None",
    ),
    "no epochs": ({"controller.choices": ()}, "epochs"),
    "negative epochs": ({"controller": epochs.Options(choices=(1, -1))}, "epochs"),
    "fractional epochs": ({"controller.choices": (1.5, 2.0)}, "epochs|choices"),
    "asks for losses": ({"selector": pow_d.Options()}, "selection-only"),
    "fractional k": ({"cohort_size": 2.5}, "2.5"),
    "fractional T": ({"num_rounds": 6.5}, "6.5"),
}


@pytest.mark.parametrize("case", SETTINGS)
def test_settings(case):
    delta, match = SETTINGS[case]
    refused(attempt(SELECTION, delta), match)


TRAINING_SETTINGS = {
    "d below k": ({"selector": pow_d.Options(d=4)}, "d = 4.*k = 5"),
    "d above K": ({"selector": pow_d.Options(d=9)}, "d = 9.*K = 8"),
    "b = 0": ({"selector": pow_d.Options(b=0, form="cpow-d")}, "b = 0"),
    "unknown form": ({"selector": pow_d.Options(), "selector.form": "qpow-d"}, "qpow-d"),
    "learning rate below 0": ({"training.algorithm.learning_rate": -0.1}, "learning rate.*-0.1"),
    "learning rate 0": ({"training.algorithm.learning_rate": 0.0}, "learning rate"),
    "learning rate NaN": ({"training.algorithm.learning_rate": float("nan")}, "learning rate"),
    "learning rate infinite": ({"training.algorithm.learning_rate": float("inf")}, "learning rate"),
    "momentum 1": ({"training.algorithm.momentum": 1.0}, "[Mm]omentum.*1"),
    "prox below 0": ({"training.algorithm": local_sgd.Options(prox=-1.0)}, "-1"),
    "prox infinite": ({"training.algorithm": local_sgd.Options(prox=float("inf"))}, "inf"),
    "batch size 0": ({"training.batch_size": 0}, "batch size"),
    "fractional batch size": ({"training.batch_size": 2.5}, "2.5"),
    "empty layer": ({"training.model": dense.Options(hidden=(0,))}, "unit"),
    "unknown reading": ({"training.average_over": "everybody"}, "everybody"),
    "unknown test set": ({"training.test_set": "validation"}, "validation"),
}
DATA_SETTINGS = {
    "unknown data set": ({"training.dataset": "digit"}, "digit.*did you mean 'digits'"),
    "more images than there are": ({"training.samples_per_client": 500}, "1,437"),
    "sizes of another number": ({"training.samples_per_client": (10, 10)}, "samples_per_client"),
    "negative size": ({"training.samples_per_client": -1}, "at least 0"),
    "fractional size": ({"training.samples_per_client": 2.5}, "whole numbers|must be int"),
    "no data at all": ({"training.samples_per_client": 0}, "image|sample"),
    "unknown partition": ({"training.partition": "pathological"}, "pathological"),
    "unknown option of the partition": ({"training.partition_options": (("alpha", 0.5),)}, "alpha"),
    "missing option of the partition": ({"training.partition": "dirichlet"}, "alpha"),
    "share above 1": ({"training.partition_options": (("share", 1.5),)}, "1.5"),
    "test fraction 1": ({"training.test_fraction": 1.0}, "test fraction"),
    "no test images": ({"training.test_set": "reserved", "training.test_fraction": 0.0}, "no test images"),
}


@pytest.mark.parametrize("case", TRAINING_SETTINGS)
def test_settings_of_training(case):
    delta, match = TRAINING_SETTINGS[case]
    refused(attempt(TRAINING, delta), match)


@pytest.mark.parametrize("case", DATA_SETTINGS)
def test_data(case):
    delta, match = DATA_SETTINGS[case]
    refused(attempt(TRAINING, delta), match)


MADE_IN_PYTHON = {  # never went through a dotted path
    "unknown sampler": (lambda: jfed.Config(selector=e3cs.Options(sampler="poisson")), "poisson"),  # type: ignore[arg-type]
    "unknown form": (lambda: replaced(TRAINING, selector=pow_d.Options(form="qpow-d")), "qpow-d"),  # type: ignore[arg-type]
    "fractional k": (lambda: jfed.Config(cohort_size=2.5), "2.5"),  # type: ignore[arg-type]
    "fractional epochs": (lambda: jfed.Config(controller=epochs.Options(choices=(1.5,))), "1.5"),  # type: ignore[arg-type]
    "text for a rate": (lambda: jfed.Config(environment=volatility.Options(success_rates=("a",))), "a"),  # type: ignore[arg-type]
    "unknown reading": (
        lambda: replaced(TRAINING, training=replaced(TRAINING.training, average_over="everybody")),
        "everybody",
    ),
    "unknown test set": (
        lambda: replaced(TRAINING, training=replaced(TRAINING.training, test_set="validation")),
        "validation",
    ),
}
replaced = dataclasses.replace


@pytest.mark.parametrize("case", MADE_IN_PYTHON)
def test_settings_made_in_python(case):
    make, match = MADE_IN_PYTHON[case]
    refused(
        lambda: jfed.run([jfed.Point(make(), {"method": "x", "mode": "faithful"})], [0], layout=LAYOUT, progress=False),
        match,
    )


def test_numpy_numbers_are_numbers():
    grid = {"cohort_size": np.arange(2, 4), "selector.eta": np.linspace(0.1, 0.5, 2)}
    found = jfed.product(points(SELECTION, "e3cs-0.5"), grid)
    plain = jfed.product(points(SELECTION, "e3cs-0.5"), {k: v.tolist() for k, v in grid.items()})
    assert [units.plan([p], [0], LAYOUT)[0].id for p in found] == [units.plan([p], [0], LAYOUT)[0].id for p in plain]


def test_a_data_set_that_is_not_there(monkeypatch, tmp_path):
    monkeypatch.setenv("JFED_DATA_DIR", str(tmp_path))
    refused(attempt(TRAINING, {"training.dataset": "cifar10"}), "cifar10.*not found", DataError)


def test_bad_points_are_found_before_good_ones_run(tmp_path):
    where = points(SELECTION, "uniform") + points(SELECTION, "e3cs-0.5", selector__quota=3.0)
    refused(lambda: jfed.run(where, [0], out=tmp_path, layout=LAYOUT, progress=False), "quota")
    assert list(tmp_path.iterdir()) == []


def test_seeds_and_points():
    refused(attempt(seeds=(0, 1, 0)), "[Ss]eed.*twice")
    refused(attempt(seeds=()), "nothing to run")
    refused(lambda: jfed.run([], [0], progress=False), "nothing to run")
    refused(attempt(seeds=(-1,)), "[Ss]eed.*-1")
    refused(attempt(seeds=(2**32,)), "[Ss]eed.*4294967296")
    refused(attempt(seeds=(1.5,)), "[Ss]eed.*1.5")


def test_the_same_point_twice():
    twice = points(SELECTION, "uniform", "random")
    refused(lambda: jfed.run(twice, [0], layout=LAYOUT, progress=False), "twice|same name")


def test_a_point_without_names_runs_under_its_schemes_own():
    done = jfed.run([jfed.Point(SELECTION)], [0, 1], layout=LAYOUT, progress=False)
    assert done["method"].values.tolist() == ["e3cs-0.5", "e3cs-0.5"]


def test_layouts():
    refused(attempt(layout=Layout(lane="parallel")), "lane.*parallel")
    refused(attempt(layout=Layout(block_size=0)), "block_size must be at least 1")
    refused(attempt(layout=Layout(chunk_rounds=-1)), "chunk|rounds")


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("e3sc-0.5", "e3sc-0.5.*did you mean.*e3cs-0.5"),
        ("fedc", "fedc.*did you mean 'fedcs'"),
        ("e3cs", "e3cs-0"),
        ("e3cs-", "e3cs-"),
        ("e3cs-1.2.3", "1.2.3"),
        ("e3cs-.", "e3cs"),
        ("", "scheme"),
    ],
)
def test_unknown_schemes(name, match):
    refused(lambda: jfed.methods(SELECTION, [name]), match)
    refused(lambda: catalog.scheme(name), match)


def test_unknown_mode():
    refused(lambda: catalog.scheme("e3cs-0", "correct"), "correct.*did you mean 'corrected'")  # type: ignore[arg-type]
    refused(lambda: jfed.methods(SELECTION, ["uniform"], "literal"), "literal")  # type: ignore[arg-type]


def test_settings_that_do_not_exist():
    refused(lambda: jfed.replace(SELECTION, {"selector.etta": 0.1}), "etta.*did you mean 'eta'")
    refused(lambda: jfed.replace(SELECTION, {"num_client": 3}), "num_client.*did you mean.*num_clients")
    refused(lambda: jfed.replace(SELECTION, {"num_rounds.x": 3}), "num_rounds.x")
    refused(lambda: jfed.replace(SELECTION, {"training.batch_size": 3}), "training.batch_size")  # there is no training
    refused(lambda: jfed.replace(SELECTION, {"": 3}), "setting")
    refused(lambda: jfed.product(points(SELECTION, "uniform"), {"selector.eta": [1]}), "eta")
    axes = {"cohort_size": [1, 2], "eval_every": [1, 2, 3]}
    refused(lambda: jfed.zipped(points(SELECTION, "uniform"), axes), "equally long")
