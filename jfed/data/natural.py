"""The natural partition: each client is one owner of examples and holds that owner's examples only."""

import numpy as np
from numpy.typing import NDArray

from jfed.core.errors import DataError


def natural(
    owners: NDArray[np.int32],
    num_clients: int,
    rng: np.random.Generator,
    *,
    most: int | None = None,
    min_samples: float = 1,
) -> list[NDArray[np.int32]]:
    """Return the positions of each client's examples (K vectors), all of one owner.

    Args:
        owners: (N,), owner of each example.
        num_clients: number of owners to draw; if there are exactly that many, all are taken without a draw. They keep
            their order.
        rng: source of all draws.
        most: largest number of examples of a client, drawn at random from those of an owner with more; None: no limit.
        min_samples: owners with fewer examples are left out.

    Raises:
        DataError: there are too few owners, or a number is not whole or below 1.
    """
    for name, number in (("min_samples", min_samples), ("samples_per_client", most)):
        whole = isinstance(number, int | float) and number >= 1 and number % 1 == 0
        if number is not None and not whole:
            raise DataError(f"{name} must be a whole number of at least 1 in the natural partition, found {number}")
    if num_clients < 1:
        raise DataError(f"there must be at least one client, found {num_clients}")
    counts = np.bincount(owners)
    fit = np.flatnonzero(counts >= min_samples)
    if not len(fit):
        raise DataError(
            f"no owner has {min_samples:g} examples, the largest has {counts.max():,}: set min_samples to at most that"
        )
    if num_clients > len(fit):
        raise DataError(
            f"{num_clients:,} clients are asked for, but only {len(fit):,} of the {len(counts):,} owners have at least"
            f" {min_samples:g} examples: set num_clients to at most {len(fit):,}, or min_samples lower"
        )
    chosen = fit if num_clients == len(fit) else np.sort(rng.choice(fit, num_clients, replace=False))
    by_owner = np.split(np.argsort(owners, kind="stable").astype(np.int32), counts.cumsum()[:-1])
    hands = (by_owner[owner] for owner in chosen)
    return [hand if most is None or len(hand) <= most else rng.permutation(hand)[: int(most)] for hand in hands]
