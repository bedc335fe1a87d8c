"""Algorithms that keep state on the server or on clients, from the papers, in plain NumPy, float64.

FedAvgM (Hsu et al. 2019), FedAdagrad, FedAdam and FedYogi (Reddi et al. 2021, Algorithm 2), SCAFFOLD (Karimireddy et
al. 2020, Algorithm 1) and FedNova (Wang et al. 2020). Models are those of `training.py`.

Readings:
- An update is a client's model less the global one. Updates are averaged with weights proportional to the numbers of
  examples, over all K clients ("all"), the selected or the returned ones; the update of a missing client is 0.
- If no client with data returns, neither the model nor the server's state changes.
- SCAFFOLD's S holds the returned clients, its N counts all clients; controls have equal weights, whatever the numbers
  of examples.
- FedNova's tau_eff is a mean over the clients that returned and made steps; with a proximal term it averages the
  numbers of steps.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .e3cs import BoolArray, IntArray
from .training import Batch, Params, copy_params, loss_and_grad, tree_map


class Round(NamedTuple):
    """The participation of the K clients in one round.

    Attributes:
        num_samples: examples of each client (K,).
        selected: the cohort (K,).
        returned: clients that return their models if selected (K,).
        reading: weights over "all", "selected" or "returned" clients.
    """

    num_samples: IntArray
    selected: BoolArray
    returned: BoolArray
    reading: str

    @property
    def back(self) -> list[int]:
        """Return the selected clients that returned."""
        return [int(i) for i in np.flatnonzero(self.selected & self.returned)]

    def weights(self) -> dict[int, float]:
        """Return the weight of each returned client; empty if none of them has examples."""
        members = {"all": np.ones(len(self.selected), bool), "selected": self.selected, "returned": self.back}
        total = float(self.num_samples[members[self.reading]].sum())
        if sum(self.num_samples[i] for i in self.back) == 0:
            return {}
        return {i: self.num_samples[i] / total for i in self.back}


def zeros(params: Params) -> Params:
    """Return a model of zeros."""
    return tree_map(np.zeros_like, copy_params(params))


def combined(updates: Mapping[int, Params], weights: Mapping[int, float], like: Params) -> Params:
    """Return the sum of weights times updates."""
    total = zeros(like)
    for i, weight in weights.items():
        total = tree_map(lambda t, u, q=weight: t + q * u, total, updates[i])
    return total


def fedavgm(w: Params, v: Params, delta: Params, eta: float, beta: float) -> tuple[Params, Params]:
    """Return the next model and momentum."""
    v = tree_map(lambda old, d: beta * old + d, v, delta)
    return tree_map(lambda a, b: a + eta * b, w, v), v


class Moments(NamedTuple):
    """The state of the server of Reddi et al.

    Attributes:
        m: first moment.
        v: second moment.
    """

    m: Params
    v: Params


def first_moments(x: Params, tau: float) -> Moments:
    """Return the moments before the first round: m = 0, v = tau^2."""
    return Moments(zeros(x), tree_map(lambda a: np.full(a.shape, tau * tau), copy_params(x)))


def fedopt(
    rule: str, x: Params, moments: Moments, delta: Params, eta: float, beta_1: float, beta_2: float, tau: float
) -> tuple[Params, Moments]:
    """Return the next model and moments; rule is adagrad, adam or yogi."""

    def second(v: np.ndarray, d: np.ndarray) -> np.ndarray:
        if rule == "adagrad":
            return v + d * d
        if rule == "adam":
            return beta_2 * v + (1 - beta_2) * d * d
        assert rule == "yogi"
        return v - (1 - beta_2) * d * d * np.sign(v - d * d)

    m = tree_map(lambda old, d: beta_1 * old + (1 - beta_1) * d, moments.m, delta)
    v = tree_map(second, moments.v, delta)
    return tree_map(lambda a, b, c: a + eta * b / (np.sqrt(c) + tau), x, m, v), Moments(m, v)


def scaffold_client(
    x: Params, c: Params, own: Params, batches: Sequence[Batch], everything: Batch, lr: float, option: str
) -> tuple[Params, Params]:
    """Return a client's model after its steps, and its new control; `everything` is all its data, for option I."""
    y = copy_params(x)
    for batch in batches:
        gradient = loss_and_grad(y, *batch)[1]
        y = tree_map(lambda a, g, ci, cs: a - lr * (g - ci + cs), y, gradient, own, c)
    if not batches:
        return y, own
    if option == "I":
        return y, loss_and_grad(x, *everything)[1]
    number = len(batches)
    return y, tree_map(lambda ci, cs, a, b: ci - cs + (a - b) / (number * lr), own, c, x, y)


def scaffold_server(
    x: Params, c: Params, moves: Mapping[int, Params], changes: Mapping[int, Params], now: Round, eta: float
) -> tuple[Params, Params]:
    """Return the next model and server control, from the returned clients' moves y - x and changes of controls."""
    weights = now.weights()
    if not weights:
        return x, c
    number = len(now.selected)
    mean = combined(moves, weights, x)
    control = combined(changes, dict.fromkeys(now.back, 1.0 / number), c)
    return tree_map(lambda a, d: a + eta * d, x, mean), tree_map(np.add, c, control)


def coefficients(steps: int, lr: float, momentum: float, prox: float) -> list[float]:
    """Return the coefficient of each step's gradient in minus a client's move over lr, by linearity of SGD."""
    found = []
    for which in range(steps):
        moved, velocity = 0.0, 0.0  # of -w / lr, with a gradient of 1 in this step alone
        for k in range(steps):
            velocity = momentum * velocity + float(k == which) - lr * prox * moved
            moved += velocity
        found.append(moved)
    return found


def fednova(
    w: Params,
    moves: Mapping[int, Params],
    steps: Mapping[int, int],
    now: Round,
    lr: float,
    momentum: float,
    prox: float,
) -> Params:
    """Return the next model."""
    weights = {i: p for i, p in now.weights().items() if steps[i] > 0 and p > 0}
    if not weights:
        return w
    length = {i: sum(coefficients(steps[i], lr, momentum, prox)) for i in weights}
    effort = steps if prox > 0 else length
    effective = sum(p * effort[i] for i, p in weights.items()) / sum(weights.values())
    d = {i: tree_map(lambda m, a=length[i]: -m / (lr * a), moves[i]) for i in weights}
    mean = combined(d, weights, w)
    return tree_map(lambda a, b: a - effective * lr * b, w, mean)
