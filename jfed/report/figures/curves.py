"""Figures of curves over rounds: the mean over seeds with a band."""

from collections.abc import Mapping
from typing import Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from scipy import stats

from jfed.report.figures.style import COLUMN_IN, RC, Legend, mark, new_figure, wrap

MOST_POINTS = 300  # more are not visible at a column's width and make the PDF large
MARKERS_PER_CURVE = 6
PANEL_IN = 1.6  # height of one panel, inches

Band = Literal["ci", "range"]


def draw_lines(
    axes: Axes,
    x: ArrayLike,
    curves: Mapping[str, np.ndarray],
    *,
    ylabel: str,
    band: Band = "ci",
) -> None:
    """Draw the mean over seeds of each curve, and a band, on the caller's axes.

    At most 300 evenly spaced points of a curve are drawn. Where any seed's value is not finite the
    curve has a gap: leaving the failed run out would favour the scheme.

    Args:
        axes: axes to draw on.
        x: (points,), for instance rounds.
        curves: label to (seeds, points), in the unit of `ylabel`. The position of a label determines
            its colour, line style and marker.
        ylabel: label of the y axis, with its unit.
        band: "ci", a pointwise 95 % t interval of the mean, or "range", lowest to highest seed.
            One seed has no band.

    Raises:
        ValueError: there is no curve, shapes do not match, or the band is unknown.
    """
    x, arrays = _checked(x, curves, band)
    keep = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).round().astype(int))
    for index, (label, values) in enumerate(arrays.items()):
        look = mark(index)
        values = np.where(np.isfinite(values), values, np.nan)[:, keep]
        mean = values.mean(axis=0)
        spacing = max(1, len(keep) // MARKERS_PER_CURVE)
        # Shifted per curve, so that markers of coinciding curves do not hide each other.
        start = index * spacing // len(arrays)
        axes.plot(
            x[keep],
            mean,
            color=look.color,
            linestyle=look.dash,
            marker=look.marker,
            markevery=(start, spacing),
            label=label,
        )
        if len(values) > 1:
            low, high = _band(values, mean, band)
            axes.fill_between(x[keep], low, high, color=look.color, alpha=0.18, linewidth=0)
    axes.set_ylabel(wrap(ylabel, PANEL_IN, 8))
    axes.margins(x=0.02)


def lines(
    x: ArrayLike,
    curves: Mapping[str, np.ndarray],
    *,
    xlabel: str,
    ylabel: str,
    title: str,
    band: Band = "ci",
) -> Figure:
    """Return a figure with one panel of `draw_lines`, one column wide; the caption explains the band."""
    return stacked_lines(x, {ylabel: curves}, xlabel=xlabel, title=title, band=band)


def stacked_lines(
    x: ArrayLike,
    panels: Mapping[str, Mapping[str, np.ndarray]],
    *,
    xlabel: str,
    title: str,
    band: Band = "ci",
) -> Figure:
    """Return a figure of panels of `draw_lines`, stacked over one x axis, with one legend.

    For instance success ratio above cumulative effective participation, as in Fig. 4 of E3CS.

    Args:
        x: (points,), shared.
        panels: y label to curves, from the top panel down. All panels have the same curve labels in
            the same order.
        xlabel: label of the x axis, with its unit.
        title: title, which must name the data set or world.
        band: as in `draw_lines`.

    Raises:
        ValueError: there is no panel, panels have different labels, or as in `draw_lines`.
    """
    labels = [list(curves) for curves in panels.values()]
    if not labels or any(one != labels[0] for one in labels):
        raise ValueError("there must be a panel, and all must hold the same curves in order")
    checked = [_checked(x, curves, band)[1] for curves in panels.values()]
    legend = Legend(tuple(labels[0]))
    with mpl.rc_context(RC):
        height = 0.25 + PANEL_IN * len(panels)
        figure = new_figure(COLUMN_IN, height, title, _caption(checked, band), legend)
        grid = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (ylabel, curves) in zip(grid, panels.items(), strict=True):
            draw_lines(axes, x, curves, ylabel=ylabel, band=band)
        grid[-1].set_xlabel(xlabel)
    return figure


def _checked(x: ArrayLike, curves: Mapping[str, np.ndarray], band: str) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    if band not in ("ci", "range"):
        raise ValueError(f"band must be 'ci' or 'range', got {band!r}")
    if not curves:
        raise ValueError("there are no curves to draw")
    x = np.asarray(x, dtype=float)
    arrays = {label: np.asarray(values, dtype=float) for label, values in curves.items()}
    for label, values in arrays.items():
        if values.ndim != 2 or values.shape[0] == 0 or values.shape[1:] != x.shape:
            raise ValueError(f"curve {label!r} has shape {values.shape}, not (seeds, {x.size})")
    return x, arrays


def _band(values: np.ndarray, mean: np.ndarray, band: Band) -> tuple[np.ndarray, np.ndarray]:
    if band == "range":
        return values.min(axis=0), values.max(axis=0)
    n = len(values)
    half = stats.t.ppf(0.975, n - 1) * values.std(axis=0, ddof=1) / np.sqrt(n)
    return mean - half, mean + half


def _caption(panels: list[dict[str, np.ndarray]], band: Band) -> str:
    arrays = [values for curves in panels for values in curves.values()]
    sizes = sorted({len(values) for values in arrays})
    count = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    what = "pointwise 95 % t interval of the mean" if band == "ci" else "lowest to highest seed"
    text = f"Mean over {count} seed{'s' if sizes[-1] > 1 else ''}"
    text += f"; band: {what}." if sizes[-1] > 1 else "; no band."
    if any(not np.isfinite(values).all() for values in arrays):
        text += " A curve ends, or has a gap, where one of its runs has no value."
    return text
