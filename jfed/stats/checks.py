"""Arguments of statistics, and whether numbers vary by more than rounding."""

import numpy as np
from numpy.typing import ArrayLike

ROUNDING = 64 * float(np.finfo(float).eps)  # of differences of scores, which may be larger than they


def require_share(name: str, value: float, below: float = 1.0) -> None:
    """Raise ValueError unless an argument is strictly between 0 and `below`."""
    if not 0.0 < value < below:
        raise ValueError(f"{name} must lie strictly between 0 and {below:g}, got {value}")


def finite_vector(name: str, values: ArrayLike) -> np.ndarray:
    """Return an argument as a finite vector with at least one entry, (n,).

    Raises:
        ValueError: it is not one.
    """
    x = np.asarray(values, dtype=float)
    if x.ndim != 1 or x.size == 0 or not np.isfinite(x).all():
        raise ValueError(f"{name} must be a finite vector with at least one entry, got shape {x.shape}")
    return x


def constant(differences: np.ndarray) -> bool:
    """Return whether finite differences are the same up to rounding, whose spread would look like a tiny variance."""
    return bool(np.ptp(differences) <= ROUNDING * np.abs(differences).max())
