"""The side of a worker: it computes the units that a driver hands to it, and tells what it is doing."""

import logging
import os
import queue
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import jax

from jfed import catalog
from jfed.core import code
from jfed.core.errors import ConfigError, Unfinished
from jfed.core.version import __version__
from jfed.engine.version import ENGINE_VERSION
from jfed.results.parts import Part
from jfed.runner import host, memory
from jfed.runner.batch import Host, compute_group
from jfed.runner.identity import require_same
from jfed.runner.leave import Leaving
from jfed.runner.live import Live, Progress
from jfed.runner.site import Site, here
from jfed.runner.specs import Layout
from jfed.runner.units import Unit
from jfed.runner.watch import Flat

# Settings of jax that decide numbers, and whether there is a compile cache; each machine has its own.
SETTINGS = (
    "jax_enable_x64", "jax_default_matmul_precision", "jax_default_prng_impl", "jax_threefry_partitionable",
    "jax_enable_compilation_cache",
)  # fmt: skip


class Setup(NamedTuple):
    """The set-up of a worker before its first unit.

    Attributes:
        files: name and text of each file with the user's own members, by its path on the driver's machine.
        settings: settings of jax by name.
        cores: the cores of its machine that it uses; None for all.
        devices: number of its devices, if it computes on a CPU; None for one per core.
        sharing: number of workers that share its machine's memory.
    """

    files: Mapping[str, str]
    settings: Mapping[str, Any]
    cores: tuple[int, ...] | None = None
    devices: int | None = None
    sharing: int = 1


class Hello(NamedTuple):
    """The facts of a worker, which are the same for all workers of a command.

    Attributes:
        versions: versions of jax, jaxlib, jfed and its engine, and the digest of the engine's code.
        site: its devices.
    """

    versions: Mapping[str, Any]
    site: Site


class Task(NamedTuple):
    """Units of a compile group for one worker, at most one for each of its devices.

    Attributes:
        units: the units.
        layout: see `Layout`; time limits are the driver's.
        names: coordinates by which the command calls each kind of run.
        out: directory of checkpoints, if `mark` is there; without it a unit that is interrupted begins again.
        mark: name of a file in it, by which a worker sees that it is the driver's directory; another one for each
            command.
        live: whether to tell the progress of each chunk.
    """

    units: Sequence[Unit]
    layout: Layout
    names: Mapping[str, list[dict[str, Any]]]
    out: Path | None
    mark: str
    live: bool


class Chunk(NamedTuple):
    """The end of a chunk: its last round and its number of rounds."""

    round: int
    rounds: int


class Done(NamedTuple):
    """The result of a unit."""

    id: str
    part: Part


class Large(NamedTuple):
    """Blocks are too large for a worker's memory: a sentence that says so."""

    why: str


class Logged(NamedTuple):
    """A message of a worker's log."""

    level: int
    text: str


class Failed(NamedTuple):
    """An error that ended a task."""

    error: BaseException


Message = Chunk | Done | Large | Logged | Failed | Progress


def versions() -> dict[str, Any]:
    """Return the versions of this process on which a run's bits depend."""
    return {
        "jax": jax.__version__,
        "jaxlib": metadata.version("jaxlib"),
        "jfed": __version__,
        "the engine": ENGINE_VERSION,
        "the engine's code": code.engine_digest(),
    }


def compare(first: Mapping[str, Any], other: Mapping[str, Any], whose: str, others: str) -> None:
    """Refuse workers that would compute other bits."""
    for name, value in first.items():
        if value != other[name]:
            raise ConfigError(
                f"All workers must be the same: {name.replace('_', ' ')} is {value} on {whose} and {other[name]} on"
                f" {others}."
            )


def setup(files: Sequence[Path]) -> Setup:
    """Return the set-up of a worker of this process, given the files with the user's own members."""
    try:
        texts = {str(path): path.read_text(encoding="utf-8") for path in files}
    except OSError as error:
        raise ConfigError(f"{error.filename} cannot be read any more: {error.strerror}.") from error
    return Setup(texts, {name: getattr(jax.config, name) for name in SETTINGS})


