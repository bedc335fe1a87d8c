"""A finished run stays finished, in every layout and under every name, until its formula changes."""

import dataclasses
import importlib.util
import json
import logging
import shutil
import sys

import jax
import pytest
import xarray as xr
from support import LAYOUT, SELECTION, assert_same_bits, points, run

import jfed
from jfed.core import code
from jfed.engine.simulate import TRACES
from jfed.engine.version import ENGINE_VERSION
from jfed.runner import batch, units
from jfed.runner.identity import say_changes
from jfed.runner.site import Site
from jfed.runner.units import Layout

pytestmark = pytest.mark.check

SEEDS = [0, 1, 2, 3]
WHERE = points(SELECTION, "e3cs-0.5")


@pytest.fixture
def nothing_runs(monkeypatch):
    """Return a function after whose call computing fails."""

    def refuse(*args):
        raise AssertionError("something was computed")

    return lambda: monkeypatch.setattr(batch, "program", refuse)


@pytest.fixture
def said(caplog):
    caplog.set_level(logging.WARNING, "jfed")

    def take():
        found = [r.getMessage() for r in caplog.records if r.name == "jfed"]
        caplog.clear()
        return found

    return take


def files(out):
    return sorted(p.name for p in (out / "results").iterdir())


def test_in_whatever_blocks_lanes_and_devices_it_was_computed(tmp_path, nothing_runs):
    first = run(WHERE, SEEDS, out=tmp_path)
    nothing_runs()
    for layout in (Layout(block_size=3), Layout(block_size=1, lane="vmapped"), Layout(chunk_rounds=2)):
        xr.testing.assert_identical(first, run(WHERE, SEEDS, layout, out=tmp_path))
    xr.testing.assert_identical(first.isel(run=[1, 3]), run(WHERE, [3, 1], LAYOUT, out=tmp_path))


def test_more_seeds_in_other_blocks_compute_only_what_is_missing(tmp_path):
    run(WHERE, [0, 1, 2], out=tmp_path)  # blocks (0, 1) and (2)
    before = files(tmp_path)
    more = run(WHERE, SEEDS, out=tmp_path)  # and (3)
    assert len(files(tmp_path)) == 3 and set(before) < set(files(tmp_path))
    assert_same_bits(more, run(WHERE, SEEDS))
    xr.testing.assert_identical(more, jfed.load(tmp_path))


def test_directories_that_were_filled_apart_are_one(tmp_path, nothing_runs):
    run(WHERE, [0, 1, 2], Layout(block_size=3), out=tmp_path / "a")
    run(WHERE, [2, 3], LAYOUT, out=tmp_path / "b")
    for path in (tmp_path / "b" / "results").iterdir():
        shutil.copy(path, tmp_path / "a" / "results")
    nothing_runs()
    whole = run(WHERE, SEEDS, out=tmp_path / "a")
    assert whole.seed.values.tolist() == SEEDS
    xr.testing.assert_identical(whole, jfed.load(tmp_path / "a"))


def test_cohorts_that_were_not_recorded_are_computed_for_who_asks_for_them(tmp_path, nothing_runs):
    recorded = dataclasses.replace(LAYOUT, record_selected=True)
    plain = run(WHERE, [0, 1], out=tmp_path)
    with_cohorts = run(WHERE, [0, 1], recorded, out=tmp_path)
    assert_same_bits(plain, with_cohorts.drop_vars("selected"))
    assert len(files(tmp_path)) == 2
    nothing_runs()
    xr.testing.assert_identical(plain, run(WHERE, [0, 1], out=tmp_path))
    xr.testing.assert_identical(with_cohorts, run(WHERE, [0, 1], recorded, out=tmp_path))
    assert jfed.load(tmp_path).sizes["run"] == 2


def test_renaming_computes_nothing(tmp_path, nothing_runs):
    run(WHERE, SEEDS, out=tmp_path)
    assert not (tmp_path / "labels.json").exists()
    nothing_runs()
    renamed = [jfed.Point(p.config, {"method": "ours", "k": 3}) for p in WHERE]
    again = run(renamed, SEEDS, out=tmp_path)
    assert set(again.method.values) == {"ours"} and set(again.k.values) == {3}
    xr.testing.assert_identical(again, jfed.load(tmp_path))
    one_more = run(WHERE, SEEDS[:1], out=tmp_path)
    assert set(one_more.method.values) == {"e3cs-0.5"} == set(jfed.load(tmp_path).method.values)


def test_one_run_under_two_names_is_computed_once(tmp_path):
    twice = [jfed.Point(WHERE[0].config, {"method": name}) for name in ("a", "b")]
    found = run(twice, [0, 1], out=tmp_path)
    assert found.method.values.tolist() == ["a", "a", "b", "b"] and len(set(found.run_id.values)) == 2
    assert len(files(tmp_path)) == 1
    xr.testing.assert_identical(found, jfed.load(tmp_path))


