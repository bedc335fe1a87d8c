"""The length of chunks, the progress of a sweep, and an estimate of the time left."""

import sys
import time
from collections.abc import Sequence
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

CHUNK_S = 10.0  # duration of a chunk, so that progress and Ctrl-C need not wait long
GROWTH = 32  # a chunk is at most so many times as long as the last: one quick round may be a fluke
LINE_S = 60.0  # between two lines in a log
LONG_S = 600.0  # a command that takes longer says so as soon as it can tell
SURE_S = 1.0  # of measured rounds, after which it can
FLAT_SURE_S = 30.0  # the same where workers start and compile at different times


class Pace:
    """The size of chunks, from the time that rounds take. The first two have one round: the first one also compiles."""

    def __init__(self, most: int) -> None:
        """Limit chunks to `most` rounds."""
        self._most = most
        self._chunks = 0
        self._rounds = 1

    def rounds(self) -> int:
        """Return the number of rounds of the next chunk."""
        return self._rounds

    def took(self, rounds: int, seconds: float) -> None:
        """Adapt the size to the time that a chunk took."""
        self._chunks += 1
        if self._chunks > 1:
            fitting = int(rounds * CHUNK_S / max(seconds, 1e-9))
            self._rounds = max(1, min(fitting, GROWTH * self._rounds, self._most))


class Watch:
    """Progress on stderr: a bar in a terminal, else a line now and then.

    Work is counted in rounds of a batch of units, as a batch that leaves devices idle takes as long. The time left is
    that of the remaining work at the rate so far (of this compile group, if it has one yet), plus the mean compile
    time for each group to come. First chunks, which compile, do not count for rates. A command that will take long says
    so once.

    Attributes:
        runs: number of runs of the sweep.
        runs_done: those that are done.
    """

    def __init__(
        self, work: Sequence[int], runs: int, runs_done: int, show: bool, sure_s: float = SURE_S
    ) -> None:  # fmt: skip
        """Take the work of each compile group, the number of runs of the sweep, and how many of them are done.

        `sure_s` is the time of measured rounds after which an estimate is worth a warning.
        """
        self._sure_s = sure_s
        self._ahead: list[float] = list(work)
        self.runs, self.runs_done = runs, runs_done
        self._label, self._round, self._rounds = "", 0, 0
        self._left = 0.0  # of this group's work
        self._compiled: list[float] = []  # seconds up to the end of a group's first chunk
        self._since: float | None = None  # that end, in this group
        self._measured = [0.0, 0.0]  # seconds and work behind it, in this group
        self._before = [0.0, 0.0]  # the same of earlier groups
        self._started = time.monotonic()
        self._told = self._started - 0.8 * LINE_S  # the first line soon
        console = Console(stderr=True)
        columns = (SpinnerColumn(), BarColumn(10), TextColumn("{task.description}"))
        self._show, self._warned = show, False
        live = console.is_terminal or console.is_jupyter
        self._bar = Progress(*columns, console=console) if show and live else None
        self._task = self._bar.add_task("", total=sum(work)) if self._bar else None

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar:
            self._bar.stop()

    def group(self, label: str, rounds: int, work: int) -> None:
        """Begin a compile group, given its label, the rounds of each run, and the work left in it."""
        self._before = [a + b for a, b in zip(self._before, self._measured, strict=True)]
        self._measured, self._since = [0.0, 0.0], None
        self._label, self._round, self._rounds = label, 0, rounds
        self._ahead.pop(0)
        self._left = work
        self._started = time.monotonic()
        self._tell()

    def again(self) -> None:
        """Put the current group back: it begins again in smaller blocks."""
        self._ahead.insert(0, self._left)

    def chunk(self, round: int, rounds: int) -> None:
        """Note the end of a chunk: its last round, and its number of rounds."""
        now = time.monotonic()
        self._round = round
        self._left -= rounds
        if self._since is None:
            self._since = now
            self._compiled.append(now - self._started)
        else:
            self._measured = [now - self._since, self._measured[1] + rounds]
        self._tell()

    def unit(self, runs: int) -> None:
        """Note that a unit is done and its result is stored, given its number of runs."""
        self.runs_done += runs
        self._tell()

    def seconds_left(self) -> float | None:
        """Return an estimate of the time left; None before there is a rate."""
        seconds, work = (a + b for a, b in zip(self._before, self._measured, strict=True))
        if not work:
            return None
        overall = seconds / work
        own = self._measured[0] / self._measured[1] if self._measured[1] else overall
        programs = len(self._ahead) + (self._since is None)
        compiling = programs * sum(self._compiled) / len(self._compiled)
        return self._left * own + sum(self._ahead) * overall + compiling

    def __str__(self) -> str:
        where = f"{self._label}: round {self._round} of {self._rounds}"
        return f"{where}, {self.runs_done} of {self.runs} runs done"

    def _tell(self) -> None:
        left, now = self.seconds_left(), time.monotonic()
        self._warn(left)
        compiling = f"{self._label}: compiling, {self.runs_done} of {self.runs} runs done"
        text = compiling if self._since is None else str(self)
        text += f", about {duration(left)} left" if left is not None and left >= 1 else ""
        if self._bar and self._task is not None:
            total = self._bar.tasks[0].total or 0
            self._bar.update(self._task, completed=total - self._left - sum(self._ahead), description=text)
        elif self._show and now - self._told >= LINE_S:
            self._told = now
            print(text, file=sys.stderr, flush=True)

    def _warn(self, left: float | None) -> None:
        """Say once, as soon as rounds have been measured, that the command will take long."""
        if self._warned or not self._show or left is None or self._before[0] + self._measured[0] < self._sure_s:
            return
        self._warned = True
        if left > LONG_S:
            text = f"This takes about {duration(left)}. Ctrl-C stops it cleanly; the same command resumes."
            if self._bar:
                self._bar.console.print(text, highlight=False, markup=False)
            else:
                print(text, file=sys.stderr, flush=True)


class Flat(Watch):
    """A watch of units that are not done one compile group after another."""

    def __init__(self, label: str, rounds: int, work: int, runs: int, runs_done: int, show: bool) -> None:
        """Take a label, the rounds of a run, the work, and what `Watch` takes."""
        super().__init__([work], runs, runs_done, show, FLAT_SURE_S)
        super().group(label, rounds, work)

    def group(self, label: str, rounds: int, work: int) -> None:
        """Note nothing: all groups are in the work."""

    def again(self) -> None:
        """Note nothing: smaller blocks have as many rounds."""


def resuming(out: object, runs: int, done: int, begun: int, rounds: Sequence[int]) -> str:
    """Return the sentence with which a command resumes a study; "" if nothing of it was begun.

    Args:
        out: folder of the results.
        runs: all runs.
        done: those that are finished.
        begun: those that have a checkpoint.
        rounds: rounds of the checkpoints.
    """
    if done == runs:
        return f"All {runs} runs are in {out} already: nothing is left to compute."
    if not done and not begun:
        return ""
    where = f"{min(rounds)} to {max(rounds)}" if len(set(rounds)) > 1 else f"{max(rounds, default=0)}"
    after = f", {begun} continue after round {where}" if begun else ""
    return f"Resuming {out}: {done} of {runs} runs are done{after}."


def duration(seconds: float) -> str:
    """Return seconds as text: "50 s", "34 min", "3.2 h"."""
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 99.5 * 60 else f"{seconds / 3600:.1f} h"
