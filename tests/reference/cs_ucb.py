"""CS-UCB, its modified form and CS-UCB-Q in plain NumPy (Xia et al. 2020).

K clients (arms), N channels, T rounds; masks are boolean. Rounds count from 1 inside the formulas.
`tie_break` (T, K): among equal scores the smallest number comes first, then the lower index.

Readings where the paper is silent, unclear or wrong:
- Eq. (16) learns from r_k(t) (printed: t - 1); the speed's upper end is UB (printed: LB twice).
- One draw of the gain per link and round. Equal scores in random order (tie_break).
- The second constraint of LP (23) sums over the super arms S of one e. Two bonuses, see run_cs_ucb.
Own readings:
- Algorithm 1's loop condition would play T + 1 rounds; here T. Algorithm 2 sets D(1) = 0 and applies
  Eq. (27) already in round 1, which needs D(0) and b(0); here D(1) = 0 and Eq. (27) starts with round 2.
- Algorithm 2, line 5, uses z(t), Eq. (26) z(t - 1): both mean the count before the round.
- A round without clients lasts tau_max (reward 0). N not dividing K: see round_robin.
- Eq. (4) cuts every time at tau_max. In a world that does not cut, a longer time has reward 0 as well.
"""

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
History = dict[str, NDArray[Any]]


def mean_snr(distance_km: float, power_dbm: float = 23.0, noise_dbm: float = -107.0) -> float:
    """Return the linear signal-to-noise ratio at unit fading gain (path loss of Section V-A)."""
    path_loss_db = 128.1 + 37.6 * math.log10(distance_km)
    return float(10 ** ((power_dbm - path_loss_db - noise_dbm) / 10))


def link_s(m0_bits: float, bandwidth_hz: float, snr_linear: float, gain: float) -> float:
    """Return the seconds to send m0_bits over one channel; gain is the fading power, mean 1; no signal: infinity."""
    rate = math.log2(1 + snr_linear * gain)  # Eq. (33), Eq. (35)
    return m0_bits / (bandwidth_hz * rate) if rate > 0 else math.inf  # Eq. (32), Eq. (34)


def latency(
    distance_km: FloatArray,
    gain_down: FloatArray,
    gain_up: FloatArray,
    phi: FloatArray,
    m0_bits: float,
    bandwidth_hz: float = 15e3,
    power_dbm: float = 23.0,
    noise_dbm: float = -107.0,
    batch: int = 2,
    tau_max: float = 5.0,
) -> FloatArray:
    """Return times (T, K) in seconds, at most tau_max, from distances (K,), gains (T, K), speeds phi (T, K) in 1/s."""
    tau = np.zeros(phi.shape)
    for t in range(phi.shape[0]):
        for k in range(phi.shape[1]):
            snr = mean_snr(float(distance_km[k]), power_dbm, noise_dbm)
            down = link_s(m0_bits, bandwidth_hz, snr, float(gain_down[t, k]))
            up = link_s(m0_bits, bandwidth_hz, snr, float(gain_up[t, k]))
            training = batch / float(phi[t, k])  # Eq. (36)
            tau[t, k] = min(down + up + training, tau_max)  # Eq. (4)
    return tau


