"""The four cases of Wang et al.: from evenly mixed clients to clients of one label each.

S. Wang, T. Tuor, T. Salonidis, K. K. Leung, C. Makaya, T. He, K. Chan: Adaptive Federated Learning
in Resource Constrained Edge Computing Systems. IEEE Journal on Selected Areas in Communications 37,
2019, and its public code; used again by A. Sultana et al.: Eiffel: Efficient and Fair Scheduling in
Adaptive Federated Learning. IEEE Transactions on Parallel and Distributed Systems, 2022.

*Notation*: n clients; L labels that occur, l = 0 .. L-1 the rank of an image's label among them;
i = 0, 1, ... the place of an image in the order of dealing; m = min(n, L), h = ceil(m / 2).

*Targets*: case 1 deals image i to client i mod n. The others deal to one of m targets: case 2 to l
mod n; case 4 the lower half of the labels to i mod h and the upper half to h + l mod (m - h). A target
t is client t, or with n > L the clients t, t + L, t + 2 L, ..., of which the one with the fewest images
takes the next, the first of these on ties. Case 3 gives all images to each client.

*Departures*: the middle label of an odd L is in the upper half, as in the public code. That code
treats every whole number from the least label to the greatest as a label; here one that never occurs
does not count, so that no client is left without images because of it. A single target (n = 1 or
L = 1), where m - h = 0, gets all images. Eiffel's random deal is `shuffled`; the public code deals in
the data set's own order.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jfed.core.errors import DataError
from jfed.data.checks import checked


def wang_case(
    labels: ArrayLike,
    sizes: ArrayLike,
    rng: np.random.Generator,
    *,
    case: float = 1,
    shuffled: bool = True,
) -> list[NDArray[np.int32]]:
    """Deal `sizes.sum()` images to the K clients: 1 evenly, 2 by label, 3 all to each, 4 half as in 1, half as in 2.

    No image is given twice, except in case 3, where images that one client reserves for testing are training images of
    others.

    Args:
        labels: (N,), integers.
        sizes: (K,), integers, of which only the sum counts: the number of images of each client follows from the case.
            It may be 0 if there are many clients and few images; in case 3 it is the sum.
        rng: source of all draws.
        case: 1, 2, 3 or 4.
        shuffled: whether the images are drawn at random and dealt in random order; otherwise they are the first ones,
            in the data set's own order.

    Returns:
        K vectors of positions in `labels`, in the order of dealing.

    Raises:
        DataError: there is no such case, or the sizes do not fit the labels.
    """
    labels, sizes = checked(labels, sizes)
    if case not in (1, 2, 3, 4):
        raise DataError(f"case must be 1, 2, 3 or 4, found {case}")
    # Ranks among all labels, so that which client gets which label does not depend on the draw.
    values, ranks = np.unique(labels, return_inverse=True)
    order = rng.permutation(len(labels)) if shuffled else np.arange(len(labels))
    order = order[: sizes.sum()].astype(np.int32)
    if case == 3:
        return [order.copy() for _ in sizes]
    owner = _owners(int(case), ranks[order], len(sizes), len(values))
    by_owner = np.argsort(owner, kind="stable")
    ends = np.bincount(owner, minlength=len(sizes)).cumsum()
    return np.split(order[by_owner], ends[:-1])


def _owners(case: int, ranks: NDArray[np.int64], num_clients: int, num_labels: int) -> NDArray[np.int64]:
    """Return the client of each image (M,), given the ranks (M,) of their labels in the order of dealing."""
    place = np.arange(len(ranks))
    if case == 1:
        return place % num_clients
    num_targets = min(num_clients, num_labels)
    target = ranks % num_targets
    if case == 4 and num_targets > 1:  # a single target gets both halves
        half = (num_targets + 1) // 2
        upper = num_labels // 2
        target = np.where(ranks < upper, place % half, half + ranks % (num_targets - half))
    # The clients of a target get images from nowhere else, so taking turns gives the next image to one with the fewest.
    sharing = (num_clients - 1 - target) // num_targets + 1
    return target + num_targets * (_running_count(target, num_targets) % sharing)


def _running_count(target: NDArray[np.int64], num_targets: int) -> NDArray[np.int64]:
    """Return how many earlier images (M,) had the same target."""
    counts = np.bincount(target, minlength=num_targets)
    starts = counts.cumsum() - counts
    by_target = np.argsort(target, kind="stable")
    earlier = np.empty_like(target)
    earlier[by_target] = np.arange(len(target)) - starts[target[by_target]]
    return earlier
