"""Tests that two schemes are equally good up to a margin, which a large p-value does not show.

"No difference shown" may only mean too few seeds. These tests take "they differ by the margin or
more" as the hypothesis to reject. The margin is the smallest difference that would matter, in the
metric's units. It must be stated before the scores are seen: chosen afterwards, it can always be
wide enough.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from jfed.stats.checks import ROUNDING, finite_vector, require_share

NAN = float("nan")


@dataclass(frozen=True)
class Equivalence:
    """Result of two one-sided paired t-tests; undefined numbers are NaN.

    Attributes:
        n: number of seeds.
        difference: mean difference, scheme minus reference.
        low: lower margin.
        high: upper margin.
        p_lower: p-value of "the mean difference is `low` or less".
        p_upper: p-value of "the mean difference is `high` or more".
        p: the larger of the two.
        interval_low: lower end of the interval at level 1 - 2 alpha, which is within (low, high) exactly if p < alpha.
        interval_high: its upper end.
        equivalent: whether p < alpha.
        note: why there is no t, or "".
    """

    n: int
    difference: float
    low: float
    high: float
    p_lower: float
    p_upper: float
    p: float
    interval_low: float
    interval_high: float
    equivalent: bool
    note: str


@dataclass(frozen=True)
class NonInferiority:
    """Result of one one-sided paired t-test; undefined numbers are NaN.

    Attributes:
        n: number of seeds.
        difference: mean difference, scheme minus reference.
        margin: smallest loss that matters.
        p: p-value of "the scheme is worse by `margin` or more".
        bound: one-sided confidence limit of the difference at level 1 - alpha, on its worse side.
        non_inferior: whether p < alpha.
        note: why there is no t, or "".
    """

    n: int
    difference: float
    margin: float
    p: float
    bound: float
    non_inferior: bool
    note: str


def tost(differences: ArrayLike, low: float, high: float, alpha: float = 0.05) -> Equivalence:
    """Test whether the mean difference is strictly between two margins, by two one-sided t-tests (TOST).

    Both tests must reject at level alpha, so no correction for two tests is needed.

    If the difference is the same on every seed, up to rounding, there is no t and no interval. Each
    side is then an exact sign test of the differences from its margin: p is 2^-n where the difference
    is strictly inside, 1 where it is not. Four seeds or fewer show nothing at 0.05 in that case.

    Args:
        differences: (n,) finite, scheme minus reference on each seed, in the metric's units.
        low: the lower margin, usually negative, in the metric's units; stated beforehand.
        high: the upper margin, usually positive.
        alpha: level of each one-sided test, below 0.5.

    Returns:
        The test; for one seed, p is NaN and `equivalent` False.

    Raises:
        ValueError: the differences are not a finite vector with at least one entry, the margins are
            not finite with low < high, or alpha is outside (0, 0.5).

    Source: Schuirmann (1987), A comparison of the two one-sided tests procedure and the power
    approach for assessing the equivalence of average bioavailability.
    """
    d = _checked(differences, alpha)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"the margins must be finite with low < high, got {low} and {high}")
    rounding = _rounding(d, max(abs(low), abs(high)))
    mean, error, note = _mean_and_error(d, rounding)
    p_lower = _p_above(mean - low, error, d.size, rounding)
    p_upper = _p_above(high - mean, error, d.size, rounding)
    half = _half_width(error, d.size, alpha)
    p = float(np.max([p_lower, p_upper]))
    return Equivalence(
        n=d.size,
        difference=mean,
        low=low,
        high=high,
        p_lower=p_lower,
        p_upper=p_upper,
        p=p,
        interval_low=mean - half,
        interval_high=mean + half,
        equivalent=p < alpha,
        note=note,
    )


def non_inferiority(
    differences: ArrayLike, margin: float, *, higher_is_better: bool = True, alpha: float = 0.05
) -> NonInferiority:
    """Test whether a scheme is not worse than its reference by `margin` or more, by a one-sided t-test.

    This is one half of `tost`: any advantage of the scheme is accepted. A difference that is the
    same on every seed is treated as in `tost`.

    Args:
        differences: (n,) finite, scheme minus reference on each seed, in the metric's units.
        margin: positive, in the metric's units; stated beforehand.
        higher_is_better: whether a larger score is better; if not, worse means a larger difference.
        alpha: level of the test, below 0.5.

    Returns:
        The test; for one seed, p is NaN and `non_inferior` False.

    Raises:
        ValueError: the differences are not a finite vector with at least one entry, the margin is
            not positive and finite, or alpha is outside (0, 0.5).

    Source: Schuirmann (1987), of whose two tests this is one.
    """
    d = _checked(differences, alpha)
    if not (math.isfinite(margin) and margin > 0):
        raise ValueError(f"the margin must be positive and finite, got {margin}")
    rounding = _rounding(d, margin)
    mean, error, note = _mean_and_error(d, rounding)
    sign = 1.0 if higher_is_better else -1.0
    p = _p_above(sign * mean + margin, error, d.size, rounding)
    return NonInferiority(
        n=d.size,
        difference=mean,
        margin=margin,
        p=p,
        bound=mean - sign * _half_width(error, d.size, alpha),
        non_inferior=p < alpha,
        note=note,
    )


def within(difference: float, se: float, df: float, margin: float) -> tuple[float, float]:
    """Return the p-values of "the difference is -margin or less" and of "it is margin or more", by one-sided t-tests.

    Both small: the difference is within the margin, as in `tost`. One of them: as in `non_inferiority`.

    Args:
        difference: estimate, in the metric's units.
        se: its standard error; NaN gives NaN.
        df: degrees of freedom of the standard error.
        margin: positive, in the metric's units.
    """
    if not se > 0:
        return NAN, NAN
    return float(stats.t.sf((difference + margin) / se, df)), float(stats.t.sf((margin - difference) / se, df))


def _checked(differences: ArrayLike, alpha: float) -> np.ndarray:
    d = finite_vector("differences", differences)
    require_share("alpha", alpha, below=0.5)
    return d


def _rounding(d: np.ndarray, margin: float) -> float:
    """Return the size up to which differences and distances are rounding error."""
    return ROUNDING * max(margin, float(np.max(np.abs(d))))


def _mean_and_error(d: np.ndarray, rounding: float) -> tuple[float, float, str]:
    """Return the mean, its standard error (0 if the differences are constant, NaN for one seed), and a note."""
    if d.size < 2:
        return float(d[0]), NAN, "needs >= 2 seeds"
    # The rounding residue of a constant difference would give a t in the millions.
    if np.ptp(d) <= rounding:
        return float(np.median(d)), 0.0, "constant difference"
    return float(np.mean(d)), float(np.std(d, ddof=1)) / math.sqrt(d.size), ""


def _p_above(distance: float, error: float, n: int, rounding: float) -> float:
    """Return the one-sided p-value for a mean above a bound; `distance` is the observed excess over it."""
    if n < 2:
        return NAN
    if error == 0:
        return 0.5**n if distance > rounding else 1.0
    return float(stats.t.sf(distance / error, n - 1))


def _half_width(error: float, n: int, alpha: float) -> float:
    """Return the distance from the mean to its one-sided confidence limit; NaN if there is no t."""
    return float(stats.t.isf(alpha, n - 1)) * error if n > 1 and error > 0 else NAN
