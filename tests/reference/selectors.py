"""The selection schemes that E3CS is compared with (Huang et al. 2022, Section VI-A), in plain NumPy.

K clients; masks are boolean (K,). `tie_break` (K,) holds one number per client, and among equals
the smallest number comes first (then the lower index).

Own readings of power-of-choice, in whose paper all clients have data and are available: candidates are drawn among the
available clients, with chances n_k over the images of these; a client without images has no chance, and is a candidate
only where too few clients have any (the lower index first); it then reports a loss of 0.
"""

import numpy as np

from .e3cs import BoolArray, FloatArray, IntArray, select_by_race


def uniform_by_race(race: FloatArray, k: int) -> BoolArray:
    """Return the mask (K,) of the k clients with the earliest arrival times race (K,); ties to the lower index."""
    selected = np.zeros(len(race), bool)
    for _ in range(k):
        waiting = np.where(selected, np.inf, race)
        selected[int(np.argmin(waiting))] = True
    return selected


def largest(scores: FloatArray, eligible: BoolArray, k: int, tie_break: FloatArray | IntArray) -> BoolArray:
    """Return the mask (K,) of the k eligible clients with the largest scores (K,)."""
    if np.count_nonzero(eligible) < k:
        raise ValueError("fewer eligible clients than k")
    ranking = sorted((-float(scores[i]), float(tie_break[i]), i) for i in range(len(scores)) if eligible[i])
    selected = np.zeros(len(scores), bool)
    for _, _, i in ranking[:k]:
        selected[i] = True
    return selected


def fedcs(rates: FloatArray, k: int, tie_break: FloatArray | IntArray) -> BoolArray:
    """Return the choice of the prophetic FedCS: the k highest true success rates (K,)."""
    return largest(rates, np.ones(len(rates), bool), k, tie_break)


def pow_d_candidates(num_samples: IntArray, race: FloatArray, d: int, available: BoolArray | None = None) -> BoolArray:
    """Return the mask (K,) of d candidates drawn without replacement, with chances n_k / n, by an Exp(1) race.

    If fewer than d clients are `available` (K,; by default all), all of these are candidates.
    """
    here = np.arange(len(num_samples)) if available is None else np.flatnonzero(available)
    candidates = np.zeros(len(num_samples), bool)
    if len(here) > 0:
        n = num_samples[here]
        candidates[here] = select_by_race(n / max(int(n.sum()), 1), race[here], d)
    return candidates


def answers(losses: FloatArray, num_samples: IntArray) -> FloatArray:
    """Return the losses (K,) that candidates report: 0 from a client without images, whatever `losses` holds for it."""
    return np.array([float(losses[i]) if num_samples[i] > 0 else 0.0 for i in range(len(losses))])


def pow_d(losses: FloatArray, candidates: BoolArray, k: int, tie_break: FloatArray | IntArray) -> BoolArray:
    """Return the choice of power-of-choice: the k candidates with the largest loss (K,) of the global model."""
    return largest(losses, candidates, k, tie_break)


def rpow_d(last_loss: FloatArray, candidates: BoolArray, k: int, tie_break: FloatArray | IntArray) -> BoolArray:
    """Return the choice of power-of-choice without polling, by last known losses (K,), infinity where never seen."""
    return largest(last_loss, candidates, k, tie_break)
