"""Power of paired comparisons: the seeds that they need, and the effects that given seeds can show.

All of it is about the two-sided paired t-test, with effects as d_z: the mean difference over the
standard deviation of the differences. A family of comparisons is planned by Bonferroni, each at
alpha / num_comparisons; Holm's correction, the default of `compare`, needs no more seeds than that.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, stats

from jfed.results.frames import require_alpha

NAN = float("nan")
MOST_SEEDS = 100_000
CONFIDENCE = 0.8


@dataclass(frozen=True)
class Plan:
    """Number of seeds for the next experiment, from a pilot; undefined numbers are NaN.

    Attributes:
        d_z: absolute effect in the pilot.
        d_z_low: its one-sided lower confidence limit at 80 %; 0 if the pilot is compatible with no effect.
        seeds: seeds that an effect of `d_z` needs; None if more than 100 000.
        seeds_safe: the same for `d_z_low`.
        note: why there is no effect size, or "".
    """

    d_z: float
    d_z_low: float
    seeds: int | None
    seeds_safe: int | None
    note: str


def power(n: int, d_z: float, alpha: float = 0.05) -> float:
    """Return the probability that the two-sided paired t-test on n seeds rejects at level alpha.

    Args:
        n: number of seeds, at least 2.
        d_z: true mean difference over the standard deviation of the differences, of either sign.
        alpha: level of the test.

    Returns:
        A number in (0, 1]; alpha for an effect of 0. A significant result of the wrong sign counts.

    Raises:
        ValueError: fewer than 2 seeds, an effect that is not finite, or alpha outside (0, 1).

    Source: noncentral t distribution; Cohen (1988), Statistical power analysis for the behavioral
    sciences, chapter 2, for d_z.
    """
    _require_seeds(n)
    require_alpha(alpha)
    if not math.isfinite(d_z):
        raise ValueError(f"d_z must be finite, got {d_z}")
    return _exceeds(float(stats.t.isf(alpha / 2, n - 1)), n, abs(d_z))


def seeds_for(d_z: float, *, power: float = 0.8, alpha: float = 0.05, num_comparisons: int = 1) -> int:
    """Return the fewest seeds with which a true effect `d_z` is detected with probability `power`.

    Args:
        d_z: effect as in the function `power`, not 0.
        power: required probability, for each comparison by itself.
        alpha: familywise error rate.
        num_comparisons: size of the family; each is tested at alpha / num_comparisons.

    Raises:
        ValueError: the effect is 0, not finite or needs more than 100 000 seeds, or another
            argument is out of range.
    """
    level = _level(power, alpha, num_comparisons)
    if not math.isfinite(d_z) or d_z == 0:
        raise ValueError(f"d_z must be finite and not 0, got {d_z}")
    seeds = _seeds(abs(d_z), power, level)
    if seeds is None:
        raise ValueError(f"an effect of d_z = {d_z} needs more than {MOST_SEEDS} seeds")
    return seeds


def plan(pilot_differences: ArrayLike, *, power: float = 0.8, alpha: float = 0.05, num_comparisons: int = 1) -> Plan:
    """Choose the number of seeds from a pilot: for its effect, and for the least effect that it supports.

    The effect in a small pilot is optimistic, for three reasons. Its standard deviation is more
    often too small than too large, so d_z is too large on average: by 9 % with 10 seeds, by 25 %
    with 5 (Hedges 1981). The number of seeds needed is proportional to 1 / d_z^2, so an estimate that
    is too large by half gives fewer than half of them, and the surplus from estimates that are too
    small does not make up for that loss of power. And an experiment is usually planned only where
    the pilot looked promising, which selects the lucky ones. `seeds_safe` therefore uses the lower
    limit at 80 %: in 4 of 5 pilots the true effect is at least that, and the experiment has at least
    the required power (called safeguard power by Perugini and others 2014).

    The limit is that of |d_z|: the effect for which a pilot has a |t| at least as large as the
    observed one with probability 20 %. It is 0 if the pilot's two-sided p-value is above 0.2.

    The pilot's seeds must not be part of the experiment that they plan.

    Args:
        pilot_differences: (n,) finite, scheme minus reference on each seed, in any unit.
        power: required probability, for each comparison by itself.
        alpha: familywise error rate.
        num_comparisons: size of the family; each is tested at alpha / num_comparisons.

    Returns:
        The plan; NaN and None for one seed, or if the difference is the same on every seed up to rounding.

    Raises:
        ValueError: the differences are not a finite vector with at least one entry, or another
            argument is out of range.

    Source: Perugini, Gallucci and Costantini (2014), Safeguard power as a protection against
    imprecise power estimates; Hedges (1981), Distribution theory for Glass's estimator of effect
    size and related estimators.
    """
    level = _level(power, alpha, num_comparisons)
    d = np.asarray(pilot_differences, dtype=float)
    if d.ndim != 1 or d.size == 0 or not np.isfinite(d).all():
        raise ValueError(f"differences must be a finite vector with at least one entry, got shape {d.shape}")
    n = d.size
    if n < 2:
        return Plan(NAN, NAN, None, None, "needs >= 2 seeds")
    if np.ptp(d) <= 64 * np.finfo(float).eps * np.max(np.abs(d)):
        return Plan(NAN, NAN, None, None, "constant difference" if d.any() else "identical")
    effect = abs(float(np.mean(d))) / float(np.std(d, ddof=1))
    t = effect * math.sqrt(n)
    low = _effect(t, n, 1 - CONFIDENCE)
    return Plan(effect, low, _seeds(effect, power, level), _seeds(low, power, level), "")


def detectable(n: int, *, power: float = 0.8, alpha: float = 0.05, num_comparisons: int = 1) -> float:
    """Return the smallest effect d_z that n seeds detect with probability `power`.

    Args:
        n: number of seeds, at least 2.
        power: required probability, for each comparison by itself.
        alpha: familywise error rate.
        num_comparisons: size of the family; each is tested at alpha / num_comparisons.

    Returns:
        A positive number without unit; 0 if `power` is not above alpha / num_comparisons.

    Raises:
        ValueError: fewer than 2 seeds, or another argument is out of range.
    """
    level = _level(power, alpha, num_comparisons)
    _require_seeds(n)
    return _effect(float(stats.t.isf(level / 2, n - 1)), n, power)


def _require_seeds(n: int) -> None:
    if n < 2:
        raise ValueError(f"a paired t-test needs at least 2 seeds, got {n}")


def _level(power: float, alpha: float, num_comparisons: int) -> float:
    """Return the level of each comparison; raise ValueError if an argument is out of range."""
    require_alpha(alpha)
    if not 0.0 < power < 1.0:
        raise ValueError(f"power must lie strictly between 0 and 1, got {power}")
    if num_comparisons < 1:
        raise ValueError(f"num_comparisons must be at least 1, got {num_comparisons}")
    return alpha / num_comparisons


def _exceeds(t: float, n: int, d_z: float) -> float:
    """Return P(|T| >= t) for the paired t of n seeds with true effect d_z >= 0.

    T^2 is noncentral F with 1 and n - 1 degrees of freedom. SciPy's noncentral t is NaN in its far
    tail, and its noncentral F is wrong at 0 and fails far out, hence the other two forms.
    """
    noncentrality = d_z * math.sqrt(n)
    if noncentrality < 1e-6:
        return 2 * float(stats.t.sf(t, n - 1))
    if noncentrality > 1e4:  # the mean no longer varies in comparison, only the standard deviation does
        return float(stats.chi2.cdf((n - 1) * (noncentrality / t) ** 2, n - 1))
    return float(stats.ncf.sf(t**2, 1, n - 1, noncentrality**2))


def _effect(t: float, n: int, probability: float) -> float:
    """Return the d_z >= 0 with P(|T| >= t) = probability; 0 if an effect of 0 already reaches it."""
    if _exceeds(t, n, 0.0) >= probability:
        return 0.0
    high = 1.0
    while _exceeds(t, n, high) < probability:
        high *= 2
    root: Any = optimize.brentq(lambda d_z: _exceeds(t, n, d_z) - probability, 0.0, high, xtol=1e-12)
    return float(root)


def _seeds(d_z: float, power: float, level: float) -> int | None:
    """Return the fewest seeds, by bisection since power grows with n; None if more than `MOST_SEEDS`."""

    def enough(n: int) -> bool:
        return _exceeds(float(stats.t.isf(level / 2, n - 1)), n, d_z) >= power

    if d_z == 0:
        return None
    low, high = 1, 2
    while not enough(high):
        if high == MOST_SEEDS:
            return None
        low, high = high, min(2 * high, MOST_SEEDS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
