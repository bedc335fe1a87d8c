"""The units that no worker has yet, and the rules by which they are handed out."""

import collections
import logging
from collections.abc import Sequence

from jfed.core.errors import ConfigError
from jfed.runner.units import Unit, halved

TRIES = 3  # of a unit whose workers die, and of a worker that dies while it starts

log = logging.getLogger("jfed")


class Gone(Exception):
    """A worker has ended without being asked to: a sentence that says how."""


class Backlog:
    """The units that nobody has yet, by compile group."""

    def __init__(self, groups: Sequence[Sequence[Unit]], share: int) -> None:
        """Take the groups, and the number of units of a task."""
        self._groups = {group[0].group: collections.deque(group) for group in groups if group}
        self._share = share
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
        for unit in units:
            self._deaths[unit.id] += 1
            if self._deaths[unit.id] >= TRIES:
                raise ConfigError(
                    f"The workers of a unit have died {TRIES} times, the last one: {why}. If its memory ran out, take"
                    f" fewer workers, or smaller blocks than {unit.block_size} (--block-size)."
                )
        self.back(units)
