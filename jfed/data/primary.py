"""E3CS's non-iid clients: most of a client's images have its primary label.

T. Huang, W. Lin, L. Shen, K. Li, A. Y. Zomaya: Stochastic Client Selection for Federated Learning
With Volatile Clients. IEEE Internet of Things Journal 9, 2022, DOI 10.1109/JIOT.2022.3172113.

*Notation*: `share` = the paper's 0.8.

*Departures*: the paper picks a primary label at random for each client. The default keeps that
random but balanced over the clients: only then can 100 clients with 500 images each divide
CIFAR-10 exactly with no image used twice; `balanced=False` draws independently.
The paper does not say how the remaining labels share the other 20 %; here evenly. Nor does it say
that clients own different images; here no image is used twice.
"""

import itertools

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jfed.core.errors import DataError
from jfed.data.checks import checked
from jfed.data.deal import deal

_NEVER = np.int64(2**40)  # a cost above every sum of real ones


def primary(
    labels: ArrayLike,
    sizes: ArrayLike,
    rng: np.random.Generator,
    *,
    share: float = 0.8,
    balanced: bool = True,
) -> list[NDArray[np.int32]]:
    """Give client i `sizes[i]` images, a `share` of them from one primary label.

    A client with n images should get round(share n) (half up) from its primary label, and equal numbers, give or take
    one, from all other labels that occur; the odd images rotate over the labels.

    If every label has enough images, the split is exact: CIFAR-10 with 100 clients and 500 images is 400 + 9 x (11 or
    12) and uses all 50,000. Otherwise the table of clients by labels is the nearest one (least squares over its cells)
    that the labels can serve. For the digits with 40 clients and 35 images, label 8 has 139 of the 140 images it should
    give: one client gets one image of another label instead.

    Args:
        labels: (N,), integers.
        sizes: (K,), integers.
        rng: source of all draws.
        share: share of the primary label, from 0 to 1.
        balanced: whether the labels are primary for equal numbers of clients, give or take one.

    Returns:
        K vectors of positions in `labels`, each in random order, no image twice.

    Raises:
        DataError: the share is outside 0 .. 1, or the sizes do not fit the labels.
    """
    labels, sizes = checked(labels, sizes)
    if not 0 <= share <= 1:
        raise DataError(f"share must lie between 0 and 1, found {share}")
    _, classes, room = np.unique(labels, return_inverse=True, return_counts=True)
    num_classes = len(room)
    if num_classes == 1:  # no other label to take from
        return deal(classes, sizes[:, np.newaxis], rng)

    order = rng.permutation(len(sizes))  # so that no client is favoured when ties are broken
    primary_label = _primary_labels(len(sizes), num_classes, balanced, rng)
    num_primary = np.floor(share * sizes + 0.5 + 1e-9).astype(np.int64)
    num_rest = sizes - num_primary

    counts = np.zeros((len(sizes), num_classes), np.int64)
    counts[order] = _nearest(
        *_wanted(primary_label[order], num_primary[order], num_rest[order], num_classes, rng),
        num_classes - 1,
        room,
    )
    return deal(classes, counts, rng)


def _primary_labels(num_clients: int, num_classes: int, balanced: bool, rng: np.random.Generator) -> NDArray[np.int64]:
    if not balanced:
        return rng.integers(num_classes, size=num_clients)
    # A random label comes first, so that no label is favoured when the division leaves some over.
    dealt = rng.permutation(num_classes)[np.arange(num_clients) % num_classes]
    return rng.permutation(dealt)


def _wanted(
    primary_label: NDArray[np.int64],
    num_primary: NDArray[np.int64],
    num_rest: NDArray[np.int64],
    num_classes: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return whole counts (K, L), and the shares (K, L) that they round, times L - 1.

    Each client's odd images go to the labels that are owed most so far, ties at random.
    """
    others = num_classes - 1
    clients = np.arange(len(primary_label))
    ideal = np.repeat(num_rest[:, np.newaxis], num_classes, axis=1)
    ideal[clients, primary_label] = others * num_primary
    counts = ideal // others
    owed = np.zeros(num_classes)
    for client in clients:
        odd = num_rest[client] % others
        owed += ideal[client] % others
        urgency = owed + rng.random(num_classes)
        urgency[primary_label[client]] = -np.inf
        chosen = np.argsort(-urgency)[:odd]
        counts[client, chosen] += 1
        owed[chosen] -= others
    return counts, ideal


def _nearest(
    counts: NDArray[np.int64], ideal: NDArray[np.int64], scale: int, room: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Move images between labels until no label gives more than its `room` (L,).

    Minimises the sum over cells of (counts - ideal / scale)^2 with the row sums kept: a min-cost
    flow by successive cheapest paths (R. K. Ahuja, T. L. Magnanti, J. B. Orlin: Network Flows,
    1993, ch. 9 and 14.4). `counts` must be optimal for each row alone. On a path, each step from one
    label to the next is an image that one client swaps; clients with the same cost swap together,
    as the path stays cheapest until none is left. All numbers are whole, so the result is exact.
    """
    counts = counts.copy()
    while (excess := counts.sum(axis=0) - room).max() > 0:
        gap = scale * counts - ideal
        give = np.where(counts > 0, scale - 2 * gap, _NEVER)  # cost of one image less, times scale
        take = scale + 2 * gap
        swap = give[:, :, np.newaxis] + take[:, np.newaxis, :]  # (K, from, to)
        cost = swap.min(axis=0)
        path = _cheapest_path(cost, excess)
        steps = list(itertools.pairwise(path))
        cheapest = [np.flatnonzero(swap[:, u, v] == cost[u, v]) for u, v in steps]
        num = min(excess[path[0]], -excess[path[-1]], *map(len, cheapest))
        for (u, v), clients in zip(steps, cheapest, strict=True):
            counts[clients[:num], u] -= 1
            counts[clients[:num], v] += 1
    return counts


def _cheapest_path(cost: NDArray[np.int64], excess: NDArray[np.int64]) -> list[int]:
    """Return the labels on a cheapest path from one with excess > 0 to one with excess < 0.

    This is Bellman and Ford's method, since a cost (L, L) may be negative, though no cycle is.
    """
    distance = np.where(excess > 0, np.int64(0), _NEVER)
    before = np.full(len(excess), -1)
    while True:
        through = distance[:, np.newaxis] + cost
        shorter = through.min(axis=0) < distance
        if not shorter.any():
            break
        before[shorter] = through.argmin(axis=0)[shorter]
        distance = np.minimum(distance, through.min(axis=0))
    path = [int(np.where(excess < 0, distance, 2 * _NEVER).argmin())]
    while before[path[-1]] >= 0:
        path.append(int(before[path[-1]]))
    return path[::-1]
