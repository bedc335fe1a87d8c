"""Figures of sweeps: curves over one setting, and heat maps over two."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from numpy.typing import ArrayLike

from jfed.report.figures.curves import PANEL_IN, draw_lines, seeds_caption
from jfed.report.figures.marks import marks
from jfed.report.figures.style import COLUMN_IN, RC, TEXT_IN, Legend, new_figure, wrap

WIDE = 20.0  # ratio of the largest to the least value from which on an axis is logarithmic
MOST_TICKS = 10
LONGEST = 12  # letters of a tick's label


def setting_curves(
    panels: Mapping[str, tuple[Sequence[Any], Mapping[str, ArrayLike]]], *, ylabel: str, title: str, caption: str = ""
) -> Figure:
    """Draw each scheme's mean score over the values of a setting, one panel for each setting.

    Args:
        panels: setting to its values in order, and scheme to scores, (seeds, values), NaN where a run is missing or
            failed. All panels have the same schemes in the same order.
        ylabel: the metric, with its unit.
        title: title, which must name the data set or world.
        caption: a further sentence below the figure.

    Raises:
        ValueError: there is no panel, panels have different schemes, or as in `draw_lines`.
    """
    labels = [list(curves) for _, curves in panels.values()]
    if not labels or any(one != labels[0] for one in labels):
        raise ValueError("there must be a panel, and all must hold the same schemes in order")
    across = min(3, len(panels))
    down = -(-len(panels) // across)
    width = COLUMN_IN if across == 1 else TEXT_IN
    scores = [{scheme: np.asarray(v, float) for scheme, v in curves.items()} for _, curves in panels.values()]
    whole = f"{seeds_caption(scores)} {caption}"
    with mpl.rc_context(RC):
        figure = new_figure(width, 0.25 + PANEL_IN * down, title, whole.strip(), Legend(marks(labels[0])))
        grid = figure.subplots(down, across, sharey=True, squeeze=False)
        for axes, (name, (values, _)), curves in zip(grid.flat, panels.items(), scores, strict=False):
            draw_lines(axes, _positions(axes, values), curves, ylabel=ylabel, schemes=labels[0])
            axes.set_xlabel(name)
        for axes in grid[:, 1:].flat:
            axes.set_ylabel("")
        for axes in grid.flat[len(panels) :]:
            axes.remove()
    return figure


def _positions(axes: Axes, values: Sequence[Any]) -> np.ndarray:
    """Return where values stand on the x axis: numbers by size, logarithmic if they spread wide, texts side by side."""
    numbers = [float(v) for v in values if isinstance(v, int | float)]
    if len(numbers) < len(values) or not np.isfinite(numbers).all():
        axes.set_xticks(range(len(values)), [_short(value) for value in values])
        return np.arange(len(values), dtype=float)
    wide = min(numbers) > 0 and max(numbers) / min(numbers) >= WIDE
    if wide:
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
    if wide or len(values) <= MOST_TICKS:
        every = -(-len(values) // MOST_TICKS)
        axes.set_xticks(numbers[::every], [_short(value) for value in values[::every]])
    return np.array(numbers)


@dataclass(frozen=True)
class Heat:
    """The scores of one scheme over two settings.

    Attributes:
        means: mean scores, (second setting, first setting); NaN where there is no run, or a failed one.
        best: (row, column) of the best point of all, if it is one of this scheme's.
        among: points that are not shown to be worse than the best.
    """

    means: np.ndarray
    best: tuple[int, int] | None = None
    among: tuple[tuple[int, int], ...] = ()


def setting_heat(
    panels: Mapping[str, Heat], first: tuple[str, Sequence[Any]], second: tuple[str, Sequence[Any]], *, label: str,
    title: str, caption: str = "",
) -> Figure:  # fmt: skip
    """Draw the mean scores over two settings, one panel for each scheme, all by one scale of colours.

    Args:
        panels: scheme to its scores.
        first: name and values of the setting along x.
        second: name and values of the setting along y.
        label: the metric, with its unit.
        title: title, which must name the data set or world.
        caption: a further sentence below the figure.

    Raises:
        ValueError: there is no panel, or a shape does not match.
    """
    if not panels:
        raise ValueError("there are no schemes to draw")
    for scheme, heat in panels.items():
        if heat.means.shape != (len(second[1]), len(first[1])):
            raise ValueError(f"means of {scheme!r} have shape {heat.means.shape}, not (second setting, first setting)")
    across = min(3, len(panels))
    down = -(-len(panels) // across)
    whole = np.concatenate([heat.means.ravel() for heat in panels.values()])
    known = whole[np.isfinite(whole)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    shown = (
        "Star: the best point; dots: not shown to be worse. " if any(h.best or h.among for h in panels.values()) else ""
    )
    words = f"Mean over seeds. {shown}Blank: no run, or a failed one. {caption}"
    with mpl.rc_context(RC):
        width = COLUMN_IN if across == 1 else TEXT_IN
        figure = new_figure(width, 0.4 + 1.9 * down, title, words.strip())
        grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
        drawn: Any = None
        for axes, (scheme, heat) in zip(grid.flat, panels.items(), strict=False):
            drawn = axes.pcolormesh(np.ma.masked_invalid(heat.means), cmap="cividis", vmin=low, vmax=high)
            _mark(axes, heat)
            axes.set_title(wrap(scheme, width / across, 8))
            _ticks(axes, first[1], second[1])
            axes.grid(False)
        for axes in grid[:, 0]:
            axes.set_ylabel(second[0])
        for j, axes in enumerate(grid.flat):
            if j >= len(panels):
                axes.remove()
            elif j + across >= len(panels):  # the last of its column
                axes.set_xlabel(first[0])
                axes.tick_params("x", labelbottom=True)
        figure.colorbar(drawn, ax=list(grid.flat[: len(panels)]), label=wrap(label, 1.5 * down, 8), pad=0.02)
    return figure


def _mark(axes: Axes, heat: Heat) -> None:
    halo = {"markeredgecolor": "black", "markeredgewidth": 0.6, "color": "white"}
    for row, column in heat.among:
        axes.plot(column + 0.5, row + 0.5, "o", markersize=3.0, **halo)
    if heat.best is not None:
        axes.plot(heat.best[1] + 0.5, heat.best[0] + 0.5, "*", markersize=8.0, **halo)


def _ticks(axes: Axes, first: Sequence[Any], second: Sequence[Any]) -> None:
    """Label cells by their values; of many, every second, third, ..."""
    for values, set_ticks in ((first, axes.set_xticks), (second, axes.set_yticks)):
        every = -(-len(values) // MOST_TICKS)
        set_ticks(np.arange(len(values))[::every] + 0.5, [_short(value) for value in values[::every]])
    if max(len(_short(value)) for value in first) * min(len(first), MOST_TICKS) > 24:
        axes.tick_params("x", rotation=45)


def _short(value: Any) -> str:
    text = f"{value:.3g}" if isinstance(value, float) else str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
