"""Figures drawn again from the numbers that they show."""

from pathlib import Path

from matplotlib.figure import Figure

from jfed.core.errors import require
from jfed.report.figures.curves import draw_curves
from jfed.report.figures.heat import draw_shares
from jfed.report.figures.numbers import Numbers, read
from jfed.report.figures.plots import draw_boxes

KINDS = {"curves": draw_curves, "boxes": draw_boxes, "shares": draw_shares}


def redraw(source: Numbers | str | Path) -> Figure:
    """Return the figure that shows these numbers, by the present style and width.

    Args:
        source: the numbers, or the CSV file that stands beside a saved figure.

    Raises:
        ConfigError: the file is none of those, or of a kind that this version does not draw.
    """
    numbers = source if isinstance(source, Numbers) else read(source)
    require(numbers.kind in KINDS, f"A figure of kind {numbers.kind!r} cannot be drawn; known are {', '.join(KINDS)}.")
    return KINDS[numbers.kind](numbers)
