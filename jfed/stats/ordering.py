"""Tests of an order that was predicted beforehand: a trend somewhere, or every step of it.

The two answer different questions. Page's test rejects "no scheme differs" in favour of "some later
scheme is worse"; one large step is enough, and it does not show the whole order. The
intersection-union test rejects "at least one step does not hold", so it shows every step, and needs
more seeds for it.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from jfed.results.frames import require_alpha
from jfed.stats.omnibus import rank
from jfed.stats.paired import NAN, measure
from jfed.stats.signflip import sign_flip


@dataclass(frozen=True)
class Page:
    """Page's L, its one-sided p-value, and whether that is exact or normal."""

    statistic: float
    p: float
    exact: bool


@dataclass(frozen=True)
class Step:
    """One step of an order: is `better` better than `worse`?

    `difference` is the mean of better minus worse over n seeds, in the metric's units, so it is
    negative where a lower score is better and the step holds. `p` is one-sided and uncorrected; a
    note says why it is NaN or comes from another test.
    """

    better: str
    worse: str
    difference: float
    p: float
    n: int
    note: str


@dataclass(frozen=True)
class Ordering:
    """A whole order: its steps, the p-value of "every step holds", and the first that was not shown."""

    steps: tuple[Step, ...]
    p: float
    first_failing: Step | None


def page(scores: ArrayLike, *, higher_is_better: bool = True) -> Page:
    """Return Page's test of a trend: whether schemes get worse along the predicted order, on the whole.

    L adds up predicted rank times observed rank; its null distribution treats all orders of a
    seed's ranks as equally likely. That distribution is exact for at most 8 schemes and 100 seeds,
    tied ranks included, and otherwise normal with the variance that the ties leave. Without ties
    it is `scipy.stats.page_trend_test`, which takes tied ranks for untied ones and turns to the
    normal form sooner.

    Args:
        scores: (n, k) finite, a row per seed and a column per scheme, in the metric's units. The
            columns stand in the predicted order, best first; it must not come from these scores.
        higher_is_better: whether a larger score is better.

    Returns:
        p = 1 if on each seed all schemes have the same score.

    Raises:
        ValueError: scores are not a finite matrix with at least two rows and three columns.

    Source: Page (1963), Ordered hypotheses for multiple treatments.
    """
    ranks = rank(scores, higher_is_better=higher_is_better)
    n, k = ranks.shape
    if n < 2 or k < 3:
        raise ValueError(f"Page's test needs at least two seeds and three schemes, got {n} and {k}")
    statistic = float(np.sum(ranks @ np.arange(1, k + 1)))
    exact = k <= 8 and n <= 100
    return Page(statistic, _page_exact(ranks, statistic) if exact else _page_normal(ranks, statistic), exact)


def intersection_union(
    scores: ArrayLike,
    names: Sequence[str],
    *,
    higher_is_better: bool = True,
    test: Literal["t", "sign-flip"] = "t",
    alpha: float = 0.05,
) -> Ordering:
    """Test a whole order by all its adjacent steps, each one-sided and paired by seed.

    "Every step holds" is claimed only if each step is shown by itself at level `alpha`. Its p-value
    is the largest of theirs. This needs no correction for the number of steps: if one step does not
    hold, the claim needs that very step's test to err (Berger 1982). The p-values of single steps
    are not corrected, so they support no claim about a part of the order.

    A difference that is the same on every seed, up to rounding, has no t. If it points the right
    way, p is then that of an exact sign test, 2^-n; otherwise p = 1.

    Args:
        scores: (n, k) finite, a row per seed and a column per scheme, in the metric's units, in the
            predicted order, best first; the order must not come from these scores.
        names: k schemes, in the columns' order.
        higher_is_better: whether a larger score is better.
        test: "t", the paired t-test, or "sign-flip", which needs no normality.
        alpha: level at which a step counts as shown.

    Returns:
        `first_failing` is the first step without p < alpha, None if all are shown. p is NaN with
        one seed and test "t".

    Raises:
        ValueError: scores are not a finite matrix with at least two columns, the names do not fit
            it, or test or alpha is unknown or out of range.

    Source: Berger (1982), Multiparameter hypothesis testing and acceptance sampling.
    """
    require_alpha(alpha)
    x = np.asarray(scores, dtype=float)
    if x.ndim != 2 or len(x) < 1 or x.shape[1] < 2 or not np.isfinite(x).all():
        raise ValueError(f"scores must be a finite matrix of seeds by at least two schemes, got shape {x.shape}")
    if len(names) != x.shape[1] or len(set(names)) != len(names):
        raise ValueError(f"names must be {x.shape[1]} different schemes, one per column, got {list(names)}")
    if test not in ("t", "sign-flip"):
        raise ValueError(f"test must be 't' or 'sign-flip', got {test!r}")
    steps = []
    for j, (better, worse) in enumerate(itertools.pairwise(names)):
        difference, p, note = _step(x[:, j], x[:, j + 1], higher_is_better, test)
        steps.append(Step(better, worse, difference, p, len(x), note))
    failing = [step for step in steps if not step.p < alpha]
    return Ordering(tuple(steps), float(np.max([step.p for step in steps])), failing[0] if failing else None)


def _step(better: np.ndarray, worse: np.ndarray, higher_is_better: bool, test: str) -> tuple[float, float, str]:
    """Return the mean difference, one-sided p-value and note of one step."""
    pair = measure(better, worse, higher_is_better=higher_is_better)
    sign = 1.0 if higher_is_better else -1.0
    if pair.identical:
        return pair.difference, 1.0, "identical"
    if pair.constant:
        return pair.difference, 0.5**pair.n if sign * pair.difference > 0 else 1.0, "constant difference"
    if test == "sign-flip":
        return pair.difference, sign_flip(sign * (better - worse), "greater").p, ""
    if pair.n < 2:
        return pair.difference, NAN, "needs >= 2 seeds"
    return pair.difference, float(stats.t.sf(sign * pair.t, pair.n - 1)), ""


def _page_exact(ranks: np.ndarray, statistic: float) -> float:
    """Return P(L >= statistic) when each row's ranks, ties included, come in random order."""
    known: dict[tuple[int, ...], np.ndarray] = {}
    total = np.ones(1)
    for row in np.sort(np.rint(2 * ranks).astype(int), axis=1):  # doubled, so that mid-ranks are whole
        pattern = tuple(row.tolist())
        if pattern not in known:
            orders = np.array(list(itertools.permutations(pattern)))
            known[pattern] = np.bincount(orders @ np.arange(1, len(row) + 1)) / len(orders)
        total = np.convolve(total, known[pattern])
    return min(1.0, float(np.sum(total[round(2 * statistic) :])))


def _page_normal(ranks: np.ndarray, statistic: float) -> float:
    """Return the same by a normal approximation, for more seeds or schemes."""
    n, k = ranks.shape
    # A row adds S(predicted) S(ranks) / (k - 1), with S the sum of squares about the mean, and
    # S(predicted) = k (k^2 - 1) / 12.
    variance = float(np.sum((ranks - (k + 1) / 2) ** 2)) * k * (k + 1) / 12
    if variance == 0:
        return 1.0
    return float(stats.norm.sf((statistic - n * k * (k + 1) ** 2 / 4) / math.sqrt(variance)))
