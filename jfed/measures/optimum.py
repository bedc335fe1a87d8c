"""The largest mean reward under quotas when availability varies: CS-UCB-Q's reference for regret.

W. Xia, T. Q. S. Quek, K. Guo, W. Wen, H. H. Yang, H. Zhu, "Multi-Armed Bandit Based Client Scheduling for Federated
Learning", IEEE Transactions on Wireless Communications, 2020. Sec. IV-A, Eqs. (23) and (24).

*Notation.* K clients, at most N a round; e the clients that are available, Q(e) the super arms S of e, with |S| =
min(N, |e|) as in Eq. (10); q_S(e) the probability that S is selected when e is available; c_k client k's quota; r* the
optimal value.

*Departures.*
- The second constraint of (23) sums over the super arms S of each e; the printed one sums over e.
- The reward of S is an argument. The paper's is min_{k in S} mu_k, the smallest mean (`smallest_mean`), which no policy
  reaches, since the mean of the smallest reward is less: even the best fixed super arm then has linear regret. The
  reward that a policy can reach is E[min_{k in S} r_k] (`mean_of_smallest`).
- Clients are available independently of each other.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog
from scipy.sparse import csr_array

MOST = 10  # clients, all subsets of which are enumerated
Reward = Callable[[Sequence[int]], float]  # reward of a super arm, from its clients


def smallest_mean(means: ArrayLike) -> Reward:
    """Return the paper's reward of a super arm: the smallest of its clients' mean rewards, (K,)."""
    mu = np.asarray(means, float)
    return lambda members: float(mu[list(members)].min())


def mean_of_smallest(rewards: ArrayLike) -> Reward:
    """Return the reachable reward of a super arm: the mean over rounds of its clients' smallest reward, (rounds, K)."""
    drawn = np.asarray(rewards, float)
    return lambda members: float(drawn[:, list(members)].min(1).mean())


def best_under_quotas(reward: Reward, availability: ArrayLike, quotas: ArrayLike, most: int) -> float:
    """Return r*, the largest mean reward per round of any policy that keeps all quotas, by linear programming (HiGHS).

    Args:
        reward: reward of a super arm; an empty one earns 0.
        availability: probability that each client is available, (K,).
        quotas: promised share of the rounds of each client, (K,).
        most: N.

    Raises:
        ValueError: there are more than 10 clients (see `upper_bound`), or no policy keeps the quotas.
    """
    available, c = np.asarray(availability, float), np.asarray(quotas, float)
    num_clients = len(available)
    if num_clients > MOST:
        raise ValueError(f"the linear program enumerates all sets of clients: at most {MOST}, found {num_clients}")
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
    planes: for each S the term is linear in p, so the bound is convex, and each evaluation adds a cutting plane.

    Args:
        means: mean reward of each client, (K,).
        available: which clients are available, (samples, K); the sample's size sets the error of the expectation.
        quotas: promised share of the rounds of each client, (K,).
        most: N.
        tolerance: largest excess over the least bound.

    Raises:
        ValueError: no policy keeps the quotas on this sample.
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
    raise ValueError("no policy keeps these quotas on this sample of available clients")


def _dual(mu: np.ndarray, here: np.ndarray, c: np.ndarray, most: int, prices: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the bound at these prices and a subgradient; clients are sorted by decreasing mu.

    The best super arm whose smallest mean is j's consists of j and the N - 1 clients before j with the highest prices.
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
