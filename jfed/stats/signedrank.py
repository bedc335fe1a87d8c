"""The Wilcoxon signed-rank test, exact with and without ties, and the differences that its ranks take as equal."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import stats

EXACT_UP_TO = 50  # differences


class SignedRank(NamedTuple):
    """Result of the signed-rank test.

    Attributes:
        p: two-sided p-value.
        exact: whether it counts all sign patterns, rather than being a normal approximation.
        direction: 1 if positive differences have the larger rank sum, -1 if negative ones have, 0 if neither.
    """

    p: float
    exact: bool
    direction: int


def signed_rank(differences: np.ndarray) -> SignedRank:
    """Test whether differences are symmetric about 0, by the Wilcoxon signed-rank test.

    Zeros are ranked and their ranks then left out (Pratt 1959): to discard them beforehand, as Wilcoxon did, hides the
    seeds on which the schemes agree. With at most 50 differences p counts all sign patterns of the ranks at hand, tied
    or not; with more, the statistic's normal approximation is taken, with the variance of those ranks.

    Args:
        differences: (n,), at least one; infinite ones have the largest ranks.

    Source: Wilcoxon (1945); Pratt (1959), Remarks on zeros and ties in the Wilcoxon signed rank procedures; Streitberg
    and Roehmel (1986) for the exact distribution with ties.
    """
    ranks = stats.rankdata(np.abs(differences))[differences != 0]
    signs = np.sign(differences[differences != 0])
    balance = float(np.sum(signs * ranks))  # positive minus negative rank sum
    direction = int(np.sign(balance))
    if len(differences) > EXACT_UP_TO:
        spread = float(np.sum(ranks**2)) ** 0.5
        return SignedRank(float(2 * stats.norm.sf(abs(balance) / spread)) if spread else 1.0, False, direction)
    if not direction:
        return SignedRank(1.0, True, 0)
    doubled = tuple(np.sort(np.rint(2 * ranks)).astype(int).tolist())  # whole numbers, ties or not
    upper = (sum(doubled) + abs(round(2 * balance))) // 2  # the larger of both doubled rank sums
    return SignedRank(min(1.0, 2 * float(_tails(doubled)[upper])), True, direction)


@lru_cache(maxsize=256)
def _tails(doubled: tuple[int, ...]) -> np.ndarray:
    """Return P(doubled sum of the positive ranks >= s) for each s, if all signs are equally likely."""
    chances = np.zeros(sum(doubled) + 1)
    chances[0] = 1.0
    for rank in doubled:
        chances[rank:] += chances[:-rank].copy()
        chances /= 2
    return np.cumsum(chances[::-1])[::-1]


def tied(differences: np.ndarray, rounding: np.ndarray) -> np.ndarray:
    """Return differences for ranking: 0 within rounding error, and of one size where they differ by no more than it.

    0.3 - 0.2 and 0.2 - 0.1 differ in their last digits, by the rounding of the scores alone.

    Args:
        differences: (n,).
        rounding: rounding error of each, (n,), see `rounding_error`.
    """
    size = np.where(np.abs(differences) <= rounding, 0.0, np.abs(differences))
    order = np.argsort(size, kind="stable")
    sizes, slack = size[order], rounding[order]
    apart = np.diff(sizes, prepend=-np.inf) > np.maximum(slack, np.roll(slack, 1))
    apart |= (sizes > 0) & (np.roll(sizes, 1) == 0)
    first = np.maximum.accumulate(np.where(apart, np.arange(len(sizes)), 0))
    equal = np.empty(len(size))
    equal[order] = sizes[first]
    return np.sign(differences) * equal


def rounding_error(scheme: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return how far the difference of two scores may be from that of the numbers that they stand for, (n,).

    Scores may be float32 numbers, which pandas widens to float64: that is inferred from their values. Whole numbers,
    halves, quarters and so on (six decimals) are what they stand for, with no error at all.
    """
    values = np.concatenate([scheme, reference])
    with np.errstate(over="ignore", under="ignore"):  # a score may be outside float32's range
        single = np.array_equal(values, values.astype(np.float32).astype(float))
    if single and np.array_equal(values, np.round(values, 6)):
        return np.zeros(len(scheme))
    # Each score is off by half a unit in its last place, and so the difference of two differences by two units.
    return 2 * float(np.finfo(np.float32 if single else float).eps) * np.maximum(np.abs(scheme), np.abs(reference))
