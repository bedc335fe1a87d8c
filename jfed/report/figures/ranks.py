"""Critical-difference diagram: mean ranks on a line, and bars that join schemes Nemenyi's test does not separate."""

import math

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jfed.comparisons.comparison import Comparisons
from jfed.report.figures.style import COLUMN_IN, RC, TEXT_IN, new_figure, row_height, wrap
from jfed.results.meaning import axis
from jfed.stats.omnibus import cliques, critical_difference

_ROW_IN = 0.17  # height of a row of labels, inches


def rank_diagram(comparisons: Comparisons, title: str, *, name: str | None = None) -> Figure:
    """Draw each scheme's mean rank over seeds, 1 is best, and join those closer than the critical difference.

    Args:
        comparisons: from `compare`, of at least three schemes on common seeds.
        title: title, which must name the data set or world.
        name: the metric in words, as in `forest`.

    Raises:
        ValueError: `comparisons` has no ranks.

    Source: Demsar (2006), Statistical comparisons of classifiers over multiple data sets, whose rows are data sets;
    here they are seeds (`jfed.stats.omnibus`).
    """
    found = comparisons.omnibus
    if found is None:
        raise ValueError("ranks need at least three schemes that finished at least two seeds in common")
    cd = critical_difference(found.n, found.k, comparisons.alpha)
    names = [wrap(scheme, 1.9, 7) for scheme, _, _ in comparisons.schemes]
    row_in = row_height(names, _ROW_IN)
    order = sorted(range(found.k), key=lambda i: found.mean_ranks[i])
    ranks = [found.mean_ranks[i] for i in order]
    bars = [group for group in cliques(ranks, cd) if len(group) > 1]
    p = "undefined" if math.isnan(found.p_f) else "< 1e-4" if found.p_f < 1e-4 else f"{found.p_f:.2g}"
    caption = (
        f"Mean rank over {found.n} seeds of {name or axis(comparisons.metric)}, 1 is best. Bars: schemes less than the"
        f" critical difference of {cd:.2f} apart (Nemenyi, {100 * comparisons.alpha:g} %). Friedman p {p}. Seeds of one"
        " data set are not independent data sets."
    )
    sides = (found.k + 1) // 2
    with mpl.rc_context(RC):
        height = 0.35 + 0.09 * len(bars) + row_in * sides
        figure = new_figure(COLUMN_IN if max(map(len, names)) <= 22 else TEXT_IN, height, title, caption)
        axes = figure.subplots()
        _scale(axes, found.k, height)
        for level, group in enumerate(bars):
            ends = [ranks[group[0]] - 0.04, ranks[group[-1]] + 0.04]
            y = -0.12 - 0.09 * level
            axes.plot(ends, [y, y], color="black", linewidth=2.2, solid_capstyle="butt")
        below = -0.12 - 0.09 * len(bars)
        for place, i in enumerate(order):
            left = place < sides
            row = place if left else found.k - 1 - place
            y, end = below - row_in * (row + 0.5), 0.6 if left else found.k + 0.4
            axes.plot([ranks[place], ranks[place], end], [0, y, y], color="#555555", linewidth=0.7)
            label = f"{names[i]}  {ranks[place]:.2f}" if left else f"{ranks[place]:.2f}  {names[i]}"
            axes.text(end, y, f" {label} ", ha="right" if left else "left", va="center", fontsize=7)
    return figure


def _scale(axes: Axes, k: int, height: float) -> None:
    """Draw the line of ranks on top; the y axis is in inches below it."""
    axes.plot([1, k], [0, 0], color="black", linewidth=0.8)
    for rank in range(1, k + 1):
        axes.plot([rank, rank], [0, 0.05], color="black", linewidth=0.8)
        axes.text(rank, 0.07, str(rank), ha="center", va="bottom", fontsize=7)
    axes.set_xlim(0.6 - 0.45 * k / 2, k + 0.4 + 0.45 * k / 2)
    axes.set_ylim(0.25 - height, 0.25)
    axes.axis("off")
