"""Schemes that use norms and directions of updates, from the papers, in plain NumPy, float64 and whole numbers.

Optimal client sampling (Chen, Horvath, Richtarik 2020), importance sampling by norms, DivFL (Balakrishnan et al. 2022)
and clustered sampling (Fraboni et al. 2021, Algorithms 1 and 2, and its public code). There are K clients.

Readings: a client that is away or has no images has no part; if no available client has images, each counts like one
image. Norms and updates are those of a client's last return. `random` arguments hold the draws.
"""

import math
from collections.abc import Sequence

import numpy as np

from .e3cs import BoolArray, FloatArray, IntArray


def own_images(num_samples: IntArray, available: BoolArray) -> list[int]:
    """Return the images that count for each client."""
    own = [int(n) if here else 0 for n, here in zip(num_samples, available, strict=True)]
    return own if sum(own) > 0 else [int(here) for here in available]


def filled(norms: Sequence[float | None]) -> list[float]:
    """Return the norms, with the largest known one for clients whose norm is None; 1 if none is known, or all are 0."""
    known = [x for x in norms if x is not None]
    largest = max(known, default=0.0)
    return [(largest if largest > 0 else 1.0) if x is None else x for x in norms]


# ------------------------------------------------------------------------------------- probabilities by norms


def optimal(u: Sequence[float], m: int) -> list[float]:
    """Return the p of optimal client sampling for n clients with u_i = w_i ||U_i||, by its formula."""
    n = len(u)
    rising = sorted(u)
    # The paper's l; 0 < m + l - n.
    fits = [j for j in range(n - m + 1, n + 1) if (m + j - n) * rising[j - 1] <= sum(rising[:j])]
    few = max(fits)
    rest, room = sum(rising[:few]), m + few - n
    smallest = sorted(range(n), key=lambda i: u[i])[:few]
    # If the l smallest are all 0, their updates are, too, and they share what is left.
    return [(room * u[i] / rest if rest > 0 else room / few) if i in smallest else 1.0 for i in range(n)]


def approximate(u: Sequence[float], m: int, iterations: int) -> list[float]:
    """Return the p of the approximate form of optimal client sampling."""
    n, all_ = len(u), sum(u)
    if all_ == 0:
        return [m / n] * n
    p = [min(1.0, m * x / all_) for x in u]
    for _ in range(iterations):
        free = [x for x in p if x < 1]
        if sum(free) == 0:
            break
        factor = (m - n + len(free)) / sum(free)
        if factor <= 1:
            break
        p = [min(1.0, factor * x) for x in p]
    return p


def with_floor(p: Sequence[float], m: int, uniform: float) -> list[float]:
    """Return p with a share of its sum spread evenly."""
    return [(1 - uniform) * x + uniform * m / len(p) for x in p]


def norm_importance(weights: Sequence[float], uniform: float) -> list[float]:
    """Return q in proportion to p_i ||U_i||, a share of it uniform."""
    all_ = sum(weights)
    if all_ == 0:
        return [1 / len(weights)] * len(weights)
    return [(1 - uniform) * x / all_ + uniform / len(weights) for x in weights]


# ------------------------------------------------------------------------------------------------------ DivFL


def apart(g: FloatArray) -> FloatArray:
    """Return the Euclidean distances of the rows of g."""
    return np.array([[math.dist(a, b) for b in g] for a in g])


def facility(distance: FloatArray, rows: Sequence[int], chosen: Sequence[int]) -> float:
    """Return G(S) = sum over the rows of the distance to the nearest chosen client."""
    return sum(min(distance[i, j] for j in chosen) for i in rows)


def divfl(
    distance: FloatArray, rows: Sequence[int], candidates: Sequence[int], k: int, tie_break: FloatArray,
    random: FloatArray | None = None, looks: int = 0,
) -> list[int]:  # fmt: skip
    """Return the clients that the greedy search adds, in order.

    Args:
        distance: distances of all pairs.
        rows: clients that G counts.
        candidates: clients to choose from.
        k: number of clients to choose.
        tie_break: order of clients that are equally good.
        random: (steps, K) numbers; a step of the stochastic search looks at those of the smallest numbers.
        looks: how many it looks at.
    """
    chosen: list[int] = []
    for step in range(min(k, len(candidates))):
        left = [j for j in candidates if j not in chosen]
        if random is not None:
            left = sorted(left, key=lambda j: random[step, j])[:looks]
        cost = {j: facility(distance, rows, [*chosen, j]) for j in left}
        tied = [j for j in left if cost[j] <= min(cost.values()) * (1 + 1e-12)]
        chosen.append(min(tied, key=lambda j: tie_break[j]))
    return chosen


# ----------------------------------------------------------------------------------------- clustered sampling


