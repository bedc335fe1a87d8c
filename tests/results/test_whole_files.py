"""What commands write is whole or not there: a file that cannot be finished leaves the one before it as it was."""

import errno
import os
import subprocess
import sys
from dataclasses import replace

import pandas as pd
import pytest
from matplotlib.figure import Figure

from jfed.commands import studyfile
from jfed.commands.flags import Settings, changed
from jfed.commands.output import Output
from jfed.core.errors import StorageError
from jfed.report.figures.style import save
from jfed.report.formats import write
from jfed.report.tables import Table
from jfed.results import export, journal, store

TABLE = Table("Gap", ("scheme", "gap"), "lr", (("uniform", "1.5"),), ("Mean.",), frozenset())
FRAME = pd.DataFrame({"scheme": ["uniform"], "seed": [3]})
# Each writes one or several files into a folder; a number tells two versions apart.
WRITERS = {
    "table": lambda folder, n: write(replace(TABLE, title=f"Gap {n}"), folder, "gap"),
    "figure": lambda folder, n: save(Figure((2.0 + n, 2.0)), folder, "gap"),
    "runs": lambda folder, n: Output(folder.parent).runs(FRAME.assign(n=n)) if folder.name == "tables" else None,
    "export": lambda folder, n: export.write(FRAME.assign(n=n), folder / "x.csv"),
    "parquet": lambda folder, n: export.write(FRAME.assign(n=n), folder / "x.parquet"),
    "looks": lambda folder, n: journal.look(folder, "accuracy", ["uniform"], 5 + n, "accuracy"),
    "flags": lambda folder, n: studyfile.write(changed(Settings(), out=folder, num_rounds=5 + n)),
}


def held(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("kind", WRITERS)
def test_a_full_disk_is_one_sentence_and_leaves_the_former_file(kind, tmp_path, monkeypatch):
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    folder, put = tmp_path / "tables", WRITERS[kind]
    put(folder, 0)
    before = held(folder)
    with monkeypatch.context() as patch:
        patch.setattr(store.os, "replace", full)
        with pytest.raises(StorageError, match=r"^The [\w' ]+ cannot be written to \S+: No space left on device\.$"):
            put(folder, 1)
    assert held(folder) == before
    put(folder, 1)
    assert held(folder).keys() == before.keys() and held(folder) != before


def full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_a_killed_command_left_is_removed_by_the_next_one(tmp_path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    dead, mine = (tmp_path / f"gap.csv.{store.HOST}.{pid}.0a1b.part" for pid in (ended.pid, os.getpid()))
    for path in (dead, mine):
        path.write_text("half")
    write(TABLE, tmp_path, "gap")
    assert mine.exists() and not dead.exists()


def test_a_reader_never_meets_half_a_file(tmp_path):
    with store.writing(tmp_path / "a" / "x.csv", "The table") as part:
        part.write_text("half")
        assert not (tmp_path / "a" / "x.csv").exists()
        part.write_text("whole")
    assert held(tmp_path / "a") == {"x.csv": b"whole"}
