"""DivFL and clustered sampling as NumPy loops over the rounds of one seed: peers of `schemes`; see `bandit_loops`.

Tables of pairs are renewed for the clients that returned, and distributions are lines of which one search draws all.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist

from benchmarks.bandit_loops import Cohorts, Rng
from benchmarks.scheme_events import Events


def divfl(rng: Rng, events: Events, k: int, share: float) -> Cohorts:
    """Run DivFL with the greedy search."""
    return _divfl(rng, events, k, None)


def divfl_stochastic(rng: Rng, events: Events, k: int, share: float) -> Cohorts:
    """Run DivFL with the stochastic search."""
    return _divfl(rng, events, k, share)


def _divfl(rng: Rng, events: Events, k: int, share: float | None) -> Cohorts:
    assert events.sketch is not None
    rounds, n = events.succeeded.shape
    sketch, squares = np.zeros(events.sketch.shape[1:], np.float32), np.zeros(n, np.float32)
    distance, known = np.zeros((n, n), np.float32), np.zeros(n, bool)
    noise, cohorts = rng.random((rounds, n)), []
    for tie, new, back in zip(noise, events.sketch, events.succeeded, strict=True):
        unseen = (~known).nonzero()[0]
        cohort = unseen if len(unseen) <= k else unseen[tie[unseen].argpartition(k - 1)[:k]]
        if len(cohort) < k:
            rows = known.nonzero()[0]
            cohort = np.concatenate([cohort, _greedy(rng, distance, rng.permutation(rows), k - len(cohort), k, share)])
        cohorts.append(cohort)
        returned = cohort[back[cohort]]
        told = new[returned]
        sketch[returned], known[returned] = told, True
        squares[returned] = own = np.einsum("ij,ij->i", told, told)
        apart = own[:, None] + squares - 2 * (told @ sketch.T)
        apart = np.sqrt(np.maximum(apart, 0, out=apart), out=apart)
        distance[returned], distance[:, returned] = apart, apart.T
        distance[returned, returned] = 0
    return cohorts, []


def _greedy(rng: Rng, distance: Any, who: NDArray[np.int_], many: int, k: int, share: float | None) -> NDArray[np.int_]:
    """Return the clients that the search adds, from clients in a random order; those left stay in front."""
    many, left = min(many, len(who)), len(who)
    who, table = who.copy(), distance[np.ix_(who, who)]
    looks = left if share is None else max(k, int(share * left))
    order = rng.random((many, left)) if share is not None else None
    nearest, ones = np.full(left, np.inf, np.float32), np.ones(left, np.float32)
    for i in range(many):
        if order is None or looks >= left:
            best = int(np.minimum(table[:left], nearest).dot(ones).argmin())
        else:
            some = order[i, :left].argpartition(looks - 1)[:looks]
            best = int(some[np.minimum(table[some], nearest).dot(ones).argmin()])
        nearest = np.minimum(nearest, table[best])
        left -= 1
        if best < left:  # the last one left takes its row
            who[[best, left]] = who[[left, best]]
            table[best] = table[left]
    return who[left:]


def by_size(rng: Rng, events: Events, k: int) -> Cohorts:
    """Run clustered sampling by size: the distributions are the k equal parts of a line of all clients."""
    rounds, n = events.succeeded.shape
    sizes = events.num_samples.astype(np.int64)
    all_ = sizes.sum()
    ranked = np.lexsort((rng.random(n), -sizes))
    points, bins, cohorts, weights = rng.random((rounds, k)), np.arange(k), [], []
    for point, here in zip(points, events.available, strict=True):
        order = ranked[here[ranked]]
        ends = (k * sizes[order]).cumsum()
        whole = ends[-1] / k
        places = order[ends.searchsorted((bins + point) * whole, side="right")]
        _drawn(places, sizes, whole, all_, k, cohorts, weights)
    return cohorts, weights


def _drawn(
    places: Any, sizes: Any, whole: float, all_: float, k: int, cohorts: list[Any], weights: list[float]
) -> None:
    """Note a cohort of draws, and the sum of p_i times importance, which is draws over their expectation."""
    times = np.bincount(places, minlength=len(sizes))
    cohort = times.nonzero()[0]
    cohorts.append(cohort)
    own = sizes[cohort]
    weights.append(float(own.dot(times[cohort] * whole / (k * own)) / all_))


def by_similarity(rng: Rng, events: Events, k: int) -> Cohorts:
    """Run clustered sampling by similarity as released: angles, and Ward's method on their table's rows.

    No client has as many images as a distribution.
    """
    assert events.sketch is not None
    rounds, n = events.succeeded.shape
    sizes = events.num_samples.astype(np.int64)
    all_ = sizes.sum()
    unit, angle = np.zeros(events.sketch.shape[1:]), np.zeros((n, n))
    known, points, noise = np.zeros(n, bool), rng.random((rounds, k)), rng.random((rounds, n))
    cohorts, weights = [], []
    for here, new, back, point, tie in zip(
        events.available, events.sketch, events.succeeded, points, noise, strict=True
    ):
        who = here.nonzero()[0]
        own = k * sizes[who]
        whole = int(own.sum()) // k
        group = _groups(angle[np.ix_(who, who)], own, whole)
        mass = np.bincount(group, own, len(who))
        heavy = (-mass).argsort()[:k][::-1]  # the lighter one begins the earlier distribution
        place = np.full(len(who), -1)
        place[heavy] = np.arange(k)
        place = place[group]
        first = (place >= 0).nonzero()[0]
        first = first[place[first].argsort(kind="stable")]
        rest = (place < 0).nonzero()[0]
        rest = rest[np.lexsort((tie[rest], group[rest], mass[group[rest]]))]
        seeds = mass[heavy]
        starts, fills = seeds.cumsum() - seeds, (whole - seeds).cumsum() - (whole - seeds)
        at = point * whole
        kept = at < seeds
        line = np.where(kept, starts + at, seeds.sum() + fills + at - seeds)
        order = np.concatenate([first, rest])
        places = who[order[own[order].cumsum().searchsorted(line, side="right")]]
        _drawn(places, sizes, whole, all_, k, cohorts, weights)
        cohort = cohorts[-1]
        returned = cohort[back[cohort]]
        told = new[returned].astype(np.float64)
        unit[returned] = told / np.sqrt(np.einsum("ij,ij->i", told, told))[:, None]
        known[returned] = True
        rows = np.arccos(np.clip(unit[returned] @ unit.T, -1.0, 1.0))
        rows[:, ~known] = 0
        angle[returned], angle[:, returned] = rows, rows.T
        angle[returned, returned] = 0
    return cohorts, weights


def _groups(points: Any, mass: NDArray[np.int_], whole: int) -> NDArray[np.int_]:
    """Return the largest subtrees of Ward's tree of a mass of at most `whole`, numbered by one of their members."""
    n = len(mass)
    parts: list[list[int] | None] = [[i] for i in range(n)]
    masses = mass.tolist()
    group = np.arange(n)
    for a, b in linkage(pdist(points), "ward")[:, :2].astype(int).tolist():
        masses.append(masses[a] + masses[b])
        one, other = parts[a], parts[b]
        fits = masses[-1] <= whole and one is not None and other is not None
        parts.append([*one, *other] if fits and one is not None and other is not None else None)
        if fits:
            parts[a] = parts[b] = None
    for members in parts:
        if members is not None:
            group[members] = members[0]
    return group