def pour(table: list[list[int]], clients: Sequence[int], masses: dict[int, int], whole: int) -> None:
    """Pour the masses of clients into the rows of a table, one after another, until each row holds `whole`."""
    row = 0
    for i in clients:
        left = masses[i]
        while left > 0:
            room = whole - sum(table[row])
            if room == 0:
                row += 1
                continue
            table[row][i] += min(room, left)
            left -= min(room, left)


def clustered_size(own: Sequence[int], k: int, tie_break: FloatArray) -> list[list[int]]:
    """Return the k distributions of Algorithm 1 times n, for images of sum n."""
    table = [[0] * len(own) for _ in range(k)]
    order = sorted(range(len(own)), key=lambda i: (-own[i], tie_break[i]))
    pour(table, order, {i: k * own[i] for i in order}, sum(own))
    return table


def angles(sketches: FloatArray, unknown: float) -> FloatArray:
    """Return the angles between updates; `unknown` between an update of 0 and another, 0 between two of them."""
    out = np.zeros((len(sketches), len(sketches)))
    for i, a in enumerate(sketches):
        for j, b in enumerate(sketches):
            if i == j:
                continue
            if a.any() and b.any():
                out[i, j] = math.acos(min(1.0, max(-1.0, float(a @ b) / math.sqrt(float(a @ a) * float(b @ b)))))
            elif a.any() or b.any():
                out[i, j] = unknown
    return out


def ward(square: FloatArray, clients: Sequence[int]) -> list[list[int]]:
    """Return the clients below each joint of Ward's tree; of equally near nodes, the first ones are joined.

    Args:
        square: squared distances of all pairs.
        clients: clients that take part, in the order of ties.
    """
    nodes = [[i] for i in clients]
    far = [[float(square[i, j]) for j in clients] for i in clients]
    joints = []
    while len(nodes) > 1:
        _, a, b = min((far[a][b], a, b) for a in range(len(nodes)) for b in range(a + 1, len(nodes)))
        sizes = [len(node) for node in nodes]
        for c in range(len(nodes)):
            if c not in (a, b):
                sum_ = (sizes[a] + sizes[c]) * far[a][c] + (sizes[b] + sizes[c]) * far[b][c] - sizes[c] * far[a][b]
                far[a][c] = far[c][a] = sum_ / (sizes[a] + sizes[b] + sizes[c])
        nodes[a] = nodes[a] + nodes[b]
        joints.append(nodes[a])
        del nodes[b], far[b]
        for row in far:
            del row[b]
    return joints


def subtrees(joints: Sequence[Sequence[int]], masses: dict[int, int], whole: int) -> list[list[int]]:
    """Return the clients of the largest subtrees of a mass of at most `whole`, from those below each joint."""
    found = [[i] for i in masses]
    for joint in joints:
        if sum(masses[i] for i in joint) <= whole:
            found = [group for group in found if not set(group) <= set(joint)] + [list(joint)]
    return found


def clustered_similarity(
    table: FloatArray, rows: bool, own: Sequence[int], k: int, name: IntArray, inside: FloatArray
) -> list[list[int]]:
    """Return the k distributions of Algorithm 2 times n.

    Args:
        table: distances of all pairs of clients.
        rows: whether Ward's method gets the rows of the table as points, and not its numbers as distances.
        own: images of all clients, of sum n.
        k: number of distributions.
        name: place of each client in the order of ties: a group has the place of one of its members, the first.
        inside: order of clients inside a group.
    """
    whole, everybody = sum(own), sorted(range(len(own)), key=lambda i: name[i])
    alone = {i: k * own[i] // whole for i in everybody}
    masses = {i: k * own[i] - alone[i] * whole for i in everybody}
    part = [i for i in everybody if masses[i] > 0]
    square = np.zeros((len(own), len(own)))
    for i in part:
        for j in part:
            square[i, j] = sum((table[i, c] - table[j, c]) ** 2 for c in part) if rows else table[i, j] ** 2
    groups = subtrees(ward(square, part), {i: masses[i] for i in part}, whole)
    left = k - sum(alone.values())
    heavy = sorted(groups, key=lambda g: (-sum(masses[i] for i in g), min(name[i] for i in g)))
    made = [[0] * len(own) for _ in range(left)]
    for row, group in enumerate(reversed(heavy[:left])):
        for i in group:
            made[row][i] = masses[i]
    rest = [i for group in reversed(heavy[left:]) for i in sorted(group, key=lambda i: inside[i])]
    pour(made, rest, masses, whole)
    for i in everybody:
        made += [[whole * (j == i) for j in range(len(own))] for _ in range(alone[i])]
    return made


def draw(table: Sequence[Sequence[int]], whole: int, words: Sequence[int]) -> list[int]:
    """Return how often each client is drawn, one from each row; the l-th 32-bit word decides the l-th draw."""
    times = [0] * len(table[0])
    for row, word in zip(table, words, strict=False):
        point = int(word) * whole >> 32
        times[next(i for i in range(len(row)) if sum(row[: i + 1]) > point)] += 1
    return times
