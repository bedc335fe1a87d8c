"""Clients that hold a given number of labels each.

W. Xia, T. Q. S. Quek, K. Guo, W. Wen, H. H. Yang, H. Zhu: Multi-Armed Bandit Based Client Scheduling
for Federated Learning. IEEE Transactions on Wireless Communications, 2020, Sec. V-C: of ten clients,
two hold five digits and eight hold one.

*Departures*: the paper does not say which digits, nor how many images. Here labels are dealt in
turn: the first client takes the first labels, the next client continues after them, so that all
labels are covered as evenly as possible; the order of the labels is drawn.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jfed.core.errors import DataError
from jfed.data.checks import checked
from jfed.data.deal import deal


def few_labels(
    labels: ArrayLike, sizes: ArrayLike, rng: np.random.Generator, *, num_labels: float | Sequence[float] = 2
) -> list[NDArray[np.int32]]:
    """Give client i `sizes[i]` images of `num_labels[i]` labels, the same number (give or take one) of each.

    Args:
        labels: (N,), integers.
        sizes: (K,), integers.
        rng: source of all draws.
        num_labels: one number for all clients, or one for each.

    Returns:
        K vectors of positions in `labels`, each in random order, no image twice.

    Raises:
        DataError: the sizes or the numbers of labels do not fit the labels, or a label has too few images.
    """
    labels, sizes = checked(labels, sizes)
    values, classes, room = np.unique(labels, return_inverse=True, return_counts=True)
    wanted = np.atleast_1d(np.asarray(num_labels, float))
    if wanted.size not in (1, len(sizes)):
        raise DataError(
            f"there are {wanted.size} num_labels for {len(sizes)} clients: give one number, or one for each"
        )
    wanted = np.broadcast_to(wanted, len(sizes))
    if (wanted != np.floor(wanted)).any() or wanted.min() < 1 or wanted.max() > len(values):
        raise DataError(f"num_labels must be whole numbers from 1 to {len(values)}, found {num_labels}")
    order = rng.permutation(len(values))
    counts = np.zeros((len(sizes), len(values)), np.int64)
    start = 0
    for client, (size, many) in enumerate(zip(sizes, wanted.astype(int), strict=True)):
        own = order[np.arange(start, start + many) % len(values)]
        counts[client, own] = size // many + (np.arange(many) < size % many)
        start += many
    short = counts.sum(axis=0) - room
    if short.max() > 0:
        worst = int(short.argmax())
        raise DataError(
            f"the clients ask for {counts.sum(axis=0)[worst]:,} images of label {values[worst]}, "
            f"but there are only {room[worst]:,}: lower samples_per_client or num_clients"
        )
    return deal(classes, counts, rng)
