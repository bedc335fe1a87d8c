"""E3CS client selection (Huang et al. 2022, Sections IV and V) in plain NumPy, float64.

Equation numbers are those of the paper. K is the number of clients, k the number selected per round, T the number of
rounds, `sigma` the fairness quota of one round. Arrays over clients have shape (K,); masks are boolean. Rounds count
from 1 in formulas, from 0 as array rows.

In the paper all clients are available in every round. Own reading where only a set A (`available`) is: the
constraints of P4, Eq. (12), hold for A alone, so that min(k, |A|) is shared out, sigma is the same fraction of
min(k, |A|) / |A|, and the residual is min(k, |A|) - |A| sigma; the other clients have p = 0 and keep their weights.
The denominator K of Eq. (17) still counts all clients: Eqs. (39) to (44) sum over rounds with one common factor
eta / K, and the bound |A| on the sum of x squared is at most K as well.
"""

import math
from typing import TypedDict

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

TOLERANCE = 1e-12  # relative rounding slack of comparisons


def residual(k: int, num_clients: int, sigma: float) -> float:
    """Return the probability mass R = k - K sigma left after the quota; a rounding error counts as 0."""
    rest = k - num_clients * sigma
    if abs(rest) <= TOLERANCE * num_clients:
        return 0.0
    if rest < 0:
        raise ValueError("sigma must not exceed k / K")
    return rest


def prob_alloc_literal(w: FloatArray, k: int, sigma: float) -> tuple[FloatArray, BoolArray]:
    """Return p (K,) and the overflow set S (K,) by Algorithm 2 on weights w (K,), with the cases of Eqs. (23)-(24).

    Two misprints are repaired: the sum in line 2 runs over the capped weights w' (as in Eq. (22)), and the sets of
    Eqs. (23)-(24) compare Psi_j, not w_j, with the v-th smallest Psi. For moderate weights only.
    """
    num = len(w)
    rest = residual(k, num, sigma)
    if rest == 0:
        return np.full(num, sigma), np.zeros(num, bool)
    highest = sigma + rest * w.max() / w.sum()  # Eq. (18)
    if highest <= 1 + TOLERANCE:  # Algorithm 2, lines 6-8
        return sigma + rest * w / w.sum(), np.zeros(num, bool)  # Eq. (18)
    psi = w / (1 - sigma)
    ascending = np.sort(psi)
    for v in range(1, num):  # case v: the v smallest stay below the cap
        below = psi <= ascending[v - 1]
        denominator = rest - (1 - sigma) * np.count_nonzero(~below)
        if denominator <= 0:
            continue
        alpha = w[below].sum() / denominator  # Eq. (24)
        if ascending[v - 1] <= alpha * (1 + TOLERANCE) and alpha < ascending[v]:
            cap = (1 - sigma) * alpha
            overflow = w > cap * (1 + TOLERANCE)  # Algorithm 2, line 3
            capped = np.minimum(w, cap)  # Algorithm 2, line 4
            p = sigma + rest * capped / capped.sum()  # Eq. (19)
            return p, overflow
    raise ArithmeticError("no case of Eq. (23) holds")


def log_sum_exp(values: FloatArray) -> float:
    """Return the logarithm of the sum of exponentials of values (n,), n >= 1."""
    top = float(values.max())
    return top + math.log(float(np.exp(values - top).sum()))


def prob_alloc(log_w: FloatArray, k: int, sigma: float) -> tuple[FloatArray, BoolArray]:
    """Return p (K,) and the overflow set S (K,) by Algorithm 2 on log-weights log_w (K,).

    With the j largest capped at p = 1, the other K - j clients share R - j (1 - sigma) in
    proportion to their weights; j is the smallest number for which none of them overflows.
    """
    num = len(log_w)
    rest = residual(k, num, sigma)
    if rest == 0:
        return np.full(num, sigma), np.zeros(num, bool)
    order = np.argsort(-log_w, kind="stable")
    for j in range(num):
        share = rest - j * (1 - sigma)
        if share <= 0:
            break
        others = log_w[order[j:]]
        tail = log_sum_exp(others)
        log_cap = math.log(1 - sigma) + tail - math.log(share)  # Eq. (24), log of (1-sigma) alpha
        if others[0] > log_cap + TOLERANCE:
            continue
        p = np.ones(num)
        p[order[j:]] = np.minimum(sigma + share * np.exp(others - tail), 1.0)  # Eq. (19)
        overflow = np.zeros(num, bool)
        overflow[order[:j]] = True
        return p, overflow
    raise ArithmeticError("no number of overflowing clients fits")


