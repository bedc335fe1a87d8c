"""The best that can be done under quotas when clients come and go: CS-UCB-Q's reference for regret.

W. Xia, T. Q. S. Quek, K. Guo, W. Wen, H. H. Yang, H. Zhu, "Multi-Armed Bandit Based Client Scheduling for Federated
Learning", IEEE Transactions on Wireless Communications, 2020. Sec. IV-A, Eqs. (23) and (24).

*Notation.* K clients, at most N a round; e the clients that are available, Q(e) the super arms S of e, with |S| =
min(N, |e|) as in Eq. (10); q_S(e) the chance that S is selected when e is available; c_k client k's quota; r* the
value.

*Departures.*
- The second constraint of (23) sums over the super arms S of each e; the printed one sums over e.
- The reward of S is handed over. The paper's is min_{k in S} mu_k, the smallest mean (`smallest_mean`), which no policy
  reaches, since the mean of the smallest is less: even the best fixed super arm then has linear regret. The honest one
  is E[min_{k in S} r_k] (`mean_of_smallest`).
- Clients are available independently of each other.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog
from scipy.sparse import csr_array

MOST = 10  # clients of whom all subsets are written out
Reward = Callable[[Sequence[int]], float]  # of a super arm, by its members


def smallest_mean(means: ArrayLike) -> Reward:
    """Return the paper's reward of a super arm: the smallest of its clients' mean rewards, (K,)."""
    mu = np.asarray(means, float)
    return lambda members: float(mu[list(members)].min())


def mean_of_smallest(rewards: ArrayLike) -> Reward:
    """Return the honest reward: the mean over rounds of the smallest of its clients' rewards, (rounds, K)."""
    drawn = np.asarray(rewards, float)
    return lambda members: float(drawn[:, list(members)].min(1).mean())


def best_under_quotas(reward: Reward, availability: ArrayLike, quotas: ArrayLike, most: int) -> float:
    """Return r*, the largest mean reward a round of any policy that keeps all quotas, by linear programming (HiGHS).

    Args:
        reward: of a super arm; an empty one earns 0.
        availability: chance that each client is available, (K,).
        quotas: share of the rounds that each client was promised, (K,).
        most: N.

    Raises:
        ValueError: more than 10 clients (see `upper_bound`), or quotas that no policy keeps.
    """
    available, c = np.asarray(availability, float), np.asarray(quotas, float)
    num_clients = len(available)
    if num_clients > MOST:
        raise ValueError(f"the program lists all sets of clients: at most {MOST}, found {num_clients}")
    known: dict[tuple[int, ...], float] = {(): 0.0}
    columns, chances, earned = [], [], []
    for number, there in enumerate(itertools.product([False, True], repeat=num_clients)):
        e = np.flatnonzero(there)
        chance = float(np.prod(np.where(there, available, 1 - available)))
        for members in itertools.combinations(e.tolist(), min(most, len(e))):
            if members not in known:
                known[members] = reward(members)
            columns.append((number, members))
            chances.append(chance)
            earned.append(known[members])
    weight = np.array(chances)
    place = np.array([(k, j) for j, (_, members) in enumerate(columns) for k in members], int).reshape(-1, 2)
    rates = csr_array((weight[place[:, 1]], (place[:, 0], place[:, 1])), shape=(num_clients, len(columns)))
    shape = (2**num_clients, len(columns))
    one = csr_array((np.ones(len(columns)), ([n for n, _ in columns], range(len(columns)))), shape=shape)
    found: Any = linprog(-weight * earned, -rates, -c, one, np.ones(2**num_clients), bounds=(0, 1), method="highs")
    if found.status != 0:
        raise ValueError(f"no policy keeps these quotas: {found.message}")
    return float(-found.fun)  # Eq. (24)


def upper_bound(means: ArrayLike, available: ArrayLike, quotas: ArrayLike, most: int, tolerance: float = 1e-4) -> float:
    """Return r* for many clients and the paper's reward, by the dual: the least upper bound over prices of the quotas.

    r* = min over prices p >= 0 of E_e[max over S of (min_{k in S} mu_k + sum_{k in S} p_k)] - sum_k p_k c_k, by cutting
    planes: each maximum over S is linear in p, so the bound is convex, and every look at it cuts off what is worse.

    Args:
        means: mean reward of each client, (K,).
        available: who is available, (samples, K): as large a sample as the expectation over e is to be exact.
        quotas: share of the rounds that each client was promised, (K,).
        most: N.
        tolerance: how far above the least bound the answer may be.

    Raises:
        ValueError: quotas that no policy keeps on this sample.
    """
    mu, here, c = np.asarray(means, float), np.asarray(available, bool), np.asarray(quotas, float)
    order = np.argsort(-mu, kind="stable")
    mu, here, c = mu[order], here[:, order], c[order]
    cuts, levels = [], []
    prices, least, highest, before = np.zeros(len(mu)), np.inf, 1.0, np.inf
    for _ in range(1000):
        value, slope = _dual(mu, here, c, most, prices)
        least = min(least, value)
        cuts.append(np.append(slope, -1.0))
        levels.append(slope @ prices - value)
        bounds = [*[(0, highest)] * len(mu), (None, None)]
        found: Any = linprog(np.append(np.zeros(len(mu)), 1.0), np.array(cuts), levels, bounds=bounds, method="highs")
        below, prices = found.fun, found.x[:-1]
        if least - below <= tolerance:
            if prices.max() < highest or before - least <= tolerance:  # a larger box gains nothing
                return float(least)
            before, highest = least, 4 * highest
            if highest > 1e6:
                break
    raise ValueError("no policy keeps these quotas, as far as this sample tells")


def _dual(mu: np.ndarray, here: np.ndarray, c: np.ndarray, most: int, prices: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the bound at these prices and a subgradient; clients by falling mu.

    The best super arm whose slowest client is j consists of j and the N - 1 dearest of those before j.
    """
    samples, num_clients = here.shape
    wanted = np.minimum(most, here.sum(1))
    dearest = np.argsort(-prices, kind="stable")
    best, chosen = np.where(wanted == 0, 0.0, -np.inf), np.zeros((samples, num_clients), bool)
    for j in range(num_clients):
        before = here & (np.arange(num_clients) < j)
        ranked = before[:, dearest]
        taken = np.zeros_like(here)
        taken[:, dearest] = ranked & (ranked.cumsum(1) <= (wanted - 1)[:, None])
        taken[:, j] = True
        value = np.where(here[:, j] & (taken.sum(1) == wanted), mu[j] + taken @ prices, -np.inf)
        better = value > best
        best, chosen[better] = np.where(better, value, best), taken[better]
    return float(best.mean() - prices @ c), chosen.mean(0) - c