def test_an_interrupted_block_goes_on_among_runs_that_are_done(tmp_path, monkeypatch):
    every = dataclasses.replace(LAYOUT, checkpoint_s=0.0)
    real, starts = batch.clock, []

    def clock(start, *rest):
        starts.append(start)
        if len(starts) == 3:
            raise KeyError("cut")
        return real(start, *rest)

    monkeypatch.setattr(batch, "clock", clock)
    with pytest.raises(KeyError):
        run(WHERE, [0, 1], every, out=tmp_path)
    (folder,) = (tmp_path / "checkpoints").iterdir()
    assert json.loads((folder / "runs.json").read_text())["block_size"] == 2
    starts[:] = [0] * 9
    found = run(WHERE, [5, 0, 1, 2], every, out=tmp_path)  # of which (0, 1) is resumed, and the rest starts
    assert starts[9:] == [3, 4, 5, 1]
    assert_same_bits(found, run(WHERE, [5, 0, 1, 2]))
    assert not list((tmp_path / "checkpoints").iterdir())


# ------------------------------------------------------------------------------------------------ formulas

SCHEME = """
from dataclasses import dataclass
import jax.numpy as jnp
from jfed.selectors import uniform

@dataclass(frozen=True)
class Shifted(uniform.Options):
    def make(self, dims):
        made = super().make(dims)
        def select(key, state, params, view):
            state, cohort = made.select(key, state, params, view)
            return state, cohort._replace(selected=jnp.roll(cohort.selected, 1))
        return made._replace(select=select)
"""


@pytest.fixture
def load_scheme(tmp_path):
    """Return a function that writes the scheme to its file and imports it."""

    def load(text):
        path = tmp_path / "shifted.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location("shifted", path)
        assert spec is not None and spec.loader is not None
        module = sys.modules["shifted"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return jfed.methods(SELECTION, {"shifted": module.Shifted()})

    yield load
    del sys.modules["shifted"]


def test_an_edited_formula_is_computed_again_and_an_edited_comment_is_not(load_scheme, tmp_path, said):
    out = tmp_path / "out"
    first = run(load_scheme(SCHEME), [0, 1], out=out)
    assert said() == []
    traces = len(TRACES)
    commented = run(load_scheme("# of mine\n" + SCHEME), [0, 1], out=out)
    xr.testing.assert_identical(first, commented)
    assert len(TRACES) == traces and said() == []
    edited = run(load_scheme(SCHEME.replace("selected, 1)", "selected, 2)")), [0, 1], out=out)
    assert len(TRACES) > traces  # the class is another one, and is compiled anew
    assert said() == ["Computing again, because the code of the scheme has changed: shifted."]
    assert (first.times_selected.values != edited.times_selected.values).any()
    assert_same_bits(edited, run(load_scheme(SCHEME.replace("selected, 1)", "selected, 2)")), [0, 1]))
    xr.testing.assert_identical(edited, jfed.load(out))
    twice = f"{out} holds 2 runs of shifted twice: code of the selector. Those that a command requested last are taken."
    assert said() == [twice]
    for text, results in ((SCHEME, first), (SCHEME.replace("selected, 1)", "selected, 2)"), edited)):
        xr.testing.assert_identical(results, run(load_scheme(text), [0, 1], out=out))  # still there
        xr.testing.assert_identical(results, jfed.load(out))  # what was requested last


def test_two_modules_with_one_name_of_a_class_share_nothing(load_scheme):
    other = load_scheme(SCHEME.replace("class Shifted", "class Options") + "\nShifted = Options\n")
    found = [units.plan(where, [0], LAYOUT)[0].runs[0].id for where in (other, points(SELECTION, "uniform"))]
    assert len(set(found)) == 2


def test_code_without_a_source_is_computed_and_not_found_again(tmp_path, said, monkeypatch):
    monkeypatch.setattr(code, "_digest", lambda kind, origin: None if "uniform" in kind.__module__ else "x")
    where = points(SELECTION, "uniform")
    for _ in range(2):
        found = run(where, [0], out=tmp_path)
        (sentence,) = said()
        assert sentence.startswith(
            "Later commands cannot reuse the results of schemes with a member whose source cannot"
        )
        assert sentence.endswith(": uniform. Define its class at the top of a file, or give it a `version`.")
    assert len(files(tmp_path)) == 2
    assert jfed.load(tmp_path).run_id.values.tolist() == found.run_id.values.tolist()


def test_other_code_of_the_engine_is_said_once_and_another_version_computes_again(tmp_path, said, monkeypatch):
    first = run(WHERE, [0, 1], out=tmp_path)
    monkeypatch.setattr(code, "engine_digest", lambda: "other")
    xr.testing.assert_identical(first, run(WHERE, [0, 1], out=tmp_path))
    (sentence,) = said()
    assert "were made by different engine code of the same version" in sentence
    monkeypatch.setattr("jfed.runner.identity.ENGINE_VERSION", 99)
    again = run(WHERE, [0, 1], out=tmp_path)
    changed = f"the engine (version {ENGINE_VERSION} then, 99 now)"
    assert said() == [f"Computing again, because the code of {changed} has changed: e3cs-0.5."]
    assert set(again.versions.values) == {f"engine 99, jax {jax.__version__}, cpu"}


def test_runs_of_other_devices_are_said_to_be_computed_again(said):
    gpu = Site("gpu", "float32, products highest", "NVIDIA H100", 1)
    (there,), (here,) = (units.ask(WHERE, [0], LAYOUT, site=site) for site in (gpu, None))
    stored = {run.kind.id: {"what": run.kind.what} for run in there.runs}
    say_changes(here.runs, stored)
    assert said() == [
        "Computing again, on other devices (cpu, float32 in place of gpu, float32, products highest): e3cs-0.5."
        " `jfed table`, `jfed plot` and `jfed report` read what is there."
    ]
    say_changes(there.runs, stored)
    assert said() == []
