"""Local training and deadline aggregation (Huang et al. 2022, Sections III, IV-A, VI-A), plain NumPy.

A model is a nested dict of float64 arrays. Softmax regression is
{"kernel": (D, C), "bias": (C,)}; the one-hidden-layer ReLU network is
{"hidden": {"kernel": (D, H), "bias": (H,)}, "out": {"kernel": (H, C), "bias": (C,)}}; for the
convolutional network see `cnn.py`. Inputs x are (n, D), or images (n, height, width, channels) for
convolutions; labels y are (n,) integers in 0..C-1. All gradients are written by hand.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import cnn
from .e3cs import BoolArray, FloatArray, IntArray

Params = dict[str, Any]
Batch = tuple[FloatArray, IntArray]


def tree_map(function: Callable[..., FloatArray], *trees: Params) -> Params:
    """Apply a function leaf by leaf to models of the same structure."""
    result: Params = {}
    for name, first in trees[0].items():
        parts = [tree[name] for tree in trees]
        result[name] = tree_map(function, *parts) if isinstance(first, dict) else function(*parts)
    return result


def copy_params(params: Params) -> Params:
    """Return a float64 copy of a model."""
    return tree_map(lambda leaf: np.array(leaf, dtype=np.float64), params)


def logits(params: Params, x: FloatArray) -> FloatArray:
    """Return the class scores (n, C) of x (n, ...)."""
    if "conv_0" in params:
        return cnn.forward(params, x)[0]
    if "hidden" in params:
        hidden, out = params["hidden"], params["out"]
        activation = np.maximum(x @ hidden["kernel"] + hidden["bias"], 0.0)
        return activation @ out["kernel"] + out["bias"]
    return x @ params["kernel"] + params["bias"]


def log_softmax(scores: FloatArray) -> FloatArray:
    """Return the log-probabilities (n, C) of scores (n, C)."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def loss_and_grad(params: Params, x: FloatArray, y: IntArray) -> tuple[float, Params]:
    """Return the mean cross-entropy over x (n, ...), y (n,), n >= 1, and its gradient."""
    n = len(y)
    scores, tape = cnn.forward(params, x) if "conv_0" in params else (logits(params, x), None)
    log_p = log_softmax(scores)
    loss = -float(np.mean(log_p[np.arange(n), y]))
    d_scores = np.exp(log_p)  # (n, C)
    d_scores[np.arange(n), y] -= 1.0
    d_scores /= n
    if tape is not None:
        return loss, cnn.backward(params, tape, d_scores)
    if "hidden" not in params:
        return loss, {"kernel": x.T @ d_scores, "bias": d_scores.sum(axis=0)}
    hidden, out = params["hidden"], params["out"]
    before = x @ hidden["kernel"] + hidden["bias"]  # (n, H)
    activation = np.maximum(before, 0.0)
    d_before = (d_scores @ out["kernel"].T) * (before > 0)  # (n, H)
    gradient: Params = {
        "hidden": {"kernel": x.T @ d_before, "bias": d_before.sum(axis=0)},
        "out": {"kernel": activation.T @ d_scores, "bias": d_scores.sum(axis=0)},
    }
    return loss, gradient


def local_sgd(
    params: Params,
    batches: Sequence[Batch],
    lr: float,
    momentum: float,
    prox_mu: float = 0.0,
) -> tuple[Params, float]:
    """Run one client's round, o_1 of Eq. (6): heavy-ball SGD from the global model `params`.

    Velocity starts at zero. FedProx adds prox_mu (w - w_global) to the gradient.

    Returns:
        The local model, and the mean over the steps of the minibatch loss before the step, without the proximal
        term (NaN if there is no step).
    """
    w = copy_params(params)
    velocity = tree_map(np.zeros_like, w)
    losses: list[float] = []
    for x, y in batches:
        loss, gradient = loss_and_grad(w, x, y)
        losses.append(loss)
        gradient = tree_map(lambda g, a, b: g + prox_mu * (a - b), gradient, w, params)
        velocity = tree_map(lambda v, g: momentum * v + g, velocity, gradient)
        w = tree_map(lambda a, v: a - lr * v, w, velocity)
    mean_loss = sum(losses) / len(losses) if losses else float("nan")
    return w, mean_loss


def aggregate(
    global_params: Params,
    client_params: Mapping[int, Params],
    num_samples: IntArray,
    selected: BoolArray,
    returned: BoolArray,
    reading: str,
) -> Params:
    """Return the model after deadline aggregation; num_samples, selected, returned are (K,).

    client_params holds the clients that are both selected and returned. The average runs over
    all K clients ("all"), the selected ones ("selected") or those that came back ("returned"),
    with weights proportional to num_samples; the global model replaces a missing client's model.
    If no client with data came back, the global model is returned unchanged, bit for bit.
    """
    back = selected & returned
    if reading == "all":
        members = np.ones(len(num_samples), bool)
    elif reading == "selected":
        members = selected
    elif reading == "returned":
        members = back
    else:
        raise ValueError(f"unknown reading {reading!r}")
    if num_samples[back].sum() == 0:
        return copy_params(global_params)
    total = float(num_samples[members].sum())
    result = tree_map(np.zeros_like, copy_params(global_params))
    for i in np.flatnonzero(members):
        theta_bar = client_params[int(i)] if back[i] else global_params  # Eq. (6), volatility
        share = float(num_samples[i]) / total
        # Eq. (6), aggregation; `share` is bound as a default because of the loop
        result = tree_map(lambda acc, leaf, q=share: acc + q * leaf, result, theta_bar)
    return result


def steps_of(num_samples: int, batch_size: int, epochs: int) -> int:
    """Return the SGD steps of one client in one round: epochs times the batches of an epoch."""
    full, rest = divmod(num_samples, batch_size)
    return (full + (1 if rest else 0)) * epochs


def evaluate(params: Params, x: FloatArray, y: IntArray) -> tuple[float, float]:
    """Return the accuracy (ties to the lower class) and mean cross-entropy on x (n, ...), y (n,)."""
    scores = logits(params, x)
    log_p = log_softmax(scores)
    accuracy = float(np.mean(scores.argmax(axis=1) == y))
    return accuracy, -float(np.mean(log_p[np.arange(len(y)), y]))


def run_training(
    params: Params,
    x: FloatArray,
    y: IntArray,
    num_samples: IntArray,
    selected: BoolArray,
    succeeded: BoolArray,
    batch_indices: Mapping[tuple[int, int], Sequence[IntArray]],
    lr: float,
    momentum: float,
    prox_mu: float,
    reading: str,
) -> list[Params]:
    """Run lines 5-10 of Algorithm 1 for T rounds and return the global model after each round (length T).

    x (N, ...) and y (N,) are the pooled data, num_samples (K,), selected and succeeded (T, K).
    batch_indices[t, i] (both from 0) lists the minibatches of client i in round t as index arrays
    into the pooled data; it is needed where the client is selected and succeeds.
    """
    current = copy_params(params)
    history: list[Params] = []
    for t in range(len(selected)):
        models: dict[int, Params] = {}
        for i in np.flatnonzero(selected[t] & succeeded[t]):
            batches = [(x[rows], y[rows]) for rows in batch_indices[t, int(i)]]
            models[int(i)], _ = local_sgd(current, batches, lr, momentum, prox_mu)
        current = aggregate(current, models, num_samples, selected[t], succeeded[t], reading)
        history.append(current)
    return history
