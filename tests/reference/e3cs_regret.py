"""Theorem 1 of E3CS (Huang et al. 2022): the bound on its regret, and the learning rate that minimises the bound.

Notation as in `e3cs.py`; sigmas (T,) are the fairness quotas of all rounds. All clients are available in each round.
"""

import math

from .e3cs import FloatArray, residual


def total_residual(k: int, num_clients: int, sigmas: FloatArray) -> float:
    """Return the sum over rounds of k - K sigma_t, sigmas (T,)."""
    return sum(residual(k, num_clients, float(sigma)) for sigma in sigmas)


def regret_bound(k: int, num_clients: int, sigmas: FloatArray, eta: float) -> float:
    """Return the bound of Theorem 1 for any learning rate eta > 0; sigmas (T,)."""
    first = eta * total_residual(k, num_clients, sigmas)
    return first + num_clients / eta * math.log(num_clients)  # Eq. (28)


def theorem_eta(k: int, num_clients: int, sigmas: FloatArray) -> float:
    """Return the learning rate that minimises Eq. (28); sigmas (T,), not all equal to k/K."""
    total = total_residual(k, num_clients, sigmas)
    return math.sqrt(num_clients * math.log(num_clients) / total)  # Theorem 1


def regret_bound_tuned(k: int, num_clients: int, sigmas: FloatArray) -> float:
    """Return the bound of Theorem 1 at `theorem_eta`; sigmas (T,)."""
    total = total_residual(k, num_clients, sigmas)
    return 2 * math.sqrt(num_clients * total * math.log(num_clients))  # Eq. (29)
