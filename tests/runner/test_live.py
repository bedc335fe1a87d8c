"""A callback is told how far a run has come, changes nothing of it, and can end it."""

import dataclasses
import functools
import sys

import numpy as np
import pytest
import xarray as xr
from engine.refusals import refused
from jax.errors import JaxRuntimeError
from support import LAYOUT, SELECTION, TRAINING, T, points, run

import jfed
from jfed.core.errors import Unfinished
from jfed.engine.simulate import TRACES
from jfed.runner.live import require_callback

# Blocks of two runs on two devices: the first program has a batch of four runs and one of two, the second program a
# batch of three. A program's first two chunks have one round each.
WHERE = [*jfed.product(points(SELECTION, "e3cs-0.5"), {"selector.eta": [0.1, 0.5]}), *points(SELECTION, "uniform")]
SEEDS = [0, 1, 2]
LOW, HIGH = "e3cs-0.5, eta=0.1", "e3cs-0.5, eta=0.5"
BATCHES = [{LOW: (0, 1), HIGH: (0, 1)}, {LOW: (2,), HIGH: (2,)}, {"uniform": (0, 1, 2)}]
CHUNKS = [(0, 1, 1), (0, 2, 2), (0, 3, 6), (1, 1, 6), (2, 1, 1), (2, 2, 2), (2, 3, 6)]  # batch, first and last round
DONE = [0, 4, 6]  # runs before each batch
HOW = "on_chunk is called with one argument, a jfed.Progress, as in on_chunk=print; "


class Seen(list):
    """All that a callback has been told. Its n-th call returns `answers[n]`, or raises it."""

    def __init__(self, answers=None):
        self.answers = answers or {}

    def __call__(self, progress):
        self.append(progress)
        answer = self.answers.get(len(self))
        if isinstance(answer, BaseException):
            raise answer
        return answer


@functools.cache
def whole():
    """Return the results without a callback."""
    return run(WHERE, SEEDS)


def rows(results, name, seeds):
    """Return which runs are those of a point with some seeds."""
    method, _, eta = name.partition(", eta=")
    of_point = (results["method"].values == method) & (not eta or results["eta"].values == float(eta or 0))
    return of_point & np.isin(results["seed"].values, seeds)


@pytest.mark.check
def test_what_is_told_are_means_of_the_results_and_no_bit_of_them_changes():
    expected, traced, seen = whole(), len(TRACES), Seen()
    xr.testing.assert_identical(run(WHERE, SEEDS, on_chunk=seen), expected)
    assert len(TRACES) == traced
    assert [(dict(p.seeds), p.first_round, p.round) for p in seen] == [(BATCHES[i], a, b) for i, a, b in CHUNKS]
    assert [p.runs_done for p in seen] == [DONE[batch] for batch, _, _ in CHUNKS]
    assert {(p.num_runs, p.num_rounds, p.test_round) for p in seen} == {(9, 6, None)}
    for p in seen:
        assert p.test_accuracy == p.test_loss == {}
        for name in ("num_succeeded", "round_time_s"):
            parts = {at: expected[name].values[rows(expected, at, own), : p.round] for at, own in p.seeds.items()}
            assert getattr(p, name) == {at: pytest.approx(part.sum(1).mean()) for at, part in parts.items()}


@pytest.mark.check
def test_the_last_test_of_the_models_is_told_with_its_round():
    seen, where = Seen(), points(TRAINING, "uniform", eval_every=2, num_rounds=5)
    found = run(where, [0, 1], dataclasses.replace(LAYOUT, chunk_rounds=1), on_chunk=seen)
    assert [(p.round, p.test_round) for p in seen] == [(1, None), (2, 2), (3, 2), (4, 4), (5, 5)]
    assert seen[0].test_accuracy == seen[0].test_loss == {}
    for p, at in zip(seen[1:], (0, 0, 1, 2), strict=True):
        assert p.test_accuracy == {"uniform": pytest.approx(found["test_accuracy"].values[:, at].mean())}
        assert p.test_loss == {"uniform": pytest.approx(found["test_loss"].values[:, at].mean())}


def test_seeds_that_differ_between_streams_are_told_as_they_are():
    seen, own = Seen(), jfed.seeds(3, data=1)
    run(points(SELECTION, "uniform"), [7, own, 0], on_chunk=seen)
    assert seen[0].seeds == {"uniform": (0, own, 7)}
    assert seen[0].seeds["uniform"][1].data == 1


@pytest.mark.check
def test_points_are_told_apart_by_their_modes():
    seen = Seen()
    where = [*points(SELECTION, "e3cs-0.5"), *points(SELECTION, "e3cs-0.5", mode="corrected")]
    run(where, [0], on_chunk=seen)
    assert {name for p in seen for name in p.seeds} == {"e3cs-0.5", "e3cs-0.5, mode=corrected"}


