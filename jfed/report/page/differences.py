"""Differences between schemes with their intervals, a row per comparison."""

import math
import textwrap
from collections.abc import Sequence

import numpy as np
from bokeh.models import FixedTicker, HoverTool, Range1d, Scatter, Segment, Span

from jfed.comparisons.comparison import Comparison, Comparisons
from jfed.report.page.parts import Picture
from jfed.report.page.style import ROW, axes, role, source
from jfed.report.page.words import capital
from jfed.results.meaning import score_name
from jfed.results.names import plain

MOST_ROWS = 60
LONGEST = 26  # characters of a line of a row's label, beside which a telephone still has room
MOST_LINES = 6  # of such a label; the rest is in the table
LINE = 16  # height of such a line, pixels
LOOKS = {"better": ("better", "circle"), "worse": ("worse", "square")}  # colour and marker; all others are hollow


def picture(found: Comparisons, title: str, file: str) -> Picture | None:
    """Return the figure of a family of comparisons; None if it has too many rows, or nothing to draw.

    Args:
        found: from `compare`.
        title: problem in words, "" if there is only one.
        file: name of the file of its data.
    """
    rows = [row for row in found.rows if not math.isnan(row.difference)]
    if not rows or len(rows) > MOST_ROWS:
        return None
    names = [plain(row.scheme if found.baseline else f"{row.scheme} – {row.reference}") for row in rows]
    labels = [textwrap.fill(name, LONGEST, max_lines=MOST_LINES, placeholder="…") for name in names]
    height = ROW + LINE * max(label.count("\n") for label in labels)
    better = "higher" if found.higher_is_better else "lower"
    minus = f"scheme minus {found.baseline}" if found.baseline else "first minus second"
    made = axes(
        f"{minus}\n({better} is better)", "", 96 + height * len(rows), x_range=_around_zero(rows),
        y_range=Range1d(start=len(rows) + 0.5, end=0.5),
    )  # fmt: skip
    made.yaxis.axis_label = None
    made.yaxis.ticker = FixedTicker(ticks=list(range(1, len(rows) + 1)))
    made.yaxis.major_label_overrides = dict(enumerate(labels, 1))
    made.ygrid.visible = False
    level = f"{100 * (1 - found.alpha):g} %"
    made.add_layout(Span(location=0, dimension="height", line_width=1, tags=role("ink")))
    hovered = []
    for verdict in dict.fromkeys(row.verdict for row in rows):
        own = [one for one in zip(range(1, len(rows) + 1), names, rows, strict=True) if one[2].verdict == verdict]
        columns = {
            "row": np.array([i for i, _, _ in own]),
            "scheme": [name for _, name, _ in own],
            "verdict": [verdict] * len(own),
            "n": np.array([row.n for _, _, row in own]),
            **{
                name: np.array([getattr(row, name) for _, _, row in own], float)
                for name in ("difference", "low", "high", "pointwise_low", "pointwise_high")
            },
        }
        data = source("comparisons", columns)
        color, marker = LOOKS.get(verdict, ("neutral", "circle"))
        tags = role(color)
        for low, high, width in (("low", "high", 1.2), ("pointwise_low", "pointwise_high", 4)):
            ends = Segment(x0=low, x1=high, y0="row", y1="row", line_width=width)
            made.add_glyph(data, ends, tags=tags)
        point = Scatter(x="difference", y="row", size=10, marker=marker, line_width=1.6)
        hovered.append(made.add_glyph(data, point, tags=tags if verdict in LOOKS else role("hollow")))
    tips = [("", "@scheme"), ("difference", "@difference{0.[00000]}"), (f"{level} interval", "@low{0.[00000]} to"
            " @high{0.[00000]}"), ("verdict", "@verdict"), ("n", "@n")]  # fmt: skip
    made.add_tools(HoverTool(renderers=hovered, tooltips=tips))
    shown = capital(plain(", ".join(filter(None, (score_name(found.metric), title)))))
    return Picture(f"{shown}: differences", _caption(found, level), made, file)


def _around_zero(rows: Sequence[Comparison]) -> Range1d:
    """Return the range of all intervals and 0, with a margin."""
    ends = [end for row in rows for end in (row.difference, row.low, row.high) if not math.isnan(end)]
    low, high = min(0.0, *ends), max(0.0, *ends)
    room = 0.05 * (high - low) or 1.0
    return Range1d(start=low - room, end=high + room)


def _caption(found: Comparisons, level: str) -> str:
    thin = f"simultaneous {level} interval over {found.family} comparisons"
    if found.correction == "bh":
        thin = f"{level} interval, on average over the differences shown"
    sizes = sorted({row.n for row in found.rows})
    n = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    unit = ("seeds" if found.design == "paired" else "runs") + ("" if found.paired else ", not paired")
    marks = "Filled circle: better; filled square: worse; hollow: neither is shown."
    return f"Thin: {thin}. Thick: pointwise {level}. {marks} n = {n} {unit}."
