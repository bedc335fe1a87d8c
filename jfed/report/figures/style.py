"""Style of figures: sizes and fonts, the legend, and the strips around the panels."""

import math
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from jfed.report.figures.marks import Mark
from jfed.report.figures.numbers import shown
from jfed.results.names import plain
from jfed.results.store import writing

COLUMN_IN = 3.3  # one column of a two-column paper, inches
TEXT_IN = 7.0  # both columns
WIDTHS_IN = {"one": COLUMN_IN, "two": TEXT_IN}
Width = Literal["one", "two"]
_HANDLE_IN = 5.8 * 7 / 72  # of a legend's entry: its line, and the blanks around it

RC: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "figure.titlesize": 9,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.linewidth": 0.4,
    "grid.color": "#dddddd",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "pdf.fonttype": 42,  # TrueType: publishers refuse type 3
    "svg.hashsalt": "jfed",
    "text.parse_math": False,  # a scheme's name may hold dollar signs
}


@dataclass(frozen=True)
class Legend:
    """One legend for all panels, in the order of its labels.

    Attributes:
        marks: mark of each label.
    """

    marks: Mapping[str, Mark]

    def draw(self, figure: Figure, top: float) -> Artist:
        """Draw the legend below `top`, a fraction of the figure's height."""
        width = float(figure.get_size_inches()[0])
        return figure.legend(
            handles=[look.line(text) for look, text in zip(self.marks.values(), self._texts(width), strict=True)],
            loc="upper center",
            bbox_to_anchor=(0.5, top),
            ncols=self._columns(width),
            handlelength=3,
            borderaxespad=0,
        )

    def height_in(self, width_in: float) -> float:
        """Return the height of the legend in a figure of this width, in inches."""
        lines = [max(1, len(text.splitlines())) for text in self._texts(width_in)]
        return 0.06 + 0.145 * max(sum(column) for column in np.array_split(lines, self._columns(width_in)))

    def _texts(self, width_in: float) -> list[str]:
        # A blank before an underscore, since matplotlib leaves out labels that begin with one.
        return [wrap(re.sub("^_", " _", label), width_in - 0.5, 7) for label in self.marks]

    def _columns(self, width_in: float) -> int:
        """Return the number of columns of about equal length that fit."""
        longest = max((len(line) for text in self._texts(width_in) for line in text.splitlines()), default=1)
        most = max(1, int(width_in / (_length_in("x" * longest, 7) + _HANDLE_IN)))
        return math.ceil(len(self.marks) / math.ceil(len(self.marks) / most))


_WIDTH_IN: ContextVar[float | None] = ContextVar("_WIDTH_IN", default=None)  # None: each figure's own
_TITLES = ContextVar("_TITLES", default=True)


@contextmanager
def for_paper(width: Width | None = None, *, title: bool = True) -> Iterator[None]:
    """Make all figures of a `with` block one or two columns of a paper wide, or without their titles.

    Args:
        width: "one", 3.3 inches, or "two", 7 inches; None leaves each figure its own.
        title: whether figures have titles; a paper's caption has their words.

    Raises:
        ValueError: the width is unknown.
    """
    if width is not None and width not in WIDTHS_IN:
        raise ValueError(f"width must be {' or '.join(WIDTHS_IN)}, got {width!r}")
    tokens = _WIDTH_IN.set(None if width is None else WIDTHS_IN[width]), _TITLES.set(title)
    try:
        yield
    finally:
        _WIDTH_IN.reset(tokens[0])
        _TITLES.reset(tokens[1])


def width_of(usual_in: float) -> float:
    """Return the width of a figure in inches: the one that `for_paper` asks for, or the usual one."""
    return _WIDTH_IN.get() or usual_in


def new_figure(
    usual_in: float, height_in: float, title: str, caption: str = "", legend: Legend | None = None
) -> Figure:
    """Return an empty figure with title, legend and caption, made without pyplot or a window.

    Call it, and draw, inside `mpl.rc_context(RC)`. Its width is `width_of(usual_in)`, and `height_in` is the height of
    the panels. The title and legend above them and the caption below have strips of their own: matplotlib's constrained
    layout lets a title and a legend outside the axes overlap.
    """
    width_in = width_of(usual_in)
    title = wrap(title, width_in, 9) if _TITLES.get() else ""
    caption = wrap(caption, width_in, 6.5)
    title_in = 0.06 + 0.15 * len(title.splitlines())
    legend_in = legend.height_in(width_in) if legend else 0.0
    below_in = 0.04 + 0.11 * len(caption.splitlines())
    whole = height_in + title_in + legend_in + below_in

    figure = Figure(figsize=(width_in, whole))
    FigureCanvasAgg(figure)
    figure.set_layout_engine("constrained", rect=(0, below_in / whole, 1, height_in / whole))
    strips: list[Artist] = [
        figure.suptitle(title, y=1 - 0.03 / whole, va="top"),
        figure.text(0.05 / width_in, 0.03 / whole, caption, fontsize=6.5, color="#444444"),
    ]
    if legend:
        strips.append(legend.draw(figure, 1 - title_in / whole))
    for artist in strips:
        artist.set_in_layout(False)
    return figure


def wrap(text: str, length_in: float, points: float) -> str:
    """Break a text into lines of at most about `length_in` at a font size in points."""
    whole = plain(text).replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")  # "k = 8" stays on one line
    return textwrap.fill(whole, max(8, int(length_in / _length_in("x", points))))


def row_height(labels: Sequence[str], least_in: float) -> float:
    """Return the height of a row in inches that keeps labels of several lines apart."""
    return max([least_in, *(0.14 * (1 + label.count("\n")) for label in labels)])


def _length_in(text: str, points: float) -> float:
    """Return about the length of a text in DejaVu Sans at a font size in points, in inches."""
    return 0.55 * points / 72 * len(text)


def paths_of(figure: Figure, directory: str | Path, stem: str) -> list[Path]:
    """Return the paths of the files that `save` writes."""
    endings = ("png", "pdf", "csv") if shown(figure) else ("png", "pdf")
    return [Path(directory, f"{stem}.{ending}") for ending in endings]


def save(figure: Figure, directory: str | Path, stem: str) -> list[Path]:
    """Write `<stem>.png` (200 dots per inch) and `<stem>.pdf` into `directory`, and return the paths.

    Curves over rounds, boxes and selection maps also have a `<stem>.csv` of the numbers that they show, for `redraw`.
    No date is written, so the same figure gives the same files.

    Raises:
        StorageError: a file cannot be written.
    """
    paths = paths_of(figure, directory, stem)
    png, pdf, *csv = paths
    with mpl.rc_context(RC):
        with writing(png, "The figure") as part:
            figure.savefig(part, format="png", dpi=200)
        with writing(pdf, "The figure") as part:
            figure.savefig(part, format="pdf", metadata={"CreationDate": None})
    if (numbers := shown(figure)) is not None:
        numbers.write(csv[0])
    return paths
