"""Levels of tests that are repeated as seeds are added, so that together they err no more often than a single test.

Without a difference, the paired statistics Z_1, ..., Z_K of the first n_1 < ... < n_K seeds are jointly normal with
variance 1, and the sums S_k = Z_k sqrt(n_k) have independent increments of variance n_k - n_{k-1}. Look k rejects if
|Z_k| >= c_k. A spending function says how much of alpha the looks up to n_k of n_max seeds may use together, and c_k
makes the probability that look k is the first to reject equal to what it adds to that. So c_k depends on the looks so
far and on n_max but not on later looks, which may be changed as long as the results seen are not the reason (Lan and
DeMets 1983; Jennison and Turnbull 2000, Group sequential methods with applications to clinical trials, chapter 7).

A t-test is significant if its p-value is at most 2 (1 - Phi(c_k)), the level of the look (Pocock 1977, Group sequential
methods in the design and analysis of clinical trials). Each look by itself is then exact. Together they err a little
more than normal statistics would, since the estimated variance changes from look to look: in simulations with normal
differences and alpha = 0.05, 5.1 % ("obrien-fleming") and 5.2 % ("pocock") with looks at 10, 20, ..., 50 seeds, 5.4 and
5.8 % with looks at 2, 4, ..., 10. With exponential differences, which are far from symmetric, one t-test of 50 seeds
errs in 6.5 %, looks at 10, 20, ..., 50 in 8.3 and 11.8 %: early tests at small levels need normality most.
"""

import functools
import math
import operator
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from scipy import optimize
from scipy.special import ndtr, ndtri, roots_legendre

from jfed.stats.checks import require_share

Spending = Literal["obrien-fleming", "pocock"]

FARTHEST = 30.0  # standard errors, with a tail of 1e-197: levels of looks that may not use even this are about that
# Nodes of a quadrature, and nodes for each standard deviation of the smallest step: levels then have 12 right digits.
NODES, NODES_PER_STEP = 24, 2


class _Sums(NamedTuple):
    """Distribution of |S_k| among studies that have not rejected: masses at nodes of a quadrature."""

    nodes: np.ndarray
    masses: np.ndarray


def levels(
    looks: Iterable[int], n_max: int, alpha: float = 0.05, spending: Spending = "obrien-fleming"
) -> tuple[float, ...]:
    """Return the two-sided level at which each look tests.

    "obrien-fleming" spends 4 (1 - Phi(z / sqrt(t))) until a share t of n_max, with z the upper alpha / 4 quantile:
    little early, so that the last level is close to alpha. "pocock" spends alpha ln(1 + (e - 1) t), for nearly equal
    levels. These are Lan and DeMets' functions for each of the two sides at alpha / 2.

    Args:
        looks: increasing numbers of seeds, of the looks so far or of all that are planned.
        n_max: number of seeds at which the study ends at the latest, fixed beforehand.
        alpha: probability that some look up to n_max rejects without a difference.
        spending: how alpha is spread over the looks.

    Raises:
        ValueError: the looks are not increasing whole numbers from 2 to n_max, alpha is outside (0, 1), or the
            spending function is unknown.

    Source: Lan and DeMets (1983), Discrete sequential boundaries for clinical trials.
    """
    return tuple(2 * float(ndtr(-c)) for c in critical(looks, n_max, alpha, spending))


def critical(
    looks: Iterable[int], n_max: int, alpha: float = 0.05, spending: Spending = "obrien-fleming"
) -> tuple[float, ...]:
    """Return the critical value of |Z| at each look, at most 30; arguments and errors as in `levels`."""
    seeds = checked_looks(looks)
    if seeds[-1] > n_max:
        raise ValueError(f"n_max must be at least the last look, at {seeds[-1]} seeds, got {n_max}")
    require_share("alpha", alpha)
    if spending not in get_args(Spending):
        raise ValueError(f"spending must be one of {', '.join(get_args(Spending))}, got {spending!r}")
    return _critical(seeds, n_max, alpha, spending)


def spent(share: float, alpha: float = 0.05, spending: Spending = "obrien-fleming") -> float:
    """Return how much of alpha may be used up to a share in (0, 1] of n_max; formulas and source as in `levels`."""
    if spending == "pocock":
        return alpha * math.log1p((math.e - 1) * share)
    return 4 * float(ndtr(ndtri(alpha / 4) / math.sqrt(share)))


