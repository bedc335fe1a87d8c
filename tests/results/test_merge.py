"""Directories that were filled apart, as one."""

import json
import shutil

import numpy as np
import pytest
from support import SELECTION, assert_same_bits, points, run

import jfed
from jfed.core.errors import ConfigError, StorageError, Unfinished
from jfed.results import parts, store
from jfed.results.merge import merge
from jfed.runner.units import Layout

WHERE, LAYOUT = points(SELECTION, "uniform", "e3cs-0.5"), Layout(block_size=1, chunk_rounds=2)


@pytest.fixture(scope="module")
def halves(tmp_path_factory):
    """Return two directories with six seeds, of which both have the seeds 2 and 3, and all six seeds in one."""
    home = tmp_path_factory.mktemp("halves")
    run(WHERE, range(4), LAYOUT, out=home / "a")
    run(WHERE, range(2, 6), Layout(block_size=2, chunk_rounds=2), out=home / "b")
    return home, run(WHERE, range(6), LAYOUT)


@pytest.mark.check
def test_the_halves_are_the_whole_and_nothing_is_computed_again(halves, tmp_path, monkeypatch):
    home, whole = halves
    found = merge([home / "a", home / "b"], tmp_path / "c")
    assert (found.runs, found.added, found.doubled, found.unlike) == (12, 12, 4, 0)
    told = []
    assert_same_bits(run(WHERE, range(6), LAYOUT, out=tmp_path / "c", on_chunk=told.append), whole)
    assert not told
    both = [json.loads((home / name / "manifest.json").read_text()) for name in "ab"]
    assert json.loads((tmp_path / "c" / "manifest.json").read_text()) == both[0] + both[1]
    assert jfed.load(tmp_path / "c").sizes["run"] == 12


def test_into_one_of_them_and_again(halves, tmp_path):
    home, _ = halves
    for name in "ab":
        shutil.copytree(home / name, tmp_path / name)
    assert merge([tmp_path / "a", tmp_path / "b"], tmp_path / "a").added == 4
    again = merge([tmp_path / "b"], tmp_path / "a")
    assert (again.runs, again.added, again.doubled) == (12, 0, 8)


def test_only_what_is_missing_is_computed_and_checkpoints_come_along(halves, tmp_path):
    home, _ = halves
    with pytest.raises(Unfinished):
        run(WHERE[:1], [6], Layout(1, 2, max_seconds=0), out=tmp_path / "d")
    merge([home / "a", tmp_path / "d"], tmp_path / "c")
    told = []
    run(WHERE[:1], [0, 6], LAYOUT, out=tmp_path / "c", on_chunk=told.append)
    assert {seed for one in told for seeds in one.seeds.values() for seed in seeds} == {6}
    assert min(one.first_round for one in told) > 1


def test_the_most_advanced_checkpoint_is_kept(tmp_path):
    for name, rounds in (("a", [3, 4]), ("b", [5]), ("c", [1])):
        folder = store.checkpoint_folder(tmp_path / name, "u")
        folder.mkdir(parents=True)
        (folder / "runs.json").write_text('{"runs": ["r"]}')
        for number in rounds:
            (folder / f"{number:08d}.npz").write_bytes(name.encode())
        run(WHERE[:1], [0], LAYOUT, out=tmp_path / f"{name}2")
        shutil.copytree(tmp_path / f"{name}2" / "results", tmp_path / name / "results")
    merge([tmp_path / "a", tmp_path / "b", tmp_path / "c"], tmp_path / "out")
    kept = {p.name: p.read_bytes() for p in store.checkpoint_folder(tmp_path / "out", "u").glob("*.npz")}
    assert kept == {"00000003.npz": b"a", "00000004.npz": b"a", "00000005.npz": b"b"}


def test_runs_with_other_numbers_and_other_versions_are_told(halves, tmp_path, caplog):
    home, _ = halves
    shutil.copytree(home / "a", tmp_path / "a")
    (path, *_) = store.files(tmp_path / "a")
    part = parts.read(path)
    part.arrays["round_time_s"] = part.arrays["round_time_s"] + np.float32(1)
    part.provenance["versions"]["jax"] = "0.1"
    path.write_bytes(part.content())
    found = merge([home / "a", tmp_path / "a"], tmp_path / "c")
    assert (found.added, found.doubled, found.unlike) == (8, 8, 1) and "versions of jax" not in caplog.text
    merge([tmp_path / "a", home / "b"], tmp_path / "d")
    assert "come from 2 versions of jax (0.1, " in caplog.text


@pytest.mark.parametrize("newer_first", [True, False])
def test_of_a_run_with_other_numbers_the_newest_counts(halves, tmp_path, newer_first):
    home, _ = halves
    shutil.copytree(home / "a", tmp_path / "a")
    (path, *_) = store.files(tmp_path / "a")
    part = parts.read(path)
    part.arrays["round_time_s"] = part.arrays["round_time_s"] + np.float32(1)
    part.provenance["date"] = "2999-01-01T00:00:00+00:00"
    path.write_bytes(part.content())
    first, second = (tmp_path / "a", home / "a") if newer_first else (home / "a", tmp_path / "a")
    assert merge([first, second], tmp_path / "c").unlike == 1
    (row,) = part.runs
    results = jfed.load(tmp_path / "c")
    ours = results.isel(run=np.flatnonzero(results["run_id"].values == row.id))
    assert ours.sizes["run"] == 1
    np.testing.assert_array_equal(ours["round_time_s"].values, part.arrays["round_time_s"])


@pytest.mark.check
def test_recorded_cohorts_come_along(halves, tmp_path):
    home, _ = halves
    run(WHERE, [0, 1], Layout(1, 2, record_selected=True), out=tmp_path / "r")
    found = merge([home / "a", tmp_path / "r"], tmp_path / "c")
    assert (found.runs, found.added, found.doubled) == (8, 8, 0)
    told = []
    again = run(WHERE, [0, 1], Layout(1, 2, record_selected=True), out=tmp_path / "c", on_chunk=told.append)
    assert not told and "selected" in again


def test_what_cannot_be_merged(halves, tmp_path, monkeypatch):
    home, _ = halves
    with pytest.raises(ConfigError, match="There are no results in"):
        merge([home / "a", tmp_path / "nothing"], tmp_path / "c")
    shutil.copytree(home / "a", tmp_path / "a")
    (path, *_) = store.files(tmp_path / "a")
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(StorageError, match=f"{path.name} is damaged: run its experiment again"):
        merge([home / "b", tmp_path / "a"], tmp_path / "c")
    with store.lock(tmp_path / "a"), pytest.raises(ConfigError, match="is in use by process"):
        merge([home / "b"], tmp_path / "a")


def test_the_command(halves, tmp_path, told):
    home, _ = halves
    said = told("merge", home / "a", home / "b", "--out", tmp_path / "c")
    assert said.splitlines() == [
        f"{tmp_path / 'c'}: 12 runs, 12 of them new",
        "4 runs were in several directories and are there once",
    ]
