"""Style of figures: sizes, fonts, and marks that can be told apart without colour."""

import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

COLUMN_IN = 3.5  # one column of a two-column paper, inches
TEXT_IN = 7.16  # both columns

# Okabe and Ito (2008), Color universal design; yellow darkened, since it vanishes on white paper.
PALETTE = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#000000",
    "#56B4E9",
    "#E69F00",
    "#B8A800",
)
# Lengths 8, 5 and 9 are pairwise coprime, so that 360 curves have different marks.
DASHES = ("-", (0, (5, 1.5)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)), (0, (3, 1, 1, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")

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
}


@dataclass(frozen=True)
class Mark:
    """The look of one curve.

    Attributes:
        color: colour.
        dash: line style, matplotlib's name or (offset, on-off lengths).
        marker: marker.
    """

    color: str
    dash: Any
    marker: str

    def line(self, label: str) -> Line2D:
        """Return the curve's legend entry."""
        return Line2D([], [], color=self.color, linestyle=self.dash, marker=self.marker, label=label)


def mark(index: int) -> Mark:
    """Return the mark of the index-th scheme of a figure."""
    return Mark(PALETTE[index % len(PALETTE)], DASHES[index % len(DASHES)], MARKERS[index % len(MARKERS)])


@dataclass(frozen=True)
class Legend:
    """One legend for all panels.

    Attributes:
        labels: labels of the curves; the i-th has `mark(i)`.
    """

    labels: tuple[str, ...]

    @property
    def columns(self) -> int:
        """Return the number of legend columns that fit one column of a paper."""
        longest = max(map(len, self.labels))
        return min(len(self.labels), 1 if longest > 24 else 2 if longest > 12 else 3)

    @property
    def rows(self) -> int:
        """Return the number of lines of text."""
        return -(-len(self.labels) // self.columns)

    def draw(self, figure: Figure, top: float) -> Artist:
        """Draw the legend below `top`, a fraction of the figure's height."""
        handles = [mark(i).line(label) for i, label in enumerate(self.labels)]
        return figure.legend(
            handles=handles,
            loc="upper center",
            bbox_to_anchor=(0.5, top),
            ncols=self.columns,
            handlelength=3,
            borderaxespad=0,
        )


def new_figure(
    width_in: float, height_in: float, title: str, caption: str = "", legend: Legend | None = None
) -> Figure:
    """Return an empty figure with title, legend and caption, made without pyplot or a window.

    Call it, and draw, inside `mpl.rc_context(RC)`. `height_in` is the height of the panels. The title
    and legend above them and the caption below have strips of their own: matplotlib's constrained
    layout lets a title and a legend outside the axes overlap.
    """
    title, caption = wrap(title, width_in, 9), wrap(caption, width_in, 6.5)
    title_in = 0.06 + 0.15 * len(title.splitlines())
    legend_in = 0.06 + 0.145 * legend.rows if legend else 0.0
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
    letter_in = 0.55 * points / 72  # DejaVu Sans, on average
    whole = text.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")  # "k = 8" stays on one line
    return textwrap.fill(whole, max(8, int(length_in / letter_in)))


def save(figure: Figure, directory: str | Path, stem: str) -> list[Path]:
    """Write `<stem>.png` (200 dots per inch) and `<stem>.pdf` into `directory`, and return the paths.

    No date is written, so the same figure gives the same files.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    png, pdf = directory / f"{stem}.png", directory / f"{stem}.pdf"
    with mpl.rc_context(RC):
        figure.savefig(png, dpi=200)
        figure.savefig(pdf, metadata={"CreationDate": None})
    return [png, pdf]
