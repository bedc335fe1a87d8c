"""The numbers that a figure shows: a CSV file beside it, from which it can be drawn again without the runs."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from jfed.core.errors import ConfigError, require
from jfed.results.store import writing

MARK = "# "  # begins the first line of the file, which holds the words
_NAME = "jfed_numbers"
TEXTS = ("panel", "curve", "scheme", "class", "what")  # columns of names


@dataclass(frozen=True)
class Numbers:
    """The words and numbers that a figure shows.

    Attributes:
        kind: which function draws it; see `jfed.report.figures.redraw`.
        words: title, labels and caption, and whatever else of it is no number.
        frame: the numbers, one row per point of a curve, per box, or per client.
    """

    kind: str
    words: Mapping[str, Any]
    frame: pd.DataFrame

    def write(self, path: str | Path, digits: int = 10) -> None:
        """Write a CSV file with the words, as JSON, in a first line that begins with #.

        Args:
            path: the file.
            digits: significant digits of the numbers.

        Raises:
            StorageError: the file cannot be written.
        """
        with writing(Path(path), "The table of a figure") as part, part.open("w", newline="", encoding="utf-8") as file:
            file.write(MARK + json.dumps({"kind": self.kind, **self.words}) + "\n")
            self.frame.to_csv(file, index=False, float_format=f"%.{digits}g", lineterminator="\n")


def read(path: str | Path) -> Numbers:
    """Return the numbers of a file that `Numbers.write` wrote.

    Raises:
        ConfigError: there is no such file, or it is not one of a figure.
    """
    require(Path(path).is_file(), f"There is no file {path}.")
    refused = f"{path} does not begin with the words of a figure, or holds no numbers below them."
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            words = _words(file.readline())
            require("kind" in words, refused)
            frame = pd.read_csv(file, dtype=str, keep_default_na=False)  # a scheme or class may be called 0.1, or nan
    except ValueError as error:  # no text, or an empty table
        raise ConfigError(refused) from error
    for name in frame.columns.difference(TEXTS):
        frame[name] = pd.to_numeric(frame[name], errors="coerce")
    return Numbers(words.pop("kind"), words, frame)


def _words(line: str) -> dict[str, Any]:
    """Return the words of a first line; empty if it has none."""
    if not line.startswith(MARK):
        return {}
    try:
        found = json.loads(line.removeprefix(MARK))
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def shows(figure: Figure, numbers: Numbers) -> Figure:
    """Return a figure that carries what it shows, also to another process."""
    figure.__dict__[_NAME] = numbers
    return figure


def shown(figure: Figure) -> Numbers | None:
    """Return what a figure shows; None if it is of a kind that has tables instead, or was not drawn by jfed."""
    return figure.__dict__.get(_NAME)