def inflation(looks: Iterable[int], alpha: float = 0.05) -> float:
    """Return the probability that without a difference one or more of several looks are significant at level alpha.

    With looks at 10, 20, ..., 50 seeds and alpha = 0.05 it is 14.2 %, and every 5 seeds up to 100, 24.8 %. These are
    for normal statistics; t-tests of few seeds err more often: 14.5 % and 25.8 % in these cases, and 16.1 % in
    place of 14.2 % with looks at 2, 4, ..., 10 (simulated).

    Args:
        looks: increasing numbers of seeds, after each of which the study would end with p < alpha.
        alpha: two-sided level of the test at every look.

    Raises:
        ValueError: the looks are not increasing whole numbers of at least 2, or alpha is outside (0, 1).

    Source: Armitage, McPherson and Rowe (1969), Repeated significance tests on accumulating data.
    """
    seeds = checked_looks(looks)
    require_share("alpha", alpha)
    c, sums, crossed = -float(ndtri(alpha / 2)), _START, 0.0
    steps = _steps(seeds)
    for n, step in zip(seeds, steps, strict=True):
        crossed += _beyond(sums, step, c * math.sqrt(n))
        sums = _within(sums, step, c * math.sqrt(n), min(steps))
    return crossed


def checked_looks(looks: Iterable[int]) -> tuple[int, ...]:
    """Return the looks as integers.

    Raises:
        ValueError: there are none, or they are not increasing whole numbers of at least 2.
    """
    given = list(looks)
    try:
        seeds = tuple(operator.index(n) for n in given)
    except TypeError:
        seeds = ()
    if not seeds or seeds[0] < 2 or any(np.diff(seeds) <= 0):
        raise ValueError(f"looks must be increasing whole numbers of seeds, each at least 2, got {given}")
    return seeds


_START = _Sums(np.zeros(1), np.ones(1))


def _steps(looks: tuple[int, ...]) -> list[int]:
    return [n - before for n, before in zip(looks, (0, *looks), strict=False)]


@functools.lru_cache(maxsize=4096)
def _critical(looks: tuple[int, ...], n_max: int, alpha: float, spending: Spending) -> tuple[float, ...]:
    steps = _steps(looks)
    sums, used, found = _START, 0.0, []
    for n, step in zip(looks, steps, strict=True):
        total = spent(n / n_max, alpha, spending)
        found.append(_solve(sums, step, n, total, total - used))
        sums, used = _within(sums, step, found[-1] * math.sqrt(n), min(steps)), total
    return tuple(found)


def _solve(sums: _Sums, step: int, n: int, total: float, more: float) -> float:
    """Return the c for which |Z| >= c at n seeds has probability `more`, of `total` used by then."""
    # By itself, this look rejects with a probability between what it adds and all that is used; 1e-9 is for rounding.
    low, high = -ndtri(total / 2) - 1e-9, -ndtri(more / 2) + 1e-9
    if high > FARTHEST:
        return FARTHEST
    root: Any = optimize.brentq(lambda c: _beyond(sums, step, c * math.sqrt(n)) - more, low, high, xtol=1e-12)
    return float(root)


def _beyond(sums: _Sums, step: int, bound: float) -> float:
    """Return the probability that |S| is at least `bound` after `step` more seeds."""
    sd = math.sqrt(step)
    return float(sums.masses @ (ndtr((sums.nodes - bound) / sd) + ndtr((-sums.nodes - bound) / sd)))


def _within(sums: _Sums, step: int, bound: float, finest: int) -> _Sums:
    """Return the distribution of |S| below `bound` after `step` more seeds, with nodes for steps as small as `finest`.

    Source: Armitage, McPherson and Rowe (1969), whose recursion this is, by Gauss-Legendre quadrature.
    """
    x, weights = _legendre(NODES + int(NODES_PER_STEP * bound / math.sqrt(finest)))
    nodes = bound * (x + 1) / 2
    density = np.exp(-((nodes[:, None] - sums.nodes) ** 2) / (2 * step))
    density += np.exp(-((nodes[:, None] + sums.nodes) ** 2) / (2 * step))
    return _Sums(nodes, density @ sums.masses / math.sqrt(2 * math.pi * step) * weights * bound / 2)


@functools.lru_cache(maxsize=256)
def _legendre(count: int) -> tuple[np.ndarray, np.ndarray]:
    return roots_legendre(count)
