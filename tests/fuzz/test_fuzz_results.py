"""Any bytes in place of the files of a directory of results: what they held, or one sentence."""

import json
import logging
import shutil

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import SELECTION, points, run

import jfed
from jfed.report.contents import contents
from jfed.report.kept import kept
from jfed.report.page.settings import origin
from jfed.results import index, journal, parts, sealed, store
from jfed.runner import checkpoint
from jfed.runner.executors import shared
from jfed.runner.units import Layout
from tests.fuzz.damage import VALUES, answered, changed, damaged, fuzz, told

pytestmark = pytest.mark.proof

WHERE, SEEDS, LAYOUT = points(SELECTION, "uniform"), [0, 1], Layout(block_size=2, chunk_rounds=6)
NAMES = {"kind": [{"coords": {"method": "mine", "mode": "faithful", "k": 3}, "open": ["selector.eta"], "turn": 1}]}
PLAN = {
    "looks": [10, 20], "baseline": "uniform", "alpha": 0.05, "test": "t", "correction": "holm",
    "spending": "pocock", "after": [5],
}  # fmt: skip
LOOKS = {"primary": "x", "looks": {"x": {"against uniform | t": [5, 10]}}, "plans": {"x": PLAN}}
TABLES = {
    "tables": [
        {"title": "Gap", "columns": ["a", "b"], "align": "lr", "rows": [["u", "1"]], "notes": ["N."], "bold": [[0, 1]]}
    ]
}
STATE = {"state.x": np.arange(4.0), "record.n": np.zeros((3, 4), np.int32)}
LIKE = {"state.x": jax.ShapeDtypeStruct((4,), np.dtype(float))}


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz") / "out"
    run(WHERE, SEEDS, LAYOUT, out=folder)
    return folder


@pytest.fixture(autouse=True)
def quiet(caplog):
    caplog.set_level(logging.CRITICAL, "jfed")


@fuzz(0.5)
@given(data=st.data())
def test_results(out, data):
    path = next((out / "results").glob("*.npz"))
    whole = path.read_bytes()
    try:
        content = data.draw(damaged([whole]))
        path.write_bytes(content)
        found = answered(jfed.load, out)
        assert (found is None) == (content != whole)  # the seal is over every bit
        assert bool(index.survey(out, [path], set_aside=True).runs) == path.exists() == (content == whole)
    finally:
        path.write_bytes(whole)


@fuzz()
@given(data=st.data())
def test_results_with_a_seal_around_something_else(out, data):
    arrays, about = sealed.unseal(next((out / "results").glob("*.npz")).read_bytes())
    path = out / "other.npz"
    path.write_bytes(sealed.seal(arrays, data.draw(changed(about) | VALUES)))
    found = answered(parts.read, path)
    if found is not None:
        index.Index().add(path, found)
        assert all(len(found.dims[name]) == array.ndim for name, array in found.arrays.items())
    path.unlink()


@fuzz(0.5)
@given(data=st.data())
def test_labels(out, data):
    (kind,) = index.survey(out, store.files(out), set_aside=False).kinds
    (out / "labels.json").write_bytes(data.draw(told({kind: NAMES["kind"]})))
    found = answered(jfed.load, out)
    assert found is not None and found.sizes["run"] == len(SEEDS)
    (out / "labels.json").unlink()


@fuzz(0.5)
@given(data=st.data())
def test_manifest(out, data):
    path = out / "manifest.json"
    before = path.read_bytes()
    try:
        path.write_bytes(data.draw(told(json.loads(before))))
        assert contents(out) and origin(out, out).configs
        store.write_manifest(out, {"units": []})
        assert json.loads(path.read_bytes())[-1]["units"] == []
    finally:
        path.write_bytes(before)


@fuzz()
@given(content=told(LOOKS))
def test_looks(tmp_path_factory, content):
    folder = tmp_path_factory.getbasetemp() / "looks"
    folder.mkdir(exist_ok=True)
    (folder / journal.FILE).write_bytes(content)
    answered(journal.planned, folder, "x")
    found = answered(journal.look, folder, "x", ["against uniform", "t"], 20, "x")
    if found is not None:
        assert all(type(n) is int and n < 20 for n in found.before) and isinstance(found.primary, str)
    answered(journal.require_plan, folder, "x", journal.Plan((10,), "uniform", 0.05, "t", "holm", "pocock"))


@fuzz()
@given(content=told(TABLES))
def test_kept_tables(tmp_path_factory, content):
    folder = tmp_path_factory.getbasetemp() / "kept"
    folder.mkdir(exist_ok=True)
    (folder / "report.json").write_bytes(content)
    for table in kept(folder):
        assert all(len(row) == len(table.columns) == len(table.align) for row in table.rows)


@fuzz()
@given(data=st.data(), name=st.sampled_from(["00000003.npz", "3.npz", "x.npz", "-1.npz", "00000003-a.npz"]))
def test_checkpoints(tmp_path_factory, data, name):
    folder = tmp_path_factory.getbasetemp() / "checkpoints" / "unit"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    about = {"jax": jax.__version__}
    whole = sealed.seal(STATE, about)
    resealed = st.sampled_from([[], None, {}, 3]).map(lambda made: sealed.seal(STATE, made))
    (folder / name).write_bytes(data.draw(damaged([whole]) | resealed))
    found = checkpoint.load(folder, LIKE, {"record.n"})
    assert found.round in (0, 3)
    for array, like in ((found.arrays[n], STATE[n]) for n in found.arrays):
        assert array.tobytes() == like.tobytes()
    (folder / checkpoint.RUNS).write_bytes(data.draw(told({"runs": ["a", "b"], "block_size": 2})))
    begun = checkpoint.begun(folder)
    assert begun is None or all(isinstance(run, str) for run in begun["runs"])


@fuzz(0.1)
@given(data=st.data())
def test_plans(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp() / "planned"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared, "_taken", lambda *_: ())  # nothing is computed: the plan alone is read
        shutil.rmtree(folder, ignore_errors=True)
        shared.work(WHERE, SEEDS, folder, LAYOUT, progress=False)
        (path,) = folder.glob("plans/*.json")
        path.write_bytes(data.draw(told(json.loads(path.read_bytes()))))
        found = answered(lambda: shared.work(WHERE, SEEDS, folder, LAYOUT, progress=False))
    assert found is None or found[0] == 0
