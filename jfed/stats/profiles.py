"""Performance profiles, interquartile means and chances of improvement, with intervals that resample whole seeds.

Scores are (seeds, tasks), or (seeds,) for one task, comparable over tasks (normalised), and of the same seeds for all
schemes. A resample draws seeds with replacement for each task by itself (stratified), and takes the scores of all
schemes on the seeds drawn.

These are percentile intervals, which are too short with few seeds. In 2,000 simulated experiments with normal scores on
one task, intervals at 95 % covered the interquartile mean in 90, 93 and 95 % with 5, 10 and 30 seeds, and a probability
of improvement of 0.64 in 86, 93 and 94 %. A profile's interval is a point where every run, or none, reaches the
threshold, as is common in its tails: it covered a share of 0.5 in 94, 97 and 96 %, but one of 0.16 in 54, 80 and 94 %.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jfed.stats.bootstrap import FEWEST_SEEDS, iqm
from jfed.stats.checks import require_share
from jfed.stats.locations import Estimate

NAN = float("nan")


@dataclass(frozen=True)
class Profile:
    """Performance profile of one scheme.

    Attributes:
        share: share of runs that reach each threshold, (thresholds,), the mean over tasks.
        low: lower end of its pointwise interval, (thresholds,), NaN for fewer than 3 seeds.
        high: its upper end.
    """

    share: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class Profiles:
    """Performance profiles of schemes on the same seeds and tasks.

    Attributes:
        thresholds: (thresholds,), in the scores' unit.
        schemes: scheme to profile, in the caller's order.
        num_seeds: number of seeds.
        num_tasks: number of tasks.
        level: confidence level of the intervals.
        higher_is_better: whether a run reaches a threshold with a score of at least, or of at most that.
    """

    thresholds: np.ndarray
    schemes: dict[str, Profile]
    num_seeds: int
    num_tasks: int
    level: float
    higher_is_better: bool


def performance_profiles(
    scores: Mapping[str, ArrayLike],
    thresholds: ArrayLike,
    *,
    higher_is_better: bool = True,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Profiles:
    """Return for each scheme the share of runs whose score is at least each threshold, with pointwise intervals.

    One curve above another everywhere means that the scheme is better for each threshold (stochastic dominance). The
    intervals hold at one threshold at a time, not for the whole curve. A failed run, whose score is NaN, reaches none.

    Args:
        scores: scheme to scores, (seeds, tasks) or (seeds,).
        thresholds: (thresholds,), in the scores' unit.
        higher_is_better: whether a larger score is better; if not, a run reaches a threshold with at most that score.
        level: confidence level, two-sided.
        resamples: number of resamples.
        seed: seed of the resampling, which is the same for all schemes.

    Raises:
        ValueError: there is no scheme, shapes differ or are not (seeds, tasks), or another argument is unusable.

    Source: Agarwal et al. (2021), Deep reinforcement learning at the edge of the statistical precipice, section 4.2,
    with "at least" for "more than"; Dolan and More (2002) for performance profiles.
    """
    arrays = _checked(scores, level, resamples)
    at = np.asarray(thresholds, float)
    if at.ndim != 1 or at.size == 0 or np.isnan(at).any():
        raise ValueError(f"thresholds must be a vector of numbers with at least one entry, got shape {at.shape}")
    num_seeds, num_tasks = next(iter(arrays.values())).shape
    counts = _counts(_drawn(num_seeds, num_tasks, resamples, seed), num_seeds)
    counts = np.moveaxis(counts, 0, 1).reshape(resamples, -1)  # of all runs, task by task
    profiles = {}
    for scheme, x in arrays.items():
        runs = x.T.reshape(-1, 1)
        reached = (runs >= at if higher_is_better else runs <= at).astype(float)  # (runs, thresholds)
        resampled = counts @ reached / len(runs)
        profiles[scheme] = Profile(reached.mean(axis=0), *_ends(resampled, num_seeds, level))
    return Profiles(at, profiles, num_seeds, num_tasks, level, higher_is_better)


def iqm_intervals(
    scores: Mapping[str, ArrayLike], *, level: float = 0.95, resamples: int = 9999, seed: int = 0
) -> dict[str, Estimate]:
    """Return the interquartile mean of each scheme's runs on all tasks, with its interval.

    Whether two intervals overlap says nothing about a paired difference: `bootstrap_interval` is about that.

    Args:
        scores: scheme to scores, (seeds, tasks) or (seeds,).
        level: confidence level, two-sided.
        resamples: number of resamples.
        seed: seed of the resampling, which is the same for all schemes.

    Returns:
        Scheme to estimate, in the scores' unit; the ends are NaN for fewer than 3 seeds, and all is if a run failed.

    Raises:
        ValueError: there is no scheme, shapes differ or are not (seeds, tasks), or another argument is unusable.

    Source: Agarwal et al. (2021), section 4.3.
    """
    arrays = _checked(scores, level, resamples)
    num_seeds, num_tasks = next(iter(arrays.values())).shape
    rows = _drawn(num_seeds, num_tasks, resamples, seed)
    found = {}
    for scheme, x in arrays.items():
        resampled = iqm(np.concatenate([x[rows[task], task] for task in range(num_tasks)], axis=1))
        low, high = _ends(resampled, num_seeds, level)
        found[scheme] = Estimate(float(iqm(x.ravel())), float(low), float(high))
    return found


def probability_of_improvement(
    scheme: ArrayLike,
    reference: ArrayLike,
    *,
    higher_is_better: bool = True,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Estimate:
    """Return the chance that a run of the scheme is better than one of the reference on a task, ties counted half.

    It is the mean over tasks of a12. For one task `a12_interval` keeps its level better.

    Args:
        scheme: scores, (seeds, tasks) or (seeds,).
        reference: scores of the same seeds and tasks.
        higher_is_better: whether a larger score is better.
        level: confidence level, two-sided.
        resamples: number of resamples.
        seed: seed of the resampling.

    Returns:
        The estimate, without unit; the ends are NaN for fewer than 3 seeds, and all is if a run failed.

    Raises:
        ValueError: shapes differ or are not (seeds, tasks), or another argument is unusable.

    Source: Agarwal et al. (2021), section 4.3.
    """
    arrays = _checked({"scheme": scheme, "reference": reference}, level, resamples)
    x, y = (a.T if higher_is_better else -a.T for a in arrays.values())
    num_tasks, num_seeds = x.shape
    one, other = x[:, :, None], y[:, None, :]
    failed = np.isnan(one) | np.isnan(other)
    won = np.where(failed, NAN, (one > other) + (one == other) / 2)  # (tasks, seeds, seeds)
    counts = _counts(_drawn(num_seeds, num_tasks, resamples, seed), num_seeds)
    resampled = np.mean(np.sum(counts @ won * counts, axis=2), axis=0) / num_seeds**2
    low, high = _ends(resampled, num_seeds, level)
    return Estimate(float(won.mean()), float(low), float(high))


def _checked(scores: Mapping[str, ArrayLike], level: float, resamples: int) -> dict[str, np.ndarray]:
    """Return the scores as (seeds, tasks)."""
    require_share("level", level)
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, got {resamples}")
    if not scores:
        raise ValueError("there are no schemes")
    arrays = {scheme: np.asarray(values, float) for scheme, values in scores.items()}
    first, shape = next((scheme, x.shape) for scheme, x in arrays.items())
    for scheme, x in arrays.items():
        if x.ndim not in (1, 2) or x.size == 0:
            raise ValueError(f"scores of {scheme!r} must be (seeds, tasks) or (seeds,), got shape {x.shape}")
        if x.shape != shape:
            raise ValueError(f"{scheme!r} has scores of shape {x.shape}, {first!r} of {shape}: use the same seeds")
    return {scheme: x.reshape(len(x), -1) for scheme, x in arrays.items()}


def _drawn(num_seeds: int, num_tasks: int, resamples: int, seed: int) -> np.ndarray:
    """Return the seeds drawn for each task, (tasks, resamples, seeds)."""
    return np.random.default_rng(seed).integers(num_seeds, size=(num_tasks, resamples, num_seeds))


def _counts(rows: np.ndarray, num_seeds: int) -> np.ndarray:
    """Return how often each seed was drawn, in the shape of `rows`."""
    which = np.arange(rows[..., 0].size).reshape(*rows.shape[:2], 1) * num_seeds + rows
    return np.bincount(which.ravel(), minlength=rows.size).reshape(rows.shape).astype(float)


def _ends(resampled: np.ndarray, num_seeds: int, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the percentile interval of (resamples, ...); NaN for fewer than 3 seeds, or where a resample is NaN."""
    if num_seeds < FEWEST_SEEDS:
        return np.full(resampled.shape[1:], NAN), np.full(resampled.shape[1:], NAN)
    # Ends that are resamples, not between two, since a score may be infinite.
    low = np.quantile(resampled, 0.5 - level / 2, axis=0, method="lower")
    return low, np.quantile(resampled, 0.5 + level / 2, axis=0, method="higher")
