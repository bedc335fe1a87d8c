"""Figures of curves over rounds: the mean over seeds with a band, or with each seed where they are few."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from scipy import stats

from jfed.report.figures.apart import CLOSE, apart
from jfed.report.figures.marks import Mark, marks
from jfed.report.figures.style import COLUMN_IN, RC, Legend, new_figure, wrap
from jfed.results.meaning import possible

MOST_POINTS = 300  # more are not visible at a column's width and make the PDF large
MARKERS_PER_CURVE = 6
PANEL_IN = 1.6  # height of one panel, inches
APART_IN = 1.25  # height of a panel of differences, inches
MOST_APART = 2  # panels below each of which there may be one of differences
FEWEST = 6  # seeds of a band; a band of fewer is so wide that it hides the curves

Band = Literal["ci", "range"]


def draw_lines(
    axes: Axes,
    x: ArrayLike,
    curves: Mapping[str, np.ndarray],
    *,
    ylabel: str,
    band: Band = "ci",
    schemes: Sequence[str] = (),
) -> None:
    """Draw the mean over seeds of each curve, and a band, on the caller's axes.

    At most 300 evenly spaced points of a curve are drawn. Where any seed's value is not finite the
    curve has a gap: leaving the failed run out would favour the scheme. Fewer than 6 seeds are drawn
    as thin lines, without a band. A band is cut where no value is possible (`jfed.results.meaning`).

    Args:
        axes: axes to draw on.
        x: (points,), for instance rounds.
        curves: label to (seeds, points), in the unit of `ylabel`.
        ylabel: label of the y axis, with its unit.
        band: "ci", a pointwise 95 % t interval of the mean, or "range", lowest to highest seed.
            One seed has no band.
        schemes: all schemes of the study, in any order: with the same ones, a scheme has the same
            colour, line style and marker in all figures.

    Raises:
        ValueError: there is no curve, shapes do not match, or the band is unknown.
    """
    x, arrays = _checked(x, curves, band)
    looks = marks(arrays, schemes)
    ends = possible(ylabel, *arrays.values())
    keep = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).round().astype(int))
    for index, (label, values) in enumerate(arrays.items()):
        values = np.where(np.isfinite(values), values, np.nan)[:, keep]
        spacing = max(1, len(keep) // MARKERS_PER_CURVE)
        # Shifted per curve, so that markers of coinciding curves do not hide each other.
        every = (index * spacing // len(arrays), spacing)
        axes.plot(x[keep], values.mean(axis=0), markevery=every, label=label, **_style(looks[label]))
        _spread(axes, x[keep], values, band, ends, looks[label].color)
    axes.set_ylabel(wrap(ylabel, APART_IN, 8))  # the lowest panel that it may stand at
    axes.margins(x=0.02)


def lines(
    x: ArrayLike,
    curves: Mapping[str, np.ndarray],
    *,
    xlabel: str,
    ylabel: str,
    title: str,
    band: Band = "ci",
    schemes: Sequence[str] = (),
    differences: bool = True,
) -> Figure:
    """Return a figure with one panel of `stacked_lines`; the caption explains the band."""
    return stacked_lines(
        x, {ylabel: curves}, xlabel=xlabel, title=title, band=band, schemes=schemes, differences=differences
    )


def stacked_lines(
    x: ArrayLike,
    panels: Mapping[str, Mapping[str, np.ndarray]],
    *,
    xlabel: str,
    title: str,
    band: Band = "ci",
    schemes: Sequence[str] = (),
    differences: bool = True,
) -> Figure:
    """Return a figure of panels of `draw_lines`, stacked over one x axis, with one legend.

    For instance success ratio above cumulative effective participation, as in Fig. 4 of E3CS. Below a panel
    whose curves lie on each other (`jfed.report.figures.apart`), another one has their differences by seed, unless
    there are more than two panels already.

    Args:
        x: (points,), shared.
        panels: y label to curves, from the top panel down. All panels have the same curve labels in
            the same order, and all curves their seeds in the same order.
        xlabel: label of the x axis, with its unit.
        title: title, which must name the data set or world.
        band: as in `draw_lines`.
        schemes: as in `draw_lines`.
        differences: whether there are panels of differences.

    Raises:
        ValueError: there is no panel, panels have different labels, or as in `draw_lines`.
    """
    labels = [list(curves) for curves in panels.values()]
    if not labels or any(one != labels[0] for one in labels):
        raise ValueError("there must be a panel, and all must hold the same curves in order")
    checked = {ylabel: _checked(x, curves, band)[1] for ylabel, curves in panels.items()}
    rows: list[tuple[str, Mapping[str, np.ndarray], float]] = []
    for ylabel, arrays in checked.items():
        rows.append((ylabel, arrays, PANEL_IN))
        if differences and len(panels) <= MOST_APART and (found := apart(arrays)):
            rows.append((found.label, found.curves, APART_IN))
    heights = [height for _, _, height in rows]
    study = (*labels[0], *schemes)
    legend = Legend(marks(labels[0], schemes))
    caption = seeds_caption(list(checked.values()), band, len(rows) > len(checked))
    with mpl.rc_context(RC):
        figure = new_figure(COLUMN_IN, 0.25 + sum(heights), title, caption, legend)
        grid = figure.subplots(len(rows), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
        for axes, (ylabel, curves, height) in zip(grid, rows, strict=True):
            draw_lines(axes, x, curves, ylabel=ylabel, band=band, schemes=study)
            if height == APART_IN:
                axes.axhline(0, color="black", linewidth=0.6, zorder=1)
        grid[-1].set_xlabel(wrap(xlabel, 0.8 * figure.get_size_inches()[0], 8))
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


def _style(look: Mark) -> dict[str, Any]:
    return {"color": look.color, "linestyle": look.dash, "marker": look.marker}


def _spread(
    axes: Axes, x: np.ndarray, values: np.ndarray, band: Band, ends: tuple[float, float], color: str
) -> None:  # fmt: skip
    """Draw what surrounds the mean: nothing for one seed, a thin line for each of a few, or else a band."""
    n = len(values)
    if n == 1:
        return
    if n < FEWEST:
        axes.plot(x, values.T, color=color, linewidth=0.5, alpha=0.55, zorder=1.5, label="_seed")
        return
    low, high = values.min(axis=0), values.max(axis=0)
    if band == "ci":
        half = stats.t.ppf(0.975, n - 1) * values.std(axis=0, ddof=1) / np.sqrt(n)
        low, high = values.mean(axis=0) - half, values.mean(axis=0) + half
    axes.fill_between(x, np.clip(low, *ends), np.clip(high, *ends), color=color, alpha=0.18, linewidth=0)


def seeds_caption(
    panels: Sequence[Mapping[str, np.ndarray]], band: Band = "ci", with_differences: bool = False
) -> str:  # fmt: skip
    """Return the words on what `draw_lines` draws around means; panels hold (seeds, points) by label."""
    arrays = [values for curves in panels for values in curves.values()]
    sizes = sorted({len(values) for values in arrays})
    count = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    what = "pointwise 95 % t interval of the mean" if band == "ci" else "lowest to highest seed"
    words = []
    if sizes[-1] >= FEWEST:
        words.append(f"band: {what}")
    if any(1 < size < FEWEST for size in sizes):
        words.append(f"thin: each seed{f' where there are fewer than {FEWEST}' * bool(words)}")
    text = f"Mean over {count} seeds; {'; '.join(words)}." if sizes[-1] > 1 else "One seed."
    if with_differences:
        text += f" Differences, seed by seed: of curves less than {100 * CLOSE:g} % of their panel's height apart."
    if any(not np.isfinite(values).all() for values in arrays):
        text += " A curve ends, or has a gap, where one of its runs has no value."
    return text
