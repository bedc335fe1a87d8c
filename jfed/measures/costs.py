"""Curves against what was spent (time, models sent, local steps) instead of rounds."""

import numpy as np
from numpy.typing import ArrayLike

POINTS = 200


def against(costs: ArrayLike, values: ArrayLike, grid: ArrayLike) -> np.ndarray:
    """Return what each run had reached when it had spent so much: its last value at or before each cost of the grid.

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


def mean_until(costs: ArrayLike, values: ArrayLike, until: ArrayLike) -> np.ndarray:
    """Return the mean of what each run had reached over all costs up to a limit: the area under its curve by it.

    Args:
        costs, values: as in `against`; 0 stands before a run's first value, and its last one stays.
        until: the limit of each run, (runs,), same unit as costs, positive.

    Returns:
        (runs,)

    Raises:
        ValueError: as `against`, or a limit that is not positive.
    """
    costs, values, until = np.asarray(costs, float), np.asarray(values, float), np.asarray(until, float)
    against(costs, values, [0.0])  # its checks
    if until.shape != costs.shape[:1] or not (until > 0).all():
        raise ValueError(f"until must be one positive limit for each of the {len(costs)} runs")
    ends = np.append(costs[:, 1:], np.full((len(costs), 1), np.inf), axis=1)
    lasted = np.clip(np.minimum(ends, until[:, None]) - costs, 0, None)
    return (lasted * values).sum(1) / until


def cost_grid(costs: ArrayLike, points: int = POINTS) -> np.ndarray:
    """Return evenly spaced costs from the cheapest run's first value to the dearest run's last, (points,)."""
    costs = np.asarray(costs, float)
    return np.linspace(costs[:, 0].min(), costs[:, -1].max(), points)
