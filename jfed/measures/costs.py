"""Curves over cumulative cost (time, models sent, local steps) instead of rounds."""

import numpy as np
from numpy.typing import ArrayLike

POINTS = 200


def against(costs: ArrayLike, values: ArrayLike, grid: ArrayLike) -> np.ndarray:
    """Return each run's last value at or before each cost of the grid.

    Costs per round differ between runs, so values at one round are not comparable at one cost. Nothing is interpolated:
    between two evaluations the earlier one counts, since the later one is not known yet.

    Args:
        costs: cumulative costs, (runs, evaluations), not decreasing along a run; in any unit.
        values: values at these costs, (runs, evaluations).
        grid: costs at which to read the values, (points,), same unit.

    Returns:
        (runs, points); NaN before a run's first value and beyond its last cost.

    Raises:
        ValueError: shapes do not match, or a cost decreases.
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
    """Return each run's mean value over all costs up to a limit: the area under its curve divided by the limit.

    The value is 0 before a run's first evaluation, and the last one holds after it.

    Args:
        costs: as in `against`.
        values: as in `against`.
        until: limit of each run, (runs,), same unit as costs, positive.

    Returns:
        (runs,)

    Raises:
        ValueError: as in `against`, or a limit is not positive.
    """
    costs, values, until = np.asarray(costs, float), np.asarray(values, float), np.asarray(until, float)
    against(costs, values, [0.0])  # for its checks
    if until.shape != costs.shape[:1] or not (until > 0).all():
        raise ValueError(f"until must be one positive limit for each of the {len(costs)} runs")
    ends = np.append(costs[:, 1:], np.full((len(costs), 1), np.inf), axis=1)
    lasted = np.clip(np.minimum(ends, until[:, None]) - costs, 0, None)
    return (lasted * values).sum(1) / until


def cost_grid(costs: ArrayLike, points: int = POINTS) -> np.ndarray:
    """Return evenly spaced costs from the smallest first cost of a run to the largest last one, (points,)."""
    costs = np.asarray(costs, float)
    return np.linspace(costs[:, 0].min(), costs[:, -1].max(), points)
