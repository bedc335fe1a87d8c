"""The selection schemes that E3CS is compared with (Huang et al. 2022, Section VI-A), in plain NumPy.

K clients; masks are boolean (K,). `tie_break` (K,) holds one number per client, and among equals
the smallest number goes first (then the lower index).

Own readings of power-of-choice, whose paper has data at every client and all clients at hand: candidates are drawn
among those who can be asked, with chances n_k over the images of these; a client without images has no chance, and
makes up the number where too few have any (the lower index first); asked, it answers with a loss of 0.
"""

import numpy as np

from .e3cs import BoolArray, FloatArray, IntArray, select_by_race


def uniform_by_race(race: FloatArray, k: int) -> BoolArray:
    """Random: the k clients with the earliest arrival times race (K,); ties to the lower index."""
    selected = np.zeros(len(race), bool)
    for _ in range(k):
        waiting = np.where(selected, np.inf, race)
        selected[int(np.argmin(waiting))] = True
    return selected


def largest(scores: FloatArray, eligible: BoolArray, k: int, tie_break: FloatArray | IntArray) -> BoolArray:
    """Mask (K,) of the k eligible clients with the largest scores (K,)."""
    if np.count_nonzero(eligible) < k:
        raise ValueError("fewer eligible clients than k")
    ranking = sorted((-float(scores[i]), float(tie_break[i]), i) for i in range(len(scores)) if eligible[i])
    selected = np.zeros(len(scores), bool)
    for _, _, i in ranking[:k]:
        selected[i] = True
    return selected


def fedcs(rates: FloatArray, k: int, tie_break: FloatArray | IntArray) -> BoolArray:
    """Prophetic FedCS: the k highest true success rates (K,)."""
    return largest(rates, np.ones(len(rates), bool), k, tie_break)


def pow_d_candidates(num_samples: IntArray, race: FloatArray, d: int, available: BoolArray | None = None) -> BoolArray:
    """Candidate mask (K,): d clients without replacement, chances n_k / n, by an Exp(1) race.

    `available` (K,) are those who can be asked, by default everybody; all of them where they are fewer than d.
    """
    here = np.arange(len(num_samples)) if available is None else np.flatnonzero(available)
    candidates = np.zeros(len(num_samples), bool)
    if len(here) > 0:
        n = num_samples[here]
        candidates[here] = select_by_race(n / max(int(n.sum()), 1), race[here], d)
    return candidates


def answers(losses: FloatArray, num_samples: IntArray) -> FloatArray:
    """Losses (K,) as candidates tell them: 0 from a client without images, whatever stands in its place."""
    return np.array([float(losses[i]) if num_samples[i] > 0 else 0.0 for i in range(len(losses))])


def pow_d(losses: FloatArray, candidates: BoolArray, k: int, tie_break: FloatArray | IntArray) -> BoolArray:
    """Power-of-choice: the k candidates with the largest loss (K,) of the global model."""
    return largest(losses, candidates, k, tie_break)


def rpow_d(last_loss: FloatArray, candidates: BoolArray, k: int, tie_break: FloatArray | IntArray) -> BoolArray:
    """Power-of-choice without polling: last known losses (K,), infinity where never seen."""
    return largest(last_loss, candidates, k, tie_break)