def speed_range(K: int) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and highest speeds (K,), (K,) of the clients 1 to K in samples per second."""
    number = np.arange(1, K + 1, dtype=np.float64)
    return (0.5 * number + 0.5) * 20, (0.5 * number + 1.5) * 20


def order_by(first: FloatArray, tie_break: FloatArray, members: list[int]) -> list[int]:
    """Return the members by descending `first` (K,), then ascending tie_break (K,), then index."""
    return [k for _, _, k in sorted((-float(first[k]), float(tie_break[k]), k) for k in members)]


def bonus_plain(y: float, z: int, t: int, N: int) -> float:
    """Return the index of one arm in CS-UCB; infinite if never played."""
    return y + math.sqrt((N + 1) * math.log(t) / z) if z else math.inf  # Eq. (18)


def bonus_truncated(y: float, z: int, t: int) -> float:
    """Return the index of one arm in CS-UCB-Q, at most 1; equal to 1 if never played."""
    return min(y + math.sqrt(2 * math.log(t) / z), 1.0) if z else 1.0  # Eq. (26)


class Recorder:
    """The means and counts of the arms so far, and the history of the rounds.

    Attributes:
        y, z: mean reward and count of each arm (K,).
        out: "selected" (T, K); "y" (T, K) and "z" (T, K) after each round; "round_time" (T,) in seconds.
    """

    def __init__(self, tau_s: FloatArray, tau_max: float) -> None:
        self.tau_s, self.tau_max = tau_s, tau_max
        self.y, self.z = np.zeros(tau_s.shape[1]), np.zeros(tau_s.shape[1], np.int64)
        self.out: History = {"selected": np.zeros(tau_s.shape, bool), "round_time": np.zeros(len(tau_s))}
        self.out |= {"y": np.zeros(tau_s.shape), "z": np.zeros(tau_s.shape, np.int64)}

    def play(self, t: int, chosen: list[int]) -> None:
        """Play round t (counted from 1) with the chosen arms."""
        for k in chosen:
            tau = min(float(self.tau_s[t - 1, k]), self.tau_max)  # Eq. (4)
            reward = 1 - tau / self.tau_max  # text below Eq. (13)
            self.y[k] = (self.y[k] * self.z[k] + reward) / (self.z[k] + 1)  # Eq. (16)
            self.z[k] = self.z[k] + 1  # Eq. (17)
        self.out["selected"][t - 1, chosen] = True
        self.out["y"][t - 1], self.out["z"][t - 1] = self.y, self.z
        self.out["round_time"][t - 1] = max((self.tau_s[t - 1, k] for k in chosen), default=self.tau_max)  # Eq. (7)


def run_cs_ucb(
    latency: FloatArray,
    N: int,
    tau_max: float,
    fill: FloatArray | None,
    tie_break: FloatArray,
    available: BoolArray | None = None,
    bonus: str = "plain",
) -> History:
    """Run Algorithm 1 on given times (T, K) in seconds and return `Recorder.out`.

    Arms never seen come first, by tie_break. The seen arms with the largest fill (T, K) complete the group in the
    first kappa = ceil(K / N) rounds, those with the largest index in later rounds (in all rounds without fill). With
    `available` (T, K) this is the modified form, which plays min(N, number available) of the available arms. The
    bonus is "plain" as in Eq. (18) or "truncated" as in Eq. (26).
    """
    if bonus not in ("plain", "truncated"):
        raise ValueError("bonus must be 'plain' or 'truncated'")
    n_rounds, n_arms = latency.shape
    record = Recorder(latency, tau_max)
    for t in range(1, n_rounds + 1):
        present = [k for k in range(n_arms) if available is None or available[t - 1, k]]
        y, z = record.y, record.z
        unseen = order_by(np.zeros(n_arms), tie_break[t - 1], [k for k in present if z[k] == 0])
        if fill is not None and t <= math.ceil(n_arms / N):
            index = fill[t - 1]
        elif bonus == "plain":
            index = np.array([bonus_plain(y[k], z[k], t, N) for k in range(n_arms)])  # Eq. (18)
        else:
            index = np.array([bonus_truncated(y[k], z[k], t) for k in range(n_arms)])  # Eq. (26)
        seen = order_by(index, tie_break[t - 1], [k for k in present if z[k] > 0])
        record.play(t, (unseen + seen)[:N])  # Eq. (8), Eq. (10)
    return record.out


def run_cs_ucb_q(
    latency: FloatArray, available: BoolArray, N: int, c: FloatArray, beta: float, tau_max: float, tie_break: FloatArray
) -> History:
    """Run Algorithm 2 on given times (T, K) in seconds and availability (T, K); quotas c (K,).

    Returns:
        `Recorder.out`, and "queue" (T, K): after round t the value D(t + 1) that the next round uses.
    """
    n_rounds, n_arms = latency.shape
    record = Recorder(latency, tau_max)
    D, queues = np.zeros(n_arms), np.zeros((n_rounds, n_arms))
    for t in range(1, n_rounds + 1):
        y_hat = np.array([bonus_truncated(record.y[k], record.z[k], t) for k in range(n_arms)])  # Eq. (26)
        present = [k for k in range(n_arms) if available[t - 1, k]]
        chosen = order_by((1 - beta) * y_hat + beta * D, tie_break[t - 1], present)[:N]  # Eq. (28)
        record.play(t, chosen)
        D = np.array([max(D[k] + c[k] - (1.0 if k in chosen else 0.0), 0.0) for k in range(n_arms)])  # Eq. (27)
        queues[t - 1] = D
    return {**record.out, "queue": queues}


def optimal_super_arm(mu: FloatArray, N: int) -> BoolArray:
    """Return the mask (K,) of the N largest mean rewards mu (K,), which maximises the minimum. Ties: lower index."""
    mask = np.zeros(len(mu), bool)
    mask[order_by(mu, np.zeros(len(mu)), list(range(len(mu))))[:N]] = True  # Eq. (13)
    return mask


def round_robin(order: IntArray, N: int, T: int, complete: bool = False) -> BoolArray:
    """Return the mask (T, K) of fixed groups of N in the given order (K,), in rotation.

    If N does not divide K, the last group is short, or with `complete` filled from the head of the order.
    """
    K = len(order)
    mask = np.zeros((T, K), bool)
    for t in range(T):
        start = (t % math.ceil(K / N)) * N
        for place in range(start, start + N):
            if place < K or complete:
                mask[t, order[place % K]] = True
    return mask


def min_reward(mu: FloatArray) -> dict[frozenset[int], float]:
    """Return the paper's reward of every set of clients, below Eq. (14): its smallest mean (K,); 0 if empty."""
    return {e: min((float(mu[k]) for k in e), default=0.0) for e in all_sets(len(mu))}


