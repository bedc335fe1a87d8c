"""Tests of a ratio of paired means against a relative margin, where both means are estimated.

"A is within a share m of B" is tested as mean(A - (1 + m) B) < 0 and mean(A - (1 - m) B) > 0, two t-tests on the same
seeds. A margin m times the observed mean of B, taken as if it were known, has a type I error that may be far from the
level: 16 % instead of 5 % in `tests/claims/test_claim_margins.py`, where A - B varies less than the margin does.
"""

import numpy as np
from scipy import stats

from jfed.claims.finding import LEVEL, Finding
from jfed.claims.means import p_above
from jfed.claims.runs import Missing


def within(a: np.ndarray, b: np.ndarray, share: float) -> Finding:
    """Return the finding on "the ratio of the means of a and b is between 1 - share and 1 + share", without numbers.

    Raises:
        Missing: the mean of b is not positive.

    Source: Sasabuchi (1980), A test of a multivariate normal mean with composite hypotheses determined by linear
    inequalities; Hauschke et al. (1999), Sample size determination for proving equivalence based on the ratio of two
    means for normally distributed data.
    """
    _require_positive(b)
    low, high = a - (1 - share) * b, a - (1 + share) * b
    beyond = 2 * min(p_above(high), p_above(-low))
    return Finding(seeds=len(a), shown=max(p_above(low), p_above(-high)), opposite=min(1.0, beyond), tests=1)


def above(a: np.ndarray, b: np.ndarray, share: float) -> Finding:
    """Return the finding on "the mean of a is above that of b by more than a share", without numbers.

    Its opposite is that b is above a by more than the share.

    Raises:
        Missing: a mean is not positive.
    """
    _require_positive(b)
    _require_positive(a)
    more = a - (1 + share) * b
    return Finding(
        seeds=len(a), shown=p_above(more), opposite=p_above(b - (1 + share) * a), absent=p_above(-more), tests=1
    )


def interval(a: np.ndarray, b: np.ndarray, level: float) -> tuple[float, float]:
    """Return Fieller's two-sided interval of mean(a) / mean(b): the ratios r that a t-test of a - r b does not reject.

    Returns:
        Low and high end; infinite where the mean of b is not shown to differ from 0 at this level.

    Source: Fieller (1954), Some problems in interval estimation.
    """
    n = len(a)
    square = float(stats.t.ppf(0.5 + level / 2, n - 1)) ** 2 / n
    covariance = np.cov(a, b)
    # The ratios of at most t are those where this parabola in r is not positive.
    first = b.mean() ** 2 - square * covariance[1, 1]
    half = a.mean() * b.mean() - square * covariance[0, 1]
    last = a.mean() ** 2 - square * covariance[0, 0]
    if first <= 0:
        return -np.inf, np.inf
    root = max(half**2 - first * last, 0.0) ** 0.5
    return float((half - root) / first), float((half + root) / first)


def limits(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """Return the lower and the upper limit of the ratio, each one-sided at 95 %."""
    return interval(a, b, 1 - 2 * LEVEL)


def _require_positive(b: np.ndarray) -> None:
    if not b.mean() > 0:
        raise Missing("a relative margin needs positive means")
