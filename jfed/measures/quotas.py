"""Each client's selection rate so far, against the quota that it was promised."""

import numpy as np
from numpy.typing import ArrayLike

ROUNDING = 1e-9


def rates_so_far(selected: ArrayLike) -> np.ndarray:
    """Return the share of the rounds so far in which each client was selected.

    Args:
        selected: whether each client was selected, (..., rounds, clients), boolean.

    Returns:
        (..., rounds, clients)
    """
    masks = np.asarray(selected, bool)
    rounds = np.arange(1, masks.shape[-2] + 1)[:, None]
    return masks.cumsum(-2, dtype=np.int32) / rounds


def last_broken(rates: ArrayLike, quotas: ArrayLike) -> np.ndarray:
    """Return the last round after which each client's rate is below its quota.

    The quota is kept in all later rounds of the run. 0 if it is never broken, T if it is broken at the end.

    Args:
        rates: from `rates_so_far`, (..., rounds, clients).
        quotas: promised shares, one for all clients or (clients,).

    Returns:
        (..., clients)
    """
    below = np.asarray(rates, float) < np.asarray(quotas, float) - ROUNDING
    rounds = below.shape[-2]
    return np.where(below.any(-2), rounds - np.flip(below, -2).argmax(-2), 0)
