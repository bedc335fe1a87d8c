"""A text file split into cells: its encoding, its separator, and lines with a wrong number of fields."""

import codecs
import collections
import contextlib
import csv
import io
import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from jfed.core.errors import shown
from jfed.results.anycsv.keys import count_known
from jfed.results.names import plain

SEPARATORS = (",", ";", "\t", "|")
MOST_COLUMNS = 10_000
SAMPLE = 100  # lines that decide the separator
_END = "\0end"  # a line after the last one: a quotation mark that is never closed swallows it


class Cells(NamedTuple):
    """A table of text, without blanks around cells, and without signs in them that nobody sees.

    Attributes:
        path: the file, for messages.
        header: names of the columns, each once; a column may have no name ("").
        columns: cells of each column, a list per column.
        lines: line of each row in the file, counted from 1.
        separator: what separates cells.
    """

    path: Path
    header: list[str]
    columns: list[list[str]]
    lines: list[int]
    separator: str

    def column(self, name: str) -> list[str]:
        """Return the cells of the column with this name."""
        return self.columns[self.header.index(name)]


def read_cells(path: Path) -> Cells:
    """Return the cells of a table whose first line holds the names; comments (#) may stand above it.

    Cells are separated by comma, semicolon, tab or vertical bar, and may be quoted. Empty lines are left out.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is no such table; the message names the line.
    """
    lines = list(io.StringIO(_text(path), newline=""))
    top = next((i for i, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")), None)
    if top is None:
        raise ValueError(f"{path} is empty: a table has names in its first line and a row per run")
    told = re.fullmatch(r'"?sep=([,;|\t])"?', lines[top].rstrip("\r\n"))  # spreadsheets write it above the header
    top += 1 if told else 0
    separator = told[1] if told else _separator(lines[top : top + SAMPLE])
    numbers, rows = _rows(path, lines, top, separator)
    if not rows:
        raise ValueError(f"{path} is empty: a table has names in its first line and a row per run")
    header, place = _seen(rows.pop(0)), numbers.pop(0)
    if len(header) > MOST_COLUMNS:
        raise ValueError(f"{path} has {len(header):,} columns in line {place}: a table has {MOST_COLUMNS:,} at most")
    times = collections.Counter(header)
    twice = next((name for name in header if name and times[name] > 1), None)
    if twice:
        raise ValueError(f"{path}: the column {shown(twice)} is {times[twice]} times in the header (line {place})")
    for number, row in zip(numbers, rows, strict=True):
        if len(row) != len(header):
            fields = f"{len(row)} field{'s' if len(row) > 1 else ''}"
            raise ValueError(f"{path}: line {number} has {fields}, the header has {len(header)}")
    if not rows:
        raise ValueError(f"{path} has a header, but no rows")
    return Cells(path, header, [_seen(column) for column in zip(*rows, strict=True)], numbers, separator)


def _seen(cells: Sequence[str]) -> list[str]:
    """Return cells as a reader sees them: two names that look the same are the same, and can be typed."""
    if "".join(cells).isprintable():
        return list(map(str.strip, cells))
    return [plain(cell).replace("\N{NO-BREAK SPACE}", " ").strip() for cell in cells]


def _text(path: Path) -> str:
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        where = f"{path}: line {line} is" if b"\0" not in data else f"{path} is"
        raise ValueError(f"{where} not text in UTF-8: write the table as CSV in UTF-8") from None
    if "\0" in text:
        raise ValueError(f"{path} is not text in UTF-8: write the table as CSV in UTF-8")
    return text


def _rows(path: Path, lines: list[str], top: int, separator: str) -> tuple[list[int], list[tuple[str, ...]]]:
    """Return the rows from line `top` on that are not empty, each with the number of its first line."""
    reader = csv.reader(itertools.chain(lines[top:], [_END]), delimiter=separator, skipinitialspace=True)
    numbers, rows = [top + 1], []
    try:
        for row in reader:
            numbers.append(top + reader.line_num + 1)
            rows.append(tuple(row))  # in place of lists, which the garbage collector would visit again and again
    except csv.Error:
        size = f"{csv.field_size_limit():,} characters"
        raise ValueError(
            f"{path}: a field in line {numbers[-1]} has more than {size}: is a quotation mark open?"
        ) from None
    if rows.pop() != (_END,):
        raise ValueError(f"{path}: a quotation mark in line {numbers[-2]} is never closed")
    kept = [i for i, row in enumerate(rows) if any(row)]
    return [numbers[i] for i in kept], [rows[i] for i in kept]


def _separator(lines: Sequence[str]) -> str:
    """Return the separator that finds names of keys in the header, and as many fields in most lines as there."""

    def fits(separator: str) -> tuple[int, float, int]:
        rows: list[list[str]] = []
        with contextlib.suppress(csv.Error):  # a field too long: `_rows` says so
            rows.extend(row for row in csv.reader(lines, delimiter=separator, skipinitialspace=True) if any(row))
        size = len(rows[0]) if rows else 0
        if size < 2:
            return 0, 0.0, size
        return count_known(rows[0]), sum(len(row) == size for row in rows) / len(rows), size

    return max(SEPARATORS, key=fits)
