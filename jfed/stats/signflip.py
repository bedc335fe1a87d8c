"""The paired sign-flip test."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from jfed.stats.checks import finite_vector

Alternative = Literal["two-sided", "greater", "less"]

EXACT_UP_TO = 20  # non-zero differences, hence at most 2**20 sign patterns
# Share of the sum of absolute differences. Wide enough for differences of about 0.02 between
# float32 scores below 1; a pattern that it wrongly includes can only make p larger.
TOLERANCE = 1e-6
GROUP = 14  # most differences in one table, of 2**14 sums
DRAWN = 100_000  # patterns drawn at a time


@dataclass(frozen=True)
class SignFlip:
    """Result of the sign-flip test.

    Attributes:
        p: p-value.
        exact: whether it counts all sign patterns, rather than a random sample.
        n: number of pairs.
    """

    p: float
    exact: bool
    n: int


def sign_flip(
    differences: ArrayLike,
    alternative: Alternative = "two-sided",
    *,
    resamples: int = 100_000,
    seed: int = 0,
) -> SignFlip:
    """Test whether paired differences are symmetric about 0, against a shift of their mean.

    If the two schemes are exchangeable on each seed, every difference is equally likely to have the
    opposite sign. p is the share of sign patterns whose mean is at least as extreme as the observed
    one; patterns within rounding error of it count. The test needs neither normality nor equal spread
    over seeds. With at most 20 non-zero differences all patterns are counted. With more, patterns are
    drawn at random and p = (1 + hits) / (1 + resamples), which keeps the level for every number of
    resamples and is never 0 (Phipson and Smyth 2010).

    A difference of 0 counts towards n but has no effect on p.

    Args:
        differences: (n,) finite, scheme minus reference on each seed, in the metric's units.
        alternative: "greater" tests whether the mean is above 0, "less" whether it is below.
        resamples: number of sign patterns to draw where there are too many to count.
        seed: seed of the generator that draws them.

    Returns:
        The test, with p = 1 if every difference is 0.

    Raises:
        ValueError: the differences are not a finite vector with at least one entry, the alternative
            is unknown, or resamples is below 1.

    Source: Fisher (1935), The design of experiments, section 21; Phipson and Smyth (2010),
    Permutation p-values should never be zero.
    """
    d = finite_vector("differences", differences)
    if alternative not in ("two-sided", "greater", "less"):
        raise ValueError(f"alternative must be 'two-sided', 'greater' or 'less', got {alternative!r}")
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, got {resamples}")

    moving = d[d != 0]
    if moving.size == 0:
        return SignFlip(p=1.0, exact=True, n=d.size)
    # The distribution is symmetric: "less" is "greater" for the negated differences, and "two-sided" is
    # twice the tail beyond |observed|, or all patterns where that is 0.
    moving = moving / np.max(np.abs(moving))  # so that no sum overflows
    observed = float(moving.sum())
    if alternative == "less":
        observed = -observed
    elif alternative == "two-sided":
        observed = abs(observed)
    threshold = observed - TOLERANCE * float(np.abs(moving).sum())

    if alternative == "two-sided" and threshold <= 0:
        return SignFlip(p=1.0, exact=True, n=d.size)
    if moving.size <= EXACT_UP_TO:
        p = _tail(moving, threshold)
        return SignFlip(p=2 * p if alternative == "two-sided" else p, exact=True, n=d.size)
    hits = _hits(moving, threshold, alternative == "two-sided", resamples, seed)
    return SignFlip(p=(1 + hits) / (1 + resamples), exact=False, n=d.size)


def _tail(d: np.ndarray, threshold: float) -> float:
    """Return the share of all sign patterns of `d`, shape (n,), whose sum reaches `threshold`.

    Each pattern combines one of the first half of `d` with one of the second, so two lists of 2^(n/2)
    sums replace 2^n patterns.
    """
    half = len(d) // 2
    first, second = _sums(d[:half]), np.sort(_sums(d[half:]))
    below = np.searchsorted(second, threshold - first)
    return float(np.sum(len(second) - below)) / 2.0 ** len(d)


def _sums(d: np.ndarray) -> np.ndarray:
    """Return the sums of all sign patterns of `d`, shape (2^n,)."""
    sums = np.zeros(1)
    for value in d:
        sums = np.concatenate([sums - value, sums + value])
    return sums


def _hits(d: np.ndarray, threshold: float, both: bool, resamples: int, seed: int) -> int:
    """Return how many random sign patterns have a sum of at least `threshold`, in absolute value if `both`."""
    rng = np.random.default_rng(seed)
    # A table holds the sums of all patterns of a group, so that one random index draws the signs of the group.
    tables = [_sums(group) for group in np.array_split(d, -(-len(d) // GROUP))]
    hits = 0
    for start in range(0, resamples, DRAWN):
        size = min(DRAWN, resamples - start)
        sums = np.sum([table[rng.integers(len(table), size=size)] for table in tables], axis=0)
        hits += int(np.count_nonzero((np.abs(sums) if both else sums) >= threshold))
    return hits
