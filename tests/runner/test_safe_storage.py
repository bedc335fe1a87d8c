"""Disks that are full, and directories that another process writes to."""

import contextlib
import dataclasses
import errno
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
import xarray as xr
from support import LAYOUT, SELECTION, points, run

import jfed
from jfed.core.errors import ConfigError, StorageError
from jfed.results import store

WHERE = points(SELECTION, "uniform")
SEEDS = [0, 1, 2, 3]
EVERY = dataclasses.replace(LAYOUT, checkpoint_s=0.0)


@pytest.fixture(scope="module")
def whole():
    """Return the results of two units that were not interrupted."""
    return run(WHERE, SEEDS)


@pytest.fixture
def full(monkeypatch):
    """Return a function that makes writing below a folder fail as on a full disk, after the first few files."""

    def fill(folder, fitting=0):
        real, count = os.fsync, []

        def fsync(file):
            name = os.readlink(f"/proc/self/fd/{file}")
            if name.endswith(".part") and f"/{folder}/" in name:
                count.append(name)
                if len(count) > fitting:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            real(file)

        monkeypatch.setattr(store.os, "fsync", fsync)
        return count

    yield fill
    monkeypatch.undo()


needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="names of open files are read from /proc")


def files(out):
    return sorted(p.name for p in out.rglob("*") if p.is_file())


@needs_proc
def test_a_checkpoint_that_cannot_be_written_is_said_once_and_stops_nothing(whole, full, tmp_path, caplog):
    caplog.set_level(logging.WARNING, "jfed")
    count = full("checkpoints")
    xr.testing.assert_identical(whole, run(WHERE, SEEDS, EVERY, out=tmp_path))
    assert len(count) == 2  # of the first unit, after each of two chunks
    (record,) = caplog.records
    assert record.getMessage() == (
        f"A checkpoint cannot be written to {tmp_path} (No space left on device): continuing without it."
    )
    assert not list(tmp_path.glob("checkpoints/*/*")) and not list(tmp_path.rglob("*.part"))


@needs_proc
def test_a_result_that_cannot_be_written_is_one_sentence_and_keeps_the_others(whole, full, tmp_path, monkeypatch):
    full("results", fitting=1)
    with pytest.raises(StorageError, match=r"A result cannot be written .*No space left on device.*repeat the command"):
        run(WHERE, SEEDS, EVERY, out=tmp_path)
    assert isinstance(StorageError(), ConfigError)  # commands catch that
    assert len(list(tmp_path.glob("results/*"))) == 1
    assert len(list(tmp_path.glob("checkpoints/*/*.npz"))) == 2  # of the unit that was not written
    assert not [n for n in files(tmp_path) if n.endswith(".part")]
    xr.testing.assert_identical(whole.isel(run=[0, 1]), jfed.load(tmp_path))
    monkeypatch.undo()
    xr.testing.assert_identical(whole, run(WHERE, SEEDS, out=tmp_path))


def test_a_directory_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"^Results cannot be written to .*/file/out: Not a directory\.$"):
        run(WHERE, [0], out=tmp_path / "file" / "out")


def test_what_a_killed_process_left_is_removed(whole, tmp_path):
    run(WHERE, SEEDS[:2], out=tmp_path)
    (done,) = tmp_path.glob("results/*.npz")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    mine, theirs = f"{store.HOST}.{ended.pid}.0a1b.part", "another.7.0a1b.part"
    left = [done.with_name(f"x.npz.{mine}"), tmp_path / f"manifest.json.{mine}", tmp_path / f"labels.json.{theirs}"]
    left.append(store.checkpoint_folder(tmp_path, done.stem) / "00000002-x.npz")
    left[-1].parent.mkdir(parents=True)
    # Processes that live here, or may live on another machine, still write these.
    written = [done.with_name(f"x.npz.{store.HOST}.{os.getpid()}.0a1b.part"), done.with_name(f"x.npz.{theirs}")]
    for path in [*left, *written]:
        path.write_bytes(b"half")
    os.utime(left[2], (0, 0))
    xr.testing.assert_identical(whole, run(WHERE, SEEDS, out=tmp_path))
    assert not any(path.exists() for path in left) and all(path.exists() for path in written)


# ---------------------------------------------------------------------------------------------------- lock

HOLD = """
import sys, time
from pathlib import Path
from jfed.results import store
with store.lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@contextlib.contextmanager
def holder(out):
    env = os.environ | {"PYTHONPATH": str(Path(jfed.__file__).parents[1])}
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(out)], stdout=subprocess.PIPE, text=True, env=env)
    try:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_second_process_is_refused_until_the_first_is_dead(whole, tmp_path):
    pytest.importorskip("fcntl", reason="no locks on this platform")
    with holder(tmp_path) as process:
        with pytest.raises(ConfigError) as caught:
            run(WHERE, SEEDS, out=tmp_path)
        message = str(caught.value)
        for fact in (str(tmp_path), f"process {process.pid} on {os.uname().nodename} since 2", "(-c "):
            assert fact in message
        assert (tmp_path / "lock").read_text() in message
        assert not list(tmp_path.glob("results/*"))
    xr.testing.assert_identical(whole, run(WHERE, SEEDS, out=tmp_path))  # after SIGKILL
    assert (tmp_path / "lock").read_text() == ""
    with holder(tmp_path):  # reading needs no lock
        xr.testing.assert_identical(whole, run(WHERE, SEEDS, out=tmp_path))


def test_without_locks_on_a_platform_everything_else_works(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with store.lock(tmp_path), store.lock(tmp_path):
        assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------------------------------------- a real disk


@pytest.mark.proof
def test_on_a_real_disk_that_is_full(whole, tmp_path, caplog):
    caplog.set_level(logging.WARNING, "jfed")
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tmp_path)]
    try:
        made = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        made = False
    if not made:
        pytest.skip("a small file system cannot be mounted here")
    try:
        filler = tmp_path / "filler"
        (tmp_path / "results").mkdir()
        with contextlib.suppress(OSError), filler.open("wb") as file:
            file.write(bytes(1 << 20))
        with pytest.raises(StorageError, match="No space left on device"):
            run(WHERE, SEEDS, EVERY, out=tmp_path)
        assert caplog.messages[0].endswith("(No space left on device): continuing without it.")
        assert set(files(tmp_path)) <= {"filler", "lock"}
        filler.unlink()
        xr.testing.assert_identical(whole.isel(run=[0, 1]), run(WHERE, SEEDS[:2], out=tmp_path))
    finally:
        subprocess.run(["umount", "-l", str(tmp_path)], check=True)
