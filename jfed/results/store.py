"""A directory of results: a file per unit, written whole and renamed, and a manifest beside them. It needs no jax."""

from __future__ import annotations

import contextlib
import datetime
import functools
import glob
import json
import logging
import os
import platform
import secrets
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from jfed.core.errors import ConfigError, StorageError
from jfed.core.version import __version__
from jfed.results import records
from jfed.results.lease import DEAD_S, HOST, Leases

DAY_S = 86_400
PACKAGES = ("jax", "jaxlib", "flax", "optax", "numpy", "xarray")

log = logging.getLogger("jfed")


def prepare(out: Path) -> Path:
    """Make the directory of results and return it.

    Raises:
        ConfigError: the directory cannot be made.
    """
    try:
        (out / "results").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"Results cannot be written to {out}: {error.strerror}.") from error
    return out


@contextlib.contextmanager
def lock(out: Path, shared: bool = False) -> Iterator[None]:
    """Lock a directory of results for this process. The system frees the lock when the process ends, however it ends.

    A `shared` lock is one that other processes may share, but not hold alone.

    On a platform without locks nothing is locked; on a file system without locks a lease takes the lock's place, which
    lasts a while longer than a process that was killed.

    Raises:
        ConfigError: another process, which the message names, has the lock; or the directory cannot be written to.
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
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, file)
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(file, 4096).decode(errors="replace") or "another process"
            raise ConfigError(f"{out} is in use by {holder}: wait for it, or write to another directory.") from error
        except OSError:
            stack.enter_context(_leased(out, shared))
        since = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
        holder = f"process {os.getpid()} on {platform.node()} since {since} ({shlex.join(sys.argv)})"
        with contextlib.suppress(OSError):  # a full disk: the lock holds without its holder's name (of those that
            # share it, the last one's)
            os.ftruncate(file, 0)
            os.write(file, holder.encode()[:4096])
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                os.ftruncate(file, 0)


@contextlib.contextmanager
def _leased(out: Path, shared: bool) -> Iterator[None]:
    """Hold a lease of a directory of results, alone or beside others.

    Each process first takes its own lease and then looks for those of others, so that two that begin at the same time
    may both be refused, but not both go on.
    """
    own = f"beside.{HOST}.{os.getpid()}.{secrets.token_hex(4)}" if shared else "alone"
    with Leases(out / "leases") as leases:
        taken = leases.take(own)
        found = leases.others("alone" if shared else "beside.*") if taken else [out / "leases" / own]
        if found:
            raise ConfigError(
                f"{out} is in use by {_holder(found[0])}: wait for it, or write to another directory. (Its file system"
                f" has no locks: a process that was killed counts as one that works for {DEAD_S:g} s.)"
            )
        yield


def _holder(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip() or "another process"
    except OSError:
        return "another process"


def unit_path(out: Path, unit_id: str) -> Path:
    """Return the path of a unit's file."""
    return out / "results" / f"{unit_id}.npz"


def checkpoint_folder(out: Path, unit_id: str) -> Path:
    """Return the folder of a unit's checkpoints, which is removed when the unit's file is written."""
    return out / "checkpoints" / unit_id


