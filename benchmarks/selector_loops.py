"""Selection by losses, speed and shares as NumPy loops over the rounds of one seed: peers of `schemes`.

They are written to be fast; see `bandit_loops`. All clients are available, except in the clustered schemes of
`cluster_loops`. Runs as a worker; needs NumPy, and SciPy for Ward's method.
"""

import json
import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import bandit_loops, cluster_loops, norm_loops, scheme_events
from benchmarks.bandit_loops import TIE, Cohorts, Floats, Rng, highest
from benchmarks.scheme_events import Events

UNKNOWN = 1e3  # valuation of a client of which nothing is known: above all others
SLACK = 1e-4


def nth(values: Floats, place: float) -> float:
    """Return the value at a place of the ascending order, from 0, rounded down; the largest for a later one."""
    at = min(math.floor(place + SLACK), len(values) - 1)
    return float(np.partition(values, at)[at])


def oort(
    rng: Rng, events: Events, k: int, exploration: float, exploration_decay: float, exploration_min: float,
    window: float, cut_off: float, clip: float, alpha: float, percentile: float, pacer_points: float,
    pacer_rounds: int, blacklist_after: int, blacklisted: int,
) -> Cohorts:  # fmt: skip
    """Run Oort as its public code: the flat pacer, no blacklist, and scales over all clients."""
    rounds, n = events.succeeded.shape
    sizes = events.num_samples.astype(np.float64)
    worth, duration, root_last = sizes.copy(), np.full(n, -1.0), np.zeros(n)
    seen, before, now, least, cohorts = np.zeros(n, bool), 0.0, 0.0, exploration_min, []
    races, ties = rng.standard_exponential((rounds, n)), rng.random((rounds, n))
    gains = sizes * np.sqrt(events.loss.astype(np.float64) ** 2)
    for t, (race, tie, back) in enumerate(zip(races, ties, events.succeeded, strict=True), 1):
        if t % pacer_rounds == 0:
            if t >= 2 * pacer_rounds:
                change = abs(now - before)
                if change <= 0.1 * before:
                    percentile = min(percentile + pacer_points, 100.0)
                elif change >= 5 * before:
                    percentile = max(pacer_points, percentile - pacer_points)
            before, now = now, 0.0
        slow = None
        if percentile < 100 and t > 1:
            known = duration[duration >= 0]
            preferred = nth(known, len(known) * percentile / 100)
            slow = (preferred / np.maximum(duration, preferred)) ** alpha
        epsilon = max(exploration * exploration_decay, least)
        played = seen.nonzero()[0]
        cohort = played[:0]
        if len(played):
            low, high = float(worth.min()), float(worth.max())
            score = np.minimum(worth[played], nth(worth, n * clip)) - 0.999 * low
            score /= max(high - 0.999 * low, 1e-4)
            score += math.sqrt(0.1 * math.log(t)) * root_last[played]
            np.maximum(score, 0.0, out=score)
            if slow is not None:
                score *= slow[played]
            wanted = min(math.floor(k * (1 - epsilon) + SLACK), len(played))
            near = score >= cut_off * -nth(-score, wanted)
            among = played[near]
            cohort = among[(race[among] / score[near]).argpartition(wanted - 1)[:wanted]] if wanted else cohort
        exploited = len(cohort)
        if len(played) < n:
            fresh = (~seen).nonzero()[0]
            left = min(k - exploited, len(fresh))
            prior = sizes[fresh] if slow is None else sizes[fresh] * slow[fresh]
            many = math.floor(window * left + SLACK)
            if many < len(fresh):
                best = highest(prior, many)
                fresh, prior = fresh[best], prior[best]
            cohort = np.concatenate([cohort, fresh[(race[fresh] / prior).argpartition(left - 1)[:left]]])
            exploration = epsilon
        else:
            exploration = least = 0.0
        if len(cohort) < k:
            noise = tie.copy()
            noise[cohort] = 2
            rest = k - len(cohort)
            cohort = np.concatenate([cohort, noise.argpartition(rest - 1)[:rest]])
        cohorts.append(cohort)
        came = back[cohort]
        returned = cohort[came]
        worth[returned] = gains[t - 1][returned]
        duration[cohort] = events.latency_s[t - 1][cohort]
        root_last[returned] = 1 / math.sqrt(t)
        seen[returned] = True
        counted = cohort[:exploited][came[:exploited]]
        now += float(worth[counted].sum()) / (len(counted) + 1e-4)
    return cohorts, []