@pytest.mark.check
def test_runs_that_are_over_early_are_told_with_all_their_rounds():
    seen, control = Seen(), jfed.controllers.adaptive.Options(budgets=(3.0,), fixed=1, stop="last")
    where = points(TRAINING, "everybody", environment=jfed.envs.edge.Options(), controller=control, num_rounds=40)
    found = run(where, [0, 1], on_chunk=seen)
    assert (found["ended_round"] < 30).all()
    last = seen[-1]
    assert (last.round, last.test_round) == (40, 40)
    assert last.round - last.first_round > T  # more than a chunk: the rest has nothing to compute
    assert last.num_succeeded == {"everybody": found["num_succeeded"].values.sum(1).mean()}
    assert last.test_loss == {"everybody": pytest.approx(found["test_loss"].values[:, -1].mean())}


# ----------------------------------------------------------------------------------------------- it ends the run


@pytest.mark.parametrize("end", [True, np.bool_(True)])
def test_true_ends_it_in_the_first_chunk(end):
    seen = Seen({1: end})
    words = r"ended it \(e3cs-0\.5: round 1 of 6, 0 of 9 runs done\): without out, nothing of it is kept\.$"
    with pytest.raises(Unfinished, match=words):
        run(WHERE, SEEDS, on_chunk=seen)
    assert len(seen) == 1


def test_only_true_ends_it():
    seen = Seen({1: False, 2: 1, 3: "stop", 4: np.bool_(False), 5: np.array([1.0])})
    xr.testing.assert_identical(run(WHERE, SEEDS, on_chunk=seen), whole())
    assert len(seen) == len(CHUNKS)


def test_at_the_end_of_all_there_is_nothing_left_to_end(tmp_path):
    xr.testing.assert_identical(run(WHERE, SEEDS, on_chunk=Seen({7: True}), out=tmp_path), whole())
    with pytest.raises(Unfinished, match="6 of 9 runs done"):  # the second program had not begun
        run(WHERE, SEEDS, on_chunk=Seen({4: True}))


@pytest.mark.check
@pytest.mark.parametrize("at", [1, 2, 3, 4, 5])
def test_what_was_ended_is_resumed_to_the_same_bits(at, tmp_path):
    with pytest.raises(Unfinished, match=r"The callback has ended it .*: repeat the command to resume\.$"):
        run(WHERE, SEEDS, on_chunk=Seen({at: True}), out=tmp_path)
    seen = Seen()
    xr.testing.assert_identical(run(WHERE, SEEDS, on_chunk=seen, out=tmp_path), whole())
    batch, first, _ = CHUNKS[at]
    assert (dict(seen[0].seeds), seen[0].first_round, seen[0].runs_done) == (BATCHES[batch], first, DONE[batch])
    sums = whole()["num_succeeded"].values[rows(whole(), "uniform", SEEDS)].sum(1)
    assert seen[-1].num_succeeded == {"uniform": pytest.approx(sums.mean())}
    seen.clear()
    xr.testing.assert_identical(run(WHERE, SEEDS, on_chunk=seen, out=tmp_path), whole())
    assert seen == []  # no run is missing


@pytest.mark.parametrize("at", [1, 3, 7])
def test_an_error_arrives_as_it_is_and_nothing_is_lost(at, tmp_path):
    error, cause, context = ValueError("my own mistake"), KeyError("its cause"), OSError("its context")
    error.__cause__, error.__context__ = cause, context
    seen = Seen({at: error})
    with pytest.raises(ValueError, match="my own mistake") as caught:
        run(WHERE, SEEDS, on_chunk=seen, out=tmp_path)
    assert caught.value is error and error.__cause__ is cause and error.__context__ is context
    assert len(seen) == at
    assert [int(path.name[:8]) for path in tmp_path.glob("checkpoints/*/*.npz")] == [1, 1] * (at == 1)
    assert (len(jfed.load(tmp_path)["run"]) if at > 1 else 0) == {1: 0, 3: 4, 7: 9}[at]
    xr.testing.assert_identical(run(WHERE, SEEDS, out=tmp_path), whole())


@pytest.mark.parametrize("error", [JaxRuntimeError("RESOURCE_EXHAUSTED"), SystemExit(3), Unfinished("of its own")])
def test_no_error_of_the_callback_is_taken_for_one_of_the_run(error):
    with pytest.raises(type(error)) as caught:
        run(WHERE, SEEDS, on_chunk=Seen({2: error}))
    assert caught.value is error


# ----------------------------------------------------------------------------------------------- what is refused


async def awaited(progress):
    return progress


@pytest.mark.parametrize(
    ("callback", "words"),
    [
        (3, "as in on_chunk=print; found 3."),
        (lambda: None, "cannot be called so: too many positional arguments."),
        (lambda one, two: None, "cannot be called so: missing a required argument: 'two'."),
        (lambda one, *, two: None, "cannot be called so: missing a required argument: 'two'."),
        (Seen, "found the class <class 'test_live.Seen'>: make an object of it first."),
        (awaited, "which would be awaited."),
    ],
)
def test_what_cannot_be_called_is_refused(callback, words, tmp_path):
    refused(lambda: run(WHERE, SEEDS, on_chunk=callback, out=tmp_path / "out"), HOW.rstrip())
    with pytest.raises(jfed.ConfigError) as caught:
        require_callback(callback)
    assert str(caught.value).endswith(words)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("callback", [print, Seen(), sys.stdout.write, lambda *many: None, lambda one, two=2: None])
def test_what_can_be_called_is_not(callback):
    require_callback(callback)
