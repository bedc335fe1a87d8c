"""Figures drawn again from the numbers that they show."""

from pathlib import Path

from matplotlib.figure import Figure

from jfed.core.errors import ConfigError, require
from jfed.report.figures.curves import draw_curves
from jfed.report.figures.heat import draw_shares
from jfed.report.figures.numbers import read
from jfed.report.figures.plots import draw_boxes

KINDS = {"curves": draw_curves, "boxes": draw_boxes, "shares": draw_shares}


def redraw(path: str | Path) -> Figure:
    """Return the figure that shows the numbers of a file, in the present style and width.

    Args:
        path: the CSV file that stands beside a saved figure.

    Raises:
        ConfigError: there is no such file, or it is none of those, or of a kind that this version does not draw.
    """
    numbers = read(path)
    known = isinstance(numbers.kind, str) and numbers.kind in KINDS
    require(known, f"A figure of kind {numbers.kind!r} cannot be drawn; known are {', '.join(KINDS)}.")
    try:
        return KINDS[numbers.kind](numbers)
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{path} lacks something of a figure of kind {numbers.kind!r}: {error}.") from error
