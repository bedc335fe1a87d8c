"""The side of the driver: it plans, hands units out to workers, and keeps what they return.

A worker keeps to one compile group while others have work, as compiling takes long. A worker that dies is replaced, and
its units are handed out again: they resume from their checkpoints where the workers see the directory of results, and
come to the same bits in any case.
"""

import contextlib
import logging
import os
import queue
import secrets
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

from jfed import catalog
from jfed.core.errors import ConfigError, require
from jfed.results import store
from jfed.runner.batch import Host, leave
from jfed.runner.executors.backlog import TRIES, Backlog, Gone
from jfed.runner.executors.executor import keep
from jfed.runner.executors.station import (
    Chunk,
    Done,
    Failed,
    Hello,
    Large,
    Logged,
    Message,
    Setup,
    Task,
    compare,
    setup,
    versions,
)
from jfed.runner.host import drive
from jfed.runner.live import Progress
from jfed.runner.site import Site
from jfed.runner.units import Unit
from jfed.runner.watch import Flat

log = logging.getLogger("jfed")


class Worker(Protocol):
    """A worker as the driver sees it."""

    def hello(self) -> Hello:
        """Return what it is, once it has started; raise `Gone` or `ConfigError` if it could not."""
        ...

    def work(self, task: Task) -> Iterator[Message]:
        """Yield the messages of a task until it ends; raise `Gone` if the worker dies."""
        ...

    def stop(self, mark: str) -> None:
        """Ask it to end a task of this mark after the current chunk."""

    def end(self) -> None:
        """End it, and wait for its end."""


@dataclass(eq=False)
class _Place:
    """A worker and what it does.

    Attributes:
        number: its number, from 0.
        worker: the worker; None until its process has begun.
        ready: whether it has started and is the same as the others.
        group: number of the compile group that it has compiled.
        busy: whether it has a task.
        units: units of the task that it has not returned.
    """

    number: int
    worker: Worker | None = None
    ready: bool = False
    group: int | None = None
    busy: bool = False
    units: list[Unit] = field(default_factory=list)


_Inbox = queue.SimpleQueue[tuple[_Place, Any]]


