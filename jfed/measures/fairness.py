"""Fairness of a model across clients: statistics over the clients' losses or accuracies, one number per run.

They are those of T. Li et al., "Fair Resource Allocation in Federated Learning", ICLR 2020 (mean, worst and best 10 %,
variance, cosine with the vector of ones); of A. Sultana et al., "Eiffel", IEEE TPDS 2022, Table 3 (skewness, whose
estimator it does not name, so that both usual ones are here); and R. Jain's index of 1984.
"""

import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray

Scores = NDArray[np.float64]
SAME = 8 * np.finfo(np.float64).eps  # a standard deviation this small relative to the mean is rounding error


def fairness(values: ArrayLike, *, higher_is_better: bool) -> dict[str, Scores]:
    """Return statistics of each run over its clients.

    Args:
        values: losses or accuracies, (runs, clients); NaN where a run does not have the client.
        higher_is_better: whether values are accuracies, of which the smallest are the worst.

    Returns:
        By name, (runs,) each, NaN where a run has no clients: mean; worst10 and best10, the means of a tenth of the
        clients (rounded down, at least one); variance, of the population; skewness, m3 / m2^1.5, and skewness_adjusted,
        of a sample (NaN if all values are equal, the latter also for fewer than three); cosine, of the angle to the
        vector of ones; and jain, its square.

    Raises:
        ValueError: `values` is not a matrix.
    """
    values = np.asarray(values, float)
    if values.ndim != 2:
        raise ValueError(f"values must be (runs, clients), found shape {values.shape}")
    number = np.sum(~np.isnan(values), 1)
    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)  # a run whose model diverged has no values
        mean = np.nanmean(values, 1)
        away = values - mean[:, None]
        m2, m3 = np.nanmean(away**2, 1), np.nanmean(away**3, 1)
        skewness = np.where(np.sqrt(m2) > SAME * np.abs(mean), m3 / m2**1.5, np.nan)
        adjusted = np.where(number > 2, skewness * np.sqrt(number * (number - 1.0)) / (number - 2.0), np.nan)
        cosine = mean / np.sqrt(np.nanmean(values**2, 1))
    low, high = _tails(values, number)
    return {
        "mean": mean,
        "worst10": low if higher_is_better else high,
        "best10": high if higher_is_better else low,
        "variance": m2,
        "skewness": skewness,
        "skewness_adjusted": adjusted,
        "cosine": cosine,
        "jain": cosine**2,
    }


def _tails(values: Scores, number: NDArray[np.int64]) -> tuple[Scores, Scores]:
    """Return the means of the smallest and of the largest tenth of each run's values."""
    rising, falling = np.sort(values, 1), -np.sort(-values, 1)  # NaN is last in both
    tenth = np.where(number > 0, np.maximum(number // 10, 1), 0)
    inside = np.arange(values.shape[1]) < tenth[:, None]
    with np.errstate(invalid="ignore"):
        low, high = (np.where(inside, x, 0.0).sum(1) / tenth for x in (rising, falling))
    return low, high