def write_whole(path: Path, content: bytes | memoryview) -> None:
    """Write and sync a file under a temporary name, then rename it, so that a file that exists is complete."""
    with _part(path) as part, open(part, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    if os.name == "posix":  # elsewhere a directory cannot be opened
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextlib.contextmanager
def writing(path: Path, what: str) -> Iterator[Path]:
    """Yield the temporary name of a file to write, and rename it in the end; missing folders are made.

    It is for what a command makes anew from results: unlike results, it is not synced, which takes long.

    Args:
        path: final name of the file.
        what: what the file is, for the message: "The table".

    Raises:
        StorageError: the file cannot be written; one that was there before stays as it was.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for part in path.parent.glob(f"{glob.escape(path.name)}.*.part"):
            remove_abandoned(part)
        with _part(path) as part:
            yield part
    except OSError as error:
        raise StorageError(f"{what} cannot be written to {path}: {error.strerror or error}.") from error


@contextlib.contextmanager
def _part(path: Path) -> Iterator[Path]:
    """Yield a temporary name beside a path, and rename what was written there."""
    part = path.with_name(f"{path.name}.{HOST}.{os.getpid()}.{secrets.token_hex(4)}.part")
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def require_there(out: Path) -> None:
    """Raise ConfigError if a directory of results is gone, which a command has made and works on."""
    if not (out / "results").is_dir():
        raise ConfigError(
            f"{out / 'results'} is gone: something removed it while this command wrote to it. What was in it is lost:"
            " repeat the command to compute it again."
        )


def write_unit(out: Path, unit_id: str, content: bytes) -> Path:
    """Write a unit's file, remove the unit's checkpoints, and return the path of the file.

    Raises:
        ConfigError: the directory is gone.
        StorageError: the file cannot be written; no part of it is left.
    """
    path = unit_path(out, unit_id)
    try:
        write_whole(path, content)
    except OSError as error:
        require_there(out)
        raise StorageError(
            f"A result cannot be written to {path.parent} ({error.strerror}); finished units are kept: repeat the"
            " command to resume."
        ) from error
    shutil.rmtree(checkpoint_folder(out, unit_id), ignore_errors=True)
    return path


def files(path: Path, endings: tuple[str, ...] = (".npz",)) -> list[Path]:
    """Return the result files of an `--out` directory, or of its `results` folder."""
    folder = path / "results" if (path / "results").is_dir() else path
    return sorted(file for file in folder.glob("*") if file.suffix in endings)


def remove_leftovers(out: Path, needless: Callable[[Path], bool]) -> None:
    """Remove the leftovers of killed processes: half-written files, and folders of checkpoints that are needless."""
    for part in [*out.glob("*.part"), *out.glob("results/*.part"), *out.glob("checkpoints/*/*.part")]:
        remove_abandoned(part)
    for folder in out.glob("checkpoints/*"):
        if needless(folder):
            shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned(part: Path) -> None:
    """Remove a half-written file unless its process may still write it: one that lives here, or today's elsewhere."""
    host, _, pid = part.name.removesuffix(".part").rpartition(".")[0].rpartition(".")
    with contextlib.suppress(OSError):
        here = host.endswith(f".{HOST}") and pid.isdecimal()
        alive = psutil.pid_exists(int(pid)) if here else time.time() - part.stat().st_mtime < DAY_S
        if not alive:
            part.unlink(missing_ok=True)


def provenance() -> dict[str, Any]:
    """Return the provenance of results made now: date, versions, machine and commit."""
    return {"date": datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"), **_process()}


@functools.cache
def _process() -> dict[str, Any]:
    return {
        "versions": {name: metadata.version(name) for name in PACKAGES} | {"jfed": __version__},
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "commit": _commit(),
    }


def command() -> str | None:
    """Return the command line of this process; None if it is neither a script nor a command of jfed."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    if spec is not None and spec.name.split(".")[0] == "experiments":
        program = f"python -m {spec.name}"
    elif Path(sys.argv[0]).name == "jfed" or (spec is not None and spec.name == "jfed.__main__"):
        program = "jfed"
    elif spec is None and sys.argv[0].endswith(".py"):
        program = f"python {shlex.quote(sys.argv[0])}"
    else:
        return None
    return " ".join([program, shlex.join(sys.argv[1:])]).strip()


def write_manifest(out: Path, entry: Mapping[str, Any]) -> None:
    """Add a command's entry to `manifest.json`, with the date, the command line, versions, machine and commit."""
    path = out / "manifest.json"
    try:
        history = records.manifest(out)
    except (OSError, ValueError):
        history = []
        put_aside(path, "a new one begins")
    history.append(provenance() | {"command": command()} | dict(entry))
    try:
        write_whole(path, (json.dumps(history, indent=1) + "\n").encode())
    except FileNotFoundError:  # the directory is gone, which the end of the command says
        return
    except OSError as error:
        log.warning(f"{path} cannot be written ({error.strerror}): this command is not listed in it.")


def put_aside(path: Path, then: str) -> None:
    """Rename a damaged file so that nothing reads it again, with a warning."""
    aside = path.with_name(f"{path.name}.damaged")
    try:
        os.replace(path, aside)
        renamed = f"it was renamed to {aside.name}"
    except OSError as error:  # a read-only directory
        renamed = f"it cannot be renamed ({error.strerror})"
    log.warning(f"{path} is damaged: {renamed}, and {then}.")


def _commit() -> str | None:
    here = Path(__file__).parent
    try:
        done = subprocess.run(
            ["git", "-C", str(here), "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
        )
    except OSError:  # no git
        return None
    return done.stdout.strip() or None
