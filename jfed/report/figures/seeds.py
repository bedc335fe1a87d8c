"""A figure of each seed's difference between two schemes, one row per comparison."""

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jfed.comparisons.comparison import Comparison, Comparisons
from jfed.report.figures.marks import PALETTE
from jfed.report.figures.plots import difference_label, row_name
from jfed.report.figures.style import COLUMN_IN, RC, TEXT_IN, new_figure, row_height, width_of, wrap
from jfed.stats.intervals import t_interval
from jfed.stats.shape import outlying

_SPREAD = 0.26  # of a row's seeds around its middle, in rows


def seed_differences(comparisons: Comparisons, title: str, *, name: str | None = None) -> Figure:
    """Draw a dot for each seed's difference, one row per comparison, and above them the mean with its t interval.

    The interval is pointwise. A seed is named if it is an outlier by Grubbs' test (`jfed.stats.shape`). Seeds keep
    their order from top to bottom within a row, so that one that is odd for several schemes shows.

    Args:
        comparisons: from `compare`, of schemes paired by seed.
        title: title, which must name the data set or world.
        name: the metric in words, as in `forest`.

    Raises:
        ValueError: the runs are independent.
    """
    if not comparisons.paired:
        raise ValueError("independent runs have no difference of a seed")
    alpha = comparisons.alpha
    rows = [row for row in comparisons.rows if row.n]
    labels = [wrap(row_name(comparisons, row), 2.2, 7) for row in rows]
    sizes = sorted({row.n for row in rows})
    n = " to ".join(map(str, dict.fromkeys((sizes[0], sizes[-1])))) if sizes else "0"
    odd = any(outlying(row.scores_scheme - row.scores_reference) is not None for row in rows)
    named = "; named: outliers (Grubbs, 1 %)" if odd else ""
    caption = f"Dots: {n} seeds, in order from top to bottom{named}. Bar: mean with pointwise"
    caption += f" {100 * (1 - alpha):g} % t interval."
    if any(row.gaps for row in comparisons.rows):
        caption += " Failed and missing runs are left out."
    with mpl.rc_context(RC):
        width = width_of(COLUMN_IN if max(map(len, labels), default=0) <= 22 else TEXT_IN)
        figure = new_figure(width, 0.5 + row_height(labels, 0.32) * len(rows), title, caption)
        axes = figure.subplots()
        for y, row in enumerate(rows):
            _row(axes, y, row, alpha)
        axes.axvline(0, color="black", linewidth=0.7, zorder=1)
        axes.set_yticks(range(len(rows)), labels)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.margins(x=0.08)
        axes.grid(False, axis="y")
        axes.set_xlabel(difference_label(comparisons, name, 0.6 * width))
    return figure


def _row(axes: Axes, y: int, row: Comparison, alpha: float) -> None:
    d, n = row.scores_scheme - row.scores_reference, row.n
    heights = y + np.linspace(-_SPREAD, _SPREAD, n) if n > 1 else np.array([float(y)])
    axes.plot(d, heights, "o", color=PALETTE[0], alpha=0.6, markersize=2.6, markeredgewidth=0, zorder=2)
    mean = float(d.mean())
    low, high = t_interval(mean, float(d.std(ddof=1)) if n > 1 else 0.0, n, 1 - alpha)
    axes.plot([low, high], [y, y], color=PALETTE[1], linewidth=1.4, solid_capstyle="butt", zorder=3)
    axes.plot([mean], [y], "|", color=PALETTE[1], markersize=9, markeredgewidth=1.6, zorder=3)
    at = outlying(d)
    if at is not None:
        left = d[at] > mean  # towards the middle, where there is room
        axes.annotate(
            f"{row.seeds[at]}",
            (d[at], heights[at]),
            xytext=(-3 if left else 3, 0),
            textcoords="offset points",
            ha="right" if left else "left",
            va="center",
            fontsize=6,
        )
