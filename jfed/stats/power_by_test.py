"""Probability that a two-sided test rejects, where scores are normal: exact for t-tests, simulated for ranks and signs.

The other tests count averages above 0: of two differences or one (Wilcoxon), of each non-empty set of differences
(sign flips), or differences of a run of one group and a run of the other (Mann-Whitney). Each rejects upwards if at
least so many are above 0. A larger effect raises all averages alike, so with the residuals held fixed the test rejects
exactly if the sample mean lies above a threshold, an order statistic of the residuals' averages. The mean is normal and
independent of the residuals, hence the power is a mean of normal probabilities over simulated residuals: smooth and
increasing in the effect, and with a standard error below 0.4 percentage points (0.6 for sign flips at a level of
0.05 / 28). The same numbers are drawn for each effect, number of seeds and call.

Beyond `SIMULATED` seeds the t-test stands in. The rank tests have about its power with 3 / pi as many seeds: at the
seam that is right within 0.6 points at levels down to 0.05 / 28. The sign-flip test has at most its power at the level
that is attained: with 15 seeds 0.6 points less at 0.05 / 6, 1.3 at 0.05 / 15 and 2.5 at 0.05 / 28; with 18 half of
that.

Source: Lehmann (1963), Nonparametric confidence intervals for a shift parameter, and Hartigan (1969), Using subsample
values as typical values, for the averages; Hodges and Lehmann (1956), The efficiency of some nonparametric competitors
of the t-test, for 3 / pi.
"""

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
from scipy import optimize, special, stats

Test = Literal["t", "wilcoxon", "sign-flip", "welch", "mann-whitney"]

MOST_SEEDS = 100_000
SIMULATED = {"wilcoxon": 30, "sign-flip": 14, "mann-whitney": 30}  # most seeds for which a test is simulated
EFFICIENCY = {"wilcoxon": 3 / math.pi, "mann-whitney": 3 / math.pi}  # of the t-test's, where not simulated
AVERAGES = 6_000_000  # in one simulation: fewer samples where each has more averages
SAMPLES = 10_000
QUANTILES = 100


def require_test(test: str) -> None:
    """Raise ValueError unless `test` is one of those whose power is known."""
    if test not in get_args(Test):
        raise ValueError(f"test must be one of {', '.join(get_args(Test))}, got {test!r}")


def unpaired(test: Test) -> bool:
    """Return whether `test` compares two independent groups."""
    return test in ("welch", "mann-whitney")


def chance(test: Test, n: int, effect: float, level: float) -> float:
    """Return the probability that `test` has p < level.

    Args:
        test: a test whose power is known.
        n: seeds, or runs in each group; at least 2.
        effect: mean difference, 0 or larger, over the standard deviation of the differences, or of a run if unpaired.
        level: level of the test.
    """
    if least_p(test, n) >= level:
        return 0.0
    if test == "welch":
        return _welch(n, effect, level)
    if n <= SIMULATED.get(test, 0):
        return _simulated(test, n, effect, level)
    if test == "sign-flip":
        patterns = 2.0 ** min(n, 50)
        level = 2 * (math.ceil(level * patterns / 2) - 1) / patterns
    return _t(n, effect * math.sqrt(EFFICIENCY.get(test, 1.0)), level, unpaired(test))


def seeds(test: Test, effect: float, power: float, level: float) -> int | None:
    """Return the fewest seeds with which `chance` reaches `power`, or None if more than `MOST_SEEDS`."""

    def enough(n: int) -> bool:
        return chance(test, n, effect, level) >= power

    if effect == 0:
        return None
    # On normal scores no unbiased test has more power than the t-test, so none needs fewer seeds.
    first = _bisect(lambda n: _t(n, effect, level, unpaired(test)) >= power, 2)
    if first is None or test == "t":
        return first
    # The level that a rank or sign test attains goes up and down with few seeds, and its power may follow.
    last = SIMULATED.get(test, 0)
    small = next((n for n in range(first, last + 1) if enough(n)), None)
    return small if small is not None else _bisect(enough, max(first, last + 1))


def exceeds(t: Any, df: float, noncentrality: float) -> Any:
    """Return P(|T| >= t) for noncentral t with a noncentrality of 0 or larger.

    T^2 is noncentral F with 1 and df degrees of freedom. SciPy's noncentral t is NaN in its far
    tail, and its noncentral F is wrong at 0 and fails far out, hence the other two forms.
    """
    if noncentrality < 1e-6:
        return 2 * stats.t.sf(t, df)
    if noncentrality > 1e4:  # the mean no longer varies in comparison, only the standard deviation does
        return stats.chi2.cdf(df * (noncentrality / t) ** 2, df)
    return stats.ncf.sf(t**2, 1, df, noncentrality**2)


