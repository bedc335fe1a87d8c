"""Parts of a calibration: shapes of scores, studies that simulate one experiment after another, and rates."""

import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

LEVEL = 0.05
FEWEST = 2  # simulated experiments per cell


@dataclass(frozen=True)
class Shape:
    """A distribution of scores with mean 0 and standard deviation 1.

    Attributes:
        name: its name in the document.
        draw: draws of it, before rounding, of a given size.
        step: multiples to which scores are rounded, after all that is added to them; 0 for none.
    """

    name: str
    draw: Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
    step: float = 0.0

    def scores(self, rng: np.random.Generator, size: tuple[int, ...], shift: ArrayLike = 0.0) -> np.ndarray:
        """Return scores with the mean `shift`, which is broadcast to their size."""
        return self.measured(self.draw(rng, size) + np.asarray(shift))

    def measured(self, x: np.ndarray) -> np.ndarray:
        """Return x as it is reported: rounded, if this shape is a coarse one."""
        return np.round(x / self.step) * self.step if self.step else x

    @property
    def sd(self) -> float:
        """Return the standard deviation after rounding (Sheppard's correction)."""
        return (1 + self.step**2 / 12) ** 0.5


def _lognormal(rng: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
    return (np.exp(rng.normal(size=size)) - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e)


def _collapsing(rng: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
    return (rng.normal(size=size) - 10 * (rng.random(size) < 0.1) + 1) / np.sqrt(10)


SHAPES = {
    shape.name: shape
    for shape in (
        Shape("normal", lambda rng, size: rng.normal(size=size)),
        Shape("t3", lambda rng, size: rng.standard_t(3, size=size) / np.sqrt(3)),
        Shape("lognormal", _lognormal),
        Shape("coarse", lambda rng, size: rng.normal(size=size), step=0.5),
        Shape("collapsing", _collapsing),
    )
}
EVERY = tuple(SHAPES)
NORMAL = ("normal",)
SKEWED = ("lognormal", "collapsing")
SEEDS = {"5": 5, "10": 10, "30": 30}


@dataclass(frozen=True)
class Row:
    """One rate of a study.

    Attributes:
        name: what is counted.
        wanted: "at most" or "at least" `percent`; "" where nothing is promised, for contrast.
        percent: the nominal rate.
        sure: shapes for which theory promises it, exactly or as a close approximation.
    """

    name: str
    wanted: Literal["at most", "at least", ""]
    percent: float
    sure: tuple[str, ...] = ()

    def misses(self, rate: float, error: float, errors: float = 3.0) -> bool:
        """Return whether a rate is on the wrong side of what is wanted by more than so many standard errors."""
        beyond = {"at most": rate - self.percent / 100, "at least": self.percent / 100 - rate, "": -1.0}
        return beyond[self.wanted] > errors * error


def most(name: str, sure: tuple[str, ...] = (), percent: float = 100 * LEVEL) -> Row:
    """Return a row of errors, wanted at the level of the tests or below."""
    return Row(name, "at most", percent, sure)


def least(name: str, sure: tuple[str, ...] = (), percent: float = 100 * (1 - LEVEL)) -> Row:
    """Return a row of what is right, wanted at the level of the intervals or above."""
    return Row(name, "at least", percent, sure)


def contrast(name: str) -> Row:
    """Return a row of which nothing is promised."""
    return Row(name, "", np.nan)


@dataclass(frozen=True)
class Study:
    """A kind of experiment, and what is counted in it.

    Attributes:
        one: function of (rng, shape, size) that simulates one experiment and returns a number in [0, 1] for each row:
            whether it happened, or with what share of comparisons; NaN where the table makes no such statement.
        rows: what the numbers are.
        sizes: sizes of the experiment by label, usually numbers of seeds.
        shapes: names of the shapes that are simulated.
        thin: the repetitions are divided by this, for experiments that take long.
    """

    one: Callable[[np.random.Generator, Shape, Any], Sequence[float]]
    rows: tuple[Row, ...]
    sizes: Mapping[str, Any] = field(default_factory=lambda: SEEDS)
    shapes: tuple[str, ...] = EVERY
    thin: int = 1


@dataclass(frozen=True)
class Group:
    """A table of the document.

    Attributes:
        title: its title.
        note: what was simulated and what follows from it.
        studies: the studies.
    """

    title: str
    note: str
    studies: tuple[Study, ...]


def simulate(
    groups: Iterable[Group],
    repetitions: int,
    seed: int = 0,
    tell: Callable[[str], None] = lambda line: None,
    processes: int = 1,
) -> pd.DataFrame:
    """Return the rates of all rows.

    Args:
        groups: the groups.
        repetitions: simulated experiments per cell, fewer for studies that are thinned.
        seed: seed of all draws. A cell's draws do not depend on which other cells there are.
        tell: gets a line about each study that is done.
        processes: number of processes that simulate; the rates are the same with any.

    Returns:
        One row per cell with columns group, row, size, shape, repetitions (experiments that made the statement), rate,
        its Monte Carlo standard error, and `misses`, whether the rate misses what is wanted by three errors. The error
        takes one success and one failure more than were seen, so that it is not 0 where none were seen.

    Source: Agresti and Caffo (2000), Simple and effective confidence intervals, for the added outcomes.
    """
    jobs = [
        (group.title, study, shape, label, max(FEWEST, repetitions // study.thin), seed)
        for group in groups
        for study in group.studies
        for shape in study.shapes
        for label in study.sizes
    ]
    cells, seconds = [], defaultdict(float)
    with _mapped(processes) as mapped:
        for (title, study, shape, label, *_), (found, took) in zip(jobs, mapped(_cell, jobs), strict=True):
            seconds[title, study.rows[0].name] += took
            for row, values in zip(study.rows, found.T, strict=True):
                rate, error, known = _mean(values)
                cells.append((title, row.name, label, shape, known, rate, error, row.misses(rate, error)))
            if (shape, label) == (study.shapes[-1], list(study.sizes)[-1]):
                tell(f"{seconds[title, study.rows[0].name]:6.0f} s  {title}: {study.rows[0].name}")
    columns = ["group", "row", "size", "shape", "repetitions", "rate", "error", "misses"]
    return pd.DataFrame(cells, columns=pd.Index(columns))


@contextmanager
def _mapped(processes: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """Give a function like `map` that spreads its calls over processes."""
    if processes == 1:
        yield map
        return
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        yield pool.map


def _cell(job: tuple[str, Study, str, str, int, int]) -> tuple[np.ndarray, float]:
    """Return what was counted in each experiment of a cell, (experiments, rows), and the processor time, in s."""
    title, study, shape, label, count, seed = job
    start = time.process_time()
    rng = np.random.default_rng([seed, zlib.crc32(f"{title} {study.rows[0].name} {shape} {label}".encode())])
    found = [study.one(rng, SHAPES[shape], study.sizes[label]) for _ in range(count)]
    return np.array(found, dtype=float), time.process_time() - start


def _mean(values: np.ndarray) -> tuple[float, float, int]:
    known = values[~np.isnan(values)]
    if not len(known):
        return np.nan, np.nan, 0
    return float(known.mean()), float(np.std([*known, 0.0, 1.0]) / (len(known) + 2) ** 0.5), len(known)
