"""Figures of standings: mean ranks with their intervals, and a map of who wins where."""

from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from jfed.comparisons.standings import Standings
from jfed.report.figures.style import RC, TEXT_IN, new_figure, wrap

ROW_IN = 0.17
CELL_IN = 0.34
MOST_NAMED = 3  # schemes in a cell of the map


def rank_intervals(found: Standings, title: str, *, name: str) -> Figure:
    """Draw each scheme's mean rank over all cells with its bootstrap interval, best first.

    Args:
        found: from `jfed.analysis.standings`.
        title: title, which must name what was compared.
        name: the metric in words.
    """
    names = [wrap(row.scheme, 2.0, 7) for row in found.rows]
    caption = (
        f"Mean rank by {name}; 1 is best. Bars: bootstrap intervals at {100 * (1 - found.alpha):g} % over the levels of"
        f" every factor, for each scheme alone. Right: share of resamples among the best {found.best}."
    )
    with mpl.rc_context(RC):
        figure = new_figure(TEXT_IN, 0.5 + ROW_IN * len(names), title, caption)
        axes = figure.subplots()
        places = np.arange(len(names))
        ranks = np.array([row.rank for row in found.rows])
        ends = np.array([[row.rank - row.rank_low, row.rank_high - row.rank] for row in found.rows]).T
        axes.errorbar(ranks, places, xerr=np.maximum(ends, 0), fmt="o", color="#0072b2", ecolor="#555555", elinewidth=1)
        baseline = next(row.rank for row in found.rows if row.scheme == found.baseline)
        axes.axvline(baseline, color="#999999", linewidth=0.8, linestyle="--", zorder=0)
        axes.set_yticks(places, names)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_xlim(0.5, len(names) + 0.5)
        axes.set_xlabel(f"mean rank (dashed: {found.baseline})")
        for place, row in zip(places, found.rows, strict=True):
            axes.annotate(
                f"{100 * row.among_best:.0f} %", (1.01, place), xycoords=("axes fraction", "data"), va="center",
                fontsize=7,
            )  # fmt: skip
    return figure


def winners_map(found: Standings, along: str, down: str, title: str, *, name: str) -> Figure:
    """Draw a map of cells with the names of the best schemes, coloured by the lead over the baseline.

    Args:
        found: from `jfed.analysis.standings`, with two factors beside the seed.
        along: factor whose levels are the columns.
        down: factor whose levels are the rows.
        title: title, which must name what was compared.
        name: the metric in words.
    """
    columns, rows = ([*dict.fromkeys(found.cells[factor])] for factor in (along, down))
    lead = np.empty((len(rows), len(columns)))
    words = [[""] * len(columns) for _ in rows]
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            here: Any = found.cells[(found.cells[down] == row) & (found.cells[along] == column)]
            own = here.sort_values("rank")
            means = dict(zip(own["scheme"], own["mean"], strict=True))
            gain = own["mean"].iloc[0] - means[found.baseline]
            lead[i, j] = gain if found.higher_is_better else -gain
            words[i][j] = "\n".join(own["scheme"].iloc[:MOST_NAMED])
    caption = (
        f"The {MOST_NAMED} best schemes of each cell by the mean of {name}, best first; colour: lead of the first over"
        f" {found.baseline}. A name is no verdict: neighbours may differ by noise."
    )
    with mpl.rc_context(RC):
        figure = new_figure(TEXT_IN, 0.5 + CELL_IN * len(rows), title, caption)
        axes = figure.subplots()
        most = max(float(lead.max()), 1e-12)
        drawn = axes.pcolormesh(lead, cmap="YlGn", vmin=0.0, vmax=most)
        for i in range(len(rows)):
            for j in range(len(columns)):
                dark = lead[i, j] > 0.8 * most  # where white has the better contrast
                axes.text(j + 0.5, i + 0.5, words[i][j], ha="center", va="center", fontsize=6,
                          color="white" if dark else "black", linespacing=1.15)  # fmt: skip
        axes.set_xticks(np.arange(len(columns)) + 0.5, [wrap(str(column), 1.2, 7) for column in columns])
        axes.set_yticks(np.arange(len(rows)) + 0.5, [wrap(str(row), 1.2, 7) for row in rows])
        axes.invert_yaxis()
        axes.grid(False)
        figure.colorbar(drawn, ax=axes, label=f"lead over {found.baseline}", pad=0.02)
    return figure
