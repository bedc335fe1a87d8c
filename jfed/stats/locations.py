"""Intervals of a typical difference that belong to tests: signed ranks, Mann and Whitney's ranks, and sign flips.

Each interval holds the shifts that its test does not reject: with a shift taken off the differences, p is at least
1 - level. This is the rule of `compare`, which rejects where p < alpha; it matters only at levels that p can equal,
such as 1/16 with 5 seeds. With too few seeds no shift is ever rejected, and there are no ends.

An interval and a p-value of `compare` can disagree where differences tie: here no ties are assumed.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from jfed.stats.checks import finite_vector, require_share
from jfed.stats.signflip import EXACT_UP_TO
from jfed.stats.unpaired import SMALL

NAN = float("nan")
EXACT_RANKS = 50  # most seeds for which the signed-rank test is exact, as in SciPy
DRAWN = 10_000  # subsets drawn at a time


class Estimate(NamedTuple):
    """An estimate with its interval; the ends are NaN where there is none.

    Attributes:
        value: the estimate.
        low: lower end.
        high: upper end.
    """

    value: float
    low: float
    high: float


def hodges_lehmann(differences: ArrayLike, level: float = 0.95) -> Estimate:
    """Return the pseudo-median of paired differences, with the interval of the Wilcoxon signed-rank test.

    The estimate is the median of the Walsh averages, the n (n + 1) / 2 means of two differences, each with itself
    included, which are all held in memory. The number of them above mu is the test's statistic for the differences
    minus mu, so the ends are averages too. The statistic's distribution is exact for n <= 50, and otherwise normal
    without a correction for continuity, as in `scipy.stats.wilcoxon`. At 95 % there is an interval from 6 seeds on.

    If differences are symmetric about a shift, the interval covers it with at least the stated probability. If they
    are not, the pseudo-median is neither their mean nor their median.

    Args:
        differences: (n,) finite, scheme minus reference on each seed, in the metric's units.
        level: confidence level, two-sided.

    Returns:
        The estimate in the metric's units.

    Raises:
        ValueError: the differences are not a finite vector with at least one entry, or the level is outside (0, 1).

    Source: Hodges and Lehmann (1963), Estimates of location based on rank tests; Tukey (1949) for the interval.
    """
    require_share("level", level)
    d = finite_vector("differences", differences)
    first, second = np.triu_indices(d.size)
    return _between((d[first] + d[second]) / 2, _signed_ranks_below(d.size, _alpha(level)))


def hodges_lehmann_shift(scheme: ArrayLike, reference: ArrayLike, level: float = 0.95) -> Estimate:
    """Return the shift between two groups of independent runs, with the interval of the Mann-Whitney U test.

    The estimate is the median of all n m differences of a run of the scheme and one of the reference. The test is that
    of `unpaired`: exact if a group has at most 8 runs, and otherwise normal with a correction for continuity. The
    interval assumes that the two distributions differ by a shift only. At 95 % it needs 4 runs against 4.

    Args:
        scheme: scores, (n,), finite, in the metric's unit.
        reference: scores of other runs, (m,), finite.
        level: confidence level, two-sided.

    Returns:
        The estimate, scheme minus reference, in the metric's unit.

    Raises:
        ValueError: the scores are not finite vectors with at least one entry, or the level is outside (0, 1).

    Source: Hodges and Lehmann (1963); Moses (1953), Non-parametric methods, for the interval.
    """
    require_share("level", level)
    x, y = finite_vector("scheme", scheme), finite_vector("reference", reference)
    return _between(np.subtract.outer(x, y).ravel(), _ranks_below(x.size, y.size, _alpha(level)))


def typical_values(
    differences: ArrayLike, level: float = 0.95, resamples: int = 99_999, seed: int = 0
) -> tuple[float, float]:
    """Return the interval of the mean difference that belongs to the two-sided sign-flip test.

    Flipping the signs of a set of the differences minus mu changes their sum by minus twice the sum of that set. The
    flipped sum is as large as the observed one, or larger, exactly if the mean of the set is mu or less, and also for
    the empty set. So if N of the 2^n - 1 means of sets are at most mu, the one-sided p-value is (1 + N) / 2^n, and the
    two-sided one, where mu is below the mean of all, twice that. It is at least a = 1 - level exactly if N >= k, for
    k = ceil(a 2^n / 2) - 1, which means that mu is at least the k-th smallest mean. By symmetry the upper end is the
    k-th largest. For continuous differences that are symmetric about mu, N takes each value from 0 to 2^n - 1 with the
    same probability, so the interval covers mu with probability 1 - 2 k / 2^n. If k is 0 there is no interval; at 95 %
    it needs 6 seeds.

    With more than 20 seeds, R sets are drawn at random, and 2^n is R + 1 in all of the above, exactly in the statement
    about coverage. The test draws its own patterns, so the two can then disagree about a p-value close to a.

    Args:
        differences: (n,) finite, scheme minus reference on each seed, in the metric's units.
        level: confidence level, two-sided.
        resamples: number of sets to draw where there are too many to count; empty ones are dropped.
        seed: seed of the generator that draws them.

    Returns:
        Low and high end in the metric's units, NaN with too few seeds for the level.

    Raises:
        ValueError: the differences are not a finite vector with at least one entry, the level is outside (0, 1), or
            resamples is below 1.

    Source: Hartigan (1969), Using subsample values as typical values.
    """
    require_share("level", level)
    d = finite_vector("differences", differences)
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, got {resamples}")
    means = _means_of_all_sets(d) if d.size <= EXACT_UP_TO else _means_of_random_sets(d, resamples, seed)
    k = math.ceil(_alpha(level) * (len(means) + 1) / 2) - 1
    if k < 1:
        return NAN, NAN
    low, high = np.partition(means, [k - 1, len(means) - k])[[k - 1, -k]]
    return float(low), float(high)


def _alpha(level: float) -> float:
    return 1 - level - 1e-12  # rounded up, 1 - level would exclude a shift whose p-value is alpha


def _between(values: np.ndarray, k: int) -> Estimate:
    """Return the median of the values, with the k-th from either end."""
    ordered = np.sort(values)
    ends = (float(ordered[k - 1]), float(ordered[-k])) if k else (NAN, NAN)
    return Estimate(float(np.median(ordered)), *ends)


def _signed_ranks_below(n: int, alpha: float) -> int:
    """Return how many values the signed-rank statistic has whose two-sided p-value, in the lower tail, is < alpha."""
    if n > EXACT_RANKS:
        sd = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
        return max(0, math.ceil(n * (n + 1) / 4 - float(stats.norm.isf(alpha / 2)) * sd))
    chances = np.ones(1)
    for rank in range(1, n + 1):
        chances = (np.pad(chances, (0, rank)) + np.pad(chances, (rank, 0))) / 2
    return int(np.count_nonzero(2 * np.cumsum(chances) < alpha))


def _ranks_below(n: int, m: int, alpha: float) -> int:
    """Return the same number for Mann and Whitney's U."""
    small, large = min(n, m), max(n, m)
    if small > SMALL:
        sd = math.sqrt(n * m * (n + m + 1) / 12)
        return max(0, math.ceil(n * m / 2 - 0.5 - float(stats.norm.isf(alpha / 2)) * sd))
    # ways[k, s]: sets of k of the ranks 0, 1, ... seen so far whose sum is s.
    ways = np.zeros((small + 1, small * (small + large) + 1))
    ways[0, 0] = 1.0
    for rank in range(small + large):
        ways[1:, rank:] += ways[:-1, : ways.shape[1] - rank].copy()
    of_u = ways[small, small * (small - 1) // 2 :]
    return int(np.count_nonzero(2 * np.cumsum(of_u) / of_u.sum() < alpha))


def _means_of_all_sets(d: np.ndarray) -> np.ndarray:
    """Return the means of all non-empty sets of the differences, shape (2^n - 1,)."""
    sums, sizes = np.zeros(1), np.zeros(1)
    for value in d:
        sums, sizes = np.concatenate([sums, sums + value]), np.concatenate([sizes, sizes + 1])
    return sums[1:] / sizes[1:]


def _means_of_random_sets(d: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    means = []
    for start in range(0, resamples, DRAWN):
        drawn = rng.random((min(DRAWN, resamples - start), d.size)) < 0.5
        sizes = drawn.sum(axis=1)
        means.append((drawn @ d)[sizes > 0] / sizes[sizes > 0])
    return np.concatenate(means)
