"""Selection by norms of updates as NumPy loops over the rounds of one seed: peers of `schemes`; see `bandit_loops`."""

from collections.abc import Callable

import numpy as np

from benchmarks.bandit_loops import TIE, Cohorts, Floats, Rng, highest
from benchmarks.scheme_events import Events

UNKNOWN = 1e3  # norm of a client of which nothing is known: above all others


def optimal(rng: Rng, events: Events, k: int, uniform: float, iterations: int) -> Cohorts:
    """Run the exact form of optimal client sampling."""

    def best(u: Floats) -> Floats:
        rising, many = np.sort(u), len(u)
        room = np.arange(1, k + 1)
        at = int((room * rising[many - k :] <= rising.cumsum()[many - k :]).nonzero()[0][-1])
        return np.minimum(u * ((at + 1) / rising[: many - k + at + 1].sum()), 1.0)

    return _coins(rng, events, k, uniform, best)


def optimal_approximate(rng: Rng, events: Events, k: int, uniform: float, iterations: int) -> Cohorts:
    """Run its approximate form, which ends early where nothing is left to scale."""

    def best(u: Floats) -> Floats:
        p = np.minimum(u * (k / u.sum()), 1.0)
        for _ in range(iterations):
            free = p < 1
            many = np.count_nonzero(free)
            if many == len(p):
                break
            p = np.minimum(p * max((k - len(p) + many) / p[free].sum(), 1.0), 1.0)
        return p

    return _coins(rng, events, k, uniform, best)


def _coins(rng: Rng, events: Events, k: int, uniform: float, best: Callable[[Floats], Floats]) -> Cohorts:
    assert events.norm is not None
    rounds, n = events.succeeded.shape
    share, coins = events.num_samples / events.num_samples.sum(), rng.random((rounds, n))
    norm, known, cohorts, weights = np.zeros(n), np.zeros(n, bool), [], []
    for coin, new, back in zip(coins, events.norm, events.succeeded, strict=True):
        u = share * np.where(known, norm, norm.max() or 1.0)
        p = (1 - uniform) * best(u)
        p += uniform * k / n
        cohort = (coin < p).nonzero()[0]
        cohorts.append(cohort)
        weights.append(float(share[cohort].dot(1 / p[cohort])))
        returned = cohort[back[cohort]]
        norm[returned] = new[returned]
        known[returned] = True
    return cohorts, weights


def norm_topk(rng: Rng, events: Events, k: int, uniform: float) -> Cohorts:
    """Run selection of the k largest norms."""
    assert events.norm is not None
    ties = TIE * rng.random(events.succeeded.shape)
    norm, cohorts = np.full(ties.shape[1], UNKNOWN), []
    for tie, new, back in zip(ties, events.norm, events.succeeded, strict=True):
        cohort = highest(norm + tie, k)
        cohorts.append(cohort)
        returned = cohort[back[cohort]]
        norm[returned] = new[returned]
    return cohorts, []


def norm_importance(rng: Rng, events: Events, k: int, uniform: float) -> Cohorts:
    """Run k draws with replacement in proportion to p_i times norms."""
    assert events.norm is not None
    rounds, n = events.succeeded.shape
    share, points = events.num_samples / events.num_samples.sum(), rng.random((rounds, k))
    norm, known, cohorts, weights = np.zeros(n), np.zeros(n, bool), [], []
    for point, new, back in zip(points, events.norm, events.succeeded, strict=True):
        q = share * np.where(known, norm, norm.max() or 1.0)
        q *= (1 - uniform) / q.sum()
        q += uniform / n
        ends = q.cumsum()
        times = np.bincount(ends.searchsorted(point * ends[-1], side="right"), minlength=n)
        cohort = times.nonzero()[0]
        cohorts.append(cohort)
        weights.append(float(share[cohort].dot(times[cohort] / (k * q[cohort]))))
        returned = cohort[back[cohort]]
        norm[returned] = new[returned]
        known[returned] = True
    return cohorts, weights
