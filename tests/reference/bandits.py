"""Bandit policies on success bits in plain NumPy, float64, for cohorts of k clients.

Arrays over rounds and clients are (T, K). Rounds count from 1 in formulas, from 0 as rows. A cohort is min(k, |A|) of
the available clients A. Counts are summed over the whole history each round, as the papers define them. Random numbers
are given: `ties` (T, K) order equal scores, smallest first.
"""

import math

import numpy as np
import numpy.typing as npt

from . import e3cs

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


def highest(score: FloatArray, k: int, available: BoolArray, tie: FloatArray) -> BoolArray:
    """Return the mask (K,) of the available clients with the k largest scores (K,), or of all if there are fewer."""
    order = sorted(np.flatnonzero(available).tolist(), key=lambda i: (-score[i], tie[i], i))
    chosen = np.zeros(len(score), bool)
    chosen[order[:k]] = True
    return chosen


def index(s: float, n: float, spread: float) -> float:
    """Return s / n + sqrt(spread / n); infinite for n = 0."""
    return math.inf if n == 0 else s / n + math.sqrt(spread / n)


def sums(selected: BoolArray, returned: BoolArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the weighted numbers of returns and of selections, (K,) each, from a history (t, K) and weights (t,)."""
    n = np.array([float(np.dot(weights, column)) for column in selected.T])
    s = np.array([float(np.dot(weights, column)) for column in (selected & returned).T])
    return s, n


def epsilon_greedy(
    available: BoolArray, returns: BoolArray, k: int, epsilon: float, coins: FloatArray, ties: FloatArray,
    race: FloatArray,
) -> BoolArray:  # fmt: skip
    """Return the cohorts. Slot j explores if coins (T, k) are below epsilon; explorers are the earliest in race."""
    T, K = available.shape
    selected = np.zeros((T, K), bool)
    for t in range(T):
        s, n = sums(selected[:t], returns[:t], np.ones(t))
        explorers = sum(1 for coin in coins[t, :k] if coin < epsilon)
        score = np.array([index(s[i], n[i], 0.0) for i in range(K)])
        best = highest(score, k - explorers, available[t], ties[t])
        rest = highest(-race[t], explorers, available[t] & ~best, np.zeros(K))
        selected[t] = best | rest
    return selected


def ucb(
    available: BoolArray, returns: BoolArray, k: int, xi: float, ties: FloatArray, form: str = "ucb1",
    gamma: float = 1.0, tau: int = 0,
) -> BoolArray:  # fmt: skip
    """Return the cohorts of UCB1, "discounted" UCB (with the 2 of its bonus) or UCB of a "window" of tau rounds."""
    T, K = available.shape
    selected = np.zeros((T, K), bool)
    for t in range(T):
        age = np.arange(t - 1, -1, -1, dtype=float)  # rounds since each round of the past
        weights, spread = np.ones(t), xi * math.log(max(t, 1))
        if form == "discounted":
            weights = gamma**age
            spread = 4 * xi * math.log(max(float(weights.sum()), 1.0))
        elif form == "window":
            weights = (age < tau).astype(float)
            spread = xi * math.log(max(min(t, tau), 1))
        s, n = sums(selected[:t], returns[:t], weights)
        selected[t] = highest(np.array([index(s[i], n[i], spread) for i in range(K)]), k, available[t], ties[t])
    return selected


def beta_variable(a: float, b: float, u1: FloatArray, u2: FloatArray) -> float:
    """Return a Beta(a, b) variable, a, b >= 1, by Cheng's algorithm BA from proposals u1, u2 (n,) in (0, 1)."""
    alpha = a + b
    beta = max(1 / a, 1 / b) if min(a, b) <= 1 else math.sqrt((alpha - 2) / (2 * a * b - alpha))
    gamma = a + 1 / beta
    for first, second in zip(u1, u2, strict=True):
        v = beta * math.log(first / (1 - first))
        w = a * math.exp(v)
        if alpha * math.log(alpha / (b + w)) + gamma * v - math.log(4) >= math.log(first**2 * second):
            return w / (b + w)
    raise ArithmeticError("all proposals were rejected")


def thompson(
    available: BoolArray, returns: BoolArray, k: int, gamma: float, u1: FloatArray, u2: FloatArray, ties: FloatArray
) -> tuple[BoolArray, FloatArray, FloatArray]:
    """Return the cohorts, and s and f after each round, from proposals u1, u2 (T, n, K)."""
    T, K = available.shape
    selected, wins, losses = np.zeros((T, K), bool), np.zeros((T, K)), np.zeros((T, K))
    for t in range(T):
        s, n = sums(selected[:t], returns[:t], gamma ** np.arange(t - 1, -1, -1, dtype=float))
        theta = np.array([beta_variable(1 + s[i], 1 + n[i] - s[i], u1[t, :, i], u2[t, :, i]) for i in range(K)])
        selected[t] = highest(theta, k, available[t], ties[t])
        wins[t], n = sums(selected[: t + 1], returns[: t + 1], gamma ** np.arange(t, -1, -1, dtype=float))
        losses[t] = n - wins[t]
    return selected, wins, losses


# --------------------------------------------------------------------------------------- exponential weights


def exp3_m(w: FloatArray, k: int, gamma: float, available: BoolArray) -> tuple[FloatArray, BoolArray, int]:
    """Return p (K,), the clients whose weights (K,) are cut, and the cohort's size, by Exp3.M among the available ones.

    The cut level is found by bisection of the condition that a client at it has p = 1.
    """
    here = np.flatnonzero(available)
    K, p, cut = len(here), np.zeros(len(w)), np.zeros(len(w), bool)
    k = min(k, K)
    if k == 0:
        return p, cut, 0
    if k == K:  # all are selected, and none learns
        p[here], cut[here] = 1, True
        return p, cut, k
    own = w[here]
    limit = (1 / k - gamma / K) / (1 - gamma) if gamma < 1 else math.inf  # largest share of the total weight
    if own.max() > limit * own.sum():
        low, high = 0.0, float(own.max())
        for _ in range(200):
            level = (low + high) / 2
            low, high = (level, high) if level <= limit * np.minimum(own, level).sum() else (low, level)
        cut[here] = own > low
        own = np.minimum(own, low)
    p[here] = k * ((1 - gamma) * own / own.sum() + gamma / K)
    return p, cut, k


def exp3_changing(
    available: BoolArray, returns: BoolArray, selected: BoolArray, k: int, gamma: float, alpha: float = 0.0,
    batch: int = 0,
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    """Return p and the weights after each round (T, K), of Exp3.S (alpha) or Rexp3 (batch), for given cohorts."""
    T, K = available.shape
    w, ps, ws = np.ones(K), np.zeros((T, K)), np.zeros((T, K))
    for t in range(T):
        if batch and t % batch == 0:
            w = np.ones(K)
        p, cut, size = exp3_m(w, k, gamma, available[t])
        total, new = w.sum(), w.copy()
        for i in range(K):
            if selected[t, i] and returns[t, i] and not cut[i]:
                new[i] = w[i] * math.exp(size * gamma / (p[i] * K))
        w = new + math.e * alpha / K * total
        w = w / w.max()
        ps[t], ws[t] = p, w
    return ps, ws


def e3cs_changing(
    available: BoolArray, returns: BoolArray, selected: BoolArray, overflow: BoolArray, k: int, quota: FloatArray,
    eta: float, clip: bool, restart: int = 0, share: float = 0.0,
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    """Return p and the log-weights after each round (T, K), of E3CS with restarts or a share, for given cohorts.

    The overflow (T, K) is given, and checked where it is not a question of rounding: a client exactly at the cap may be
    in either set, with p = 1.
    """
    T, K = available.shape
    log_w, ps, ws = np.zeros(K), np.zeros((T, K)), np.zeros((T, K))
    for t in range(T):
        if restart and t % restart == 0:
            log_w = np.zeros(K)
        p, over, _, sigma = e3cs.allocate(log_w, k, float(quota[t]), available[t])
        assert not (over ^ overflow[t])[p < 1 - 1e-9].any()
        log_w = e3cs.update(log_w, p, overflow[t], selected[t], returns[t], k, sigma, eta, clip, available[t])
        log_w = log_w - log_w.max()
        if share:
            w = np.exp(log_w)
            log_w = np.log((1 - share) * w + share / K * w.sum())
        ps[t], ws[t] = p, log_w
    return ps, ws