def all_sets(K: int) -> list[frozenset[int]]:
    """Return the power set of the K clients."""
    return [frozenset(e) for size in range(K + 1) for e in itertools.combinations(range(K), size)]


def super_arms(e: frozenset[int], N: int) -> list[frozenset[int]]:
    """Return the sets that may be chosen when e is available, Eq. (10)."""
    return [frozenset(S) for S in itertools.combinations(sorted(e), min(N, len(e)))]  # Eq. (10)


def chance(e: frozenset[int], availability: FloatArray) -> float:
    """Return the probability that exactly e is available; availability (K,), independent clients."""
    return math.prod(float(a) if k in e else 1 - float(a) for k, a in enumerate(availability))


def lp_value(mu_of_set: dict[frozenset[int], float], availability: FloatArray, c: FloatArray, N: int) -> float:
    """Return r* of the repaired LP (23), K <= 6; availability and quotas c (K,); the empty set has reward 0."""
    K = len(c)
    if K > 6:
        raise ValueError("too many clients for the full linear program")
    pairs = [(e, S) for e in all_sets(K) for S in super_arms(e, N)]  # one unknown q_S(e) each
    weight = np.array([chance(e, availability) for e, _ in pairs])
    gain = weight * np.array([mu_of_set[S] if S else 0.0 for _, S in pairs])  # Eq. (23), objective
    rates = weight * np.array([[float(k in S) for _, S in pairs] for k in range(K)])  # Eq. (23), first constraint
    shares = np.array([[float(e == one) for e, _ in pairs] for one in all_sets(K)])  # Eq. (23), second, repaired
    answer = linprog(-gain, -rates, -np.asarray(c, float), shares, np.ones(2**K), bounds=(0, 1), method="highs")
    if answer.status != 0:
        raise ValueError(f"linear program not solved: {answer.message}")
    return float(-answer.fun)  # Eq. (24)


def dual_value(
    prices: FloatArray, mu_of_set: dict[frozenset[int], float], availability: FloatArray, c: FloatArray, N: int
) -> float:
    """Return the upper bound on r* for any prices (K,) >= 0 of the quotas; its minimum over the prices is r*."""
    value = -float(np.dot(prices, c))
    for e in all_sets(len(c)):
        best = max((mu_of_set[S] if S else 0.0) + sum(float(prices[k]) for k in S) for S in super_arms(e, N))
        value += chance(e, availability) * best
    return value


def closed_form(mu: FloatArray, availability: float, c: FloatArray) -> float:
    """Return r* for K = 3, N = 2, one availability for all, reward = smallest mean; mu and c (3,) in client order.

    The slowest client is left out of as many full rounds as its quota permits, and the
    other full rounds must fit into the shares in which the two others can be left out.
    """
    a = availability
    p3, p2, p1 = a**3, a**2 * (1 - a), a * (1 - a) ** 2
    left_out = [min(1.0, 1 - (float(q) - (2 * p2 + p1)) / p3) for q in c]
    if min(left_out) < 0 or sum(left_out) < 1:
        raise ValueError("quotas out of reach")
    share = left_out[int(np.argmin(mu))]
    low, middle, high = sorted(float(x) for x in mu)
    return p3 * (share * middle + (1 - share) * low) + p2 * (middle + 2 * low) + p1 * (low + middle + high)
