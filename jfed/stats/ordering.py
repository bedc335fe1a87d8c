"""Tests of an order that was predicted beforehand: of a trend along it, or of every step.

They answer different questions. Page's test rejects "no scheme differs" in favour of "some later
scheme is worse"; one large step is enough, so it does not show the whole order. The
intersection-union test rejects "at least one step does not hold", so it shows every step, and needs
more seeds.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from jfed.stats.checks import require_share
from jfed.stats.omnibus import rank
from jfed.stats.paired import NAN, measure
from jfed.stats.signflip import sign_flip


@dataclass(frozen=True)
class Page:
    """Result of Page's test.

    Attributes:
        statistic: Page's L.
        p: one-sided p-value.
        exact: whether p is exact, rather than from a normal approximation.
    """

    statistic: float
    p: float
    exact: bool


@dataclass(frozen=True)
class Step:
    """The test of one step of an order.

    Attributes:
        better: scheme that is predicted to be better.
        worse: scheme that is predicted to be worse.
        difference: mean of better minus worse over seeds, in the metric's units; negative where a lower score is better
            and the step holds.
        p: one-sided p-value, uncorrected.
        n: number of seeds.
        note: why `p` is NaN or from another test, or "".
    """

    better: str
    worse: str
    difference: float
    p: float
    n: int
    note: str


@dataclass(frozen=True)
class Ordering:
    """The test of a whole order.

    Attributes:
        steps: its adjacent steps.
        p: p-value for "every step holds".
        first_failing: first step without p < alpha; None if all steps are shown.
    """

    steps: tuple[Step, ...]
    p: float
    first_failing: Step | None


def page(scores: ArrayLike, *, higher_is_better: bool = True) -> Page:
    """Test for a trend with Page's test: whether schemes get worse along the predicted order.

    L is the sum of predicted rank times observed rank; under its null hypothesis all orders of a
    seed's ranks are equally likely. The distribution is exact for at most 8 schemes and 100 seeds,
    tied ranks included, and otherwise normal, with a variance that accounts for ties. Without ties
    the test is `scipy.stats.page_trend_test`, which ignores ties and uses the normal approximation
    sooner.

    Args:
        scores: (n, k) finite, a row per seed and a column per scheme, in the metric's units. The
            columns are in the predicted order, best first; the order must not come from these scores.
        higher_is_better: whether a larger score is better.

    Returns:
        The test, with p = 1 if on each seed all schemes have the same score.

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

    "Every step holds" is claimed only if each step is shown by itself at level `alpha`, so its p-value
    is the largest of theirs. This needs no correction for the number of steps: if one step does not
    hold, the claim is made only if that step's own test errs (Berger 1982). The p-values of single
    steps are not corrected, so they support no claim about a part of the order.

    A difference that is the same on every seed, up to rounding, has no t. If it has the predicted
    sign, p is then that of an exact sign test, 2^-n; otherwise p = 1.

    Args:
        scores: (n, k) finite, a row per seed and a column per scheme, in the metric's units, in the
            predicted order, best first; the order must not come from these scores.
        names: names of the k schemes, in the columns' order.
        higher_is_better: whether a larger score is better.
        test: "t", the paired t-test, or "sign-flip", which needs no normality.
        alpha: level at which a step counts as shown.

    Returns:
        The steps and the p-value of the order, which is NaN with one seed and test "t".

    Raises:
        ValueError: scores are not a finite matrix with at least two columns, the names do not fit
            it, the test is unknown, or alpha is outside (0, 1).

    Source: Berger (1982), Multiparameter hypothesis testing and acceptance sampling.
    """
    require_share("alpha", alpha)
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
    """Return P(L >= statistic) if all orders of each row's ranks, ties included, are equally likely."""
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
    """Return P(L >= statistic) by a normal approximation, for more seeds or schemes."""
    n, k = ranks.shape
    # A row contributes S(predicted) S(ranks) / (k - 1), with S the sum of squares about the mean, and
    # S(predicted) = k (k^2 - 1) / 12.
    variance = float(np.sum((ranks - (k + 1) / 2) ** 2)) * k * (k + 1) / 12
    if variance == 0:
        return 1.0
    return float(stats.norm.sf((statistic - n * k * (k + 1) ** 2 / 4) / math.sqrt(variance)))