class Crew:
    """Workers that compute units; see `Executor`.

    Attributes:
        site: the devices of all workers.
    """

    site: Site

    def __init__(self, size: int | None) -> None:
        """Take the number of workers; None if only `_open` will know it."""
        self._size = size or 0
        self._places: list[_Place] = []
        self._early = 0  # deaths of workers that had not started, one after another
        self._depth = 0  # a command within `with` uses the workers that are there
        self._inbox: _Inbox = queue.SimpleQueue()

    def __enter__(self) -> Self:
        """Start the first worker, to know what it is: a command is planned for the machines that compute it."""
        self._depth += 1
        if self._depth > 1:
            return self
        try:
            drive()
            self._setup = setup(catalog.loaded())
            self._open()
            first = self._start(0, self._setup)
            self._places = [_Place(0, first, ready=True)]
            self._hello = first.hello()
            compare(versions(), self._hello.versions, "this process", "the workers")
        except Gone as error:
            self.__exit__()
            raise ConfigError(f"The first worker could not start: {error}.") from error
        except BaseException:
            self.__exit__()
            raise
        own = self._hello.site
        self.site = replace(own, num_devices=own.num_devices * self._size)
        return self

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        if self._depth:
            return
        places, self._places = self._places, []
        for place in places:
            if place.worker is not None:
                place.worker.end()
        self._close()

    def _open(self) -> None:
        """Do what is to be done before the first worker starts."""

    def _close(self) -> None:
        """Do what is to be done after the last worker has ended."""

    def _start(self, number: int, given: Setup) -> Worker:
        """Begin the process of a worker."""
        raise NotImplementedError

    def compute(self, groups: Sequence[Sequence[Unit]], host: Host, runs: int, progress: bool) -> None:
        """Compute units on the workers; see `Executor.compute`."""
        self._inbox = queue.SimpleQueue()  # nothing of an earlier command
        for place in self._places:
            place.group = None
        try:
            self._compute(Backlog(groups, self._hello.site.num_devices), host, runs, progress)
        finally:
            for place in [place for place in self._places if place.busy or not place.ready]:
                self._drop(place)

    def _drop(self, place: _Place) -> None:
        """End a worker that is not to be used again."""
        self._places.remove(place)
        if place.worker is not None:
            place.worker.end()

    def _compute(self, work: Backlog, host: Host, runs: int, progress: bool) -> None:
        left = work.left()
        each, ready = [unit.config.num_rounds for unit in left], runs - sum(len(unit.runs) for unit in left)
        watch = Flat(f"{self._size} workers", max(each, default=0), sum(each), runs, ready, progress)
        with watch as host.watch, _mark(host) as mark:
            absent = [number for number in range(self._size) if number not in {place.number for place in self._places}]
            for number in absent[: max(0, len(left) - len(self._places))]:
                self._begin(number)
            stopping = False
            while work.left() or self._busy():
                if host.leaving.now() and not stopping:
                    stopping = True
                    for worker in self._busy():
                        worker.stop(mark)
                if stopping and not self._busy():
                    break
                if not stopping:
                    self._hand_out(work, mark, host)
                with contextlib.suppress(queue.Empty):
                    self._answer(*self._inbox.get(timeout=0.2), work, host)
            if work.left() and (host.live is None or host.live.error is None):
                leave(host)

    def _busy(self) -> list[Worker]:
        return [place.worker for place in self._places if place.worker is not None and place.busy]

    def _hand_out(self, work: Backlog, mark: str, host: Host) -> None:
        """Give units to each worker that has none."""
        for place in self._places:
            if place.worker is not None and place.ready and not place.busy and (units := work.take(place.group)):
                out = None if host.out is None else host.out.resolve()
                task = Task(units, host.layout, host.names, out, mark, host.live is not None)
                place.group, place.busy, place.units = units[0].group, True, list(units)
                args = (place, place.worker, task, self._inbox)
                threading.Thread(target=_follow, args=args, daemon=True).start()

    def _begin(self, number: int) -> None:
        """Begin to start a worker."""
        place, inbox = _Place(number), self._inbox
        self._places.append(place)

        def target() -> None:
            try:
                place.worker = self._start(number, self._setup)
                if place in self._places:
                    inbox.put((place, place.worker.hello()))
                else:  # all has been done meanwhile
                    place.worker.end()
            except Gone as error:
                inbox.put((place, error))
            except Exception as error:
                inbox.put((place, Failed(error)))

        threading.Thread(target=target, daemon=True).start()

    def _answer(self, place: _Place, message: Any, work: Backlog, host: Host) -> None:
        """Do what a worker's message wants."""
        if place not in self._places:
            return
        match message:
            case None:
                work.back(place.units)
                place.busy, place.units = False, []
            case Chunk(round, rounds):
                host.watch.chunk(round, rounds * len(place.units))
                host.leaving.useful = True
            case Done(name, part):
                unit = next(unit for unit in place.units if unit.id == name)
                keep(unit, part, host)
                place.units.remove(unit)
            case Large(why):
                work.halve(place.units, why)
                place.units = []
            case Logged(level, text):
                log.log(level, text)
            case Progress():
                if host.live is not None:
                    host.live.told(replace(message, runs_done=host.watch.runs_done, num_runs=host.watch.runs))
            case Gone():
                log.warning(f"A worker is replaced: {message}.")
                self._early = 0 if place.ready else self._early + 1
                require(self._early < TRIES, f"Workers cannot start: {message}.")
                work.died(place.units, message)
                self._drop(place)
                if not host.leaving.now():
                    self._begin(place.number)
            case Failed(error):
                raise error
            case Hello(found, site):
                compare(self._hello.versions, found, "the first worker", f"worker {place.number + 1}")
                compare(vars(self._hello.site), vars(site), "the first worker", f"worker {place.number + 1}")
                place.ready = True


def _follow(place: _Place, worker: Worker, task: Task, inbox: _Inbox) -> None:
    """Put the messages of a task into the inbox, and None at its end."""
    try:
        for message in worker.work(task):
            inbox.put((place, message))
        inbox.put((place, None))
    except Gone as error:
        inbox.put((place, error))
    except Exception as error:
        inbox.put((place, Failed(error)))


@contextlib.contextmanager
def _mark(host: Host) -> Iterator[str]:
    """Write a file into the directory of results by which workers see that it is theirs, too; return its name."""
    name = f"driver.{store.HOST}.{os.getpid()}.{secrets.token_hex(4)}.part"
    if host.out is None:
        yield name
        return
    path = host.out / name
    with contextlib.suppress(OSError):  # a full disk: there are no checkpoints
        path.touch()
    try:
        yield name
    finally:
        path.unlink(missing_ok=True)
