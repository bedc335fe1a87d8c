"""Figures of one result each: boxes by client class, and paired differences with their intervals.

Curves over rounds are in `jfed.report.figures.curves`, sizes and colours in `jfed.report.figures.style`.
"""

import math
from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jfed.comparisons.compare import Comparison, Comparisons
from jfed.report.figures.curves import draw_lines, lines, stacked_lines
from jfed.report.figures.style import COLUMN_IN, PALETTE, RC, TEXT_IN, new_figure, save, wrap

__all__ = ["box_by_class", "draw_lines", "forest", "lines", "save", "stacked_lines"]

_GREY = "#777777"
_VERDICTS = {"better": (PALETTE[0], "o"), "worse": (PALETTE[1], "s")}  # all others: grey, hollow


def box_by_class(panels: Mapping[str, Mapping[str, np.ndarray]], ylabel: str, title: str) -> Figure:
    """Draw one panel per scheme with one box per client class, as in Fig. 3 of E3CS.

    Boxes cover the middle half, whiskers reach to the farthest value within 1.5 box lengths, and
    points are values beyond.

    Args:
        panels: scheme to class to values, for instance how often each client of that class was
            selected, seeds pooled. Any shape; it is flattened.
        ylabel: label of the y axis, with its unit.
        title: title, which must name the data set or world.

    Raises:
        ValueError: there is no panel, a class has no values, or a value is not finite.
    """
    if not panels:
        raise ValueError("there are no schemes to draw")
    boxes = {s: {c: np.ravel(v) for c, v in by.items()} for s, by in panels.items()}
    for scheme, by_class in boxes.items():
        for name, values in by_class.items():
            if values.size == 0 or not np.isfinite(values).all():
                raise ValueError(f"class {name!r} of {scheme!r} has no values, or one that is not finite")

    across = min(4, len(boxes))
    down = math.ceil(len(boxes) / across)
    caption = "Box: quartiles and median; whiskers: within 1.5 box lengths; points: beyond."
    with mpl.rc_context(RC):
        width = TEXT_IN if across > 2 else COLUMN_IN
        figure = new_figure(width, 1.5 * down, title, caption)
        grid = figure.subplots(down, across, sharey=True, squeeze=False)
        for axes, (scheme, by_class) in zip(grid.flat, boxes.items(), strict=False):
            _boxes(axes, by_class)
            axes.set_title(scheme)
        for axes in grid.flat[len(boxes) :]:
            axes.remove()
        figure.supylabel(wrap(ylabel, 1.5 * down, 8), fontsize=8)
    return figure


def forest(comparisons: Comparisons, title: str) -> Figure:
    """Draw each difference with its intervals, one row per comparison, first row on top.

    The thin line is the family's interval, the thick line the pointwise one; the marker is the mean difference. A
    difference that is the same on every seed has no interval and is labelled "constant".

    Args:
        comparisons: from `compare`.
        title: title, which must name the data set or world.
    """
    rows, baseline = comparisons.rows, comparisons.baseline
    labels = [row.scheme if baseline else f"{row.scheme} – {row.reference}" for row in rows]
    level = f"{100 * (1 - comparisons.alpha):g} %"
    sizes = sorted({row.n for row in rows})
    n = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    thin = f"simultaneous {level} interval over {comparisons.family} comparisons"
    if comparisons.correction == "bh":
        thin = f"{level} interval, on average over the differences shown"
    caption = f"Thin: {thin}. Thick: pointwise {level}. n = {n}"
    unit = "seeds" if comparisons.design == "paired" else "runs"
    caption += f" {unit}." if comparisons.paired else " runs, not paired."
    better = "higher" if comparisons.higher_is_better else "lower"
    what = comparisons.metric + (f" minus {baseline}" if baseline else ", first minus second")
    with mpl.rc_context(RC):
        width = COLUMN_IN if max(map(len, labels)) <= 22 else TEXT_IN
        figure = new_figure(width, 0.5 + 0.22 * len(rows), title, caption)
        axes = figure.subplots()
        for y, row in enumerate(rows):
            _whisker(axes, y, row)
        axes.axvline(0, color="black", linewidth=0.7, zorder=1)
        axes.set_yticks(range(len(rows)), labels)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.grid(False, axis="y")
        axes.set_xlabel(wrap(f"{what} ({better} is better)", 0.8 * width, 8))
        verdicts = axes.secondary_yaxis("right")
        verdicts.set_yticks(range(len(rows)), list(map(_verdict, rows)))
        verdicts.tick_params(length=0)
        verdicts.spines["right"].set_visible(False)
    return figure


def _boxes(axes: Axes, by_class: dict[str, np.ndarray]) -> None:
    drawn = axes.boxplot(
        list(by_class.values()),
        tick_labels=list(by_class),
        widths=0.6,
        patch_artist=True,
        medianprops={"color": "black", "linewidth": 1.0},
        whiskerprops={"linewidth": 0.7},
        capprops={"linewidth": 0.7},
        flierprops={"marker": ".", "markersize": 2.5, "markeredgecolor": _GREY},
    )
    for patch in drawn["boxes"]:
        patch.set(facecolor="#9CC9E3", linewidth=0.7)
    axes.grid(False, axis="x")


def _whisker(axes: Axes, y: int, row: Comparison) -> None:
    color, marker = _VERDICTS.get(row.verdict, (_GREY, "o"))
    filled = color if row.verdict in _VERDICTS else "white"
    if math.isnan(row.difference):
        return
    if not math.isnan(row.low):
        axes.plot([row.low, row.high], [y, y], color=color, linewidth=0.9, zorder=2)
        axes.plot(
            [row.pointwise_low, row.pointwise_high],
            [y, y],
            color=color,
            linewidth=2.6,
            solid_capstyle="butt",
            zorder=2,
        )
        axes.plot([row.low, row.high], [y, y], "|", color=color, markersize=5, zorder=3)
    axes.plot([row.difference], [y], marker, mfc=filled, mec=color, markersize=5, zorder=5)


def _verdict(row: Comparison) -> str:
    return f"constant: {row.verdict}" if row.t_note == "constant difference" else row.verdict
