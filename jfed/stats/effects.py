"""Confidence intervals of effect sizes: of the standardised mean difference, and of the chance to win."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special, stats

from jfed.stats.checks import require_share

NAN = float("nan")
BEYOND = 1e-20  # probability that is left out at each end of an integral
NODES = 200


def d_z_interval(d_z: float, n: int, level: float = 0.95) -> tuple[float, float]:
    """Return the exact interval of the standardised mean difference of normal paired differences.

    The paired t is d_z sqrt(n); it has the noncentral t distribution with n - 1 degrees of freedom, whose
    noncentrality is the true d_z sqrt(n). The ends are the effects with which a t at least as large, and at most as
    large, as the observed one has probability (1 - level) / 2. Hence 0 is outside exactly if the paired t-test rejects
    at 1 - level.

    The interval is about normal differences: skewed or heavy-tailed ones can have a much lower coverage, which more
    seeds do not mend (Algina, Keselman and Penfield 2006).

    Args:
        d_z: observed mean difference over the standard deviation of the differences, of either sign.
        n: number of seeds, at least 2.
        level: confidence level, two-sided.

    Returns:
        Low and high end, without unit; NaN if `d_z` is NaN, as where the difference is the same on every seed.

    Raises:
        ValueError: d_z is infinite, there are fewer than 2 seeds, or the level is outside (0, 1).

    Source: Steiger and Fouladi (1997), Noncentrality interval estimation and the evaluation of statistical models;
    Cumming and Finch (2001), A primer on the understanding, use, and calculation of confidence intervals.
    """
    require_share("level", level)
    if math.isnan(d_z):
        return NAN, NAN
    if math.isinf(d_z):
        raise ValueError(f"d_z must be finite or NaN, got {d_z}")
    if n < 2:
        raise ValueError(f"the interval of d_z needs at least 2 seeds, got {n}")
    t, df = abs(d_z) * math.sqrt(n), n - 1
    least, most = _spread(df)
    below, ends = _below(t, df), []
    for probability in (0.5 + level / 2, 0.5 - level / 2):
        root: Any = optimize.brentq(lambda shift, p=probability: below(shift) - p, t * least - 9, t * most + 9)
        ends.append(float(root) / math.sqrt(n))
    return (ends[0], ends[1]) if d_z >= 0 else (-ends[1], -ends[0])


def a12_interval(
    scheme: ArrayLike, reference: ArrayLike, level: float = 0.95, *, higher_is_better: bool, paired: bool = True
) -> tuple[float, float]:
    """Return an interval of a12: the chance that a run of the scheme is better than one of the reference, ties half.

    The standard error is DeLong's: each run's placement is the share of the other scheme's runs that it beats. Runs
    on the same seed are one cluster, whose two placements are added before their variance is taken, so that a seed's
    effect on both schemes cancels. The interval is symmetric on the logit scale, with Student's quantile (n - 1
    degrees of freedom, or Satterthwaite's for independent runs), and is always within [0, 1].

    Where all pairs of runs are won, or all are lost, placements do not vary. One end is then 1 or 0, and the other is
    that of Newcombe's method 5, which takes the variance from an exponential model of independent runs. If they do not
    vary though a12 is neither, as for identical runs, there is no interval.

    In 3,000 simulated experiments per case (normal scores with a correlation of 0, 0.8 or 0.95 over seeds, or
    independent runs, continuous or rounded to half a standard deviation, a12 from 0.5 to 0.92), intervals at 95 %
    covered 97 to 100 % with 5 seeds, 96 to 99 % with 10, and 94 to 98 % with 30, where ties and a large a12 gave the
    lowest. With 3 seeds coverage fell to 90 %. Few seeds say little: near a12 = 0.5 without correlation, 5 of them give
    an interval as wide as from 0.1 to 0.9.

    Args:
        scheme: scores, (n,), in the metric's unit; infinite ones are beyond all others.
        reference: scores of the same seeds in the same order, or other runs, (m,), if not `paired`.
        level: confidence level, two-sided.
        higher_is_better: whether a larger score is better.
        paired: whether scores are paired by position.

    Returns:
        Low and high end, without unit. NaN for fewer than 2 runs of either, or if a score is NaN (a failed run).

    Raises:
        ValueError: the scores are not one value per run, paired ones differ in number, or the level is outside (0, 1).

    Source: DeLong, DeLong and Clarke-Pearson (1988) for placements; Obuchowski (1997), Nonparametric analysis of
    clustered ROC curve data; Konietschke and Pauly (2012) for n - 1 degrees of freedom, and Brunner and Munzel (2000)
    for Satterthwaite's; Perme and Manevski (2019), Confidence intervals for the Mann-Whitney test, for the logit scale;
    Newcombe (2006), Confidence intervals for an effect size measure based on the Mann-Whitney statistic, part 2.
    """
    require_share("level", level)
    x, y = np.asarray(scheme, float), np.asarray(reference, float)
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(f"scores must have one value per run, got shapes {x.shape} and {y.shape}")
    if paired and len(x) != len(y):
        raise ValueError(f"paired scores need both values of each seed, got {len(x)} and {len(y)}")
    n, m = len(x), len(y)
    if min(n, m) < 2 or np.isnan(x).any() or np.isnan(y).any():
        return NAN, NAN
    if not higher_is_better:
        x, y = -x, -y
    won, lost = _placements(x, y), 1.0 - _placements(y, x)
    a12 = float(won.mean())
    if a12 in (0.0, 1.0):
        end = _newcombe(n, m, level)
        return (end, 1.0) if a12 == 1.0 else (0.0, 1.0 - end)
    parts = [(won + lost, n)] if paired else [(won, n), (lost, m)]
    if all(np.ptp(part) < 1e-12 for part, _ in parts):
        return NAN, NAN
    shares = np.array([np.var(part, ddof=1) / size for part, size in parts])
    df = shares.sum() ** 2 / sum(share**2 / (size - 1) for share, (_, size) in zip(shares, parts, strict=True))
    half = stats.t.ppf(0.5 + level / 2, df) * math.sqrt(shares.sum()) / (a12 * (1 - a12))
    low, high = special.expit(special.logit(a12) + np.array([-half, half]))
    return float(low), float(high)


def _spread(df: int) -> tuple[float, float]:
    """Return the smallest and largest standard deviation that `df` + 1 normal numbers can practically have."""
    least, most = special.gammaincinv(df / 2, BEYOND), special.gammainccinv(df / 2, BEYOND)
    return math.sqrt(2 * least / df), math.sqrt(2 * most / df)


def _below(t: float, df: int) -> Callable[[float], float]:
    """Return P(T <= t) of the noncentral t distribution, for t >= 0, as a function of the noncentrality.

    T <= t means z + noncentrality <= t s, where z is standard normal and s^2 is chi-squared / df. SciPy's function is
    NaN in a far tail, which a search for the root visits, and for noncentralities of 1e5. Here the probability given s
    is averaged over s, or that given z over z: whichever varies slowly, so that a fixed number of nodes is enough.
    """
    where, weights = _nodes()
    low, high = _spread(df)
    s = low + (high - low) * (where + 1) / 2
    mass = weights * stats.chi.pdf(s * math.sqrt(df), df) * math.sqrt(df) * (high - low) / 2

    def over_s(shift: float) -> float:
        return float(mass @ special.ndtr(t * s - shift))

    def over_z(shift: float) -> float:
        low, high = min(max(-shift, -9.0), 9.0), 9.0  # z below -shift is enough, whatever s is
        z = low + (high - low) * (where + 1) / 2
        density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
        above = special.chdtrc(df, df * ((z + shift) / t) ** 2)
        return float(special.ndtr(low) + weights @ (above * density) * (high - low) / 2)

    return over_s if t < math.sqrt(2 * df) else over_z


@functools.cache
def _nodes() -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(NODES)


def _placements(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return for each of x the share of y that it exceeds, ties counted half."""
    other = np.sort(y)
    return (np.searchsorted(other, x, "left") + np.searchsorted(other, x, "right")) / (2 * len(y))


def _newcombe(n: int, m: int, level: float) -> float:
    """Return the lower limit of an a12 of 1: where 1 - a is z sqrt(variance), by Hanley and McNeil at a."""
    z, others = float(stats.norm.isf(0.5 - level / 2)), (n + m) / 2 - 1

    def excess(a: float) -> float:  # the equation's square, divided by 1 - a
        return 1 - a - z**2 * a * (1 + others * (1 - a) / (2 - a) + others * a / (1 + a)) / (n * m)

    root: Any = optimize.brentq(excess, 0.0, 1.0)
    return float(root)