def quota(name_or_fraction: str | float, t: int, horizon: int, k: int, num_clients: int) -> float:
    """Return the fairness quota of round t = 1..horizon: a constant fraction of k/K, or the schedule "inc"."""
    if name_or_fraction == "inc":
        return 0.0 if t <= horizon / 4 else k / num_clients
    return float(name_or_fraction) * k / num_clients


def allocate(
    log_w: FloatArray, k: int, fraction: float, available: BoolArray
) -> tuple[FloatArray, BoolArray, int, float]:
    """Return p (K,), S (K,), the cohort's size and sigma, by Algorithm 2 among the available clients (K,).

    fraction is the quota as a share of min(k, |A|) / |A|.
    """
    here = np.flatnonzero(available)
    p, overflow = np.zeros(len(log_w)), np.zeros(len(log_w), bool)
    if len(here) == 0:
        return p, overflow, 0, 0.0
    many = min(k, len(here))
    sigma = fraction * many / len(here)
    p[here], overflow[here] = prob_alloc(log_w[here], many, sigma)
    return p, overflow, many, sigma


def update(
    log_w: FloatArray,
    p: FloatArray,
    overflow: BoolArray,
    selected: BoolArray,
    succeeded: BoolArray,
    k: int,
    sigma: float,
    eta: float,
    clip_exponent: bool = False,
    available: BoolArray | None = None,
) -> FloatArray:
    """Return the next round's log-weights (K,); all arrays (K,), all clients available by default."""
    num = len(log_w)
    here = num if available is None else int(np.count_nonzero(available))
    rest = residual(min(k, here), here, sigma)
    new = log_w.copy()
    for i in range(num):
        if overflow[i] or not (selected[i] and succeeded[i]):  # only x of selected clients is used
            continue
        x_hat = 1.0 / p[i]  # Eq. (16)
        exponent = rest * eta * x_hat / num
        if clip_exponent:
            exponent = min(exponent, 1.0)  # Eq. (37), which the proof assumes
        new[i] = log_w[i] + exponent  # Eq. (17)
    return new


def select_by_race(p: FloatArray, race: FloatArray, k: int) -> BoolArray:
    """Return the mask (K,) of the k earliest arrivals, client i arriving at race_i / p_i.

    With race (K,) independent Exp(1) this is sequential sampling without replacement
    (Eq. (11), multinomialNR). Ties go to the lower index; p_i = 0 never arrives.
    """
    arrival = np.full(len(p), np.inf)
    with np.errstate(divide="ignore"):
        arrival[p > 0] = np.log(race[p > 0]) - np.log(p[p > 0])
    selected = np.zeros(len(p), bool)
    selected[np.argsort(arrival, kind="stable")[:k]] = True
    return selected


def select_sequential(p: FloatArray, k: int, rng: np.random.Generator) -> BoolArray:
    """Return the mask (K,) of k clients drawn one by one, p (K,) renormalised over those left: Eq. (11)."""
    selected = np.zeros(len(p), bool)
    for _ in range(k):
        weights = np.where(selected, 0.0, p)
        selected[rng.choice(len(p), p=weights / weights.sum())] = True
    return selected


def select_systematic(p: FloatArray, order: IntArray, u: float, k: int) -> BoolArray:
    """Return a mask (K,) by systematic sampling: inclusion probabilities are exactly p (K,), sum k.

    Clients are laid end to end in the given order (K,), each with length p_i; the points
    u, u+1, ..., u+k-1 (0 <= u < 1) pick the clients on which they fall.
    """
    selected = np.zeros(len(p), bool)
    end, point = 0.0, u
    for i in order:
        end += p[i]
        if point < end and np.count_nonzero(selected) < k:
            selected[i] = True
            point += 1
    for i in order[::-1]:  # the last point may fall off the end by rounding
        if np.count_nonzero(selected) < k and p[i] > 0:
            selected[i] = True
    return selected


