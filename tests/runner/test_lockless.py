"""A file system without locks: of two processes on one directory, the second is refused before it touches anything."""

import contextlib
import errno
import os

import pytest
from support import SELECTION, points, run

from jfed.core.errors import ConfigError
from jfed.results import store

fcntl = pytest.importorskip("fcntl", reason="no locks on this platform")

IN_USE = rf"is in use by process {os.getpid()} on .*: wait for it.*Its file system has no locks"


@pytest.fixture(autouse=True)
def no_locks(monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)


@pytest.mark.parametrize(("first", "second"), [(False, False), (False, True), (True, False), (True, True)])
def test_who_shares_a_directory(first, second, tmp_path):
    both = pytest.raises(ConfigError, match=IN_USE) if not (first and second) else contextlib.nullcontext()
    with store.lock(tmp_path, shared=first):
        with both, store.lock(tmp_path, shared=second):
            pass
        assert len(list((tmp_path / "leases").iterdir())) == 1  # that of the first, which still holds it
    with store.lock(tmp_path, shared=second):
        pass
    assert list((tmp_path / "leases").iterdir()) == []


def test_a_killed_process_counts_as_dead_after_a_while(tmp_path):
    (tmp_path / "leases").mkdir()
    for name in ("alone", "beside.elsewhere.7.0a1b"):
        lease = tmp_path / "leases" / name
        lease.write_text("process 7 on elsewhere\n")
        with pytest.raises(ConfigError, match="is in use by process 7 on elsewhere"), store.lock(tmp_path):
            pass
        os.utime(lease, (0, 0))
        with store.lock(tmp_path):
            pass


def test_a_second_command_deletes_nothing_of_the_first(tmp_path):
    where = points(SELECTION, "uniform")
    run(where, [0, 1], out=tmp_path)
    begun = tmp_path / "checkpoints" / "unit"  # of another process: it has made the folder, and writes what is in it
    begun.mkdir(parents=True)
    with store.lock(tmp_path), pytest.raises(ConfigError, match=IN_USE):
        run(where, [0, 1, 2], out=tmp_path)
    assert begun.is_dir()
    run(where, [0, 1, 2], out=tmp_path)
    assert not begun.exists() and len(list(tmp_path.glob("results/*"))) == 2
