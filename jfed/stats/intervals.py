"""Corrections for several comparisons, and the confidence intervals that are shown beside them.

A table's intervals are simultaneous: those of m comparisons have the level 1 - alpha / m each (Bonferroni), and cover
all m true differences with probability at least 1 - alpha, under any dependence. Holm's step-down procedure (Holm
1979) rejects whatever these intervals reject and sometimes more. So a verdict may be "better" while the interval
contains 0: the procedure then shows the sign of the difference but, at this level, no smallest size of it. Intervals
that agree with Holm by construction exist (Strassburger and Bretz 2008, Guilbaud 2008), but say nothing about size
beyond the sign as soon as one hypothesis is not rejected. To cut Bonferroni's intervals at 0 where Holm rejects would
lower their joint level: they then cover all differences in 91 % of tables where one of six is 0 and five are large.

With Benjamini and Hochberg's correction, intervals have the level 1 - alpha R / m where R differences are shown, and on
average miss a share of at most alpha of these R differences (false coverage rate, Benjamini and Yekutieli 2005).
"""

import numpy as np
from scipy import special, stats


def holm(p_values: np.ndarray) -> np.ndarray:
    """Return the Holm-adjusted p-values of one family, shape (m,); a NaN stays NaN.

    A comparison without a p-value still counts as a member of the family (with p = 1): the family
    was named beforehand and does not depend on how the runs ended.
    """
    # Not statsmodels' multipletests, which collects garbage on each call: 80 ms here, and more with
    # jax loaded. The tests check that the two agree.
    order = np.argsort(np.where(np.isnan(p_values), 1.0, p_values))
    factors = np.arange(len(p_values), 0, -1)
    stepped = np.maximum.accumulate(np.nan_to_num(p_values[order], nan=1.0) * factors)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(stepped, 1.0)
    return np.where(np.isnan(p_values), np.nan, adjusted)


def benjamini_hochberg(p_values: np.ndarray) -> np.ndarray:
    """Return adjusted p-values that control the false discovery rate, shape (m,); NaN as in `holm`.

    Source: Benjamini and Hochberg (1995), Controlling the false discovery rate. Valid for independent and for
    positively dependent statistics, as those against a common baseline are.
    """
    missing = np.isnan(p_values)
    adjusted = stats.false_discovery_control(np.where(missing, 1.0, p_values))
    return np.where(missing, np.nan, adjusted)


CORRECTIONS = {"holm": holm, "bh": benjamini_hochberg}


def t_interval(mean: float, sd: float, n: int, level: float) -> tuple[float, float]:
    """Return the two-sided t interval of a mean at confidence `level`, in the mean's units.

    NaN for n < 2; a single point where sd is 0.
    """
    return around(mean, sd / n**0.5, n - 1, level) if n > 1 else (float("nan"), float("nan"))


def around(estimate: float, se: float, df: float, level: float) -> tuple[float, float]:
    """Return the t interval of an estimate with standard error `se` of `df` degrees of freedom, in the same units."""
    half = float(special.stdtrit(df, 0.5 + level / 2)) * se
    return estimate - half, estimate + half
