"""RBCS-F in plain NumPy, from the preprint and the journal version, whose equations carry the same numbers.

N clients, T rounds; masks are boolean. Times in seconds, B and M share a factor 10^6, so M / B is in
bits per hertz. `tie_break` (N,) holds one number per client; among equals the smallest comes first,
then the lower index.

Readings where the papers are silent, unclear or contradict themselves:
- s = 1 for clients that did not take part in the last round; none took part before round 1. The papers define
  s the other way round, but let the absent clients pay the cold start; `cold=False` is their definition.
- The papers write "log"; base 2 ("log2") is the default reading, "ln" is selectable.
- Alpha_t is a constant (its value is lost from Table 2); a schedule (T,) may be passed instead.
- FedCS takes all clients below the deadline, with no limit on their number.
- Equal queues are ordered at random, here by the given tie_break.
- The estimate is cut at zero as in Eq. (19); Algorithm 2, line 9, omits that.
Own readings:
- Algorithm 1, line 13, "break the first loop", ends the inner loop (ending the outer one would try one
  cap only and lose the optimum). Algorithm 1 also needs V, which its list of inputs lacks.
- Lines 7 to 9 use H and b of the rounds before, and the queue as it was before the round.
- In the papers all selected clients return. Where some fail, x of Eq. (6) still marks the selected clients, and the
  time of Eq. (18) is the time that the server waited for a client before it gave up.
"""

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


def theta(base_time_s: FloatArray, cold_start_s: FloatArray, snr: FloatArray, log: str = "log2") -> FloatArray:
    """Return coefficients (N, 3): training time at full capacity (s), cold start (s), 1 / eta (hertz-seconds per bit).

    All inputs (N,); snr is linear, not in dB. eta = log(1 + SNR), with log "log2" or "ln".
    """
    if log not in ("log2", "ln"):
        raise ValueError("log must be 'log2' or 'ln'")
    rows = np.zeros((len(snr), 3))
    for n in range(len(snr)):
        eta = math.log2(1 + snr[n]) if log == "log2" else math.log(1 + snr[n])  # text below Eq. (14)
        rows[n] = [base_time_s[n], cold_start_s[n], 1 / eta]  # theta of Eq. (14)
    return rows


def context(
    inverse_mu: FloatArray, took_part_last: BoolArray, bits_per_hz: FloatArray, cold: bool = True
) -> FloatArray:
    """Return contexts (N, 3): 1 / mu (no unit), s (0 or 1), M / B (bits per hertz). All inputs (N,).

    cold True: s = 1 for the clients that did not take part in the last round; False: for those that did.
    """
    rows = np.zeros((len(inverse_mu), 3))
    for n in range(len(inverse_mu)):
        s = float(not took_part_last[n]) if cold else float(took_part_last[n])
        rows[n] = [inverse_mu[n], s, bits_per_hz[n]]  # c of Eq. (14)
    return rows


def initial_ridge(num_clients: int, ridge: float, num_features: int = 3) -> tuple[FloatArray, FloatArray]:
    """Return H (N, F, F) = lambda I and b (N, F) = 0 for every client."""
    H = np.zeros((num_clients, num_features, num_features))
    for n in range(num_clients):
        H[n] = ridge * np.eye(num_features)  # Eq. (18), H at the start
    return H, np.zeros((num_clients, num_features))


