"""What a study would take: the runs that are left, and the arithmetic of time and disk."""

import dataclasses

import jax
import pytest

import jfed
from jfed.core.errors import Unfinished
from jfed.runner import forecast as module
from jfed.runner.forecast import SPREAD, forecast
from jfed.runner.run import run as compute
from tests.support import LAYOUT, SELECTION, T, points, run


@pytest.fixture
def measured(monkeypatch):
    """Measure nothing: a round takes 2 s, a compilation 10 s, a program 5 bytes and a run 7 on the disk."""

    def take(units, layout, devices):
        return module._Measure(2.0, 10.0, 5, 7 * sum(len(unit.runs) for unit in units))

    monkeypatch.setattr(module, "_measured", take)


def test_time_is_that_of_the_rounds_that_are_left(measured, tmp_path):
    where = points(SELECTION, "uniform", "fedcs")
    found = forecast(where, range(10), out=tmp_path / "o", layout=LAYOUT)  # five blocks of two runs per scheme
    side_by_side = -(-5 // len(jax.devices()))
    work = 2 * side_by_side * T * 2.0
    assert found.seconds == pytest.approx((SPREAD[0] * work, SPREAD[1] * work + 2 * 10.0))
    assert (found.programs, found.measured, found.runs, found.done, found.resumed) == (2, 2, 20, 0, 0)
    assert (found.memory, found.disk) == (5, 7 * 20) and not (tmp_path / "o").exists()


def test_programs_that_are_not_measured_are_like_the_others(measured, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "LIMIT_S", -1.0)
    found = forecast(points(SELECTION, "uniform", "fedcs", "round-robin"), [0, 1], out=tmp_path)
    assert (found.programs, found.measured) == (3, 1)
    assert found.seconds == pytest.approx((SPREAD[0] * 3 * 2.0 * T, SPREAD[1] * 3 * 2.0 * T + 3 * 10.0))
    assert found.disk == 3 * 7 * 2


def test_finished_runs_and_checkpoints_count(measured, tmp_path):
    where = points(SELECTION, "uniform")
    short = dataclasses.replace(LAYOUT, max_seconds=0.0, checkpoint_s=0.0, chunk_rounds=2)
    run(where, [0, 1], out=tmp_path)
    with pytest.raises(Unfinished):
        run(where, range(4), short, out=tmp_path)
    found = forecast(where, range(4), out=tmp_path, layout=LAYOUT)
    assert (found.programs, found.runs, found.done, found.resumed) == (1, 4, 2, 2)
    assert found.seconds == pytest.approx((SPREAD[0] * (T - 1) * 2.0, SPREAD[1] * (T - 1) * 2.0 + 10.0))
    run(where, range(4), out=tmp_path)
    done = forecast(where, range(4), out=tmp_path, layout=LAYOUT)
    assert done == dataclasses.replace(done, programs=0, measured=0, runs=4, done=4, resumed=0, seconds=None, disk=0)


def test_a_resumed_study_says_from_where(tmp_path, capsys):
    where = points(SELECTION, "uniform")
    short = dataclasses.replace(LAYOUT, max_seconds=0.0, checkpoint_s=0.0, chunk_rounds=2)
    with pytest.raises(Unfinished):
        compute(where, range(4), layout=short, out=tmp_path)
    assert "Resuming" not in capsys.readouterr().err
    compute(where, range(4), layout=LAYOUT, out=tmp_path)
    begun = 2 * min(2, len(jax.devices()))
    said = capsys.readouterr().err.splitlines()
    assert said[0] == f"Resuming {tmp_path}: 0 of 4 runs are done, {begun} continue after round 1."
    compute(where, range(4), layout=LAYOUT, out=tmp_path)
    assert capsys.readouterr().err == f"All 4 runs are in {tmp_path} already: nothing is left to compute.\n"
    compute(where, range(4), layout=LAYOUT, out=tmp_path, progress=False)
    assert capsys.readouterr().err == ""


@pytest.mark.check
def test_a_measured_study(tmp_path):
    base = jfed.replace(SELECTION, {"num_rounds": 400})
    layout = jfed.Layout(block_size=2, chunk_rounds=100)
    found = forecast(points(base, "uniform"), range(4), out=tmp_path, layout=layout)
    assert found.seconds is not None and 0 < found.seconds[0] < found.seconds[1]
    assert 0 < found.memory < found.free
    run(points(base, "uniform"), range(4), layout, out=tmp_path)
    files = [path.stat().st_size for path in (tmp_path / "results").iterdir()]
    results = found.disk / 3  # beside the two checkpoints of each run
    assert sum(files) < results + 4000 * len(files)
