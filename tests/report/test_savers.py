"""Figures that other processes save: the same files, whatever happens to a process."""

import subprocess
import sys

import matplotlib as mpl
import pytest

from jfed.core.errors import StorageError
from jfed.report.figures import savers
from jfed.report.figures.savers import Savers
from jfed.report.figures.style import RC, new_figure, save


@pytest.fixture
def two_cores(monkeypatch):
    monkeypatch.setattr(savers.os, "sched_getaffinity", lambda _: {0, 1}, raising=False)


def figure(text):
    with mpl.rc_context(RC):
        made = new_figure(3, 2, text, "One line.")
        made.subplots().plot([1, 2], [3, 4])
    return made


def files(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.check
def test_processes_save_the_files_that_the_caller_would(two_cores, tmp_path):
    here, there, saving = tmp_path / "here", tmp_path / "there", Savers()
    for stem in "abc":
        save(figure(stem), here, stem)
        assert [path.name for path in saving.save(figure(stem), there, stem)] == [f"{stem}.png", f"{stem}.pdf"]
    saving._jobs.join()  # the processes alone, without the caller's help
    assert not saving._unsaved and files(here) == files(there) and len(files(here)) == 6


def test_on_one_core_the_caller_saves(monkeypatch, tmp_path):
    monkeypatch.setattr(savers.os, "sched_getaffinity", lambda _: {0}, raising=False)
    monkeypatch.setattr(savers, "_started", lambda: pytest.fail("a process was started"))
    saving = Savers()
    saving.save(figure("a"), tmp_path, "a")
    assert not list(tmp_path.iterdir())
    saving.finish()
    assert set(files(tmp_path)) == {"a.png", "a.pdf"}


def test_the_caller_saves_what_a_process_cannot(two_cores, monkeypatch, tmp_path):
    def dead():
        return subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    monkeypatch.setattr(savers, "_started", dead)
    saving, odd = Savers(), figure("a")
    odd.gca().format_coord = lambda x, y: ""  # a function without a name cannot be pickled
    for stem, drawn in {"a": odd, "b": figure("b")}.items():
        saving.save(drawn, tmp_path, stem)
    saving.finish()
    assert set(files(tmp_path)) == {"a.png", "a.pdf", "b.png", "b.pdf"}


def test_a_figure_that_cannot_be_written_is_an_error_of_the_caller(two_cores, tmp_path):
    (tmp_path / "file").write_text("")
    saving = Savers()
    saving.save(figure("a"), tmp_path / "file", "a")
    with pytest.raises(StorageError, match=r"^The figure cannot be written to .*file/a\.png: File exists\.$"):
        saving.finish()
