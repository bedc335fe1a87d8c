"""Non-iid clients whose classes follow a Dirichlet distribution.

T.-M. H. Hsu, H. Qi, M. Brown: Measuring the Effects of Non-Identical Data Distribution for
Federated Visual Classification. arXiv:1909.06335, 2019.

`rounded` is the form of T. Huang, W. Lin, W. Wu, L. He, K. Li, A. Y. Zomaya: An Efficiency-Boosting
Client Selection Scheme for Federated Learning With Fairness Guarantee. IEEE TPDS, 2021, Sec. 6.2.1:
a client's n images contain q_c n of class c, while Hsu et al. draw each label from q.

*Notation*: alpha = `alpha` (concentration); p = the prior over the L classes that occur, here
uniform; q = `log_q` (one client's class vector).

*Departures*: images are not reused, so a class that runs out is dropped and q is renormalised over
the others, as the public implementations do. The clients draw in a random order, so that which of
them come last and get the remaining images does not depend on their index. With `rounded`, q_c n is
made whole by largest remainders.
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jfed.core.errors import DataError
from jfed.data.checks import checked
from jfed.data.deal import deal

# Below this every client has one class to within rounding; far below, log q overflows.
_SMALLEST_ALPHA = 1e-9


def dirichlet(
    labels: ArrayLike, sizes: ArrayLike, rng: np.random.Generator, *, alpha: float, rounded: bool = False
) -> list[NDArray[np.int32]]:
    """Give client i `sizes[i]` images whose classes follow its own q ~ Dir(alpha p).

    The prior p is uniform over the L classes that occur, so every class has concentration alpha / L: RBCS-F's gamma1 is
    alpha / L, and its 1, 10, inf are alpha = 10, 100, `math.inf` with ten classes. If the clients take all images, the
    last of them get the remaining ones instead of their q.

    Args:
        labels: (N,), integers.
        sizes: (K,), integers.
        rng: source of all draws.
        alpha: concentration, at least 1e-9; `math.inf` gives q = p.
        rounded: whether a client's class counts are q times its size, rounded, instead of draws from q.

    Returns:
        K vectors of positions in `labels`, each in random order, no image twice.

    Raises:
        DataError: alpha is below 1e-9, or the sizes do not fit the labels.
    """
    labels, sizes = checked(labels, sizes)
    if not alpha >= _SMALLEST_ALPHA:
        raise DataError(f"alpha must be at least {_SMALLEST_ALPHA:g}, found {alpha}")
    _, classes, room = np.unique(labels, return_inverse=True, return_counts=True)
    counts = np.zeros((len(sizes), len(room)), np.int64)
    for client in rng.permutation(len(sizes)):
        log_q = _log_dirichlet(alpha, len(room), rng)
        take = _round_classes if rounded else _draw_classes
        counts[client] = take(log_q, int(sizes[client]), room, rng)
        room -= counts[client]
    return deal(classes, counts, rng)


def _log_dirichlet(alpha: float, num_classes: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return log q (L,) up to a constant, finite for every alpha."""
    if math.isinf(alpha):
        return np.zeros(num_classes)
    # If G ~ Gamma(a + 1) and U is uniform, then G U^(1/a) ~ Gamma(a); its log cannot underflow.
    a = alpha / num_classes
    log_boost = np.log(rng.standard_gamma(a + 1, num_classes))
    return log_boost - rng.standard_exponential(num_classes) / a


def _draw_classes(
    log_q: NDArray[np.float64], num: int, room: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return how many of `num` images fall on each class, none above its `room` (L,).

    Drawing a batch, dropping what exceeds the room and drawing the dropped images again over the
    open classes has the distribution of drawing one by one: dropping a draw is renormalising. Each
    turn but the last closes a class, so there are at most L turns.
    """
    drawn = np.zeros_like(room)
    while (left := num - drawn.sum()) > 0:
        open_classes = np.flatnonzero(room > drawn)
        # Shifted by the largest that is still open, so that classes with q near 0 can be filled.
        q = np.exp(log_q[open_classes] - log_q[open_classes].max())
        drawn[open_classes] += rng.multinomial(left, q / q.sum())
        drawn = np.minimum(drawn, room)
    return drawn


def _round_classes(
    log_q: NDArray[np.float64], num: int, room: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return q times `num`, made whole by largest remainders, none above its `room` (L,).

    Open classes make up for full ones in proportion to q; ties between remainders are broken at random.
    """
    taken = np.zeros_like(room)
    while (left := num - taken.sum()) > 0:
        open_classes = np.flatnonzero(room > taken)
        q = np.exp(log_q[open_classes] - log_q[open_classes].max())
        share = left * q / q.sum()
        whole = np.floor(share + 1e-9).astype(np.int64)
        first = np.lexsort([rng.random(len(share)), whole - share])[: left - whole.sum()]
        whole[first] += 1
        taken[open_classes] += whole
        taken = np.minimum(taken, room)
    return taken
