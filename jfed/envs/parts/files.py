"""Columns of numbers read from a csv or an npz file, checked, with a digest of their content."""

import csv
import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jfed.core.errors import DataError, reason


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of numbers, all finite.

    Attributes:
        path: the file.
        values: columns by name, equally long; the first is of whole numbers from 0.
        lines: number of each row's line in a csv file; rows of an npz file count from 0.
        word: word for a row in messages.
    """

    path: str
    values: dict[str, np.ndarray]
    lines: np.ndarray
    word: str

    def at(self, row: Any) -> str:
        """Return the place of a row in words."""
        return f"{self.path}, {self.word} {self.lines[row]}"

    @property
    def digest(self) -> str:
        """16 hexadecimal digits that identify the values, wherever they lie."""
        whole = hashlib.sha256()
        for name, column in self.values.items():
            whole.update(name.encode() + column.astype("<f8").tobytes())
        return whole.hexdigest()[:16]


def read(path: str | Path, names: Sequence[str]) -> Columns:
    """Return the named columns of a file: csv with a header, or npz with an array for each.

    Args:
        path: the file; its name ends in .csv or .npz.
        names: names of the columns; the first has the number of a client, from 0.

    Raises:
        DataError: the file cannot be read, lacks a column, holds an unknown one, or a value is no such number.
    """
    path = Path(path)
    try:
        there, found, lines = _npz(path) if path.suffix == ".npz" else _csv(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror or error}).") from error
    wanted = f"{', '.join(names[:-1])} and {names[-1]}"
    if sorted(there) != sorted(names):
        raise DataError(f"{path} must have the columns {wanted}, found {', '.join(there) or 'none'}.")
    word = "row" if path.suffix == ".npz" else "line"
    if len(lines) == 0:
        raise DataError(f"{path} has no rows: it must have the columns {wanted} and at least one row.")
    made = Columns(str(path), {name: found[name] for name in names}, lines, word)
    for name, column in made.values.items():
        for row in np.flatnonzero(~np.isfinite(column))[:1]:
            raise DataError(f"{made.at(row)}: {name} must be a finite number.")
    client = made.values[names[0]]
    for row in np.flatnonzero((client < 0) | (client != np.floor(client)))[:1]:
        raise DataError(f"{made.at(row)}: {names[0]} must be a whole number from 0, found {client[row]:g}.")
    return made


Read = tuple[list[str], dict[str, np.ndarray], np.ndarray]
"""Names of the columns as they stand in the file, the columns by name, and the lines or rows."""


def _csv(path: Path) -> Read:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            header = [name.strip() for name in next(reader, [])]
            rows = [(reader.line_num, row) for row in reader if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} is no csv file ({reason(error)}).") from error
    values = np.empty((len(rows), len(header)))
    for i, (line, row) in enumerate(rows):
        if len(row) != len(header):
            raise DataError(f"{path}, line {line}: there are {len(row)} values for {len(header)} columns.")
        values[i] = [_number(text) for text in row]
    return header, dict(zip(header, values.T, strict=True)), np.array([line for line, _ in rows], int)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _npz(path: Path) -> Read:
    try:
        with np.load(path, allow_pickle=False) as file:
            found: dict[str, Any] = {name: file[name] for name in file.files}
        columns = {name: array.astype(np.float64) for name, array in found.items()}
    except OSError:
        raise
    except Exception as error:  # whatever the readers of zip files and arrays raise
        why = reason(error)
        raise DataError(f"{path} is no npz file with arrays of numbers ({why}).") from error
    shapes = {array.shape for array in columns.values()}
    if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
        raise DataError(f"{path} must hold vectors of one length, found shapes {', '.join(map(str, sorted(shapes)))}.")
    return list(columns), columns, np.arange(next(iter(shapes))[0] if shapes else 0)
