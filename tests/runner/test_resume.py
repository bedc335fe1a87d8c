"""Runs that are interrupted: the same call resumes from the last checkpoint, to the same bits."""

import dataclasses
import logging
import os
import signal

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from support import LAYOUT, SELECTION, TRAINING, points, run

import jfed
from jfed.core.errors import ConfigError, Unfinished
from jfed.runner import batch as host
from jfed.runner import checkpoint, watch

pytestmark = pytest.mark.check

PLAIN = dataclasses.replace(LAYOUT, record_selected=True)
EVERY = dataclasses.replace(PLAIN, checkpoint_s=0.0)  # a checkpoint after each chunk: rounds 1 and 2, then the rest
SEEDS = [0, 1, 2, 3]


class Cut(Exception):
    """An interruption."""


def cut():
    raise Cut


class Chunks:
    """A record of the round with which each chunk starts; an action can be set before a chunk."""

    def __init__(self, monkeypatch):
        self.starts = []
        self.before = {}
        real = host.clock

        def clock(start, *rest):
            self.starts.append(start)
            self.before.pop(len(self.starts), lambda: None)()
            return real(start, *rest)

        monkeypatch.setattr(host, "clock", clock)

    def cut(self, where, seeds, out, at=3, action=cut, error=Cut, layout=EVERY):
        """Run up to the chunk `at`, before which `action` fails, and return the rounds with which chunks started."""
        self.starts.clear()
        self.before[at] = action
        with pytest.raises(error):
            run(where, seeds, layout, out=out)
        started = self.starts.copy()
        self.starts.clear()
        return started


