"""Adaptive control of tau, the number of local steps between two aggregations (Wang et al. 2019), float64.

N clients, M resource types, P parameters, rounds and steps counted from 0. D (N,) are the clients' weights
(their data sizes). Per resource type m: c_m is the cost of one local step, b_m of one aggregation, R_m the
budget, all in the same unit (seconds, joules). eta is the step size, phi the control parameter.

Readings where the paper is silent; most follow the behaviour of its authors' public program:
- rho and beta compare, on one minibatch, the end point of a client's previous round with the global model it
  has just received. So step 1 of a round uses the minibatch of the previous round's last step; a round of a
  single step draws a new one once the old one has served `reuse` = 3 steps. A client's first round has no estimates.
- A distance of at most 1e-10, or one that is not a number, gives rho = 0 and beta = 0; then beta is at least
  1e-5 (also if NaN), and a rho that is NaN is 0.
- Global values may be smoothed (`hold`, 0 = off); NaN never replaces a number.
- tau is searched over 1, ..., min(gamma tau, tau_max); the first of equal minima wins.
- With "return the best model" each budget in G is R - c - b, otherwise R.
- The search uses the costs of the round before, so the first two rounds have tau = 1.
- A round whose average holds a NaN changes neither the model nor the estimates; the next round has tau = 1. The
  round after that returns to the earlier tau ("restore"), or searches from 1 ("search"; the public program
  returns to it only where tau is fixed).
- The loss of the best model is estimated anew each round, on the minibatches of step 1.
- At the end tau is cut to what the budget still buys, but is at least 1. With "return the best model" one more
  round of one step follows, only to evaluate the previous round's model; it is paid for and counted.
Own readings:
- tau is kept (at most tau_max) if a budget R' in G is not positive, or an estimate or h is NaN.
- h is 0 if delta is 0, and the terms with rho vanish if rho is 0, however large the rest. A value G of infinity
  or NaN is never chosen; if no x has a finite G, tau is 1.
- Of several resource types the scarcest counts: the largest 1 / T' in G, and the smallest tau in the last cut.
  A type that local steps do not use up does not limit tau there.
- A loss that is NaN is never the best; if no model has another loss, the last one is returned.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Loss = Callable[[FloatArray, FloatArray, FloatArray], float]
Gradient = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
Batches = Callable[[int, int, int], IntArray]

SAME_POINT = 1e-10  # a distance up to this counts as 0
BETA_FLOOR = 1e-5


def svm_loss(w: FloatArray, x: FloatArray, y: FloatArray, lam: float = 0.1) -> float:
    """Return the mean loss of a squared SVM without bias, plus one regulariser; w (P,), x (n, P), y (n,) in {-1, 1}."""
    short = np.maximum(0.0, 1 - y * (x @ w))
    return float(lam / 2 * np.sum(w * w) + np.mean(short * short) / 2)


def svm_gradient(w: FloatArray, x: FloatArray, y: FloatArray, lam: float = 0.1) -> FloatArray:
    """Return the gradient (P,) of `svm_loss`."""
    short = np.maximum(0.0, 1 - y * (x @ w))
    return lam * w - (y * short) @ x / len(y)


def local_rho(loss_end: float, loss_start: float, w_end: FloatArray, w_start: FloatArray) -> float:
    """Return rho_i from two losses on one batch: at the old end point (P,) and at the model just received (P,)."""
    distance = float(np.linalg.norm(w_end - w_start))
    if not distance > SAME_POINT:
        return 0.0
    rho = abs(loss_end - loss_start) / distance
    return 0.0 if math.isnan(rho) else rho


def local_beta(grad_end: FloatArray, grad_start: FloatArray, w_end: FloatArray, w_start: FloatArray) -> float:
    """Return beta_i, at least 1e-5, from two gradients (P,) on one batch, at the same two points."""
    distance = float(np.linalg.norm(w_end - w_start))
    if not distance > SAME_POINT:
        return BETA_FLOOR
    beta = float(np.linalg.norm(grad_end - grad_start)) / distance
    return beta if beta >= BETA_FLOOR else BETA_FLOOR  # NaN too


def weighted_mean(values: Sequence[float] | FloatArray, D: FloatArray) -> float:
    """Return sum_i D_i v_i / sum_i D_i of values (N,) with weights (N,)."""
    total = 0.0
    for i in range(len(D)):
        total += float(D[i]) * float(values[i])
    return total / float(np.sum(D))


def weighted_vector(rows: Sequence[FloatArray], D: FloatArray) -> FloatArray:
    """Return the weighted mean (P,) of N vectors (P,)."""
    total = np.zeros(len(rows[0]))
    for i in range(len(D)):
        total = total + float(D[i]) * rows[i]
    return total / float(np.sum(D))


def divergence(gradients: Sequence[FloatArray], D: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Return the global gradient g (P,), delta_i (N,) and delta from N gradients (P,) at one model."""
    g = weighted_vector(gradients, D)
    delta_i = np.array([float(np.linalg.norm(grad - g)) for grad in gradients])
    return g, delta_i, weighted_mean(delta_i, D)


