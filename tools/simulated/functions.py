"""Statements of functions that stand beside tables: bootstrap intervals, effect sizes, ranks and orders."""

import functools
from functools import partial

import numpy as np

from jfed.analysis import (
    bootstrap_interval,
    compare_times,
    friedman,
    intersection_union,
    page,
    ratio_of_medians,
    tost,
)
from jfed.stats.effects import a12_interval, d_z_interval
from jfed.stats.omnibus import critical_difference
from tools.simulated.model import EVERY, LEVEL, NORMAL, SHAPES, Group, Shape, Study, least, most
from tools.simulated.tables import cover, frame, some

RESAMPLES = 999
SCHEMES = 4
FIRST_STEP = np.array([100.0, 0.0, 0.0])  # makes the first step of an order of three certain
D_Z = 0.8
SHIFT = 0.5  # a multiple of the step of coarse scores
critical = functools.lru_cache(critical_difference)


def _bootstrap(rng: np.random.Generator, shape: Shape, n: int) -> tuple[float, ...]:
    """Return whether intervals of the mean and of the interquartile mean hold 0, and that of a ratio of medians 1."""
    x = shape.scores(rng, (2, n))
    d = x[1] - x[0]
    low, high = ratio_of_medians(np.exp(x[1]), np.exp(x[0]), resamples=RESAMPLES)
    return (
        cover(*bootstrap_interval(d, resamples=RESAMPLES), 0.0),
        cover(*bootstrap_interval(d, method="percentile", resamples=RESAMPLES), 0.0),
        cover(*bootstrap_interval(d, "iqm", method="percentile", resamples=RESAMPLES), 0.0),
        cover(low, high, 1.0),
    )


def _effects(rng: np.random.Generator, shape: Shape, n: int) -> tuple[float, ...]:
    d = shape.scores(rng, (n,), D_Z)
    spread = float(np.std(d, ddof=1))
    of_d_z = d_z_interval(float(d.mean()) / spread, n) if spread else (np.nan, np.nan)
    x = shape.scores(rng, (2, n), np.array([[0.0], [SHIFT]]))
    paired, apart = (a12_interval(x[1], x[0], higher_is_better=True, paired=paired) for paired in (True, False))
    wins = chance_to_win(shape.name)
    return cover(*of_d_z, D_Z / shape.sd), cover(*paired, wins), cover(*apart, wins)


@functools.cache
def chance_to_win(name: str) -> float:
    """Return the chance that a score is above another that lacks the shift, ties counted half, by simulation."""
    rng, shape = np.random.default_rng(0), SHAPES[name]
    x, y = shape.scores(rng, (1_000_000,), SHIFT), np.sort(shape.scores(rng, (1_000_000,)))
    return float(np.mean(np.searchsorted(y, x, "left") + np.searchsorted(y, x, "right"))) / (2 * len(y))


def _ranks(rng: np.random.Generator, shape: Shape, n: int) -> tuple[float, ...]:
    scores = shape.scores(rng, (n, SCHEMES))
    found = friedman(scores)
    return found.p_f < LEVEL, np.ptp(found.mean_ranks) >= critical(n, SCHEMES), page(scores).p < LEVEL


def _order(rng: np.random.Generator, shape: Shape, n: int, test: str) -> tuple[float, ...]:
    scores = shape.scores(rng, (n, 3), FIRST_STEP)
    return (intersection_union(scores, list("abc"), test="t" if test == "t" else "sign-flip").p < LEVEL,)


def _tost(rng: np.random.Generator, shape: Shape, n: int) -> tuple[float, ...]:
    x, margin = shape.scores(rng, (2, n)), 3 * np.sqrt(2 / n)
    return (tost(x[1] - x[0] + margin, -margin, margin).equivalent,)


def _times(rng: np.random.Generator, shape: Shape, n: int) -> tuple[float, ...]:
    """Return whether times get a verdict that have one distribution, of which a third is beyond the horizon."""
    times = frame(np.exp(shape.scores(rng, (2, n)))).rename(columns={"accuracy": "rounds"})
    horizon = float(np.exp(late(shape.name)))
    times["rounds"] = times["rounds"].where(times["rounds"] <= horizon, np.inf)
    return (some(compare_times(times, "rounds", horizon).rows),)


@functools.cache
def late(name: str) -> float:
    """Return the score that a third of the runs of a shape are above, by simulation."""
    return float(np.quantile(SHAPES[name].scores(np.random.default_rng(0), (1_000_000,)), 2 / 3))


BESIDE_TABLES = Group(
    "Functions beside the tables",
    """\
Bootstrap intervals are of the paired differences of two equal schemes, with 999 resamples; the ratio of medians is
that of e^score. They are too short with few seeds, and tables take t intervals. The interval of d_z (true value 0.8,
differences of the shape) is about normal differences only, and more seeds do not mend it in heavy tails and skewed
ones. a12 is that of a scheme better by half a standard deviation. *Order* is one of three schemes of which one step
is an equality; *TOST* is taken at a true difference of exactly the margin; *times* are those of `compare_times`.
""",
    (
        Study(
            _bootstrap,
            (
                least("BCa bootstrap interval of the mean"),
                least("percentile bootstrap interval of the mean"),
                least("percentile bootstrap interval of the interquartile mean"),
                least("interval of the ratio of medians"),
            ),
            thin=2,
        ),
        Study(
            _effects,
            (
                least("interval of d_z", NORMAL),
                least("interval of a12, same seeds", NORMAL),
                least("interval of a12, independent runs", NORMAL),
            ),
        ),
        Study(
            _ranks,
            (
                most("Friedman's test of four schemes", EVERY),
                most("critical difference of four schemes' mean ranks: any pair", NORMAL),
                most("Page's test of four schemes", EVERY),
            ),
        ),
        Study(
            partial(_order, test="t"), (most("order of three by t, one step of which does not hold", NORMAL),), thin=2
        ),
        Study(
            partial(_order, test="signs"),
            (most("order of three by sign flips, one step of which does not hold", EVERY),),
            thin=4,
        ),
        Study(_tost, (most("TOST at the margin", NORMAL),)),
        Study(_times, (most("times to a target, a third of them censored: verdict", EVERY),), {"10": 10}, thin=4),
    ),
)
