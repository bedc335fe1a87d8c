"""Tests of the mean of paired differences against a margin, in the three directions that a verdict needs.

A margin is the smallest difference that counts as one. "Larger" is then shown by a mean above the margin, and its
opposite by one below minus the margin; without a margin both are judged against 0.
"""

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from scipy import stats

from jfed.claims.finding import LEVEL, Finding, p_text
from jfed.stats.intervals import t_interval
from jfed.stats.signflip import sign_flip

How = Literal["t", "sign-flip"]
ROUNDING = 1e-12  # relative spread up to which differences count as constant
WORTH_CLAIMING = 0.5  # standard deviations of the paired differences, where a claim has no margin


def p_above(differences: np.ndarray, how: How = "t") -> float:
    """Return the one-sided p-value for a mean above 0; of the exact sign test where all differences are the same."""
    if constant(differences):
        return 0.5 ** len(differences) if differences[0] > 0 else 1.0
    if how == "sign-flip":
        return sign_flip(differences, "greater").p
    result: Any = stats.ttest_1samp(differences, 0, alternative="greater")
    return float(result.pvalue)


def p_without(differences: np.ndarray) -> float:
    """Return the p-value for "the mean is half a standard deviation or more": small where such an effect is excluded.

    The mean over its standard error has a noncentral t distribution; at half a standard deviation the noncentrality is
    half the root of the number of seeds. Where all differences are the same, it is the exact sign test again.

    Source: Cumming and Finch (2001), A primer on the understanding, use, and calculation of confidence intervals that
    are based on central and noncentral distributions.
    """
    n = len(differences)
    if constant(differences):
        return 0.5**n if differences[0] <= 0 else 1.0
    t = differences.mean() / (differences.std(ddof=1) / n**0.5)
    return float(stats.nct.cdf(t, n - 1, WORTH_CLAIMING * n**0.5))


def constant(differences: np.ndarray) -> bool:
    """Return whether all differences are the same up to rounding."""
    return bool(np.ptp(differences) <= ROUNDING * np.abs(differences).max())


def above(differences: np.ndarray, margin: float = 0.0, how: How = "t") -> Finding:
    """Return the finding on "the mean is above the margin", without numbers."""
    return Finding(
        seeds=len(differences),
        shown=p_above(differences - margin, how),
        opposite=p_above(-differences - margin, how),
        absent=p_above(margin - differences, how) if margin else p_without(differences),
        tests=1,
    )


def limits(differences: np.ndarray) -> tuple[float, float]:
    """Return the lower and the upper limit of the mean, each one-sided at 95 %."""
    return t_interval(float(differences.mean()), float(differences.std(ddof=1)), len(differences), 1 - 2 * LEVEL)


def at_least(differences: np.ndarray) -> str:
    """Return a mean with its one-sided lower limit."""
    return f"{differences.mean():.4g} (≥ {limits(differences)[0]:.4g})"


def at_most(differences: np.ndarray) -> str:
    """Return a mean with its one-sided upper limit."""
    return f"{differences.mean():.4g} (≤ {limits(differences)[1]:.4g})"


def between(differences: np.ndarray) -> str:
    """Return a mean with its two-sided interval."""
    mean = float(differences.mean())
    low, high = t_interval(mean, float(differences.std(ddof=1)), len(differences), 1 - LEVEL)
    return f"{mean:.4g} ({low:.4g} to {high:.4g})"


def sized(finding: Finding, differences: np.ndarray, how: How = "t") -> Finding:
    """Return the finding of a one-sided test with its numbers; the sign-flip test has no limits."""
    size = at_least(differences) if how == "t" else f"{differences.mean():.4g}"
    return replace(finding, numbers=f"{size}, {p_text(finding.shown)}")
