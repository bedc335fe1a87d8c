"""Algorithms and a scheme for clients that are often away, from the papers, in plain NumPy, float64.

MIFA (Gu et al. 2021), FedVARP (Jhunjhunwala et al. 2022), FedDyn (Acar et al. 2021), FedAU (Wang and Ji 2024) and F3AST
(Ribero et al. 2023); schedules of learning rates. Models are nested dicts, as in `training.py`.

Readings:
- A client takes part that returns and makes at least one step. All that take part count the same, but in FedAU, whose
  weights multiply the shares.
- In a round in which none takes part neither the model nor any state changes.
- MIFA and FedVARP keep updates divided by the learning rate of their round; before its first a client's is 0.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .e3cs import BoolArray, FloatArray, IntArray
from .training import Batch, Params, copy_params, tree_map

Gradient = Callable[[Params, Batch], Params]


def schedule(form: str, num_rounds: int, *numbers: float) -> list[float]:
    """Return the factor of the learning rate in each round; form is exponential, step, cosine or inverse."""
    found = []
    for done in range(num_rounds):
        if form == "exponential":
            decay, *floor = numbers
            factor = decay**done
        elif form == "step":
            decay, every, *floor = numbers
            factor = decay ** (done // int(every))
        elif form == "inverse":
            every, *floor = numbers or (1.0,)
            factor = 1.0 / (1.0 + done / every)
        else:
            assert form == "cosine"
            floor = list(numbers)
            least = floor[0] if floor else 0.0
            factor = least + (1 - least) * 0.5 * (1 + np.cos(np.pi * done / num_rounds))
        found.append(max(factor, *floor) if floor else factor)
    return found


def scaled_sum(trees: Sequence[tuple[float, Params]], like: Params) -> Params:
    """Return the sum of factors times models."""
    total = tree_map(np.zeros_like, copy_params(like))
    for factor, tree in trees:
        total = tree_map(lambda t, x, q=factor: t + q * x, total, tree)
    return total


def mifa(
    w: Params, table: Sequence[Params | None], moves: Mapping[int, Params], lr: float, over: str = "all"
) -> tuple[Params, list[Params | None]]:
    """Return the next model and the table of G_i, None before a client's first update.

    Args:
        w: model.
        table: G_i.
        moves: w_i - w of the clients that take part.
        lr: learning rate of the round.
        over: clients of the mean: "all", or those "seen" so far.
    """
    if not moves:
        return w, list(table)
    after = [tree_map(lambda m: -m / lr, moves[i]) if i in moves else old for i, old in enumerate(table)]
    known = [g for g in after if g is not None]
    many = len(table) if over == "all" else len(known)
    return scaled_sum([(1.0, w), *((-lr / many, g) for g in known)], w), after


def fedvarp(
    w: Params, y: Sequence[Params | None], moves: Mapping[int, Params], lr: float, eta: float
) -> tuple[Params, list[Params | None]]:
    """Return the next model and the clients' last updates y_i, None (0) before the first."""
    if not moves:
        return w, list(y)
    new = {i: tree_map(lambda m: -m / lr, move) for i, move in moves.items()}
    terms = [(1.0 / len(new), g) for g in new.values()]
    terms += [(-1.0 / len(new), old) for i in new if (old := y[i]) is not None]
    terms += [(1.0 / len(y), old) for old in y if old is not None]
    v = scaled_sum(terms, w)
    return tree_map(lambda a, b: a - eta * lr * b, w, v), [new.get(i, old) for i, old in enumerate(y)]


def descend(
    w: Params, batches: Sequence[Batch], gradient: Gradient, lr: float, prox: float = 0.0, linear: Params | None = None,
    clip: float | None = None, momentum: float = 0.0,
) -> Params:  # fmt: skip
    """Return the model after a client's steps on f - <linear, .> + (prox / 2) |. - w|^2, with clipped gradients."""
    own, velocity = copy_params(w), tree_map(np.zeros_like, copy_params(w))
    linear = tree_map(np.zeros_like, copy_params(w)) if linear is None else linear
    for batch in batches:
        g = tree_map(lambda d, a, b, c: d + prox * (a - b) - c, gradient(own, batch), own, w, linear)
        length = np.sqrt(sum(np.sum(leaf**2) for leaf in leaves(g)))
        if clip is not None and length > clip:
            g = tree_map(lambda x, n=length: x * clip / n, g)
        velocity = tree_map(lambda v, d: momentum * v + d, velocity, g)
        own = tree_map(lambda a, v: a - lr * v, own, velocity)
    return own


