"""Differences between schemes with their intervals, a row per comparison."""

import math
from collections.abc import Sequence

import numpy as np
from bokeh.models import HoverTool, Range1d, Scatter, Segment, Span

from jfed.comparisons.comparison import Comparison, Comparisons
from jfed.report.page.parts import Picture
from jfed.report.page.style import ROW, axes, role, source
from jfed.report.page.words import capital
from jfed.results.meaning import score_name

MOST_ROWS = 60
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
    labels = [row.scheme if found.baseline else f"{row.scheme} – {row.reference}" for row in rows]
    better = "higher" if found.higher_is_better else "lower"
    minus = f"scheme minus {found.baseline}" if found.baseline else "first minus second"
    made = axes(
        f"{minus}\n({better} is better)", "", 96 + ROW * len(rows), y_range=labels[::-1], x_range=_around_zero(rows)
    )  # fmt: skip
    made.yaxis.axis_label = None
    made.ygrid.visible = False
    level = f"{100 * (1 - found.alpha):g} %"
    made.add_layout(Span(location=0, dimension="height", line_width=1, tags=role("ink")))
    hovered = []
    for verdict in dict.fromkeys(row.verdict for row in rows):
        own = [(label, row) for label, row in zip(labels, rows, strict=True) if row.verdict == verdict]
        columns = {
            "scheme": [label for label, _ in own],
            "verdict": [verdict] * len(own),
            "n": np.array([row.n for _, row in own]),
            **{
                name: np.array([getattr(row, name) for _, row in own], float)
                for name in ("difference", "low", "high", "pointwise_low", "pointwise_high")
            },
        }
        data = source("comparisons", columns)
        color, marker = LOOKS.get(verdict, ("neutral", "circle"))
        tags = role(color)
        for low, high, width in (("low", "high", 1.2), ("pointwise_low", "pointwise_high", 4)):
            ends = Segment(x0=low, x1=high, y0="scheme", y1="scheme", line_width=width)
            made.add_glyph(data, ends, tags=tags)
        point = Scatter(x="difference", y="scheme", size=10, marker=marker, line_width=1.6)
        hovered.append(made.add_glyph(data, point, tags=tags if verdict in LOOKS else role("hollow")))
    tips = [("", "@scheme"), ("difference", "@difference{0.[00000]}"), (f"{level} interval", "@low{0.[00000]} to"
            " @high{0.[00000]}"), ("verdict", "@verdict"), ("n", "@n")]  # fmt: skip
    made.add_tools(HoverTool(renderers=hovered, tooltips=tips))
    shown = capital(", ".join(filter(None, (score_name(found.metric), title))))
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
