"""Intervals of each scheme's own runs: their mean, their interquartile mean, and their performance profile."""

import functools

import numpy as np

from jfed.analysis import iqm_intervals, performance_profiles, probability_of_improvement, summarise
from jfed.stats.bootstrap import iqm
from tools.simulated.functions import RESAMPLES, SHIFT, chance_to_win
from tools.simulated.model import NORMAL, SHAPES, Group, Shape, Study, least
from tools.simulated.tables import cover, frame

THRESHOLD = -1.0  # standard deviations; most runs reach it


def _own(rng: np.random.Generator, shape: Shape, n: int) -> tuple[float, ...]:
    x = shape.scores(rng, (n,))
    (row,) = summarise(frame(x[None]), "accuracy").rows
    mean, reached = means_and_share(shape.name)
    inner = iqm_intervals({"": x}, resamples=RESAMPLES)[""]
    profile = performance_profiles({"": x}, [THRESHOLD], resamples=RESAMPLES).schemes[""]
    better, other = shape.scores(rng, (2, n), np.array([[SHIFT], [0.0]]))
    wins = probability_of_improvement(better, other, resamples=RESAMPLES)
    return (
        cover(row.low, row.high, 0.0),
        cover(inner.low, inner.high, mean),
        cover(float(profile.low[0]), float(profile.high[0]), reached),
        cover(wins.low, wins.high, chance_to_win(shape.name)),
    )


@functools.cache
def means_and_share(name: str) -> tuple[float, float]:
    """Return the interquartile mean of a shape's scores, and the share at the threshold or above, by simulation."""
    x = SHAPES[name].scores(np.random.default_rng(0), (1_000_000,))
    return float(iqm(x)), float(np.mean(x >= THRESHOLD))


OWN_RUNS = Group(
    "Each scheme's own runs",
    """\
The interval of the mean is that of summaries. The others are percentile intervals over resampled seeds, as figures of
performance profiles have them, with 999 resamples: of the interquartile mean, of the share of runs at minus one
standard deviation or above, and of the chance to win of a scheme that is better by half a standard deviation. The
resampled ones are too short with 5 seeds, that of a share near 0 or 1 by far the most: if all runs reach a threshold,
it is a point. That of the mean is too short for scores that are skewed or collapse.
""",
    (
        Study(
            _own,
            (
                least("mean, t interval", NORMAL),
                least("interquartile mean"),
                least("share of runs at a threshold"),
                least("chance to win, resampled"),
            ),
            thin=2,
        ),
    ),
)
