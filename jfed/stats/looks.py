"""Comparisons of several schemes at planned numbers of seeds, of which each may end as soon as it is decided.

The familywise error rate of all comparisons at all looks is alpha. Holm's procedure is applied to one sequential
p-value per comparison: the smallest alpha at which a study of that comparison alone would have rejected at a look so
far. With r of m comparisons rejected, the others are thereby tested at the levels of `jfed.stats.spending` for alpha /
(m - r), at this look and at those before: a rejection may turn an earlier near miss into another rejection. What was
rejected stays rejected, so its scheme needs no more seeds. A study may also end early without any rejection, which
makes errors only rarer.

This is a closed test. The Bonferroni test of any j comparisons rejects if one of them crosses, at some look, the
boundary for alpha / j, which has probability alpha at most, however the comparisons depend on each other; and both
spending functions make every boundary easier to cross with a larger alpha (for the O'Brien-Fleming-like one, proved for
alpha up to 0.63 and found by computation beyond).

Source: Liu and Anderson (2008), On adaptive extensions of group sequential trials for clinical investigations, for
sequential p-values; Ye, Li, Liu and Yao (2013), A group sequential Holm procedure with multiple primary endpoints;
Maurer and Bretz (2013), Multiple testing in group sequential trials using graphical approaches, whose procedure tests
at the present look only and so rejects a subset.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize
from scipy.special import ndtr, ndtri

from jfed.stats.intervals import holm
from jfed.stats.spending import Spending, checked_looks, critical, levels, spent

SMALLEST = 1e-100  # p-values below are taken as this, which is well within the range of critical values
LARGEST = 0.9999  # corrected p-values above are 1


@dataclass(frozen=True)
class Looks:
    """Plan of the looks of one comparison at its data.

    Attributes:
        seeds: numbers of seeds at which to look, the last being the end of the study.
        alpha: probability that some look rejects without a difference.
        spending: how alpha is spread over the looks.
        levels: two-sided level at which each look tests.
        critical: the same as critical values of a normal statistic.
        spent: how much of alpha the looks so far use.
    """

    seeds: tuple[int, ...]
    alpha: float
    spending: Spending
    levels: tuple[float, ...]
    critical: tuple[float, ...]
    spent: tuple[float, ...]


@dataclass(frozen=True)
class Decision:
    """Result for one comparison after some looks.

    Attributes:
        rejected_at: number of seeds of the look that rejected "no difference"; None while it is open.
        p: p-value corrected for the family and for the looks so far; NaN if there is none.
    """

    rejected_at: int | None
    p: float


def plan_looks(looks: Iterable[int], alpha: float = 0.05, spending: Spending = "obrien-fleming") -> Looks:
    """Plan looks at increasing numbers of seeds, the last of which ends the study.

    In a family of m comparisons, of which `decide` takes care, the first to be rejected are tested at the levels of a
    plan for alpha / m.

    Args:
        looks: increasing numbers of seeds.
        alpha: probability that some look rejects without a difference.
        spending: "obrien-fleming" keeps nearly all of alpha for the end, "pocock" spreads it evenly.

    Raises:
        ValueError: the looks are not increasing whole numbers of at least 2, alpha is outside (0, 1), or the spending
            function is unknown.

    Source: as for `jfed.stats.spending.levels`.
    """
    seeds = checked_looks(looks)
    n_max = seeds[-1]
    return Looks(
        seeds=seeds,
        alpha=alpha,
        spending=spending,
        levels=levels(seeds, n_max, alpha, spending),
        critical=critical(seeds, n_max, alpha, spending),
        spent=tuple(spent(n / n_max, alpha, spending) for n in seeds),
    )


def next_look(plan: Looks, n_done: int) -> int | None:
    """Return the number of seeds of the first look after `n_done` seeds; None if there is none."""
    return next((n for n in plan.seeds if n > n_done), None)


def decide(
    p_values: ArrayLike,
    looks: Iterable[int],
    n_max: int,
    alpha: float = 0.05,
    spending: Spending = "obrien-fleming",
) -> tuple[Decision, ...]:
    """Decide on all comparisons of a family after some looks (see the module docstring).

    Args:
        p_values: (m, K) two-sided and uncorrected, of each comparison at each look; NaN where there is none, because
            the scheme had stopped or no test was possible. A comparison without any still counts as one of m.
        looks: (K,) increasing numbers of seeds, of the looks so far, which need not be those that were planned.
        n_max: number of seeds at which the study ends at the latest, fixed beforehand.
        alpha: familywise error rate over all looks up to n_max.
        spending: how alpha is spread over the looks.

    Returns:
        One decision for each comparison: rejected if its p < alpha.

    Raises:
        ValueError: the p-values do not fit the looks or are outside [0, 1], or an argument is out of range as in
            `jfed.stats.spending.levels`.
    """
    seeds = checked_looks(looks)
    critical(seeds, n_max, alpha, spending)  # so that what is out of range is said before anything is computed
    p = np.asarray(p_values, dtype=float)
    if p.ndim != 2 or not len(p) or p.shape[1] != len(seeds):
        raise ValueError(f"p_values must have a row for each comparison and {len(seeds)} looks, got shape {p.shape}")
    if np.any((p < 0) | (p > 1)):
        raise ValueError("p_values must lie between 0 and 1, or be NaN")
    alone = np.array([_sequential(row, seeds, n_max, spending) for row in p])
    corrected = np.array([holm(column) for column in alone.T])
    decisions = []
    for by_look in corrected.T:
        rejected = by_look < alpha
        decisions.append(Decision(seeds[int(np.argmax(rejected))] if rejected.any() else None, float(by_look[-1])))
    return tuple(decisions)


def _sequential(p: np.ndarray, looks: tuple[int, ...], n_max: int, spending: Spending) -> list[float]:
    """Return, after each look, the smallest alpha at which some look so far rejects; NaN before the first p."""
    found, smallest = [], math.nan
    for k, value in enumerate(p.tolist(), start=1):
        if not math.isnan(value):
            known = 1.0 if math.isnan(smallest) else smallest
            smallest = _smallest_alpha(value, looks[:k], n_max, spending, known)
        found.append(smallest)
    return found


def _smallest_alpha(p: float, looks: tuple[int, ...], n_max: int, spending: Spending, known: float) -> float:
    """Return the smallest alpha at which p is significant at the last of the looks, or `known` if that is smaller."""
    z = -float(ndtri(max(p, SMALLEST) / 2))

    def missed_by(x: float) -> float:
        """Return the distance of z from the boundary for the alpha of quantile x, nearly linear in x."""
        return critical(looks, n_max, 2 * float(ndtr(-x)), spending)[-1] - z

    low = -float(ndtri(min(known, LARGEST) / 2))
    if missed_by(low) >= 0:
        return known
    root: Any = optimize.brentq(missed_by, low, z + 1e-9, xtol=1e-10)  # a level is never above alpha
    return 2 * float(ndtr(-root))
