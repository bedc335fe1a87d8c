"""Bandits and exponential weights as NumPy loops over the rounds of one seed: peers of `schemes`.

They are written to be fast: draws of all rounds in one call, `argpartition` in place of sorts, discounts kept as one
number, and indices renewed for the cohort alone. All clients are available. Each loop returns the cohorts, and the sum
of p_i times importance over each, which is 0 here.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.numpy_loop import LARGE, log_cap
from benchmarks.scheme_events import Events

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Cohorts = tuple[list[NDArray[np.int_]], list[float]]
Rng = np.random.Generator

NEVER = 100.0  # index of a client of which nothing is known: above all others
TIE = 1e-9  # random numbers of this size order equal indices


def highest(score: NDArray[Any], k: int) -> NDArray[np.int_]:
    """Return the places of the k largest entries."""
    return score.argpartition(len(score) - k)[len(score) - k :]


def d_ucb(rng: Rng, events: Events, k: int, gamma: float, xi: float) -> Cohorts:
    """Run discounted UCB; counts are kept in units of gamma^t, so that only those of the cohort change."""
    shape = events.succeeded.shape
    ties = TIE * rng.random(shape)
    times, wins, root = (np.zeros(shape[1]) for _ in range(3))
    mean, cohorts, unit, rounds = np.full(shape[1], NEVER), [], 1.0, 0.0
    for tie, back in zip(ties, events.succeeded, strict=True):
        score = root * math.sqrt(4 * xi * math.log(max(rounds, 1.0)) / unit)
        score += mean
        score += tie
        cohort = highest(score, k)
        cohorts.append(cohort)
        unit, rounds = gamma * unit, gamma * rounds + 1
        n, s = times[cohort] + 1 / unit, wins[cohort] + back[cohort] / unit
        times[cohort], wins[cohort], mean[cohort], root[cohort] = n, s, s / n, 1 / np.sqrt(n)
    return cohorts, []


def ucb1(rng: Rng, events: Events, k: int, xi: float) -> Cohorts:
    """Run UCB1: without a discount, D-UCB is UCB1 with four times the xi."""
    return d_ucb(rng, events, k, 1.0, xi / 4)


def sw_ucb(rng: Rng, events: Events, k: int, xi: float, tau: int) -> Cohorts:
    """Run sliding-window UCB."""
    shape = events.succeeded.shape
    ties = TIE * rng.random(shape)
    times, wins, root = (np.zeros(shape[1]) for _ in range(3))
    mean, cohorts = np.full(shape[1], NEVER), []
    for t, (tie, back) in enumerate(zip(ties, events.succeeded, strict=True)):
        score = root * math.sqrt(xi * math.log(min(max(t, 1), tau)))
        score += mean
        score += tie
        cohort = changed = highest(score, k)
        cohorts.append(cohort)
        times[cohort] += 1
        wins[cohort] += back[cohort]
        if t >= tau:
            old = cohorts[t - tau]
            times[old] -= 1
            wins[old] -= events.succeeded[t - tau][old]
            changed = np.concatenate([cohort, old])
        n = times[changed]
        some = np.maximum(n, 1)
        mean[changed] = np.where(n > 0, wins[changed] / some, NEVER)
        root[changed] = 1 / np.sqrt(some)
    return cohorts, []


def eps_greedy(rng: Rng, events: Events, k: int, epsilon: float) -> Cohorts:
    """Run epsilon-greedy."""
    rounds, num_clients = events.succeeded.shape
    ties = TIE * rng.random((rounds, num_clients))
    explores = rng.binomial(k, epsilon, rounds).tolist()
    noise = rng.random((rounds, num_clients))
    times, wins = np.zeros(num_clients), np.zeros(num_clients)
    mean, cohorts = np.full(num_clients, NEVER), []
    for tie, many, draw, back in zip(ties, explores, noise, events.succeeded, strict=True):
        order = (mean + tie).argpartition(num_clients - k + many - (many == k))
        cut = num_clients - k + many
        cohort = order[cut:]
        if many:
            others = order[:cut][draw[:cut].argpartition(many - 1)[:many]]
            cohort = np.concatenate([cohort, others])
        cohorts.append(cohort)
        times[cohort] += 1
        wins[cohort] += back[cohort]
        mean[cohort] = wins[cohort] / times[cohort]
    return cohorts, []


def thompson(rng: Rng, events: Events, k: int, gamma: float) -> Cohorts:
    """Run Thompson sampling, discounted if gamma < 1."""
    num_clients = events.succeeded.shape[1]
    wins, losses, cohorts = np.zeros(num_clients), np.zeros(num_clients), []
    for back in events.succeeded:
        cohort = highest(rng.beta(1 + wins, 1 + losses), k)
        cohorts.append(cohort)
        if gamma < 1:
            wins *= gamma
            losses *= gamma
        came = back[cohort]
        wins[cohort] += came
        losses[cohort] += ~came
    return cohorts, []


def cap(w: Floats, target: float, over: Mask) -> tuple[float, Mask, float]:
    """Return c with sum_i min(1, w_i / c) = target, the mask of w > c, and the sum; the search starts from `over`."""
    whole, many, known = float(w.sum()), np.count_nonzero(over), False
    if many >= target:
        over, many = np.zeros(len(w), bool), 0
    while True:
        c = (float(w[~over].sum()) if many else whole) / (target - many)
        found = w > c
        count = np.count_nonzero(found)
        if count >= target or (count <= many if known else found.tobytes() == over.tobytes()):
            return c, found, whole
        over, many, known = found, count, True


def exp3s(rng: Rng, events: Events, k: int, gamma: float, alpha: float) -> Cohorts:
    """Run Exp3.S."""
    return _exp3(rng, events, k, gamma, alpha, events.succeeded.shape[0])


def rexp3(rng: Rng, events: Events, k: int, batch: int, gamma: float) -> Cohorts:
    """Run Rexp3."""
    return _exp3(rng, events, k, gamma, 0.0, batch)


def _exp3(rng: Rng, events: Events, k: int, gamma: float, alpha: float, batch: int) -> Cohorts:
    """Run Exp3.M that shares a part alpha of the total weight and restarts after a batch of rounds."""
    rounds, n = events.succeeded.shape
    orders = rng.permuted(np.broadcast_to(np.arange(n), (rounds, n)), axis=1)
    starts = rng.random(rounds).tolist()
    sigma, ticks = gamma * k / n, np.arange(k, dtype=np.float64)
    target, step = k * (1 - gamma) / (1 - sigma), k * gamma / n
    w, over, cohorts = np.ones(n), np.zeros(n, bool), []
    for t, (order, start, succeeded) in enumerate(zip(orders, starts, events.succeeded, strict=True)):
        if t % batch == 0 and t:
            w, over = np.ones(n), np.zeros(n, bool)
        c, over, whole = cap(w, target, over)
        p = np.minimum(w * ((1 - sigma) / c), 1 - sigma)
        p += sigma
        ends = p[order].cumsum()
        cohort = order[ends.searchsorted((ticks + start) * (ends[-1] / k), side="right")]
        cohorts.append(cohort)
        back = cohort[succeeded[cohort]]
        learns = back[~over[back]]
        w[learns] *= np.exp(step / p[learns])
        if alpha:
            w += math.e * alpha / n * whole
        if whole > 1e100:
            w /= whole
    return cohorts, []


def e3cs_restart(rng: Rng, events: Events, k: int, eta: float, restart: int) -> Cohorts:
    """Run E3CS of quota 0 that restarts after some rounds."""
    rounds, n = events.succeeded.shape
    draws, step = rng.standard_exponential((rounds, n)), k * eta / n
    log_w, over, cohorts = np.zeros(n), np.zeros(n, bool), []
    w, p = np.empty(n), np.empty(n)
    for t, (drawn, succeeded) in enumerate(zip(draws, events.succeeded, strict=True)):
        if t % restart == 0:
            log_w.fill(0)
            over = np.zeros(n, bool)
        np.exp(log_w, out=w)
        log_c, over = log_cap(log_w, w, float(k), over)
        if log_c > -500:
            np.multiply(w, math.exp(-log_c), out=p)
        else:
            np.exp(np.minimum(log_w - log_c, 0.0), out=p)
        np.minimum(p, 1.0, out=p)
        np.maximum(p, 1e-300, out=p)
        cohort = np.divide(drawn, p, out=drawn).argpartition(k - 1)[:k]
        cohorts.append(cohort)
        back = cohort[succeeded[cohort]]
        learns = back[~over[back]]
        log_w[learns] += step / p[learns]
        top = log_w.max()
        if top > LARGE:
            log_w -= top
    return cohorts, []


def e3cs_share(rng: Rng, events: Events, k: int, eta: float, share: float) -> Cohorts:
    """Run E3CS of quota 0 that shares a part of the total weight; shares keep all weights above share / K."""
    rounds, n = events.succeeded.shape
    draws, step = rng.standard_exponential((rounds, n)), k * eta / n
    w, over, cohorts = np.ones(n), np.zeros(n, bool), []
    for drawn, succeeded in zip(draws, events.succeeded, strict=True):
        c, over, _ = cap(w, float(k), over)
        p = np.minimum(w / c, 1.0)
        cohort = np.divide(drawn, p, out=drawn).argpartition(k - 1)[:k]
        cohorts.append(cohort)
        back = cohort[succeeded[cohort]]
        learns = back[~over[back]]
        if len(learns):
            grown = np.log(w[learns]) + step / p[learns]
            top = max(float(grown.max()), 0.0)  # the largest weight stays near 1
            w *= math.exp(-top)
            w[learns] = np.exp(grown - top)
        part = share / n * float(w.sum())
        w *= 1 - share
        w += part
    return cohorts, []
