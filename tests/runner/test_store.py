"""The host loop and its files: no run is computed twice or lost, and loaded results are those that were computed."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr
from support import LAYOUT, SELECTION, TRAINING, K, T, assert_same_bits, points, run

import jfed
from jfed.results import store
from jfed.results.sealed import unseal
from jfed.runner import batch as host
from jfed.runner import units
from jfed.runner.units import Layout

SEEDS = [0, 1, 2, 3]


@pytest.fixture
def where():
    return points(SELECTION, "e3cs-0.5")


@pytest.fixture
def no_program(monkeypatch):
    """Return a switch that makes any attempt to compute fail."""

    def refuse(*args):
        raise AssertionError("something was computed")

    def switch(on=True):
        monkeypatch.setattr(host, "program", refuse if on else switch.real)

    switch.real = host.program
    return switch


def files(out):
    return {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in sorted((out / "results").iterdir())}


def held(content):
    """Return the content of a file without its provenance."""
    arrays, about = unseal(content)
    told = {name: value for name, value in about.items() if name != "provenance"}
    return told, {name: (x.dtype, x.shape, x.tobytes()) for name, x in arrays.items()}


def test_the_second_run_computes_nothing_and_returns_the_same(where, tmp_path, no_program):
    first = run(where, SEEDS, out=tmp_path)
    before = files(tmp_path)
    assert len(before) == 2
    no_program()
    again = run(where, SEEDS, out=tmp_path)
    xr.testing.assert_identical(first, again)
    assert files(tmp_path) == before
    with pytest.raises(AssertionError, match="something was computed"):
        run(where, [9], out=tmp_path)


def test_results_in_memory_on_disk_and_loaded_are_the_same(where, tmp_path):
    memory, disk = run(where, SEEDS), run(where, SEEDS, out=tmp_path)
    assert_same_bits(memory, disk)
    xr.testing.assert_identical(memory, disk)
    xr.testing.assert_identical(disk, jfed.load(tmp_path))
    xr.testing.assert_identical(disk, jfed.load(tmp_path / "results"))


def test_training_results_too(tmp_path):
    trained = points(TRAINING, "e3cs-0.5", eval_every=4)
    memory, disk = run(trained, [0, 1]), run(trained, [0, 1], out=tmp_path)
    assert_same_bits(memory, disk)
    xr.testing.assert_identical(disk, jfed.load(tmp_path))
    assert disk.dataset.values.tolist() == ["digits"] * 2


def test_more_seeds_leave_the_finished_units_alone(where, tmp_path):
    run(where, SEEDS[:2], out=tmp_path)
    before = files(tmp_path)
    more = run(where, SEEDS, out=tmp_path)
    after = files(tmp_path)
    assert len(after) == 2 and before.items() <= after.items()
    assert_same_bits(more, run(where, SEEDS))


def test_no_run_is_loaded_twice_after_more_seeds_that_cut_the_blocks_elsewhere(where, tmp_path):
    run(where, [0, 1, 2], out=tmp_path)  # blocks (0, 1) and (2)
    run(where, SEEDS, out=tmp_path)  # blocks (0, 1) and (2, 3)
    assert jfed.load(tmp_path).seed.values.tolist() == SEEDS


def test_a_lost_unit_is_computed_again_to_the_same_bits(where, tmp_path):
    run(where, SEEDS, out=tmp_path)
    before = files(tmp_path)
    lost, kept = sorted(before)
    store.unit_path(tmp_path, lost.removesuffix(".npz")).unlink()
    run(where, SEEDS, out=tmp_path)
    after = files(tmp_path)
    assert held(after[lost][0]) == held(before[lost][0])
    assert after[kept] == before[kept]


def test_files_hold_nothing_that_differs_between_two_directories_but_their_provenance(where, tmp_path):
    for name in ("a", "b"):
        run(where, SEEDS[:2], out=tmp_path / name)
    a, b = files(tmp_path / "a"), files(tmp_path / "b")
    assert {n: held(content) for n, (content, _) in a.items()} == {n: held(content) for n, (content, _) in b.items()}
    assert not [n for n in a if not n.endswith(".npz")]


def test_the_recorded_cohorts_are_those_that_were_counted(where):
    done = run(where, [0, 1], Layout(block_size=2, chunk_rounds=T, record_selected=True))
    assert done.selected.dims == ("run", "round", "byte")
    bits = np.unpackbits(done.selected.values, axis=-1, count=K)
    np.testing.assert_array_equal(bits.sum(1), done.times_selected)
    np.testing.assert_array_equal(bits.sum(2), done.num_selected)
    assert_same_bits(done.drop_vars("selected"), run(where, [0, 1]))


def test_sums_over_clients_and_over_rounds_agree(where):
    done = run(where, SEEDS)
    for what in ("selected", "succeeded"):
        rounds, clients = done[f"num_{what}"].sum("round"), done[f"times_{what}"].sum("client")
        np.testing.assert_array_equal(rounds, clients)
    assert (done.times_succeeded <= done.times_selected).all()
    assert done.client_class[0].values.tolist() == [0, 1, 2, 3] * 2


def test_names_and_coordinates(tmp_path):
    grid = jfed.product(points(SELECTION, "random", "e3cs-0.5"), {"cohort_size": [2, 3]})
    done = run(grid, [1, 0], out=tmp_path)
    assert set(done.method.values.tolist()) == {"uniform", "e3cs-0.5"}
    assert set(done["mode"].values.tolist()) == {"faithful"}
    assert sorted(done.cohort_size.values.tolist()) == [2, 2, 2, 2, 3, 3, 3, 3]
    assert set(done.world.values.tolist()) == {"volatility"}
    assert done["round"].values.tolist() == list(range(1, T + 1))
    for name in ("uniform", "e3cs-0.5"):
        part = done.isel(run=np.flatnonzero(done.method == name))
        assert part.seed.values.tolist() == [0, 0, 1, 1]
        for k in (2, 3):
            assert (part.isel(run=np.flatnonzero(part.cohort_size == k)).num_selected == k).all()
    xr.testing.assert_identical(done, jfed.load(tmp_path))


def test_the_manifest_says_what_was_done(where, tmp_path):
    run(where, SEEDS, out=tmp_path)
    run(where, SEEDS, out=tmp_path)  # nothing to compute, hence no entry
    run(where, [9], out=tmp_path)
    first, second = json.loads((tmp_path / "manifest.json").read_text())
    fields = {"date", "versions", "python", "machine", "commit", "units", "seconds", "device", "num_devices"}
    assert fields | {"block_sizes", "points"} <= first.keys()
    assert {"jax", "jaxlib", "numpy", "jfed"} <= first["versions"].keys()
    assert first["num_devices"] == 2 and first["block_sizes"] == [2]
    assert {f"{u}.npz" for entry in (first, second) for u in entry["units"]} == set(files(tmp_path))
    assert first["points"][0]["coords"] == {"method": "e3cs-0.5", "mode": "faithful"}
    assert first["points"][0]["config"]["selector"]["quota"] == 0.5


# ---------------------------------------------------------------------------------------------------- ids


SCRIPT = """
import sys; sys.path.insert(0, sys.argv[1])
import jfed
from jfed.runner import units
from support import SELECTION, TRAINING, points
for base in (SELECTION, TRAINING):
    where = points(base, "e3cs-0.5", "uniform")
    print(*[u.id for u in units.plan(where, [0, 1, 2], units.Layout(block_size=2, lane="sequential"))])