def solve(chance_of: Callable[[float], float], probability: float) -> float:
    """Return the effect >= 0 at which an increasing function is `probability`; 0 if it is reached without effect."""
    if chance_of(0.0) >= probability:
        return 0.0
    high = 1.0
    while chance_of(high) < probability:
        high *= 2
    root: Any = optimize.brentq(lambda effect: chance_of(effect) - probability, 0.0, high, xtol=1e-12)
    return float(root)


def _bisect(enough: Callable[[int], bool], start: int) -> int | None:
    low, high = start - 1, start
    while not enough(high):
        if high == MOST_SEEDS:
            return None
        low, high = high, min(2 * high, MOST_SEEDS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def least_p(test: Test, n: int) -> float:
    """Return the smallest two-sided p-value that n seeds, or n runs in each group, can give."""
    if test in ("t", "welch"):
        return 0.0
    few = min(n, 500)  # whose orders are beyond counting already
    return 2 / math.comb(2 * few, few) if unpaired(test) else 2.0 / 2.0**few


def _t(n: int, effect: float, level: float, pooled: bool) -> float:
    """Return the power of the t-test, paired or with the pooled variance of two groups."""
    df, noncentrality = (2 * n - 2, effect * math.sqrt(n / 2)) if pooled else (n - 1, effect * math.sqrt(n))
    return float(exceeds(float(stats.t.isf(level / 2, df)), df, noncentrality))


def _welch(n: int, effect: float, level: float) -> float:
    """Return the power of Welch's test for equal variances.

    With groups of equal size its t is the pooled one; only its degrees of freedom are fewer. They depend on the share
    of one group in the sum of both variances, which has a beta distribution and is independent of that sum.
    """
    share = stats.beta.ppf((np.arange(QUANTILES) + 0.5) / QUANTILES, (n - 1) / 2, (n - 1) / 2)
    df = (n - 1) / (share**2 + (1 - share) ** 2)
    return float(np.mean(exceeds(stats.t.isf(level / 2, df), 2 * n - 2, effect * math.sqrt(n / 2))))


def _simulated(test: Test, n: int, effect: float, level: float) -> float:
    null = _null(test, n)
    beyond = np.cumsum(null[::-1])[::-1]
    needed = int(np.argmax(2 * beyond < level))
    least = _thresholds(test, n, needed)
    sd = math.sqrt(2 / n if unpaired(test) else 1 / n)
    # Rejecting downwards with an effect is as likely as rejecting upwards with the opposite one.
    return float(np.mean(special.ndtr((effect - least) / sd) + special.ndtr((-effect - least) / sd)))


@functools.lru_cache(maxsize=64)
def _thresholds(test: Test, n: int, needed: int) -> np.ndarray:
    """Return for each sample the mean above which the test rejects upwards: `needed` averages are then above 0."""
    count = len(_null(test, n)) - 1
    size = min(SAMPLES, AVERAGES // count)
    groups = 2 if unpaired(test) else 1
    z = np.random.default_rng(0).standard_normal((n, groups, size), dtype=np.float32)
    z -= z.mean(0)
    # Their length is independent of their direction, so it need not be drawn: its quantiles vary less.
    length = stats.chi.ppf((np.arange(size) + 0.5) / size, groups * (n - 1))
    averages = _averages(test, z * (length / np.sqrt((z**2).sum((0, 1)))).astype(np.float32))
    return -np.partition(averages, count - needed, axis=0)[count - needed].astype(float)


def _averages(test: Test, x: np.ndarray) -> np.ndarray:
    """Return the averages that the test counts, (averages, samples), from residuals (n, groups, samples)."""
    n = len(x)
    if test == "mann-whitney":
        return (x[:, None, 0] - x[None, :, 1]).reshape(n * n, -1)
    if test == "wilcoxon":
        i, j = np.triu_indices(n)
        return (x[i, 0] + x[j, 0]) / 2
    sets = np.array(list(itertools.product((0, 1), repeat=n)), dtype=np.float32)[1:]
    return (sets / sets.sum(1, keepdims=True)) @ x[:, 0]


@functools.cache
def _null(test: Test, n: int) -> np.ndarray:
    """Return the probabilities that 0, 1, ... averages are above 0 if there is no effect."""
    if test == "sign-flip":
        return np.full(2**n, 0.5**n)
    if test == "wilcoxon":
        p = np.ones(1)
        for rank in range(1, n + 1):
            p = (np.pad(p, (0, rank)) + np.pad(p, (rank, 0))) / 2
        return p
    # ways[k, s]: subsets of k of the ranks seen so far with sum s; the smallest sum of n ranks is no run above another.
    ways = np.zeros((n + 1, n * (3 * n + 1) // 2 + 1))
    ways[0, 0] = 1.0
    for rank in range(1, 2 * n + 1):
        ways[1:, rank:] += ways[:-1, :-rank].copy()
    return ways[n, n * (n + 1) // 2 :] / ways[n].sum()
