"""Power of comparisons: the seeds that they need, and the effects that given seeds can show.

All of it is about the two-sided test that decides, which `test` names: "t" (paired, the default), "wilcoxon" and
"sign-flip" compare schemes on the same seeds, "welch" and "mann-whitney" two groups of independent runs of equal size.
Scores are taken as normal. An effect is d_z for paired tests, the mean difference over the standard deviation of the
differences; for the other two it is d, the difference over the standard deviation of one run. A family of comparisons
is planned by Bonferroni, each at alpha / num_comparisons; Holm's correction, the default of `compare`, needs no more
seeds than that.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jfed.stats.checks import constant, finite_vector, require_share
from jfed.stats.power_by_test import MOST_SEEDS, Test, chance, exceeds, least_p, require_test, seeds, solve, unpaired

NAN = float("nan")
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


def power(n: int, d_z: float, alpha: float = 0.05, *, test: Test = "t") -> float:
    """Return the probability that the two-sided test on n seeds has p < alpha.

    For t it is exact, for Welch's test exact where both variances are equal, and for the others it is simulated or
    approximated (`jfed.stats.power_by_test`), the same at each call.

    Args:
        n: number of seeds, or of runs in each group; at least 2.
        d_z: true effect, of either sign; d for unpaired tests.
        alpha: level of the test.
        test: the test that decides.

    Returns:
        A number in [0, 1]; for an effect of 0, alpha for t and the level that is attained for the others. 0 where no
        p-value of so few seeds is below alpha. A significant result of the wrong sign counts.

    Raises:
        ValueError: fewer than 2 seeds, an effect that is not finite, alpha outside (0, 1) or an unknown test.

    Source: noncentral t distribution; Cohen (1988), Statistical power analysis for the behavioral
    sciences, chapter 2, for d and d_z.
    """
    require_test(test)
    _require_seeds(n)
    require_share("alpha", alpha)
    if not math.isfinite(d_z):
        raise ValueError(f"d_z must be finite, got {d_z}")
    return chance(test, n, abs(d_z), alpha)


def seeds_for(
    d_z: float, *, power: float = 0.8, alpha: float = 0.05, num_comparisons: int = 1, test: Test = "t"
) -> int:
    """Return the fewest seeds with which a true effect `d_z` is detected with probability `power`.

    Args:
        d_z: effect as in the function `power`, not 0.
        power: required probability, for each comparison by itself.
        alpha: familywise error rate.
        num_comparisons: size of the family; each is tested at alpha / num_comparisons.
        test: the test that decides.

    Returns:
        A number of seeds, or of runs in each group.

    Raises:
        ValueError: the effect is 0, not finite or needs more than 100 000 seeds, or another
            argument is out of range.
    """
    level = _level(power, alpha, num_comparisons, test)
    if not math.isfinite(d_z) or d_z == 0:
        raise ValueError(f"d_z must be finite and not 0, got {d_z}")
    fewest = seeds(test, abs(d_z), power, level)
    if fewest is None:
        raise ValueError(f"an effect of d_z = {d_z} needs more than {MOST_SEEDS} seeds")
    return fewest


def plan(
    pilot_differences: ArrayLike,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    num_comparisons: int = 1,
    test: Test = "t",
) -> Plan:
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
        test: the paired test that will decide. The limit of d_z is that of the t-test in any case.

    Returns:
        The plan; NaN and None for one seed, or if the difference is the same on every seed up to rounding.

    Raises:
        ValueError: the differences are not a finite vector with at least one entry, the test is not
            paired, or another argument is out of range.

    Source: Perugini, Gallucci and Costantini (2014), Safeguard power as a protection against
    imprecise power estimates; Hedges (1981), Distribution theory for Glass's estimator of effect
    size and related estimators.
    """
    level = _level(power, alpha, num_comparisons, test)
    if unpaired(test):
        raise ValueError(
            f"paired differences plan a paired test, not {test}; use seeds_for, with the effect of two groups"
        )
    d = finite_vector("differences", pilot_differences)
    n = d.size
    if n < 2:
        return Plan(NAN, NAN, None, None, "needs >= 2 seeds")
    if constant(d):
        return Plan(NAN, NAN, None, None, "constant difference" if d.any() else "identical")
    effect = abs(float(np.mean(d))) / float(np.std(d, ddof=1))
    t = effect * math.sqrt(n)
    low = solve(lambda d_z: exceeds(t, n - 1, d_z * math.sqrt(n)), 1 - CONFIDENCE)
    return Plan(effect, low, seeds(test, effect, power, level), seeds(test, low, power, level), "")


def detectable(n: int, *, power: float = 0.8, alpha: float = 0.05, num_comparisons: int = 1, test: Test = "t") -> float:
    """Return the smallest effect d_z (d for unpaired tests) that n seeds detect with probability `power`.

    Args:
        n: number of seeds, or of runs in each group; at least 2.
        power: required probability, for each comparison by itself.
        alpha: familywise error rate.
        num_comparisons: size of the family; each is tested at alpha / num_comparisons.
        test: the test that decides.

    Returns:
        A positive number without unit; 0 if `power` is not above the level that is attained, infinity where no p-value
        of so few seeds is below alpha / num_comparisons.

    Raises:
        ValueError: fewer than 2 seeds, or another argument is out of range.
    """
    level = _level(power, alpha, num_comparisons, test)
    _require_seeds(n)
    if least_p(test, n) >= level:
        return math.inf
    return solve(lambda effect: chance(test, n, effect, level), power)


def _require_seeds(n: int) -> None:
    if n < 2:
        raise ValueError(f"a test needs at least 2 seeds, got {n}")


def _level(power: float, alpha: float, num_comparisons: int, test: Test) -> float:
    """Return the level of each comparison; raise ValueError if an argument is out of range."""
    require_test(test)
    require_share("alpha", alpha)
    require_share("power", power)
    if num_comparisons < 1:
        raise ValueError(f"num_comparisons must be at least 1, got {num_comparisons}")
    return alpha / num_comparisons