class Station:
    """A worker: one jax process with devices of its own.

    Attributes:
        idle: set while no task is in work.
    """

    def __init__(self, given: Setup) -> None:
        """Make the settings, and load the user's own members."""
        if given.cores is not None and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, given.cores)
        for name, value in given.settings.items():
            jax.config.update(name, value)
        host.setup(given.devices)
        for path, text in given.files.items():
            catalog.load_file(_here(Path(path), text))
        self._sharing = given.sharing
        self._site = here()
        self._fitting: set[tuple[int, int]] = set()
        self._mark = self._stopped = ""
        self._lock = threading.Lock()
        self.idle = threading.Event()
        self.idle.set()
        self._leaving = Leaving(None)

    def hello(self) -> Hello:
        """Return what this worker is."""
        return Hello(versions(), self._site)

    def stop(self, mark: str | None = None) -> None:
        """End a task of this mark, now or later (or this one), after its chunk of rounds, with checkpoints."""
        with self._lock:
            mark = self._mark if mark is None else mark
            self._stopped = mark
            if self._mark == mark:
                self._leaving.told = True

    def work(self, task: Task) -> Iterator[Message]:
        """Compute units; yield messages until all are done, an error comes, or `stop` has been called."""
        messages: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self.idle.clear()

        def target() -> None:
            handler = _Log(messages.put)
            log = logging.getLogger("jfed")
            log.addHandler(handler)
            try:
                self._compute(task, messages.put)
            except Unfinished:  # asked to stop
                pass
            except memory.TooLarge as error:
                messages.put(Large(str(error)))
            except BaseException as error:
                messages.put(Failed(_sendable(error)))
            finally:
                log.removeHandler(handler)
                self.idle.set()
                messages.put(None)

        threading.Thread(target=target, daemon=True).start()
        while (message := messages.get()) is not None:
            yield message

    def _compute(self, task: Task, tell: Callable[[Message], None]) -> None:
        if task.mark != self._mark:
            self._mark, self._fitting = task.mark, set()  # another command: its groups have other numbers
            if task.out is not None and not (task.out / task.mark).exists():
                tell(Logged(logging.WARNING, f"A worker does not see {task.out}: it writes no checkpoints."))
        with self._lock:
            self._leaving = Leaving(None)
            self._leaving.told = self._stopped == task.mark
        for unit in task.units:
            for run in {run.kind.id: run for run in unit.runs}.values():
                require_same(run, unit.spec, unit.data_dir, self._site)
        devices = min(self._site.num_devices, len(task.units))
        folder = task.out if task.out is not None and (task.out / task.mark).exists() else None
        live = Live(tell, Leaving(None)) if task.live else None  # the driver calls the user's function
        own = Host(folder, task.layout, self._leaving, self._site, task.names, live, _Watch(tell))
        own.sharing, own.fitting = self._sharing, self._fitting
        try:
            for unit, part in compute_group(task.units, own):
                tell(Done(unit.id, part))
        except jax.errors.JaxRuntimeError as error:
            memory.explain(error, task.units, devices)


class _Watch(Flat):
    """A watch that tells the driver of chunks and shows nothing."""

    def __init__(self, tell: Callable[[Message], None]) -> None:
        super().__init__("", 0, 0, 0, 0, False)
        self._to_driver = tell

    def chunk(self, round: int, rounds: int) -> None:
        """Tell the driver of a chunk."""
        self._to_driver(Chunk(round, rounds))


class _Log(logging.Handler):
    """A handler that sends warnings to the driver."""

    def __init__(self, tell: Callable[[Message], None]) -> None:
        super().__init__(logging.WARNING)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        """Send a record."""
        self._tell(Logged(record.levelno, record.getMessage()))


def _here(path: Path, text: str) -> Path:
    """Return a file with a text: that of the driver if it is the same on this machine, else a copy, which stays."""
    try:
        if path.read_text(encoding="utf-8") == text:
            return path
    except OSError:
        pass
    copy = Path(tempfile.mkdtemp(prefix="jfed-")) / path.name
    copy.write_text(text, encoding="utf-8")
    return copy


def _sendable(error: BaseException) -> BaseException:
    """Return an error that a driver can raise: one of jfed as it is, others as text with their traceback."""
    if isinstance(error, ConfigError):
        return error
    told = RuntimeError(f"{type(error).__name__}: {error}")
    told.add_note("In the worker:\n" + "".join(traceback.format_exception(error)))
    return told