def tifl(
    rng: Rng, events: Events, k: int, interval: int, credits: int, measurements: int, profile_rounds: int,
    tiers: int,
) -> Cohorts:  # fmt: skip
    """Run TiFL with probed accuracies; each tier has at least k clients."""
    rounds, n = events.succeeded.shape
    assert events.accuracy is not None
    ties, starts = rng.random((rounds, n)), rng.random(rounds).tolist()
    times, total, cohorts = np.zeros(n), np.zeros(n), []
    members: list[Any] = []
    left, chance = np.full(tiers, credits), np.full(tiers, 1 / tiers)
    before, drawn = np.full(tiers, -1.0), -1
    for t, (tie, start) in enumerate(zip(ties, starts, strict=True), 1):
        if not members and (t > profile_rounds or times.min() >= measurements):
            mean = np.where(times > 0, total / np.maximum(times, 1), np.inf)
            order = mean.argsort()
            members = [order[np.arange(n) * tiers // n == tier] for tier in range(tiers)]
        if not members:
            cohort = (times + tie).argpartition(k - 1)[:k]
            times[cohort] += 1
            total[cohort] += events.latency_s[t - 1][cohort]
            cohorts.append(cohort)
            continue
        if t % interval == 0:
            told = events.accuracy[t - 1]
            accuracy = np.array([np.average(told[own], weights=events.num_samples[own]) for own in members])
            if drawn >= 0 and before[drawn] >= 0 and accuracy[drawn] <= before[drawn]:
                some = (left > 0).nonzero()[0]
                many, chance = len(some), np.zeros(tiers)
                chance[some[accuracy[some].argsort(kind="stable")]] = np.arange(many, 0, -1) / (many * (many + 1) / 2)
            before = accuracy
        ends = (chance * (left > 0)).cumsum()
        drawn = int(ends.searchsorted(start * ends[-1], side="right"))
        left[drawn] -= 1
        own = members[drawn]
        cohorts.append(own if len(own) == k else own[tie[own].argpartition(k - 1)[:k]])
    return cohorts, []


def active_fl(rng: Rng, events: Events, k: int, disqualified: float, temperature: float, uniform: float) -> Cohorts:
    """Run active federated learning."""
    rounds, n = events.succeeded.shape
    roots = np.sqrt(events.num_samples)
    v, known, cohorts = np.full(n, UNKNOWN), np.zeros(n, bool), []
    low, wanted = math.floor(disqualified * n + SLACK), math.floor((1 - uniform) * k + SLACK)
    ties = TIE * rng.random((rounds, n))
    races, noises = rng.standard_exponential((rounds, n)), rng.random((rounds, n))
    for tie, race, noise, loss, back in zip(ties, races, noises, events.loss, events.succeeded, strict=True):
        qualified = (v + tie).argpartition(low)[low:]
        most = v.max(where=known, initial=0.0)
        weight = np.exp(temperature * (np.minimum(v[qualified], most) - most))
        first = qualified[(race[qualified] / weight).argpartition(wanted - 1)[:wanted]]
        noise[first] = 2
        cohort = np.concatenate([first, noise.argpartition(k - wanted - 1)[: k - wanted]]) if wanted < k else first
        cohorts.append(cohort)
        returned = cohort[back[cohort]]
        v[returned] = roots[returned] * loss[returned]
        known[returned] = True
    return cohorts, []


def loss_proportional(rng: Rng, events: Events, k: int, uniform: float) -> Cohorts:
    """Run loss-proportional sampling of k different clients with fresh losses, and no uniform share."""
    assert uniform == 0
    rounds, n = events.succeeded.shape
    races, own, cohorts, weights = rng.standard_exponential((rounds, n)), events.num_samples, [], []
    whole = own.sum()
    one = whole / n / own
    for race, loss in zip(races, events.loss, strict=True):
        cohort = (race / (own * loss)).argpartition(k - 1)[:k]
        cohorts.append(cohort)
        weights.append(float(own[cohort].dot(one[cohort]) / whole))
    return cohorts, weights


def f3ast(rng: Rng, events: Events, k: int, beta: float, cap: float) -> Cohorts:
    """Run F3AST as published; rates are kept in units of (1 - beta)^t, so that only those of the cohort change."""
    rounds, n = events.succeeded.shape
    ties = TIE * rng.random((rounds, n))
    p = events.num_samples / events.num_samples.sum()
    rate, unit, cohorts, weights = np.ones(n), 1.0, [], []
    for tie in ties:
        cohort = (rate + tie).argpartition(k - 1)[:k]
        cohorts.append(cohort)
        unit *= 1 - beta
        own = p[cohort]
        rate[cohort] += beta / unit / own
        weights.append(float(own.dot(1 / (k * own * (unit * rate[cohort])))))
    return cohorts, weights


LOOPS: dict[str, Callable[..., Cohorts]] = {
    "oort": oort,
    "tifl": tifl,
    "active-fl": active_fl,
    "loss-proportional": loss_proportional,
    "optimal-sampling": norm_loops.optimal,
    "optimal-sampling-approximate": norm_loops.optimal_approximate,
    "norm-topk": norm_loops.norm_topk,
    "norm-importance": norm_loops.norm_importance,
    "f3ast": f3ast,
    "divfl": cluster_loops.divfl,
    "divfl-stochastic": cluster_loops.divfl_stochastic,
    "clustered-size": cluster_loops.by_size,
    "clustered-similarity": cluster_loops.by_similarity,
    "eps-greedy": bandit_loops.eps_greedy,
    "ucb1": bandit_loops.ucb1,
    "d-ucb": bandit_loops.d_ucb,
    "sw-ucb": bandit_loops.sw_ucb,
    "thompson": bandit_loops.thompson,
    "discounted-thompson": bandit_loops.thompson,
    "exp3s": bandit_loops.exp3s,
    "rexp3": bandit_loops.rexp3,
    "e3cs-restart": bandit_loops.e3cs_restart,
    "e3cs-share": bandit_loops.e3cs_share,
}


def main() -> None:
    """Answer requests from standard input: run seeds one after another until some seconds have been spent on them."""
    seed = 0
    for line in sys.stdin:
        request = json.loads(line)
        loop, settings, rounds, seconds = (request[name] for name in ("loop", "settings", "rounds", "seconds"))
        spent, found = 0.0, []
        while spent < seconds:
            events = scheme_events.draw(seed, rounds, *(request[x] for x in ("num_clients", "wants", "availability")))
            rng = np.random.default_rng([seed, 1])
            started = time.perf_counter()
            cohorts, weights = LOOPS[loop](rng, events, **settings)
            spent += time.perf_counter() - started
            selected = np.zeros(events.succeeded.shape, bool)
            for row, cohort in zip(selected, cohorts, strict=True):
                row[cohort] = True
            found.append(scheme_events.figures(selected, weights or 0.0, events))
            seed += 1
        means = {name: float(np.mean([one[name] for one in found])) for name in scheme_events.FIGURES}
        print(json.dumps({"rate": len(found) * rounds / spent} | means), flush=True)


if __name__ == "__main__":
    main()
