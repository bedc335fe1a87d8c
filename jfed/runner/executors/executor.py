"""The interface of executors, and what they have in common."""

from collections.abc import Sequence
from typing import Any, Protocol, Self

from jfed import config as configs
from jfed.results import store
from jfed.results.parts import Part
from jfed.runner.batch import Host
from jfed.runner.site import Site
from jfed.runner.units import Unit
from jfed.sweep import Point


class Executor(Protocol):
    """Something that computes units, between `__enter__` and `__exit__`, which begin and end its processes.

    Attributes:
        site: the devices that compute, for which a command plans; known from `__enter__` on.
    """

    site: Site

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...

    def compute(self, groups: Sequence[Sequence[Unit]], host: Host, runs: int, progress: bool) -> None:
        """Compute units and `keep` each result as soon as it is there.

        Args:
            groups: units by compile group.
            host: the command's settings and state.
            runs: number of all runs of the command, those that are done included.
            progress: whether progress is shown.

        Raises:
            ConfigError: memory ran out.
            StorageError: a result cannot be written.
            Unfinished: time is up, or the callback has ended the command.
            KeyboardInterrupt: a signal ended the command.
        """


def entry(host: Host, points: Sequence[Point], seconds: float) -> dict[str, Any]:
    """Return the entry in the manifest of a command that has computed for so many seconds."""
    return {
        "units": [path.stem for path in host.parts],
        "seconds": round(seconds, 3),
        "device": host.site.device,
        "num_devices": host.site.num_devices,
        "block_sizes": sorted({part.layout["block_size"] for part in host.parts.values()}),
        "points": [{"coords": p.coords, "config": configs.canonical(p.config)} for p in points],
    }


def keep(unit: Unit, part: Part, host: Host) -> None:
    """Keep the result of a unit in `host.parts` and, with a directory, in its file.

    Raises:
        StorageError: the file cannot be written.
    """
    if host.out is not None:
        store.write_unit(host.out, unit.id, part.content())
    host.parts[host.path(unit)] = part
    host.watch.unit(len(unit.runs))
