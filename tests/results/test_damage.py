"""Files that are damaged are never read as other numbers: they are named, set aside and computed again."""

import contextlib
import json
import logging
import random
import sys

import numpy as np
import pytest
import xarray as xr
from support import SELECTION, points, run

import jfed
from jfed.results import netcdf, parts
from jfed.results.sealed import Damaged, seal, unseal

pytestmark = pytest.mark.check

SEEDS = [0, 1, 2, 3]
WHERE = points(SELECTION, "uniform")


@pytest.fixture(scope="module")
def whole():
    return run(WHERE, SEEDS)


@pytest.fixture
def out(tmp_path):
    """Return a directory with two files of results."""
    run(WHERE, SEEDS, out=tmp_path)
    return tmp_path


@pytest.fixture
def said(caplog):
    caplog.set_level(logging.WARNING, "jfed")
    return lambda: [r.getMessage() for r in caplog.records if r.name == "jfed"]


def flip(path, bit):
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)


def test_what_is_sealed_is_read_as_it_was():
    arrays = {"x": np.arange(6, dtype=np.int32).reshape(2, 3), "y": np.array([np.nan, -0.0]), "none": np.zeros((0, 4))}
    arrays |= {"many": np.random.default_rng(1).integers(0, 9, 5000).astype(np.uint8), "one": np.array(True)}
    content = seal(arrays, {"a": [1, None, "ä"]})
    found, about = unseal(content)
    assert about == {"a": [1, None, "ä"]} and found.keys() == arrays.keys()
    for name, x in arrays.items():
        assert found[name].dtype == x.dtype and found[name].shape == x.shape and found[name].tobytes() == x.tobytes()
    assert unseal(content, with_arrays=False) == ({}, about)
    assert content == seal(arrays, about)


def test_a_sealed_file_is_a_plain_npz(out):
    path = min((out / "results").iterdir())
    with np.load(path, allow_pickle=False) as opened:
        assert opened["num_selected"].shape == (2, 6) and json.loads(opened["about.json"])["format"] == 1


def test_no_flipped_bit_is_read_as_other_numbers(out):
    path = min((out / "results").iterdir())
    content, draw = path.read_bytes(), random.Random(3)
    for bit in [0, 8 * len(content) - 1, *draw.sample(range(8 * len(content)), 600)]:
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(Damaged):
            unseal(bytes(damaged))
    for cut in (0, 1, 63, 64, len(content) // 2, len(content) - 1):
        with pytest.raises(Damaged):
            unseal(content[:cut])
    with pytest.raises(Damaged):
        unseal(content + b"0")


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "other"])
def test_a_damaged_file_is_named_set_aside_and_computed_again(damage, out, whole, said):
    path = min((out / "results").iterdir())
    content = path.read_bytes()
    if damage == "flip":
        flip(path, 4 * len(content))
    else:
        path.write_bytes({"cut": content[:-9], "empty": b"", "other": seal({"x": np.zeros(3)}, [])}[damage])
    with pytest.raises(ValueError, match=rf"{path.name} is damaged: run its experiment again"):
        jfed.load(out)
    xr.testing.assert_identical(whole, run(WHERE, SEEDS, out=out))
    assert said() == [
        f"{path} is damaged: it was renamed to {path.name}.damaged, and its runs are computed again when they are"
        " requested."
    ]
    assert sorted(p.suffix for p in (out / "results").iterdir()) == [".damaged", ".npz", ".npz"]
    xr.testing.assert_identical(whole, jfed.load(out))


def test_a_damaged_manifest_stops_nothing(out, whole, said):
    for content in (b"[{", b"{}", b"\xff", b"7"):
        (out / "manifest.json").write_bytes(content)
        xr.testing.assert_identical(whole, jfed.load(out))
        min((out / "results").glob("*.npz")).unlink()
        xr.testing.assert_identical(whole, run(WHERE, SEEDS, out=out))
        assert len(json.loads((out / "manifest.json").read_text())) == 1
        assert (out / "manifest.json.damaged").read_bytes() == content
    assert len(said()) == 4 and "manifest.json is damaged: it was renamed to manifest.json.damaged" in said()[0]
    (out / "manifest.json").unlink()
    xr.testing.assert_identical(whole, run(WHERE, SEEDS, out=out))


def test_damaged_labels_cost_no_more_than_the_names(out, whole, said):
    run([jfed.Point(WHERE[0].config, {"method": "mine"})], SEEDS, out=out)
    assert set(jfed.load(out).method.values) == {"mine"}
    for content in (b"{", b"[]", b'{"a": 3}', b'{"a": [{"coords": 1, "open": 2}]}'):
        (out / "labels.json").write_bytes(content)
        xr.testing.assert_identical(whole, jfed.load(out))
        assert "labels.json is damaged" in said()[-1]
    xr.testing.assert_identical(whole, run(WHERE, SEEDS, out=out))
    assert not (out / "labels.json").exists()


def test_every_part_says_where_it_comes_from(out):
    for path in (out / "results").iterdir():
        told = parts.read(path, with_arrays=False).provenance
        assert {
            "date",
            "versions",
            "device",
            "num_devices",
            "commit",
            "seconds",
            "engine_code",
            "python",
        } <= told.keys()


# --------------------------------------------------------------------------------------- results of former versions


def former(dataset, path):
    """Write a file as former versions did."""
    plain = dataset.drop_vars(["run_id", "setting", "precision", "versions"]).drop_attrs()
    plain.assign_coords(config=("run", ["old"] * dataset.sizes["run"])).to_netcdf(path, engine="h5netcdf")


def test_old_and_new_results_are_loaded_together(whole, tmp_path):
    run(WHERE, [2, 3], out=tmp_path)
    former(whole.isel(run=[0, 1, 2]), tmp_path / "results" / "old.nc")
    found = jfed.load(tmp_path)
    assert found.seed.values.tolist() == SEEDS
    assert [bool(name) for name in found.run_id.values] == [False, False, True, True]  # the new one of seed 2
    for name, variable in whole.data_vars.items():
        np.testing.assert_array_equal(found[name], variable)
        assert found[name].attrs == variable.attrs
    xr.testing.assert_identical(whole.isel(run=[2]), run(WHERE, [2], out=tmp_path))


def test_a_damaged_old_file_is_one_sentence_and_never_a_hang(whole, tmp_path, monkeypatch):
    former(whole, tmp_path / "a.nc")
    former(whole, tmp_path / "b.nc")
    assert jfed.load(tmp_path).sizes["run"] == 4
    content = (tmp_path / "b.nc").read_bytes()
    (tmp_path / "b.nc").write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=r"b\.nc is damaged: delete it"):
        jfed.load(tmp_path)
    for stuck in ("import time; time.sleep(60)", "import os; os.abort()"):
        monkeypatch.setattr(netcdf, "LOOK", (sys.executable, "-c", stuck))
        monkeypatch.setattr(netcdf, "PATIENCE_S", 0.5)
        with pytest.raises(ValueError, match=r"a\.nc is damaged: delete it"):
            jfed.load(tmp_path)


@pytest.mark.proof
def test_no_flipped_bit_of_an_old_file_hangs_or_ends_the_process(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(netcdf, "PATIENCE_S", 20.0)
    former(whole, tmp_path / "a.nc")
    content, draw = (tmp_path / "a.nc").read_bytes(), random.Random(5)
    for bit in draw.sample(range(8 * len(content)), 40):
        (tmp_path / "a.nc").write_bytes(content)
        flip(tmp_path / "a.nc", bit)
        with contextlib.suppress(ValueError):  # HDF5 may not notice: former files have no checksum
            assert jfed.load(tmp_path).sizes
