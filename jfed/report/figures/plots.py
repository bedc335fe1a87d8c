"""Figures of one result each: boxes by client class, and paired differences with their intervals.

Curves over rounds are in `jfed.report.figures.curves`, sizes and colours in `jfed.report.figures.style`.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cbook import boxplot_stats
from matplotlib.figure import Figure

from jfed.comparisons.compare import Comparison, Comparisons
from jfed.report.figures.curves import draw_lines, lines, stacked_lines
from jfed.report.figures.marks import PALETTE, marks
from jfed.report.figures.numbers import Numbers, shows
from jfed.report.figures.style import COLUMN_IN, RC, TEXT_IN, new_figure, row_height, save, width_of, wrap
from jfed.results.meaning import axis
from jfed.results.names import plain

__all__ = ["box_by_class", "draw_lines", "forest", "lines", "save", "stacked_lines"]

BOX = ("whislo", "q1", "med", "q3", "whishi")  # parts of a box, by matplotlib's names
_GREY = "#777777"
_VERDICTS = {"better": (PALETTE[0], "o"), "worse": (PALETTE[1], "s")}  # all others: grey, hollow


def box_by_class(
    panels: Mapping[str, Mapping[str, np.ndarray]],
    ylabel: str,
    title: str,
    *,
    xlabel: str = "class",
    schemes: Sequence[str] = (),
) -> Figure:
    """Draw one panel per scheme with one box per client class, as in Fig. 3 of E3CS.

    Boxes cover the middle half, whiskers reach to the farthest value within 1.5 box lengths, and
    points are values beyond. The caption says how many values a box has or, if that differs, its label does.

    Args:
        panels: scheme to class to values, for instance how often each client of that class was
            selected, seeds pooled. Any shape; it is flattened.
        ylabel: label of the y axis, with its unit.
        title: title, which must name the data set or world.
        xlabel: what the names of classes are, such as "success rate".
        schemes: as in `draw_lines`.

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

    sizes = {values.size for by in boxes.values() for values in by.values()}
    caption = "Box: quartiles and median; whiskers: within 1.5 box lengths; points: beyond."
    caption += f" n = {sizes.pop()} values in each box." if len(sizes) == 1 else " n: values in the box."
    words = {
        "title": title,
        "xlabel": xlabel,
        "ylabel": ylabel,
        "caption": caption,
        "told": bool(sizes),
        "panels": list(boxes),
        "schemes": list(schemes),
    }
    rows = [pd.DataFrame(_five(values)).assign(scheme=scheme, **{"class": name})
            for scheme, by_class in boxes.items() for name, values in by_class.items()]  # fmt: skip
    frame: Any = pd.concat(rows, ignore_index=True)
    return draw_boxes(Numbers("boxes", words, frame[["scheme", "class", "what", "value"]]))


def _five(values: np.ndarray) -> dict[str, Any]:
    """Return the number of values, their quartiles, the ends of the whiskers, and each value beyond, by their names."""
    (drawn,) = boxplot_stats(values)
    named = {"n": values.size, **{name: drawn[name] for name in BOX}}
    beyond = sorted(drawn["fliers"])
    return {"what": [*named, *["flier"] * len(beyond)], "value": [*map(float, named.values()), *beyond]}


def draw_boxes(numbers: Numbers) -> Figure:
    """Return the figure of `box_by_class` whose numbers these are."""
    words, rows = numbers.words, numbers.frame.groupby("scheme", sort=False)
    panels = words["panels"]
    width = width_of(TEXT_IN if len(panels) > 2 else COLUMN_IN)
    across = min(4 if width > COLUMN_IN else 2, len(panels))
    down = math.ceil(len(panels) / across)
    looks = marks(panels, words["schemes"])
    with mpl.rc_context(RC):
        figure = new_figure(width, 1.5 * down, words["title"], words["caption"])
        grid = figure.subplots(down, across, sharey=True, squeeze=False)
        for axes, scheme in zip(grid.flat, panels, strict=False):
            _boxes(axes, rows.get_group(scheme), looks[scheme].color, words["told"])
            axes.set_title(wrap(scheme, 0.9 * width / across, 8))
        for axes in grid.flat[len(panels) :]:
            axes.remove()
        for axes in grid.flat[across * (down - 1) : len(panels)]:
            axes.set_xlabel(words["xlabel"])
        figure.supylabel(wrap(words["ylabel"], 1.5 * down, 8), fontsize=8)
    return shows(figure, numbers)


