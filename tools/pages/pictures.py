"""Pictures of the papers' pages, drawn from committed CSV files of the numbers that they show."""

import hashlib
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
from PIL import Image

from jfed.analysis import redraw
from jfed.report.figures.numbers import Numbers, read
from jfed.report.figures.style import RC
from jfed.results.store import writing

MOST, DIGITS = 100, 6  # points of a curve; digits of a number: far less than a dot of the picture
DOTS = 130  # per inch
SOURCE = "Source"  # of a picture's texts, the one with the digest of its numbers


def thinned(numbers: Numbers) -> Numbers:
    """Return numbers with at most 100 evenly spaced points of each curve."""
    if numbers.kind != "curves":
        return numbers
    places = numbers.frame.groupby(["panel", "curve"], sort=False).cumcount()
    whole = int(places.max()) + 1
    kept = np.linspace(0, whole - 1, min(whole, MOST)).round().astype(int)
    return replace(numbers, frame=numbers.frame[places.isin(kept)])


def take(source: Path, to: Path) -> None:
    """Copy the numbers of a figure, with fewer points and digits."""
    thinned(read(source)).write(to, DIGITS)


def digest(numbers: Path) -> str:
    """Return the digest of a file of numbers."""
    return hashlib.sha256(numbers.read_bytes()).hexdigest()[:16]


def drawn_from(picture: Path) -> str:
    """Return the digest of the numbers that a picture was drawn from; "" if there is no picture."""
    if not picture.exists():
        return ""
    with Image.open(picture) as image:
        return str(image.info.get(SOURCE, ""))


def draw(numbers: Path, picture: Path) -> bool:
    """Draw a picture, unless it was drawn from these numbers before; return whether it was drawn."""
    if drawn_from(picture) == digest(numbers):
        return False
    figure = redraw(numbers)
    with mpl.rc_context(RC), writing(picture, "The picture") as part:
        figure.savefig(part, format="png", dpi=DOTS, metadata={SOURCE: digest(numbers)})
    return True