def smooth(old: float, new: float, hold: float = 0.0) -> float:
    """Return hold * old + (1 - hold) * new; NaN never replaces a number, and the first number is taken as it is."""
    if math.isnan(new):
        return old
    if math.isnan(old) or hold == 0:
        return new
    return hold * old + (1 - hold) * new


def h(x: int, eta: float, beta: float, delta: float, alpha: float = 1.0) -> float:
    """Return the gap, at least 0, between local and central descent after x steps; beta > 0, alpha is Eiffel's factor.

    (alpha delta / beta) ((eta beta + 1)^x - 1) - eta delta x; infinite on overflow, NaN if undefined.
    """
    if math.isnan(beta) or math.isnan(delta):
        return math.nan
    if delta == 0:
        return 0.0
    try:
        growth = math.expm1(x * math.log1p(eta * beta))
    except OverflowError:
        growth = math.inf
    gap = alpha * delta / beta * growth - eta * delta * x
    return gap if math.isnan(gap) else max(gap, 0.0)


def G(
    x: int,
    rho: float,
    beta: float,
    delta: float,
    c: FloatArray,
    b: FloatArray,
    room: FloatArray,
    eta: float,
    phi: float,
    alpha: float = 1.0,
) -> float:
    """Return the bound to be minimised over tau = x; c, b and the budgets room = R' > 0 are (M,)."""
    price = 0.0  # 1 / T', one over the number of local steps that the scarcest budget buys
    for m in range(len(room)):
        price = max(price, (float(c[m]) * x + float(b[m])) / (float(room[m]) * x))
    half = price / (2 * eta * phi)
    gap = h(x, eta, beta, delta, alpha)
    if rho == 0 and not math.isnan(gap):
        return 2 * half
    return half + math.sqrt(half * half + rho * gap / (eta * phi * x)) + rho * gap


def search(
    tau: int,
    rho: float,
    beta: float,
    delta: float,
    c: FloatArray,
    b: FloatArray,
    R: FloatArray,
    eta: float,
    phi: float,
    *,
    tau_max: int = 100,
    gamma: int = 10,
    return_best: bool = True,
    alpha: float = 1.0,
) -> int:
    """Return tau*, the first minimum of G over 1, ..., min(gamma tau, tau_max); c, b, R (M,)."""
    kept = min(tau, tau_max)
    room = R - c - b if return_best else R
    for m in range(len(room)):
        if not room[m] > 0:
            return kept
    if math.isnan(rho) or math.isnan(beta) or math.isnan(delta):
        return kept
    best, lowest = 1, math.inf
    for x in range(1, min(gamma * tau, tau_max) + 1):
        if math.isnan(h(x, eta, beta, delta, alpha)):
            return kept
        value = G(x, rho, beta, delta, c, b, room, eta, phi, alpha)
        if value < lowest:
            best, lowest = x, value
    return best


def spend(spent: FloatArray, tau: int, c: FloatArray, b: FloatArray) -> FloatArray:
    """Return the resources (M,) used up after a round of tau steps, from those spent (M,) before it."""
    return spent + c * tau + b


def stop_rule(
    spent: FloatArray, tau: int, c: FloatArray, b: FloatArray, R: FloatArray, return_best: bool
) -> tuple[int, bool]:
    """Return the next round's tau and whether training stops after it; tau is the search's result, arrays are (M,).

    With return_best the next round must leave room for one more step and one more aggregation.
    """
    extra = c + b if return_best else np.zeros(len(R))
    if all(spent[m] + c[m] * tau + b[m] + extra[m] < R[m] for m in range(len(R))):
        return tau, False
    cut = tau
    for m in range(len(R)):
        if c[m] > 0:
            cut = min(cut, math.trunc(float(R[m] - spent[m] - b[m] - extra[m]) / float(c[m])))
    return max(cut, 1), True


def average_tau(taus: Sequence[int] | IntArray) -> tuple[float, float]:
    """Return the mean of tau over rounds, and over local steps: sum tau^2 / sum tau."""
    values = [float(tau) for tau in taus]
    return sum(values) / len(values), sum(tau * tau for tau in values) / sum(values)
