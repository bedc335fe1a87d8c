"""Workers that are processes of this machine: each has its share of the cores, or a GPU of its own."""

import contextlib
import multiprocessing
import os
import pickle
import queue
import signal
import sys
import threading
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NoReturn

from jfed.core.errors import ConfigError, require, shown
from jfed.runner import host
from jfed.runner.executors.crew import Crew, Gone
from jfed.runner.executors.station import Failed, Hello, Message, Setup, Station, Task
from jfed.runner.leave import SIGNALS

MAIN = (
    "jfed.Processes starts Python anew, which imports the script: put what the script does below"
    ' `if __name__ == "__main__":`.'
)
VISIBLE = "CUDA_VISIBLE_DEVICES"
_STARTING = threading.Lock()  # a process inherits the environment


class Processes(Crew):
    """Workers on this machine: `jfed.run(points, seeds, executor=jfed.Processes(4))`.

    In `with jfed.Processes(4) as four:` several calls of `jfed.run` share the workers.
    """

    def __init__(self, workers: int | None = None, gpus: int | None = None) -> None:
        """Take the number of workers.

        Args:
            workers: number of processes; None means one for each GPU or, without any, for each core.
            gpus: number of GPUs, of which each worker has one; None means those that are visible (NVIDIA's).

        Raises:
            ConfigError: a number is impossible.
        """
        for name, number in (("workers", workers), ("gpus", gpus)):
            whole = number is None or (isinstance(number, int) and not isinstance(number, bool))
            require(whole, f"The number of {name} must be a whole number, found {shown(number)}.")
        have = _visible()
        require(gpus is None or 0 <= gpus <= len(have), f"This machine has {len(have)} GPUs, found gpus={gpus}.")
        self._gpus, self._none = have[: len(have) if gpus is None else gpus], bool(have) and gpus == 0
        size = (len(self._gpus) or host.cores()) if workers is None else workers
        require(size >= 1, f"At least one worker is needed, found {shown(workers)}.")
        most = len(self._gpus)
        require(not most or size <= most, f"Each worker has one of {most} GPUs, so that {size} workers are too many.")
        super().__init__(size)

    def _start(self, number: int, given: Setup) -> "_Process":
        given = given._replace(sharing=self._size)
        if self._gpus:
            return _Process(given, self._gpus[number])
        own = _share(number, self._size)
        devices = max(1, host.cores() // self._size)  # the same for all, as their bits must be
        return _Process(given._replace(cores=own, devices=devices), "" if self._none else None)


def _visible() -> list[str]:
    """Return the names of the GPUs that a process may use."""
    named = os.environ.get(VISIBLE)
    if named is not None:
        return [name for name in named.split(",") if name.strip() not in ("", "-1")]
    return [path.name.removeprefix("nvidia") for path in sorted(Path("/dev").glob("nvidia[0-9]*"))]


def _share(number: int, workers: int) -> tuple[int, ...]:
    """Return the cores of a worker: even shares, or one core each if there are more workers than cores."""
    every = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(host.cores()))
    if workers > len(every):
        return (every[number % len(every)],)
    return tuple(every[len(every) * number // workers : len(every) * (number + 1) // workers])


class _Process:
    """A worker in a process of its own; see `Worker`."""

    def __init__(self, setup: Setup, gpu: str | None) -> None:
        if multiprocessing.process.current_process().name == _NAME:  # type: ignore[attr-defined]
            raise ConfigError(MAIN)
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._sending = threading.Lock()
        self._process = context.Process(target=_serve, args=(theirs, setup), name=_NAME, daemon=True)
        with _STARTING, _environment(gpu), _blocked():
            self._process.start()
        theirs.close()

    def hello(self) -> Hello:
        """Return what it is; see `Worker`."""
        found = self._receive()
        if isinstance(found, Failed):
            raise found.error
        return found

    def work(self, task: Task) -> Iterator[Message]:
        """Yield the messages of a task; see `Worker`."""
        self._send(task)
        while (message := self._receive()) is not None:
            yield message

    def stop(self, mark: str) -> None:
        """Ask it to end a task; see `Worker`."""
        with contextlib.suppress(Gone):
            self._send(mark)

    def end(self) -> None:
        """End it; see `Worker`."""
        self._process.kill()
        self._process.join()
        self._pipe.close()

    def _send(self, what: Task | str) -> None:
        try:
            packed = pickle.dumps(what)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ConfigError(f"A setting cannot be sent to workers ({error}): define its class in a file.") from error
        try:
            with self._sending:
                self._pipe.send_bytes(packed)
        except OSError:
            raise self._gone() from None

    def _receive(self) -> Any:
        try:
            return self._pipe.recv()
        except (EOFError, OSError):
            raise self._gone() from None

    def _gone(self) -> Gone:
        self._process.join(10)
        code = self._process.exitcode
        if code is not None and code < 0:
            how = f"was ended by {signal.Signals(-code).name}"
            return Gone(f"{how}, as when memory runs out" if code == -9 else how)
        return Gone(f"ended with exit status {code}")


_NAME = "jfed-worker"


@contextlib.contextmanager
def _environment(gpu: str | None) -> Iterator[None]:
    """Set the GPU that a new process sees."""
    before = os.environ.get(VISIBLE)
    if gpu is not None:
        os.environ[VISIBLE] = gpu
    try:
        yield
    finally:
        if gpu is not None:
            os.environ.pop(VISIBLE)
            if before is not None:
                os.environ[VISIBLE] = before


@contextlib.contextmanager
def _blocked() -> Iterator[None]:
    """Block signals of this thread, and so of a new process until it ignores them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: Connection, setup: Setup) -> None:
    """Compute tasks until the driver closes the pipe, which it does however it ends."""
    for number in SIGNALS:  # Ctrl-C and the end of a job reach all processes of a group: the driver decides
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    try:
        station = Station(setup)
        pipe.send(station.hello())
    except ConfigError as error:
        pipe.send(Failed(error))
        return
    tasks: queue.SimpleQueue[Task | Failed] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(pipe, station, tasks), daemon=True).start()
    while True:
        task = tasks.get()
        try:
            for message in [task] if isinstance(task, Failed) else station.work(task):
                pipe.send(message)
            pipe.send(None)
        except OSError:
            _orphaned(station)


def _listen(pipe: Connection, station: Station, tasks: "queue.SimpleQueue[Task | Failed]") -> None:
    """Take tasks and requests to stop."""
    while True:
        try:
            packed = pipe.recv_bytes()
        except (EOFError, OSError):
            _orphaned(station)
        try:
            found = pickle.loads(packed)
        except Exception as error:
            found = Failed(
                ConfigError(f"A worker does not know a class ({error}): define it in a file, and load that.")
            )
        if isinstance(found, str):
            station.stop(found)
        else:
            tasks.put(found)


def _orphaned(station: Station) -> NoReturn:
    """End a worker whose driver has ended, after a checkpoint of what is in work."""
    station.stop()
    station.idle.wait(60)
    sys.stdout.flush()
    os._exit(1)