def leaves(tree: Any) -> list[FloatArray]:
    """Return the arrays of a model."""
    return [leaf for value in tree.values() for leaf in leaves(value)] if isinstance(tree, dict) else [tree]


def feddyn(
    w: Params, h: Params, linear: Sequence[Params], moves: Mapping[int, Params], alpha: float
) -> tuple[Params, Params, list[Params]]:
    """Return the next model, h and all g_i (`linear`)."""
    if not moves:
        return w, h, list(linear)
    after = [tree_map(lambda g, d: g - alpha * d, old, moves[i]) if i in moves else old for i, old in enumerate(linear)]
    h = scaled_sum([(1.0, h), *((-alpha / len(linear), d) for d in moves.values())], w)
    models = [tree_map(np.add, w, d) for d in moves.values()]
    mean = scaled_sum([(1.0 / len(models), m) for m in models], w)
    return tree_map(lambda a, b: a - b / alpha, mean, h), h, after


def gap_weights(took_part: BoolArray, longest: int) -> FloatArray:
    """Return FedAU's omega_i in each round, (T, K), before the round's own gap: counters of each client, as printed."""
    rounds, clients = took_part.shape
    found = np.ones((rounds, clients))
    for i in range(clients):
        gaps: list[int] = []
        counter = 0
        for t in range(rounds):
            counter += 1
            if gaps:
                found[t, i] = sum(gaps) / len(gaps)
            if took_part[t, i] or counter == longest:
                gaps.append(counter)
                counter = 0
    return found


def fedau(w: Params, moves: Mapping[int, Params], weights: Mapping[int, float], eta: float) -> Params:
    """Return the next model; weights are shares times omega_i."""
    return scaled_sum([(1.0, w), *((eta * weights[i], d) for i, d in moves.items())], w)


def f3ast(
    num_samples: IntArray, available: BoolArray, returns: BoolArray, ties: FloatArray, k: int, beta: float,
    cap: float | None,
) -> tuple[BoolArray, FloatArray, FloatArray]:  # fmt: skip
    """Return the cohorts (T, K), the weights of the cohort's updates (T, K), and the rates of selections (T, K).

    Args:
        num_samples: images of each client (K,).
        available, returns: (T, K).
        ties: among equals the smallest comes first, (T, K).
        k: cohort size.
        beta: weight of the present round.
        cap: largest weight over p_i, in units of K / k, of the corrected form; None: the public code.
    """
    rounds, clients = available.shape
    p = num_samples / num_samples.sum()
    chosen = [float(x) for x in (p if cap is None else np.minimum(k * p, 1.0))]
    heard = list(chosen)
    cohorts, weights = np.zeros((rounds, clients), bool), np.zeros((rounds, clients))
    rates = np.zeros((rounds, clients))
    for t in range(rounds):
        ratio = [round(chosen[i] / p[i], 12) if p[i] > 0 else np.inf for i in range(clients)]
        order = sorted(np.flatnonzero(available[t]), key=lambda i: (ratio[i], ties[t, i]))
        for i in order[:k]:
            cohorts[t, i] = True
        for i in range(clients):
            chosen[i] = (1 - beta) * chosen[i] + beta * cohorts[t, i]
            if cohorts[t, i] and p[i] > 0:
                if cap is None:
                    weights[t, i] = p[i] / chosen[i] / k
                else:
                    weights[t, i] = p[i] * min(1 / ((1 - beta) * heard[i] + beta), cap * clients / k)
            heard[i] = (1 - beta) * heard[i] + beta * (cohorts[t, i] and returns[t, i])
        rates[t] = chosen
    return cohorts, weights, rates
