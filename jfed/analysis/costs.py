"""Curves against what was spent (time, models sent, local steps) instead of rounds."""

import numpy as np
from numpy.typing import ArrayLike

POINTS = 200


def against(costs: ArrayLike, values: ArrayLike, grid: ArrayLike) -> np.ndarray:
    """What each run had reached when it had spent so much: its last value at or before each cost of the grid.

    Runs spend at different speeds, so that values at one round are not comparable at one cost. Nothing is interpolated:
    between two evaluations the earlier one stands, since the later was not known yet.

    Args:
        costs: cumulative, (runs, evaluations), not decreasing along a run; in any unit.
        values: measured at these costs, (runs, evaluations).
        grid: costs at which to read, (points,), same unit.

    Returns:
        (runs, points); NaN before a run's first value and beyond its last cost.

    Raises:
        ValueError: shapes that do not fit, or a cost that decreases.
    """
    costs, values, grid = np.asarray(costs, float), np.asarray(values, float), np.asarray(grid, float)
    if costs.ndim != 2 or costs.shape != values.shape or 0 in costs.shape:
        raise ValueError(f"costs and values must both be (runs, evaluations), got {costs.shape} and {values.shape}")
    if (np.diff(costs, axis=1) < 0).any():
        raise ValueError("costs must be cumulative: one of them decreases")
    found = np.full((len(costs), len(grid)), np.nan)
    for i, (cost, value) in enumerate(zip(costs, values, strict=True)):
        last = np.searchsorted(cost, grid, side="right") - 1
        known = (last >= 0) & (grid <= cost[-1])
        found[i, known] = value[last[known]]
    return found


def cost_grid(costs: ArrayLike, points: int = POINTS) -> np.ndarray:
    """Evenly spaced costs from the cheapest run's first value to the dearest run's last, (points,)."""
    costs = np.asarray(costs, float)
    return np.linspace(costs[:, 0].min(), costs[:, -1].max(), points)
