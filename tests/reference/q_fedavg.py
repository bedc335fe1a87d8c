"""q-FedAvg (Li et al. 2020), agnostic federated learning (Mohri et al. 2019) and fairness measures, float64.

N clients or S selected clients, P parameters; models are flat vectors.

Readings:
- L = 1 / step size. The loss of a client is taken at the model it received, over its whole training set, and
  1e-10 is added to it. The squared norm enters h. Selected clients count equally, whatever their data sizes.
- Agnostic learning: the model moves with the old lambda, and lambda with the losses at the old model; the
  result is the running mean of the models after each round, without the initial model.
- With several local steps, the average of the clients' models replaces the gradient step, weighted by lambda over the
  clients that returned and have data; the other clients report no loss.
- Worst and best 10 %: floor(N / 10) clients, at least one. Worst means the largest loss, or with
  `higher_is_better` the smallest accuracy.
- Skewness is NaN if all values are equal (up to rounding), the adjusted one also for fewer than three.
"""

import math

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

LOSS_OFFSET = 1e-10


def q_fedavg(w: FloatArray, local: FloatArray, losses: FloatArray, q: float, lr: float) -> FloatArray:
    """Return the next model (P,) from the model w (P,), the S local models (S, P) and the losses (S,) at w."""
    L = 1 / lr
    deltas, h = np.zeros(len(w)), 0.0
    for k in range(len(local)):
        loss = float(losses[k]) + LOSS_OFFSET
        step = L * (w - local[k])
        deltas = deltas + loss**q * step
        h += q * loss ** (q - 1) * float(np.sum(step * step)) + L * loss**q
    return w - deltas / h


def project_simplex(v: FloatArray) -> FloatArray:
    """Return the point (N,) nearest to v (N,) whose entries are at least 0 and add up to 1."""
    shift, total = 0.0, 0.0
    for count, value in enumerate(sorted((float(a) for a in v), reverse=True), start=1):
        total += value
        candidate = (total - 1) / count
        if value > candidate:
            shift = candidate
    return np.array([max(float(a) - shift, 0.0) for a in v])


def afl_step(
    w: FloatArray, lam: FloatArray, gradients: FloatArray, losses: FloatArray, lr_w: float, lr_lambda: float
) -> tuple[FloatArray, FloatArray]:
    """Return the next model (P,) and client weights (N,) from the gradients (N, P) and losses (N,) at w."""
    mixed = np.zeros(len(w))
    for k in range(len(lam)):
        mixed = mixed + lam[k] * gradients[k]
    return w - lr_w * mixed, project_simplex(lam + lr_lambda * losses)


def afl_average(
    w: FloatArray, local: FloatArray, lam: FloatArray, losses: FloatArray, told: BoolArray, lr_lambda: float
) -> tuple[FloatArray, FloatArray]:
    """Return the result of `afl_step` by local models (N, P), from the clients in told (N,); losses (N,) are at w.

    Without any such client nothing changes.
    """
    if not np.any(told):
        return w, lam
    weights = np.array([float(lam[k]) if told[k] else 0.0 for k in range(len(lam))])
    heard = np.array([float(losses[k]) if told[k] else 0.0 for k in range(len(lam))])
    mixed = np.zeros(len(w))
    for k in np.flatnonzero(told):
        mixed = mixed + weights[k] * local[k]
    total = float(np.sum(weights))
    return (mixed / total if total > 0 else w), project_simplex(lam + lr_lambda * heard)


def afl_mean(mean: FloatArray, w: FloatArray, t: int) -> FloatArray:
    """Return the running mean (P,) after round t (from 0), which ended in w (P,); the old mean is unused at t = 0."""
    return (mean * t + w) / (t + 1)


def cosine_with_ones(a: FloatArray) -> float:
    """Return the cosine of the angle between a (N,) and the vector of ones; NaN if a is 0."""
    square = float(np.mean(a * a))
    return float(np.mean(a)) / math.sqrt(square) if square > 0 else math.nan


def jain(a: FloatArray) -> float:
    """Return Jain's index of a (N,), between 1 / N and 1 for a >= 0; NaN if a is 0."""
    square = float(np.sum(a * a))
    return float(np.sum(a)) ** 2 / (len(a) * square) if square > 0 else math.nan


def skewness(a: FloatArray) -> tuple[float, float]:
    """Return the biased g1 = m3 / m2^1.5 of a (N,), and its adjusted form g1 sqrt(N (N - 1)) / (N - 2)."""
    n, mean = len(a), float(np.mean(a))
    m2 = sum((float(v) - mean) ** 2 for v in a) / n
    m3 = sum((float(v) - mean) ** 3 for v in a) / n
    if math.sqrt(m2) <= 4 * np.finfo(np.float64).eps * abs(mean) or m2 == 0:
        return math.nan, math.nan
    g1 = m3 / m2**1.5
    return g1, g1 * math.sqrt(n * (n - 1)) / (n - 2) if n > 2 else math.nan


def fairness(a: FloatArray, higher_is_better: bool = False) -> dict[str, float]:
    """Return fairness measures of the clients' losses (or accuracies) a (N,), in the unit of a."""
    ascending = np.sort(a)
    tenth = max(len(a) // 10, 1)
    low, high = float(np.mean(ascending[:tenth])), float(np.mean(ascending[-tenth:]))
    g1, adjusted = skewness(a)
    mean = float(np.mean(a))
    return {
        "mean": mean,
        "worst10": low if higher_is_better else high,
        "best10": high if higher_is_better else low,
        "variance": float(np.mean((a - mean) ** 2)),
        "skewness": g1,
        "skewness_adjusted": adjusted,
        "cosine": cosine_with_ones(a),
        "jain": jain(a),
    }
