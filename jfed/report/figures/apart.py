"""Curves that lie on each other, told apart by their differences."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

CLOSE = 0.03  # of the height of a panel, about that of a marker


class Differences(NamedTuple):
    """Differences of curves from the first of them.

    Attributes:
        label: label of the y axis.
        curves: label to (seeds, points), without the first.
    """

    label: str
    curves: dict[str, np.ndarray]


def apart(curves: Mapping[str, np.ndarray]) -> Differences | None:
    """Return the differences of those curves that lie on each other; None if there are none to show.

    Two curves lie on each other if their means are less than 3 % of the range of all means apart at half of the points
    or more. Of the curves that are linked in this way, the largest group is shown, and the first of the largest.

    Args:
        curves: label to (seeds, points), seeds in the same order. With different numbers of seeds nothing is shown,
            since then they are not paired.
    """
    labels = list(curves)
    means = np.array([np.where(np.isfinite(values), values, np.nan).mean(0) for values in curves.values()])
    if len({len(values) for values in curves.values()}) > 1 or not np.isfinite(means).any():
        return None
    height = np.nanmax(means) - np.nanmin(means)
    with np.errstate(invalid="ignore"):
        near = np.abs(means[:, None] - means) < CLOSE * height
    common = np.isfinite(means[:, None] + means).sum(-1)
    linked = (near.sum(-1) >= common / 2) & (common > 0)
    group = max(_groups(linked), key=len)
    first, others = labels[group[0]], [labels[i] for i in group[1:]]
    found = {label: np.asarray(curves[label], float) - curves[first] for label in others}
    if all((values == 0).all() for values in found.values()):
        return None
    return Differences(f"minus {first}", found)


def _groups(linked: np.ndarray) -> list[list[int]]:
    """Return the connected groups of a symmetric relation, in order."""
    reached = linked | np.eye(len(linked), dtype=bool)
    for _ in range(len(linked)):
        reached = reached @ reached
    return [list(map(int, row.nonzero()[0])) for row in np.unique(reached, axis=0)[::-1]]
