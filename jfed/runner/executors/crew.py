"""The side of the driver: it plans, hands units out to workers, and keeps what they return.

A worker keeps to one compile group while others have work, as compiling takes long. A worker that dies is replaced, and
its units are handed out again: they resume from their checkpoints where the workers see the directory of results, and
come to the same bits in any case.
"""

import collections
import contextlib
import logging
import queue
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

from jfed import catalog
from jfed.core.errors import ConfigError
from jfed.runner.batch import Host, leave
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
    setup,
    versions,
)
from jfed.runner.live import Progress
from jfed.runner.site import Site
from jfed.runner.units import Unit, halved
from jfed.runner.watch import Watch

TRIES = 3  # of a unit whose workers die

log = logging.getLogger("jfed")


class Gone(Exception):
    """A worker has ended without being asked to: a sentence that says how."""


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
        self._depth = 0  # a command within `with` uses the workers that are there
        self._inbox: queue.SimpleQueue[tuple[_Place, Any]] = queue.SimpleQueue()

    def __enter__(self) -> Self:
        """Start the first worker, to know what it is: a command is planned for the machines that compute it."""
        self._depth += 1
        if self._depth > 1:
            return self
        self._setup = setup(catalog.loaded())
        try:
            self._open()
            first = self._start(0, self._setup)
            self._places = [_Place(0, first, ready=True)]
            self._hello = first.hello()
            _compare(versions(), self._hello.versions, "this process", "the workers")
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
        work = _Work(groups, host, self._hello.site.num_devices)
        left = work.left()
        rounds = sum(unit.config.num_rounds for unit in left)
        with (
            Watch([rounds], runs, runs - sum(len(unit.runs) for unit in left), progress) as host.watch,
            _mark(host) as mark,
        ):
            host.watch.group(f"{self._size} workers", max((u.config.num_rounds for u in left), default=0), rounds)
            for number in range(len(self._places), min(self._size, len(left))):
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
            if work.left():
                leave(host)

    def _busy(self) -> list[Worker]:
        return [place.worker for place in self._places if place.worker is not None and place.busy]

    def _hand_out(self, work: "_Work", mark: str, host: Host) -> None:
        """Give units to each worker that has none."""
        for place in self._places:
            if place.worker is not None and place.ready and not place.busy and (units := work.take(place.group)):
                task = Task(units, host.layout, host.names, host.out, mark, host.live is not None)
                place.group, place.busy, place.units = units[0].group, True, list(units)
                threading.Thread(target=self._follow, args=(place, place.worker, task), daemon=True).start()

    def _begin(self, number: int) -> None:
        """Begin to start a worker."""
        place = _Place(number)
        self._places.append(place)

        def target() -> None:
            try:
                place.worker = self._start(number, self._setup)
                self._inbox.put((place, place.worker.hello()))
            except (Gone, ConfigError) as error:
                self._inbox.put((place, Failed(ConfigError(f"Worker {number + 1} could not start: {error}."))))

        threading.Thread(target=target, daemon=True).start()

    def _follow(self, place: _Place, worker: Worker, task: Task) -> None:
        """Put the messages of a task into the inbox, and None at its end."""
        try:
            for message in worker.work(task):
                self._inbox.put((place, message))
            self._inbox.put((place, None))
        except Gone as error:
            self._inbox.put((place, error))
        except Exception as error:
            self._inbox.put((place, Failed(error)))

    def _answer(self, place: _Place, message: Any, work: "_Work", host: Host) -> None:
        """Do what a worker's message wants."""
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
                work.died(place.units, message)
                if place.worker is not None:
                    place.worker.end()
                self._places.remove(place)
                if not host.leaving.now():
                    self._begin(place.number)
            case Failed(error):
                raise error
            case Hello(found, site):
                _compare(self._hello.versions, found, "the first worker", f"worker {place.number + 1}")
                _compare(vars(self._hello.site), vars(site), "the first worker", f"worker {place.number + 1}")
                place.ready = True


class _Work:
    """The units that nobody has yet, by compile group."""

    def __init__(self, groups: Sequence[Sequence[Unit]], host: Host, share: int) -> None:
        """Take the groups, and the number of units of a task."""
        self._groups = {group[0].group: collections.deque(group) for group in groups if group}
        self._host, self._share = host, share
        self._taken: collections.Counter[int] = collections.Counter()
        self._deaths: collections.Counter[str] = collections.Counter()

    def left(self) -> list[Unit]:
        """Return the units that nobody has."""
        return [unit for group in self._groups.values() for unit in group]

    def take(self, group: int | None) -> list[Unit]:
        """Return units for a worker that has compiled a group; none if there are none.

        It stays with its group; else it gets one that no worker has begun, or the one with most units left.
        """
        open_ = {number: units for number, units in self._groups.items() if units}
        if not open_:
            return []
        if group not in open_:
            group = max(open_, key=lambda number: (not self._taken[number], len(open_[number])))
        self._taken[group] += 1
        size = open_[group][0].block_size
        found: list[Unit] = []
        while open_[group] and len(found) < self._share and open_[group][0].block_size == size:
            found.append(open_[group].popleft())
        return found

    def back(self, units: Sequence[Unit]) -> None:
        """Take units back, which are handed out first."""
        for unit in reversed(units):
            self._groups[unit.group].appendleft(unit)

    def halve(self, units: Sequence[Unit], why: str) -> None:
        """Cut the blocks that are left of a group in two."""
        number = units[0].group
        smaller = halved([*units, *self._groups[number]])
        log.warning(f"{why}: taking blocks of {max(unit.block_size for unit in smaller)}.")
        self._groups[number] = collections.deque(smaller)

    def died(self, units: Sequence[Unit], why: Gone) -> None:
        """Take back the units of a worker that died; give up a unit whose workers die again and again."""
        log.warning(f"A worker is replaced: {why}.")
        for unit in units:
            self._deaths[unit.id] += 1
            if self._deaths[unit.id] >= TRIES:
                raise ConfigError(
                    f"The workers of a unit have died {TRIES} times, the last one: {why}. If its memory ran out, take"
                    f" fewer workers, or smaller blocks than {unit.block_size} (--block-size)."
                )
        self.back(units)


def _compare(first: Mapping[str, Any], other: Mapping[str, Any], whose: str, others: str) -> None:
    """Refuse workers that would compute other bits."""
    for name, value in first.items():
        if value != other[name]:
            raise ConfigError(
                f"All workers must be the same: {name.replace('_', ' ')} is {value} on {whose} and {other[name]} on"
                f" {others}."
            )


@contextlib.contextmanager
def _mark(host: Host) -> Iterator[str]:
    """Write a file into the directory of results by which workers see that it is theirs, too; return its name."""
    name = f"checkpoints/{uuid.uuid4().hex}.driver"
    if host.out is None:
        yield name
        return
    path = host.out / name
    try:
        path.parent.mkdir(exist_ok=True)
        path.touch()
    except OSError:
        pass  # a full disk: there are no checkpoints
    try:
        yield name
    finally:
        path.unlink(missing_ok=True)
