"""Faults that random damage has found in readers of files: each is a sentence, or nothing, and never a traceback."""

import gzip
import io
import json
import logging
import struct
import zipfile

import numpy as np
import pytest

from jfed.commands import studyfile
from jfed.core.errors import ConfigError, DataError
from jfed.data import formats
from jfed.data.arrays import from_file
from jfed.report.contents import contents
from jfed.report.kept import kept
from jfed.results import index, journal, parts, records, sealed, store
from jfed.results.anycsv import cells
from jfed.results.frames import read_csv

DEEP = b"[" * 100_000


def test_a_gzip_file_that_holds_more_than_any_data_set_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "MOST_BYTES", 1000)
    path, head = tmp_path / "a.gz", struct.pack(">HBBI", 0, 8, 1, 992)
    path.write_bytes(gzip.compress(head + bytes(992)))
    assert formats.read_idx(path, 1).shape == (992,)
    path.write_bytes(gzip.compress(bytes(1 << 20)))
    with pytest.raises(DataError, match=r"a\.gz holds more than 1,000 bytes, which no file of a known data set does"):
        formats.read_idx(path, 1)


@pytest.mark.parametrize("shape", ["(1000000000, 1000000000)", "(7, 2, 2)", "(-5, 2, 2)"])
def test_an_array_has_the_size_that_its_header_says(shape, tmp_path):
    buffer = io.BytesIO()
    np.savez(buffer, images=np.zeros((5, 2, 2), np.uint8), labels=np.array([0, 1, 0, 1, 0]))
    path = tmp_path / "own.npz"
    path.write_bytes(buffer.getvalue())
    assert len(from_file(path).content.images) == 5
    with zipfile.ZipFile(buffer) as whole, zipfile.ZipFile(path, "w") as made:
        for name in whole.namelist():
            given = whole.read(name)
            made.writestr(name, given.replace(b"(5, 2, 2), }" + b" " * (len(shape) - 9), shape.encode() + b", }"))
    with pytest.raises(DataError, match=r"own\.npz cannot be read as an npz file .*: write it with numpy\.savez"):
        from_file(path)


def test_a_long_name_of_a_data_set_is_not_printed(tmp_path):
    path = tmp_path / "own.npz"
    np.savez(path, images=np.zeros((2, 2, 2), np.uint8), labels=np.array([0, 1]), name=np.array("a" * 10_000))
    with pytest.raises(DataError, match="a data set's name has 1 to 100 letters") as caught:
        from_file(path)
    assert len(str(caught.value)) < 500


def test_a_table_of_a_million_columns_is_refused_at_once(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text("scheme,seed," + ",".join(f"x{i}" for i in range(10**6)) + "\na,0" + ",1" * 10**6 + "\n")
    with pytest.raises(ValueError, match=r"wide\.csv has 1,000,002 columns in line 1: a table has 10,000 at most"):
        read_csv(path)
    assert cells.MOST_COLUMNS == 10_000


def test_flags_that_are_nested_too_deeply(tmp_path):
    path = tmp_path / "study.toml"
    for text in ("x = " + "[" * 100_000, "x = " + "9" * 5000):
        path.write_text(text)
        with pytest.raises(ConfigError, match=r"study\.toml is not TOML: "):
            studyfile.read(path)


@pytest.mark.parametrize(
    "content",
    [DEEP, b"{}", b"[3]", b'[{"date": 3}]', b'[{"seconds": "x"}]', b'[{"seconds": Infinity}]', b'[{"versions": []}]'],
)
def test_a_manifest_is_a_list_of_commands(content, tmp_path):
    path = tmp_path / "manifest.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"not a list of commands|nested too deeply"):
        records.manifest(tmp_path)
    store.write_manifest(tmp_path, {"units": []})
    assert len(json.loads(path.read_bytes())) == 1
    assert path.with_name("manifest.json.damaged").read_bytes() == content


@pytest.mark.parametrize(
    "one",
    [
        {"coords": {"method": "a"}, "open": []},  # without a mode, results cannot be put in order
        {"coords": {"method": "a", "mode": 3}, "open": []},
        {"coords": {"method": "a", "mode": "b", "k": [1]}, "open": []},
        {"coords": {"method": "a", "mode": "b"}, "open": [3]},
        {"coords": {"method": "a", "mode": "b"}, "open": [], "turn": float("inf")},
    ],
)
def test_labels_name_runs_by_plain_values(one, tmp_path, caplog):
    caplog.set_level(logging.WARNING, "jfed")
    good = {"coords": {"method": "a", "mode": "b", "k": 3}, "open": ["selector.eta"], "turn": 1}
    for called, count in ((good, 1), (one, 0)):
        (tmp_path / "labels.json").write_text(json.dumps({"kind": [called]}))
        assert len(index.survey(tmp_path, [], set_aside=False).labels) == count
    assert len(caplog.messages) == 1 and "labels.json is damaged" in caplog.text


@pytest.mark.parametrize("change", [{"alpha": "x"}, {"alpha": 2.0}, {"test": None}, {"looks": [True]}, {"looks": "12"}])
def test_a_plan_of_looks_has_the_types_of_its_choices(change, tmp_path):
    plan = journal.Plan((10, 20), "uniform", 0.05, "t", "holm", "pocock")
    journal.plan(tmp_path, "x", plan)
    assert journal.planned(tmp_path, "x") == plan
    path = tmp_path / journal.FILE
    known = json.loads(path.read_bytes())
    known["plans"]["x"] |= change
    for content in (json.dumps(known).encode(), DEEP, b'{"looks": {}, "plans": []}', b'{"looks": [], "plans": {}}'):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"looks\.json is damaged: it remembers which numbers of seeds"):
            journal.planned(tmp_path, "x")


@pytest.mark.parametrize(
    "change", [{"title": 3}, {"rows": [["a"]]}, {"rows": [[1, 2]]}, {"align": "l"}, {"notes": [{}]}]
)
def test_a_kept_table_is_made_of_texts_and_is_a_rectangle(change, tmp_path):
    table = {"title": "Gap", "columns": ["a", "b"], "align": "lr", "rows": [["u", "1"]], "notes": [], "bold": []}
    for made, count in ((table, 1), (table | change, 0)):
        (tmp_path / "report.json").write_text(json.dumps({"tables": [made]}))
        assert len(kept(tmp_path)) == count
    (tmp_path / "report.json").write_bytes(DEEP)
    assert kept(tmp_path) == []


@pytest.mark.parametrize("about", [[], {}, {"format": 1}, {"format": 1, "dims": 3}, None])
def test_a_sealed_file_of_something_else_is_no_result(about, tmp_path):
    path = tmp_path / "x.npz"
    path.write_bytes(sealed.seal({"x": np.zeros(3)}, about))
    with pytest.raises(sealed.Damaged, match="was not written by this version of jfed"):
        parts.read(path)
    with pytest.raises(ValueError, match=r"x\.npz is damaged: run its experiment again"):
        contents(path)
