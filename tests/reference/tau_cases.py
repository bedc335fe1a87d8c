"""Shared parts of the tests of adaptive tau's reference: the printed form of G, and a search with defaults."""

import math
from typing import Any

import numpy as np

from reference import adaptive_tau as at

ONE, NONE = np.array([1.0]), np.array([0.0])


def printed_G(
    x: float, rho: float, beta: float, delta: float, c: float, b: float, room: float, eta: float, phi: float
) -> float:
    """Return the bound G in the form that the paper prints, with T', for one resource type."""
    gap = max(0.0, delta / beta * ((eta * beta + 1) ** x - 1) - eta * delta * x)
    steps = room * x / (c * x + b)
    root = math.sqrt(max(0.0, 1 + 4 * steps**2 * phi * rho * eta * gap / x))
    return (1 + root) / (2 * steps * eta * phi) + rho * gap


def search_with(tau: int = 1, **other: Any) -> int:
    given: dict[str, Any] = {"rho": 1.0, "beta": 1.0, "delta": 1.0, "eta": 0.01, "phi": 0.025}
    given |= {"c": 0.01 * ONE, "b": 0.1 * ONE, "R": 15 * ONE}
    return at.search(tau, **{**given, **other})