def update_ridge(
    H: FloatArray, b: FloatArray, c: FloatArray, selected: BoolArray, latency_s: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the new H (N, F, F) and b (N, F) after the times (N,) of the selected have been seen; c is (N, F)."""
    H, b = H.copy(), b.copy()
    for n in range(len(c)):
        if selected[n]:
            H[n] = H[n] + np.outer(c[n], c[n])  # Eq. (18), sum of x c c^T
            b[n] = b[n] + latency_s[n] * c[n]  # Eq. (18), sum of x tau c
    return H, b


def ridge_direct(contexts: FloatArray, times_s: FloatArray, ridge: float) -> FloatArray:
    """Return the coefficients (3,) from the p past contexts (p, 3) and times (p,) of one client, in one step."""
    gram = contexts.T @ contexts + ridge * np.eye(3)
    return np.asarray(np.linalg.solve(gram, contexts.T @ times_s), np.float64)  # Eq. (17)


def lower_bound(H: FloatArray, b: FloatArray, c: FloatArray, alpha: float) -> FloatArray:
    """Return optimistic times tau-bar (N,), in seconds, never below zero; H (N, F, F), b (N, F), c (N, F)."""
    bound = np.zeros(len(c))
    for n in range(len(c)):
        estimate = np.linalg.solve(H[n], b[n])  # Eq. (18)
        width = math.sqrt(float(c[n] @ np.linalg.solve(H[n], c[n])))
        bound[n] = max(float(c[n] @ estimate) - alpha * width, 0.0)  # Eq. (19)
    return bound


def objective(mask: BoolArray, tau_bar: FloatArray, z: FloatArray, V: float) -> float:
    """Return the objective of P4 for a chosen set (N,); tau_bar in seconds, at least 0. The empty set has 0."""
    longest, backlog = 0.0, 0.0
    for n in range(len(mask)):
        if mask[n]:
            longest = max(longest, float(tau_bar[n]))
            backlog += float(z[n])
    return V * longest - backlog  # Eq. (21)


def choose_algorithm_1(
    tau_bar: FloatArray, z: FloatArray, available: BoolArray, m: int, V: float, tie_break: FloatArray
) -> BoolArray:
    """Return the mask (N,) of Algorithm 1: each available client as the cap on tau-bar, the longest queues under it.

    Exactly min(m, number available) members, Eq. (4). Among caps of equal value the lowest index wins
    (the paper does not say; any of them solves P4).
    """
    n_clients = len(z)
    by_queue = sorted((-float(z[n]), float(tie_break[n]), n) for n in range(n_clients) if available[n])
    k = min(m, len(by_queue))  # Eq. (4)
    best, best_value = np.zeros(n_clients, bool), math.inf
    for n_max in range(n_clients):
        if not available[n_max]:
            continue
        chosen = np.zeros(n_clients, bool)
        for _, _, n in by_queue:
            if tau_bar[n] <= tau_bar[n_max]:  # Eq. (22)
                chosen[n] = True
            if np.count_nonzero(chosen) == k:
                value = objective(chosen, tau_bar, z, V)
                if value < best_value:
                    best, best_value = chosen, value
                break
    return best


def brute_force(tau_bar: FloatArray, z: FloatArray, available: BoolArray, m: int, V: float) -> float:
    """Return the smallest objective of P4 over all sets of min(m, number available) available clients, N <= 10."""
    if len(z) > 10:
        raise ValueError("too many clients to try all sets")
    present = [n for n in range(len(z)) if available[n]]
    smallest = math.inf
    for members in itertools.combinations(present, min(m, len(present))):
        mask = np.zeros(len(z), bool)
        mask[list(members)] = True
        smallest = min(smallest, objective(mask, tau_bar, z, V))
    return smallest


def queue_step(z: FloatArray, selected: BoolArray, beta: float) -> FloatArray:
    """Return the queues (N,) after a round, for all clients whether available or not; beta is the guaranteed rate."""
    after = np.zeros(len(z))
    for n in range(len(z)):
        after[n] = max(float(z[n]) + beta - float(selected[n]), 0.0)  # Eq. (6)
    return after


def round_time_s(latency_s: FloatArray, selected: BoolArray) -> float:
    """Return the realised length of a round in seconds: that of the slowest selected client, or 0 without any."""
    longest = 0.0
    for n in range(len(selected)):
        if selected[n]:
            longest = max(longest, float(latency_s[n]))  # Eq. (1)
    return longest


def fedcs_deadline(expected: FloatArray, available: BoolArray, deadline_s: float) -> BoolArray:
    """Return the choice of FedCS as adapted by the papers: available clients with a true mean time (N,) under it."""
    return np.array([bool(available[n]) and bool(expected[n] < deadline_s) for n in range(len(expected))], bool)


def run(
    inverse_mu: FloatArray,
    bits_per_hz: FloatArray,
    available: BoolArray,
    noise: FloatArray,
    tie_break: FloatArray,
    *,
    m: int,
    V: float,
    beta: float,
    alpha: float | FloatArray,
    ridge: float,
    theta_star: FloatArray,
    cold: bool = True,
) -> dict[str, NDArray[Any]]:
    """Run Algorithm 2 through T rounds on given draws.

    Args:
        inverse_mu, bits_per_hz, available, tie_break: (T, N).
        noise: (T, N), relative and in [-1, 1), so that the error of Eq. (14) is uniform on (-c theta, c theta).
        m, V, beta, cold: as in the functions above.
        alpha: one number or (T,).
        ridge: lambda.
        theta_star: true coefficients (N, 3).

    Returns:
        "selected", "tau_bar" (s) and "queue" after each round, (T, N) each; "expected" (s) and "latency" (s) of all
        clients, chosen or not, (T, N) each; "round_time" (T,) in s; "H" (N, 3, 3) and "b" (N, 3) at the end.
    """
    n_rounds, n_clients = inverse_mu.shape
    alphas = np.broadcast_to(np.asarray(alpha, float), (n_rounds,))
    selected = np.zeros((n_rounds, n_clients), bool)
    tau_bar = np.zeros((n_rounds, n_clients))
    queue = np.zeros((n_rounds, n_clients))
    expected = np.zeros((n_rounds, n_clients))
    latency = np.zeros((n_rounds, n_clients))
    times = np.zeros(n_rounds)

    H, b = initial_ridge(n_clients, ridge)
    z = np.zeros(n_clients)
    took_part_last = np.zeros(n_clients, bool)
    for t in range(n_rounds):
        c = context(inverse_mu[t], took_part_last, bits_per_hz[t], cold)
        tau_bar[t] = lower_bound(H, b, c, float(alphas[t]))
        selected[t] = choose_algorithm_1(tau_bar[t], z, available[t], m, V, tie_break[t])
        for n in range(n_clients):
            expected[t, n] = float(c[n] @ theta_star[n])
            latency[t, n] = expected[t, n] * (1 + noise[t, n])  # Eq. (14)
        times[t] = round_time_s(latency[t], selected[t])  # Eq. (1)
        z = queue_step(z, selected[t], beta)  # Eq. (6)
        H, b = update_ridge(H, b, c, selected[t], latency[t])  # Eq. (18)
        queue[t] = z
        took_part_last = selected[t]
    return {
        "selected": selected,
        "tau_bar": tau_bar,
        "queue": queue,
        "expected": expected,
        "latency": latency,
        "round_time": times,
        "H": H,
        "b": b,
    }


def run_on_times(
    contexts: FloatArray,
    waited_s: FloatArray,
    available: BoolArray,
    tie_break: FloatArray,
    *,
    m: int,
    V: float,
    beta: float,
    alpha: float,
    ridge: float,
) -> dict[str, NDArray[Any]]:
    """Run Algorithm 2 in a world where contexts (T, N, F) and times (T, N) do not depend on earlier cohorts.

    waited_s is the time that the server waits for a client if it selects it, whether the client returns or not. The
    other arguments are those of `run`.

    Returns:
        "selected", "tau_bar" and "queue", (T, N) each; "H" (N, F, F) and "b" (N, F) at the end.
    """
    n_rounds, n_clients, n_features = contexts.shape
    rows: dict[str, list[Any]] = {"selected": [], "tau_bar": [], "queue": []}
    H, b = initial_ridge(n_clients, ridge, n_features)
    z = np.zeros(n_clients)
    for t in range(n_rounds):
        tau_bar = lower_bound(H, b, contexts[t], alpha)
        selected = choose_algorithm_1(tau_bar, z, available[t], m, V, tie_break[t])
        z = queue_step(z, selected, beta)  # Eq. (6)
        H, b = update_ridge(H, b, contexts[t], selected, waited_s[t])  # Eq. (18)
        for name, value in (("selected", selected), ("tau_bar", tau_bar), ("queue", z)):
            rows[name].append(value)
    return {**{name: np.array(values) for name, values in rows.items()}, "H": H, "b": b}