"""


@pytest.mark.check
def test_unit_ids_are_the_same_in_every_process():
    here = []
    for base in (SELECTION, TRAINING):
        where = points(base, "e3cs-0.5", "uniform")
        found = [u.id for u in units.plan(where, [0, 1, 2], Layout(block_size=2, lane="sequential"))]
        assert len(set(found)) == len(found) == 4
        here.append(" ".join(found))
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    root = os.path.dirname(os.path.dirname(jfed.__file__))
    env = os.environ | {"PYTHONHASHSEED": "12345", "PYTHONPATH": root}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, tests], capture_output=True, text=True, check=False, env=env, cwd=tests
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:2] == here


def test_what_a_run_is():
    def ids(where, seeds=(0, 1), layout=LAYOUT):
        return [run.id for unit in units.plan(where, seeds, layout) for run in unit.runs]

    same = ids(points(SELECTION, "e3cs-0.5"))
    alike = [
        ids(points(SELECTION, "e3cs-0.5")),
        ids(points(SELECTION, "e3cs-0.5", selector__eta=0.5, environment__success_rates=(0.1, 0.3, 0.6, 0.9))),
        ids([jfed.Point(points(SELECTION, "e3cs-0.5")[0].config, {"method": "mine", "k": 3})]),
        ids(points(SELECTION, "e3cs-0.5"), layout=Layout(block_size=2, chunk_rounds=2)),
        ids(points(SELECTION, "e3cs-0.5"), layout=Layout(block_size=3, chunk_rounds=T)),
        ids(points(SELECTION, "e3cs-0.5"), layout=Layout(block_size=2, chunk_rounds=T, lane="vmapped")),
        ids(points(SELECTION, "e3cs-0.5"), layout=Layout(block_size=2, chunk_rounds=T, record_selected=True)),
    ]
    assert all(found == same for found in alike)
    others = [
        ids(points(SELECTION, "e3cs-0.5", selector__eta=0.25)),
        ids(points(SELECTION, "e3cs-0.5", num_rounds=7)),
        ids(points(SELECTION, "e3cs-0.5", eval_every=2)),
        ids(points(SELECTION, "e3cs-0.5", mode="corrected")),
        ids(points(SELECTION, "e3cs-0.8")),
        ids(points(SELECTION, "e3cs-0.5"), seeds=(2, 3)),
        ids(points(SELECTION, "e3cs-0.5"), seeds=(jfed.seeds(0, environment=5), jfed.seeds(1, data=0))),
    ]
    assert len({run for found in [same, *others] for run in found}) == 2 * len(others) + 2


def test_a_block_is_its_runs_and_their_layout():
    def ids(layout, seeds=(0, 1)):
        return tuple(unit.id for unit in units.plan(points(SELECTION, "e3cs-0.5"), seeds, layout))

    layouts = [
        Layout(block_size=2), Layout(block_size=3), Layout(block_size=2, lane="vmapped"),
        Layout(block_size=2, record_selected=True),
    ]  # fmt: skip
    assert ids(LAYOUT) == ids(Layout(block_size=2, chunk_rounds=2))
    assert len({*map(ids, layouts), ids(LAYOUT, (0, 2))}) == len(layouts) + 1


def test_seeds_from_a_generator_and_the_largest_seed(where):
    done = run(where, (s for s in (0, 2**32 - 1)))
    assert done.seed.values.tolist() == [0, 2**32 - 1]


def test_two_settings_of_training_share_no_unit_by_mistake():
    grid = jfed.product(points(TRAINING, "e3cs-0.5"), {"training.samples_per_client": [10, 20]})
    found = units.plan(grid, [0], LAYOUT)
    assert len(found) == 2
    assert [u.block().num_samples[0, 0] for u in found] == [9, 18]