def successive_inclusion(p: FloatArray, k: int) -> FloatArray:
    """Return the exact inclusion probabilities (K,) of the sequential design of Eq. (11), K <= 12."""
    num = len(p)
    if num > 12:
        raise ValueError("too many clients for the enumeration of subsets")
    chance = {0: 1.0}  # of each set (bit mask) of clients drawn so far
    for _ in range(k):
        grown: dict[int, float] = {}
        for drawn, probability in chance.items():
            left = [i for i in range(num) if not drawn >> i & 1]
            total = sum(float(p[i]) for i in left)
            for i in left:
                bigger = drawn | 1 << i
                grown[bigger] = grown.get(bigger, 0.0) + probability * float(p[i]) / total
        chance = grown
    inclusion = np.zeros(num)
    for drawn, probability in chance.items():
        for i in range(num):
            if drawn >> i & 1:
                inclusion[i] += probability
    return inclusion


class SelectionRun(TypedDict):
    """The result of `run_selection`, over T rounds and K clients.

    Attributes:
        log_w: (T + 1, K); row t is used in round t + 1, the last row is the final state.
        p, overflow, selected: (T, K).
        sigma, cep, expected: (T,); `cep` is cumulative, `expected` is sum_i p_i x_i of each round.
    """

    sigma: FloatArray
    log_w: FloatArray
    p: FloatArray
    overflow: BoolArray
    selected: BoolArray
    cep: FloatArray
    expected: FloatArray


def run_selection(
    succeeded: BoolArray,
    race: FloatArray,
    k: int,
    quota_fraction_per_round: FloatArray,
    eta: float,
    clip_exponent: bool = False,
    available: BoolArray | None = None,
) -> SelectionRun:
    """Run Algorithm 1 without its training steps, with the race as the sampler.

    succeeded, race and available are (T, K); by default all clients are available in all rounds. The quota fractions
    q are (T,), with sigma_t = q_t k / K, or q_t min(k, |A|) / |A| where only a set A of clients is available.
    """
    rounds, num = succeeded.shape
    log_w = np.zeros((rounds + 1, num))  # Algorithm 1, line 1
    sigmas = np.zeros(rounds)
    p = np.zeros((rounds, num))
    overflow = np.zeros((rounds, num), bool)
    selected = np.zeros((rounds, num), bool)
    cep = np.zeros(rounds)
    expected = np.zeros(rounds)
    returned_so_far = 0
    there = np.ones((rounds, num), bool) if available is None else available
    for t in range(rounds):
        fraction = float(quota_fraction_per_round[t])
        p[t], overflow[t], many, sigma = allocate(log_w[t], k, fraction, there[t])
        sigmas[t] = sigma
        here = np.flatnonzero(there[t])
        selected[t, here] = select_by_race(p[t, here], race[t, here], many)
        returned_so_far += int(np.count_nonzero(selected[t] & succeeded[t]))
        cep[t] = returned_so_far  # Eq. (8)
        expected[t] = float(np.sum(p[t][succeeded[t]]))  # Eq. (12), one round of the objective
        log_w[t + 1] = update(
            log_w[t], p[t], overflow[t], selected[t], succeeded[t], k, sigma, eta, clip_exponent, there[t]
        )
    return SelectionRun(
        sigma=sigmas, log_w=log_w, p=p, overflow=overflow, selected=selected, cep=cep, expected=expected
    )


def optimal_allocation(
    rates: FloatArray, k: int, sigma: float, available: BoolArray | None = None, tie_break: FloatArray | None = None
) -> FloatArray:
    """Return the best fixed p (K,) for success rates (K,): the highest rates receive the residual.

    No client gets more than 1 - sigma of it (p <= 1); equal rates are served by smaller tie_break (K,), then by lower
    index. Clients that are not available (K,) get p = 0.
    """
    num = len(rates)
    there = np.ones(num, bool) if available is None else available
    here = np.count_nonzero(there)
    rest = residual(min(k, here), here, sigma)
    p = np.where(there, float(sigma), 0.0)
    order = np.argsort(-rates, kind="stable") if tie_break is None else np.lexsort((tie_break, -rates))
    for i in order:
        if not there[i]:
            continue
        extra = min(1 - sigma, rest)  # Eq. (38)
        p[i] = sigma + extra  # Eq. (25)
        rest -= extra
    return p
