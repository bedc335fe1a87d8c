"""Promises kept: each client's share of the rounds so far, beside the share that it was promised."""

import numpy as np
from numpy.typing import ArrayLike

ROUNDING = 1e-9


def rates_so_far(selected: ArrayLike) -> np.ndarray:
    """Return the share of the rounds so far in which each client was selected.

    Args:
        selected: who was, by round, (..., rounds, clients), boolean.

    Returns:
        The same shape.
    """
    masks = np.asarray(selected, bool)
    rounds = np.arange(1, masks.shape[-2] + 1)[:, None]
    return masks.cumsum(-2, dtype=np.int32) / rounds


def last_broken(rates: ArrayLike, quotas: ArrayLike) -> np.ndarray:
    """Return the last round after which a client's rate is below its quota; 0 if there is none, T if it ends broken.

    From the next round on the promise is kept for good, as far as the run goes.

    Args:
        rates: from `rates_so_far`, (..., rounds, clients).
        quotas: promised shares, one for all or (clients,).

    Returns:
        (..., clients)
    """
    below = np.asarray(rates, float) < np.asarray(quotas, float) - ROUNDING
    rounds = below.shape[-2]
    return np.where(below.any(-2), rounds - np.flip(below, -2).argmax(-2), 0)
