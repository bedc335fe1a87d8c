"""A directory of results: a file per unit, written whole and renamed, and a manifest beside them. Needs no jax."""

from __future__ import annotations

import contextlib
import datetime
import functools
import json
import logging
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from jfed.core.errors import ConfigError, StorageError
from jfed.core.version import __version__

PACKAGES = ("jax", "jaxlib", "flax", "optax", "numpy", "xarray")

log = logging.getLogger("jfed")


def prepare(out: Path) -> Path:
    """Make the directory of results.

    Raises:
        ConfigError: it cannot be made or written to.
    """
    try:
        (out / "results").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"Results cannot be written to {out}: {error.strerror}.") from error
    return out


@contextlib.contextmanager
def lock(out: Path) -> Iterator[None]:
    """Keep a directory of results to this process. The system frees it when the process ends, however it ends.

    Where the platform or the file system has no locks, nothing is kept.

    Raises:
        ConfigError: another process has it; the message says who.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    try:
        file = os.open(out / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise ConfigError(f"Results cannot be written to {out}: {error.strerror}.") from error
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(file, 4096).decode() or "another process"
            raise ConfigError(f"{out} is in use by {holder}: wait for it, or write to another directory.") from error
        except OSError as error:
            log.warning(f"{out} cannot be locked ({error.strerror}): let no second command write to it.")
        since = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
        holder = f"process {os.getpid()} on {platform.node()} since {since} ({shlex.join(sys.argv)})"
        with contextlib.suppress(OSError):  # a full disk: the lock holds without a name
            os.ftruncate(file, 0)
            os.write(file, holder.encode()[:4096])
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                os.ftruncate(file, 0)
    finally:
        os.close(file)


def unit_path(out: Path, unit_id: str) -> Path:
    """Where a unit's file stands."""
    return out / "results" / f"{unit_id}.npz"


def checkpoint_folder(out: Path, unit_id: str) -> Path:
    """Where a unit's checkpoints stand until its file is in place."""
    return out / "checkpoints" / unit_id


def write_whole(path: Path, content: bytes | memoryview) -> None:
    """Write and sync under a temporary name, then rename, so that a file that exists is complete."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with open(part, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    if os.name == "posix":  # elsewhere a directory cannot be opened
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_unit(out: Path, unit_id: str, content: bytes) -> Path:
    """Put a unit's file in place, remove its checkpoints, and return where the file is.

    Raises:
        StorageError: it cannot be written; no part of it is left.
    """
    path = unit_path(out, unit_id)
    try:
        write_whole(path, content)
    except OSError as error:
        raise StorageError(
            f"A result cannot be written to {path.parent} ({error.strerror}); finished units are kept, and the same"
            " command goes on from there."
        ) from error
    shutil.rmtree(checkpoint_folder(out, unit_id), ignore_errors=True)
    return path


def files(path: Path, endings: tuple[str, ...] = (".npz",)) -> list[Path]:
    """Return the files of results in an `--out`, or in its `results` folder itself."""
    folder = path / "results" if (path / "results").is_dir() else path
    return sorted(file for file in folder.glob("*") if file.suffix in endings)


def remove_leftovers(out: Path, needless: Callable[[Path], bool]) -> None:
    """Remove what a killed process left: half-written files, and folders of checkpoints that nothing needs."""
    for part in [*out.glob("*.part"), *out.glob("results/*.part")]:
        part.unlink(missing_ok=True)
    for folder in out.glob("checkpoints/*"):
        if needless(folder):
            shutil.rmtree(folder, ignore_errors=True)


def provenance() -> dict[str, Any]:
    """Return what is known of this process and moment: date, versions, machine and commit."""
    return {"date": datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"), **_process()}


@functools.cache
def _process() -> dict[str, Any]:
    return {
        "versions": {name: metadata.version(name) for name in PACKAGES} | {"jfed": __version__},
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "commit": _commit(),
    }


def write_manifest(out: Path, entry: Mapping[str, Any]) -> None:
    """Add what a command did to `manifest.json`: versions, device, commit, and the entry's own fields."""
    path = out / "manifest.json"
    try:
        history = json.loads(path.read_bytes()) if path.exists() else []
        history.append(provenance() | dict(entry))
    except (OSError, ValueError, AttributeError):
        history = [provenance() | dict(entry)]
        aside = path.with_name(f"{path.name}.damaged")
        with contextlib.suppress(OSError):
            os.replace(path, aside)
        log.warning(f"{path} is damaged: it is called {aside.name} now, and a new one begins.")
    try:
        write_whole(path, (json.dumps(history, indent=1) + "\n").encode())
    except OSError as error:
        log.warning(f"{path} cannot be written ({error.strerror}): what was just done is not listed there.")


def _commit() -> str | None:
    here = Path(__file__).parent
    try:
        done = subprocess.run(
            ["git", "-C", str(here), "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
        )
    except OSError:  # no git
        return None
    return done.stdout.strip() or None