@pytest.fixture(autouse=True)
def answered():
    """Handle Ctrl-C even where the tests run in the background of a shell, which makes them ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def chunks(monkeypatch):
    return Chunks(monkeypatch)


@pytest.fixture
def said(caplog):
    caplog.set_level(logging.WARNING, "jfed")
    return lambda: [r.getMessage() for r in caplog.records if r.name == "jfed"]


WHERE = points(SELECTION, "e3cs-0.5")


@pytest.fixture(scope="module")
def whole():
    """Return the results of two units that were not interrupted."""
    return run(WHERE, SEEDS, PLAIN)


def saved(out):
    """Return the rounds of the checkpoints of each unit."""
    return [sorted(int(p.name[:8]) for p in unit.glob("*.npz")) for unit in sorted(out.glob("checkpoints/*"))]


# ------------------------------------------------------------------------------------------- the same bits


# SCAFFOLD's server and clients have a state, too.
KEEPING = jfed.replace(TRAINING, {"training.algorithm": "scaffold"})


SPENDING = jfed.replace(SELECTION, {"environment": "phones"})  # whose record has joules, too


@pytest.mark.parametrize(
    ("base", "scheme"), [(SELECTION, "e3cs-0.5"), (KEEPING, "uniform"), (SPENDING, "uniform")],
    ids=["alone", "trained", "joules"],
)  # fmt: skip
def test_an_interrupted_run_goes_on_to_the_same_bits(base, scheme, chunks, tmp_path):
    layout, where = EVERY, points(base, scheme, eval_every=2)
    never = run(where, [0, 1], layout)
    assert chunks.starts == [1, 2, 3]
    chunks.cut(where, [0, 1], tmp_path, layout=layout)
    assert saved(tmp_path) == [[1, 2]]
    xr.testing.assert_identical(never, run(where, [0, 1], layout, out=tmp_path))
    assert chunks.starts == [3, 4, 5]
    assert saved(tmp_path) == []


def test_on_other_devices_and_with_other_chunks(whole, chunks, tmp_path, monkeypatch):
    chunks.cut(WHERE, SEEDS, tmp_path)
    assert saved(tmp_path) == [[1, 2]] * 2  # two units, on two devices
    with monkeypatch.context() as patch:
        patch.setattr(watch, "GROWTH", 1)
        xr.testing.assert_identical(whole.isel(run=[0, 1]), run(WHERE, SEEDS[:2], PLAIN, out=tmp_path))
    assert chunks.starts == [3, 4, 5, 6]
    xr.testing.assert_identical(whole, run(WHERE, SEEDS, PLAIN, out=tmp_path))  # the other unit, on one device
    assert chunks.starts == [3, 4, 5, 6, 3, 4, 5]


def test_units_at_different_rounds_do_not_share_a_batch(whole, chunks, tmp_path):
    chunks.cut(WHERE, SEEDS[:2], tmp_path)
    xr.testing.assert_identical(whole, run(WHERE, SEEDS, EVERY, out=tmp_path))
    assert chunks.starts == [3, 4, 5, 1]


def test_short_runs_leave_no_checkpoints(chunks, tmp_path):
    chunks.cut(WHERE, SEEDS, tmp_path, layout=PLAIN)
    assert not (tmp_path / "checkpoints").exists()


# ------------------------------------------------------------------------------------ damaged checkpoints


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def truncate(path):
    path.write_bytes(path.read_bytes()[:-7])


@pytest.mark.parametrize("damage", [flip, truncate])
def test_of_a_damaged_checkpoint_the_one_before_is_taken(damage, whole, chunks, tmp_path, said):
    chunks.cut(WHERE, SEEDS[:2], tmp_path)
    damage(max(tmp_path.glob("checkpoints/*/*.npz")))
    xr.testing.assert_identical(whole.isel(run=[0, 1]), run(WHERE, SEEDS[:2], PLAIN, out=tmp_path))
    assert chunks.starts == [2, 3, 4]
    (sentence,) = said()
    assert sentence.endswith("resumes from round 1: the checkpoint at round 2 is damaged.")


def test_without_a_good_checkpoint_a_unit_starts_again(whole, chunks, tmp_path, said):
    chunks.cut(WHERE, SEEDS[:2], tmp_path)
    for path in tmp_path.glob("checkpoints/*/*.npz"):
        truncate(path)
    xr.testing.assert_identical(whole.isel(run=[0, 1]), run(WHERE, SEEDS[:2], PLAIN, out=tmp_path))
    assert chunks.starts == [1, 2, 3]
    (sentence,) = said()
    assert "starts again from round 1: the checkpoint at round 2 is damaged, the checkpoint at round 1 is" in sentence


STATE = {"state.x": np.arange(4.0), "state.w": np.array(jnp.ones((4, 2), jnp.bfloat16))}
RECORD = {"record.n": np.zeros((3, 4), np.int32)}


def load(folder, state=None, kept=("record.n",)):
    like = {name: jax.ShapeDtypeStruct(x.shape, x.dtype) for name, x in (state or STATE).items()}
    return checkpoint.load(folder, like, set(kept))


def test_two_checkpoints_are_kept_and_read_as_they_were_written(tmp_path, said):
    for round in (3, 20, 100):
        checkpoint.save(tmp_path, round, STATE | RECORD)
    assert sorted(int(p.name[:8]) for p in tmp_path.iterdir()) == [20, 100]
    found = load(tmp_path)
    assert found.round == 100 and found.arrays.keys() == (STATE | RECORD).keys()
    for name, x in (STATE | RECORD).items():
        assert found.arrays[name].dtype == x.dtype and found.arrays[name].tobytes() == x.tobytes()
    assert not said()


def test_a_checkpoint_that_does_not_fit_is_not_gone_on_from(tmp_path, said, monkeypatch):
    other = STATE | {"state.x": np.arange(5.0)}
    for i, (state, kept) in enumerate([(other, ["record.n"]), (STATE, ["record.n", "record.m"])]):
        checkpoint.save(tmp_path, 3, STATE | RECORD)
        assert load(tmp_path, state, kept).round == 0
        assert "was made by another version of jfed" in said()[i]
    checkpoint.save(tmp_path, 3, STATE | RECORD)
    monkeypatch.setattr(jax, "__version__", "0.0.1")
    assert load(tmp_path).round == 0
    assert f"was made with jax {checkpoint.jax.version.__version__} and this is 0.0.1" in said()[-1]
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------- stopping cleanly


def send(number):
    return lambda: os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_ends_the_command_after_the_chunk(number, whole, chunks, tmp_path, said):
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
    chunks.cut(WHERE, SEEDS[:2], tmp_path, 2, send(number), KeyboardInterrupt, PLAIN)
    assert said() == ["Stopping after this chunk; press Ctrl-C again to leave at once."]
    assert saved(tmp_path) == [[2]]
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == before
    xr.testing.assert_identical(whole.isel(run=[0, 1]), run(WHERE, SEEDS[:2], PLAIN, out=tmp_path))
    assert chunks.starts == [3, 4, 5]


def test_a_second_signal_ends_it_at_once(chunks, tmp_path):
    def twice():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    chunks.cut(WHERE, SEEDS[:2], tmp_path, 2, twice, KeyboardInterrupt, PLAIN)
    assert saved(tmp_path) == []


def test_a_signal_in_the_last_chunk_keeps_what_it_finished(chunks, tmp_path, whole):
    chunks.cut(WHERE, SEEDS[:2], tmp_path, 3, send(signal.SIGINT), KeyboardInterrupt, PLAIN)
    xr.testing.assert_identical(whole.isel(run=[0, 1]), jfed.load(tmp_path))


def test_without_a_directory_a_signal_ends_it_at_once(chunks, said):
    assert chunks.cut(WHERE, SEEDS[:2], None, 1, send(signal.SIGINT), KeyboardInterrupt, PLAIN) == [1]
    assert said() == []  # not after the chunk


def test_a_command_whose_time_is_up_leaves_and_gets_somewhere_each_time(whole, chunks, tmp_path):
    short = dataclasses.replace(PLAIN, max_seconds=0.0, checkpoint_s=1e9)
    sentence = r"e3cs-0.5: round 1 of 6, 0 of 4 runs done\): repeat the command"
    chunks.cut(WHERE, SEEDS, tmp_path, 9, None, Unfinished, short)
    assert saved(tmp_path) == [[1], [1]]
    with pytest.raises(Unfinished, match=sentence.replace("round 1", "round 2")):
        run(WHERE, SEEDS, short, out=tmp_path)
    assert chunks.starts == [2]
    xr.testing.assert_identical(whole, run(WHERE, SEEDS, PLAIN, out=tmp_path))
    xr.testing.assert_identical(whole, run(WHERE, SEEDS, short, out=tmp_path))  # nothing is left to do


def test_a_budget_of_time_needs_a_directory():
    with pytest.raises(ConfigError, match="max_seconds needs out"):
        run(WHERE, [0], dataclasses.replace(PLAIN, max_seconds=1.0))
    for name in ("max_seconds", "checkpoint_s"):
        with pytest.raises(ConfigError, match=f"{name} must be at least 0"):
            run(WHERE, [0], dataclasses.replace(PLAIN, **{name: -1.0}), out="never")
