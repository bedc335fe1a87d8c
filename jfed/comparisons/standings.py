"""The standing of schemes over problems that are crossed, such as worlds x data sets x seeds.

`across` takes its data sets as one sample. Here several factors are crossed: each world occurs with each data set and
each seed, and cells share the draws of their seeds and what their worlds and data sets have in common. A difference of
two schemes is tested for further levels of all factors (`jfed.stats.crossed`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from jfed.comparisons.across_data import Evidence
from jfed.comparisons.across_tests import corrected
from jfed.core.errors import require_columns
from jfed.results.direction import require_direction
from jfed.results.frames import require_scheme
from jfed.stats.checks import require_share
from jfed.stats.crossed import crossed

NAN = float("nan")
RESAMPLES = 2000


@dataclass(frozen=True)
class Standing:
    """One scheme over all cells; undefined numbers are NaN.

    Attributes:
        scheme: name of the scheme.
        mean: mean score over all cells and seeds.
        difference: mean minus that of the baseline; 0 for the baseline itself.
        se: standard error of the difference, for further levels of all factors; NaN for the baseline, like df and p.
        df: its degrees of freedom.
        p: two-sided p-value.
        p_adjusted: p-value with Holm's correction for all schemes.
        low: lower end of the family's interval of the difference.
        high: its upper end.
        rank: mean over cells of the rank of the scheme's mean over seeds; 1 is best, ties have the mean of their ranks.
        rank_low: lower end of the bootstrap interval of the mean rank, for this scheme alone.
        rank_high: its upper end.
        among_best: share of the resamples in which the scheme's mean rank is among the best `Standings.best`.
        wins: number of cells in which its mean is the best, ties included.
        failed: number of failed runs, which count with the worst score of their cell and seed.
        verdict: better, worse or no difference shown; baseline for the baseline; identical if all scores are equal.
    """

    scheme: str
    mean: float
    difference: float
    se: float
    df: float
    p: float
    p_adjusted: float
    low: float
    high: float
    rank: float
    rank_low: float
    rank_high: float
    among_best: float
    wins: int
    failed: int
    verdict: str


@dataclass(frozen=True)
class Standings:
    """The standing of all schemes, best mean rank first.

    Attributes:
        metric: name of the metric.
        factors: name and number of levels of each crossed factor, the seed last.
        baseline: scheme that the others are compared with.
        higher_is_better: whether a larger score is better.
        alpha: familywise error rate of the comparisons, and one minus the level of the intervals.
        best: number of schemes of which `among_best` tells.
        rows: the schemes.
        cells: mean score of each scheme in each cell: a column per factor but the seed, `scheme`, `mean` and `rank`.
    """

    metric: str
    factors: tuple[tuple[str, int], ...]
    baseline: str
    higher_is_better: bool
    alpha: float
    best: int
    rows: tuple[Standing, ...]
    cells: pd.DataFrame

    def frame(self) -> pd.DataFrame:
        """Return one row per scheme."""
        return pd.DataFrame([vars(row) for row in self.rows])


def standings(
    frame: pd.DataFrame,
    metric: str,
    factors: Sequence[str],
    *,
    baseline: str,
    higher_is_better: bool | None = None,
    alpha: float = 0.05,
    best: int = 3,
    seed: int = 0,
) -> Standings:
    """Return how schemes stand over crossed problems: against a baseline, by rank, and among the best.

    The bootstrap resamples the levels of every factor and the seeds, each on its own, the same for all schemes (Owen's
    pigeonhole bootstrap). It errs towards wide intervals, and with few levels it is a rough guide: how often a scheme
    is among the best of the resamples is no probability of a hypothesis.

    Args:
        frame: one row per (cell, scheme, seed), with columns `scheme`, `seed`, the factors and the metric. A score that
            is not finite is a failed run.
        metric: the column to compare.
        factors: columns that name a cell, such as ("world", "data").
        baseline: scheme that every other scheme is compared with.
        higher_is_better: whether a larger score is better; None goes by the metric's name.
        alpha: familywise error rate.
        best: number of schemes of which `Standing.among_best` tells.
        seed: seed of the bootstrap.

    Raises:
        ValueError: a column or the baseline is missing, there are fewer than two schemes or seeds, a scheme lacks a
            combination of levels or has it twice, or all schemes failed in one.

    Source: Searle, Casella and McCulloch (1992), Variance components, chapter 4; Owen (2007), The pigeonhole bootstrap.
    """
    require_share("alpha", alpha)
    higher = require_direction(metric, higher_is_better)
    names = [*factors, "seed"]
    scores, schemes, levels, failed = _grid(frame, metric, names)
    require_scheme(baseline, schemes)
    if len(schemes) < 2 or scores.shape[-1] < 2:
        raise ValueError(f"standings need two schemes and two seeds, found {len(schemes)} and {scores.shape[-1]}")
    better = _filled(scores if higher else -scores, metric)
    scores = better if higher else -better
    base = schemes.index(baseline)
    others = [i for i in range(len(schemes)) if i != base]
    kept = [i for i, size in enumerate(scores.shape[1:]) if size > 1]  # a factor of one level cannot be tested
    tests = []
    for i in others:
        difference = (scores[i] - scores[base]).reshape([scores.shape[1 + axis] for axis in kept])
        found = crossed(difference, [names[axis] for axis in kept])
        tests.append((found.estimate, list(found.candidates) or [(0.0, NAN)]))
    evidence = dict(zip(others, corrected(tests, alpha), strict=True))
    cells = scores.mean(-1)
    ranks = _ranks(better.mean(-1))
    flat = ranks.reshape(len(schemes), -1)
    drawn = _resampled(better, seed)
    low, high = np.quantile(drawn, [alpha / 2, 1 - alpha / 2], axis=0)
    among = (_ranks(-drawn.T) <= best).mean(1)
    means = better.mean(-1)
    wins = (means == means.max(0)).reshape(len(schemes), -1).sum(1)
    rows = []
    for i, name in enumerate(schemes):
        mine, difference = evidence.get(i), float(cells[i].mean() - cells[base].mean())
        rows.append(
            Standing(
                scheme=name,
                mean=float(cells[i].mean()),
                difference=difference,
                se=mine.se if mine else NAN,
                df=mine.df if mine else NAN,
                p=mine.p if mine else NAN,
                p_adjusted=mine.p_adjusted if mine else NAN,
                low=mine.low if mine else NAN,
                high=mine.high if mine else NAN,
                rank=float(flat[i].mean()),
                rank_low=float(low[i]),
                rank_high=float(high[i]),
                among_best=float(among[i]),
                wins=int(wins[i]),
                failed=failed[i],
                verdict=_verdict(mine, difference if higher else -difference, alpha),
            )
        )
    rows.sort(key=lambda row: row.rank)
    made = [
        {**dict(zip(factors, cell, strict=True)), "scheme": name, "mean": cells[(i, *at)], "rank": ranks[(i, *at)]}
        for i, name in enumerate(schemes)
        for at, cell in _cells(levels[:-1])
    ]
    sizes = tuple((name, len(level)) for name, level in zip(names, levels, strict=True))
    return Standings(metric, sizes, baseline, higher, alpha, best, tuple(rows), pd.DataFrame(made))


def _grid(
    frame: pd.DataFrame, metric: str, names: Sequence[str]
) -> tuple[np.ndarray, list[str], list[list], list[int]]:  # fmt: skip
    """Return scores (schemes, *levels, seeds), schemes, levels of each factor, and failed runs of each scheme."""
    require_columns(frame, ("scheme", *names, metric))
    schemes = list(dict.fromkeys(frame["scheme"].astype(str)))
    levels = [list(dict.fromkeys(frame[name])) for name in names]
    columns: list[Any] = [frame["scheme"].astype(str), *(frame[name] for name in names)]
    shape = (len(schemes), *map(len, levels))
    places = [_places(column, own) for column, own in zip(columns, [schemes, *levels], strict=True)]
    index = np.ravel_multi_index(places, shape)
    counts = np.bincount(index, minlength=int(np.prod(shape)))
    if (counts != 1).any():
        at = np.unravel_index(int(np.flatnonzero(counts != 1)[0]), shape)
        told = ", ".join(f"{n} {own[j]}" for n, own, j in zip(names, levels, at[1:], strict=True))
        how = "lacks" if counts[np.ravel_multi_index(at, shape)] == 0 else "has more than one run at"
        raise ValueError(f"{schemes[at[0]]} {how} {told}: every scheme needs each combination once")
    scores = np.empty(shape)
    scores.flat[index] = frame[metric].to_numpy(dtype=float, na_value=np.nan)
    failed = [int((~np.isfinite(own)).sum()) for own in scores]
    return scores, schemes, levels, failed


def _places(column: Any, levels: list) -> np.ndarray:
    known = {level: i for i, level in enumerate(levels)}
    return np.array([known[value] for value in column], int)


def _filled(better: np.ndarray, metric: str) -> np.ndarray:
    """Return scores of which larger ones are better, with the worst of its cell and seed for each failed run."""
    known = np.isfinite(better)
    if not known.any(0).all():
        raise ValueError(f"no scheme has a finite {metric!r} in some cell and seed")
    return np.where(known, better, np.where(known, better, np.inf).min(0))


def _verdict(test: Evidence | None, gain: float, alpha: float) -> str:
    if test is None:
        return "baseline"
    if not test.p_adjusted < alpha:
        return "identical" if gain == 0 and test.se == 0 else "no difference shown"  # gains and losses may cancel
    return "better" if gain > 0 else "worse"


def _ranks(better: np.ndarray) -> np.ndarray:
    """Return ranks along the first axis, 1 for the largest; ties have the mean of their ranks."""
    return stats.rankdata(-better, axis=0)


def _resampled(better: np.ndarray, seed: int) -> np.ndarray:
    """Return mean ranks of schemes, (RESAMPLES, schemes), with the levels of each factor and the seeds drawn anew."""
    rng, (many, *sizes) = np.random.default_rng(seed), better.shape
    *own, seeds = (rng.multinomial(size, np.full(size, 1 / size), RESAMPLES) for size in sizes)
    weight = np.ones((RESAMPLES, 1))
    for counts in own:
        weight = (weight[:, :, np.newaxis] * counts[:, np.newaxis]).reshape(RESAMPLES, -1)
    found = np.empty((RESAMPLES, many))
    for part in np.array_split(np.arange(RESAMPLES), 20):  # so that large grids need little memory
        means = better.reshape(many, -1, sizes[-1]) @ seeds[part].T  # (schemes, cells, resamples)
        found[part] = np.einsum("mcb,bc->bm", _ranks(means), weight[part])
    return found / weight.sum(1, keepdims=True)


def _cells(levels: Sequence[list]) -> list[tuple[tuple[int, ...], tuple]]:
    """Return the place and the levels of each cell."""
    return [(at, tuple(own[j] for own, j in zip(levels, at, strict=True))) for at in np.ndindex(*map(len, levels))]