def forest(comparisons: Comparisons, title: str, *, name: str | None = None) -> Figure:
    """Draw each difference with its intervals, one row per comparison, first row on top.

    The thin line is the family's interval, the thick line the pointwise one; the marker is the mean difference. A
    difference that is the same on every seed has no interval and is labelled "constant".

    Args:
        comparisons: from `compare`.
        title: title, which must name the data set or world.
        name: the metric in words, with its unit; by default those of a variable (`jfed.results.meaning`).
    """
    rows = comparisons.rows
    labels = [wrap(row_name(comparisons, row), 2.2, 7) for row in rows]
    level = f"{100 * (1 - comparisons.alpha):g} %"
    sizes = sorted({row.n for row in rows})
    n = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    thin = f"simultaneous {level} interval over {comparisons.family} comparisons"
    if comparisons.correction == "bh":
        thin = f"{level} interval, on average over the differences shown"
    caption = f"Thin: {thin}. Thick: pointwise {level}. n = {n}"
    unit = "seeds" if comparisons.design == "paired" else "runs"
    caption += f" {unit}." if comparisons.paired else " runs, not paired."
    with mpl.rc_context(RC):
        width = width_of(COLUMN_IN if max(map(len, labels)) <= 22 else TEXT_IN)
        figure = new_figure(width, 0.55 + row_height(labels, 0.22) * len(rows), title, caption)
        axes = figure.subplots()
        for y, row in enumerate(rows):
            _whisker(axes, y, row)
        axes.axvline(0, color="black", linewidth=0.7, zorder=1)
        axes.set_yticks(range(len(rows)), labels)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.grid(False, axis="y")
        axes.set_xlabel(difference_label(comparisons, name, 0.6 * width))
        verdicts = axes.secondary_yaxis("right")
        verdicts.set_yticks(range(len(rows)), list(map(_verdict, rows)))
        verdicts.tick_params(length=0)
        verdicts.spines["right"].set_visible(False)
    return figure


def row_name(comparisons: Comparisons, row: Comparison) -> str:
    """Return the label of a row of differences."""
    return plain(row.scheme if comparisons.baseline else f"{row.scheme} – {row.reference}")


def difference_label(comparisons: Comparisons, name: str | None, length_in: float) -> str:
    """Return the label of an axis of differences, in lines of at most about this length."""
    better = "higher" if comparisons.higher_is_better else "lower"
    baseline = comparisons.baseline
    minus = f"minus {baseline}" if baseline else "of the first minus the second"
    return wrap(f"{name or axis(comparisons.metric)} {minus} ({better} is better)", length_in, 8)


def _boxes(axes: Axes, rows: Any, color: str, told: bool) -> None:
    """Draw the boxes of a scheme; `told`: their labels say how many values they have."""
    drawn = []
    for name, own in rows.groupby("class", sort=False):
        of = own.set_index("what")["value"]
        label = f"{name}\nn = {int(of['n'])}" if told else str(name)
        fliers = own["value"][own["what"] == "flier"].to_numpy()
        drawn.append({"label": label, "fliers": fliers, **{part: of[part] for part in BOX}})
    boxes = axes.bxp(
        drawn,
        widths=0.6,
        patch_artist=True,
        medianprops={"color": "black", "linewidth": 1.0},
        whiskerprops={"linewidth": 0.7},
        capprops={"linewidth": 0.7},
        flierprops={"marker": ".", "markersize": 2.5, "markeredgecolor": _GREY},
    )
    for patch in boxes["boxes"]:
        patch.set(facecolor=(color, 0.4), linewidth=0.7)
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
