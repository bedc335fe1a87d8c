"""Bootstrap confidence intervals over seeds: whole seeds are resampled, never single rounds."""

import warnings
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from jfed.stats.checks import constant, require_share

Statistic = Literal["mean", "iqm", "median"]
Method = Literal["BCa", "percentile"]

NAN = float("nan")
FEWEST_SEEDS = 3
BATCH = 1000  # resamples held in memory at once


def iqm(values: ArrayLike, axis: int = -1) -> np.ndarray:
    """Return the interquartile mean: the mean of the middle half, in the unit of the values.

    floor(n / 4) values are left out at each end. If n is no multiple of 4 that is less than a quarter, and more than
    half remain: 3 of 5, 4 of 6, 5 of 7; for n < 4 nothing is left out and this is the mean. A NaN among the values
    makes the result NaN: sorted to the end, it would otherwise be trimmed away unseen.

    Args:
        values: n along `axis`.
        axis: axis to average over, the last one by default.

    Returns:
        An array of the values' shape without `axis`.

    Source: Agarwal et al. (2021), Deep reinforcement learning at the edge of the statistical precipice.
    """
    x = np.asarray(values, float)
    with np.errstate(invalid="ignore"):  # infinities of both signs in the middle half have no mean
        trimmed = stats.trim_mean(x, 0.25, axis=axis)
    return np.where(np.isnan(x).any(axis=axis), np.nan, trimmed)[()]


STATISTICS = {"mean": np.mean, "iqm": iqm, "median": np.median}


def bootstrap_interval(
    differences: ArrayLike,
    statistic: Statistic = "mean",
    level: float = 0.95,
    method: Method = "BCa",
    resamples: int = 9999,
    seed: int = 0,
) -> tuple[float, float]:
    """Return an interval of the mean, interquartile mean or median of paired differences, by `scipy.stats.bootstrap`.

    If the differences are the same on every seed, up to rounding, the percentile interval is that one point, which
    says only that the resamples did not vary; BCa divides by their spread and is NaN. BCa estimates its acceleration by
    leaving out one seed at a time, for which the median takes at most three values: prefer "percentile" there.

    Args:
        differences: scheme minus reference on each seed, (n,), in the metric's unit.
        statistic: statistic that the interval estimates.
        level: confidence level, two-sided.
        method: "BCa" (bias-corrected and accelerated) or "percentile".
        resamples: number of resamples of n seeds, drawn with replacement.
        seed: seed of the resampling; the same seed gives the same interval.

    Returns:
        Low and high end, in the metric's unit. NaN for fewer than 3 seeds, if a difference is NaN or infinite (a failed
        run; leaving it out is the caller's decision), or where BCa is undefined.

    Raises:
        ValueError: an argument is unusable.

    Source: Efron (1987), Better bootstrap confidence intervals; Efron and Tibshirani (1993), chapters 13 and 14.
    """
    if statistic not in STATISTICS:
        raise ValueError(f"statistic must be one of {', '.join(STATISTICS)}, got {statistic!r}")
    if method not in ("BCa", "percentile"):
        raise ValueError(f"method must be 'BCa' or 'percentile', got {method!r}")
    _require(level, resamples, seed)
    x = _one_axis("differences", differences)
    if len(x) < FEWEST_SEEDS or not np.isfinite(x).all():
        return NAN, NAN
    if constant(x):
        return (float(x[0]), float(x[0])) if method == "percentile" else (NAN, NAN)
    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        # Raised where leaving out a seed never changes the statistic, or all resamples are on one side of it.
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        interval = stats.bootstrap(
            (x,),
            STATISTICS[statistic],
            n_resamples=resamples,
            batch=BATCH,
            vectorized=True,
            confidence_level=level,
            method=method,
            rng=np.random.default_rng(seed),
        ).confidence_interval
    low, high = float(interval.low), float(interval.high)
    # False for NaN too. BCa's ends may also be reversed, if nearly all resamples are on one side.
    return (low, high) if low <= high else (NAN, NAN)


def ratio_of_medians(
    numerator: ArrayLike,
    denominator: ArrayLike,
    level: float = 0.95,
    resamples: int = 9999,
    seed: int = 0,
) -> tuple[float, float]:
    """Return a percentile bootstrap interval of median(numerator) / median(denominator), as of rounds to a target.

    A resample draws seeds, each with both of its values, so that a seed's effect on both schemes cancels. Values may
    be inf, where a run never reached the target (censored). A median that averages two values is inf if either is.

    - inf over finite is inf, finite over inf is 0, and any positive value over 0 is inf.
    - inf over inf, and 0 over 0, are undefined. In a resample such a ratio could be anything, so it counts as 0 for the
      low end and as inf for the high end: the interval can only become wider. Dropping these resamples would favour
      those in which the target was reached. If the ratio of the runs themselves is undefined, so is the interval.

    The ends are ratios of resamples, not interpolated between two, since one may be inf.

    Args:
        numerator: one value per seed, (n,), 0 or larger, inf if censored.
        denominator: the same seeds in the same order, in the same unit.
        level: confidence level, two-sided.
        resamples: number of resamples of n seeds, drawn with replacement.
        seed: seed of the resampling.

    Returns:
        Low and high end, without unit; 0 and inf are possible. NaN for fewer than 3 seeds, if a value is NaN (a failed
        run), or if both medians are inf or both are 0.

    Raises:
        ValueError: the two differ in length, a value is negative, or another argument is unusable.

    Source: Efron and Tibshirani (1993), An introduction to the bootstrap, chapter 13.
    """
    _require(level, resamples, seed)
    a, b = _one_axis("numerator", numerator), _one_axis("denominator", denominator)
    if len(a) != len(b):
        raise ValueError(f"a ratio over seeds needs both values of each seed, got {len(a)} and {len(b)}")
    if (a < 0).any() or (b < 0).any():
        raise ValueError("a ratio of medians needs values of 0 or more")
    # A NaN value makes its median NaN, and so the ratio.
    if len(a) < FEWEST_SEEDS or np.isnan(_ratio(a, b)):
        return NAN, NAN

    rng = np.random.default_rng(seed)
    sizes = [min(BATCH, resamples - start) for start in range(0, resamples, BATCH)]
    draws = (rng.integers(len(a), size=(size, len(a))) for size in sizes)
    ratios = np.concatenate([_ratio(a[rows], b[rows]) for rows in draws])
    undefined = np.isnan(ratios)
    lows, highs = np.sort(np.where(undefined, 0.0, ratios)), np.sort(np.where(undefined, np.inf, ratios))
    # Of R sorted resamples the one at position p (R + 1) estimates the quantile p; 1e-9 absorbs rounding in 1 - level.
    rank = max(int((resamples + 1) * (1 - level) / 2 + 1e-9), 1)
    return float(lows[rank - 1]), float(highs[-rank])


def _ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.median(a, axis=-1) / np.median(b, axis=-1)


def _one_axis(name: str, values: ArrayLike) -> np.ndarray:
    x = np.asarray(values, float)
    if x.ndim != 1:
        raise ValueError(f"{name} must have one value per seed, (n,), got shape {x.shape}")
    return x


def _require(level: float, resamples: int, seed: int) -> None:
    require_share("level", level)
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, got {resamples}")
    if seed < 0:
        raise ValueError(f"seed must not be negative, got {seed}")
