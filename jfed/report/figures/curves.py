"""Figures of curves over rounds: the mean over seeds with a band, or with each seed where they are few."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike
from scipy import stats

from jfed.report.figures.apart import CLOSE, apart
from jfed.report.figures.marks import Mark, marks
from jfed.report.figures.numbers import Numbers, shows
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
    _draw(axes, _rows(ylabel, x, arrays, band), ylabel, marks(arrays, schemes))


def _rows(ylabel: str, x: np.ndarray, arrays: Mapping[str, np.ndarray], band: Band) -> pd.DataFrame:
    """Return what is drawn of a panel's curves, one row per point: the mean, and a band or each of a few seeds."""
    ends = possible(ylabel, *arrays.values())
    keep = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).round().astype(int))
    parts = []
    for label, values in arrays.items():
        values = np.where(np.isfinite(values), values, np.nan)[:, keep]
        part = {"curve": label, "x": x[keep], "mean": values.mean(axis=0)}
        if len(values) >= FEWEST:
            low, high = values.min(axis=0), values.max(axis=0)
            if band == "ci":
                half = stats.t.ppf(0.975, len(values) - 1) * values.std(axis=0, ddof=1) / np.sqrt(len(values))
                low, high = part["mean"] - half, part["mean"] + half
            part |= {"low": np.clip(low, *ends), "high": np.clip(high, *ends)}
        elif len(values) > 1:
            part |= {f"run_{i + 1}": one for i, one in enumerate(values)}
        parts.append(pd.DataFrame(part))
    return pd.concat(parts, ignore_index=True)


def _draw(axes: Axes, rows: Any, ylabel: str, looks: Mapping[str, Mark]) -> None:
    """Draw the curves of `_rows`: the mean of each, and around it nothing for one seed, thin lines or a band."""
    runs = [name for name in rows if str(name).startswith("run_")]
    labels = list(dict.fromkeys(rows["curve"]))
    for index, label in enumerate(labels):
        own, look = rows[rows["curve"] == label], looks[label]
        x = own["x"].to_numpy()
        spacing = max(1, len(own) // MARKERS_PER_CURVE)
        # Shifted per curve, so that markers of coinciding curves do not hide each other.
        every = (index * spacing // len(labels), spacing)
        axes.plot(x, own["mean"].to_numpy(), markevery=every, label=label, **_style(look))
        thin = own[runs].dropna(axis=1, how="all").to_numpy()
        if thin.size:
            axes.plot(x, thin, color=look.color, linewidth=0.5, alpha=0.55, zorder=1.5, label="_seed")
        if "low" in own and own["low"].notna().any():
            low, high = own["low"].to_numpy(), own["high"].to_numpy()
            axes.fill_between(x, low, high, color=look.color, alpha=0.18, linewidth=0)
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
    x, told, rows = np.asarray(x, float), [], []
    for ylabel, arrays in checked.items():
        told.append({"name": ylabel, "label": ylabel, "height": PANEL_IN})
        rows.append(_rows(ylabel, x, arrays, band).assign(panel=ylabel))
        if differences and len(panels) <= MOST_APART and (found := apart(arrays)):
            name = f"{ylabel}, {found.label}"
            told.append({"name": name, "label": found.label, "height": APART_IN})
            rows.append(_rows(found.label, x, found.curves, band).assign(panel=name))
    words = {
        "title": title,
        "xlabel": xlabel,
        "caption": seeds_caption(list(checked.values()), band, len(rows) > len(checked)),
        "panels": told,
        "curves": labels[0],
        "schemes": list(schemes),
    }
    frame: Any = pd.concat(rows, ignore_index=True)
    return draw_curves(Numbers("curves", words, frame[["panel", *frame.columns.drop("panel")]]))


def draw_curves(numbers: Numbers) -> Figure:
    """Return the figure of `stacked_lines` whose numbers these are."""
    words, rows = numbers.words, numbers.frame
    looks = marks(words["curves"], words["schemes"])
    study = (*words["curves"], *words["schemes"])
    heights = [panel["height"] for panel in words["panels"]]
    with mpl.rc_context(RC):
        figure = new_figure(COLUMN_IN, 0.25 + sum(heights), words["title"], words["caption"], Legend(looks))
        grid = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
        for axes, panel in zip(grid, words["panels"], strict=True):
            own: Any = rows[rows["panel"] == panel["name"]]
            _draw(axes, own, panel["label"], marks(dict.fromkeys(own["curve"]), study))
            if panel["height"] == APART_IN:
                axes.axhline(0, color="black", linewidth=0.6, zorder=1)
        grid[-1].set_xlabel(wrap(words["xlabel"], 0.8 * figure.get_size_inches()[0], 8))
    return shows(figure, numbers)


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
        text += f" Lower panels: differences, seed by seed, of curves within {100 * CLOSE:g} % of their panel's height."
    if any(not np.isfinite(values).all() for values in arrays):
        text += " A curve ends, or has a gap, where one of its runs has no value."
    return text
