"""Marks of curves: colours, line styles and markers that belong to schemes and can be told apart without colour."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from matplotlib.lines import Line2D

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
    """Return the index-th of 360 marks."""
    return Mark(PALETTE[index % len(PALETTE)], DASHES[index % len(DASHES)], MARKERS[index % len(MARKERS)])


def marks(labels: Iterable[str], study: Iterable[str] = ()) -> dict[str, Mark]:
    """Return the mark of each label, which belongs to its scheme, not to its position.

    It is that of the scheme's place among all schemes of the study, sorted. What follows in brackets, such as a mode,
    is no part of a scheme: its variants share the colour and have line styles of their own.

    Args:
        labels: labels of a figure.
        study: schemes of all figures that belong together, in any order; those of the labels may be left out.
    """
    labels = list(labels)
    places = {name: i for i, name in enumerate(sorted({_scheme(label) for label in (*study, *labels)}))}
    found: dict[str, Mark] = {}
    for label in labels:
        own = mark(places[_scheme(label)])
        first = DASHES.index(own.dash)
        looks = [replace(own, dash=dash) for dash in (*DASHES[first:], *DASHES[:first])]
        taken = {(one.color, one.dash) for one in found.values()}
        found[label] = next((look for look in looks if (look.color, look.dash) not in taken), own)
    return found


def _scheme(label: str) -> str:
    return re.sub(r" \([^()]*\)$", "", label)
