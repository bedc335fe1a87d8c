"""Cells read as numbers: decimal marks, what counts as missing, and the cell that is no number."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from jfed.core.errors import shown
from jfed.results.anycsv.cells import Cells

MISSING = frozenset(("", "NA", "N/A", "NaN", "nan", "null", "None", "<NA>"))
_TRUTH = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")  # "1,234" is 1234 to some and 1.234 to others


def decimal_mark(columns: Sequence[Sequence[str]], metric: Sequence[str] = ()) -> str:
    """Return "," if the numbers have decimal commas for certain, else ".".

    They have if no number has a point, and not every comma could separate thousands.

    Args:
        columns: cells of each column; columns with other text do not count.
        metric: cells of which the numbers count even if some are text.
    """
    if not any("," in cell for column in columns for cell in column):
        return "."
    numbers = [column for column in columns if floats(column, ",") is not None]
    if floats(metric, ",") is None:
        numbers.append([cell for cell in metric if floats([cell], ",") is not None])
    commas = [cell for column in numbers for cell in column if "," in cell]
    points = any("." in cell for column in numbers for cell in column)
    return "," if commas and not points and not all(map(_THOUSANDS.fullmatch, commas)) else "."


def floats(cells: Sequence[str], mark: str) -> np.ndarray | None:
    """Return cells as floats, NaN where missing; None if one of them is text."""
    joined = "".join(cells)
    if "_" in joined:  # Python reads "1_000" as a number
        return None
    if mark == "," and "," in joined:
        cells = [cell.replace(",", ".") for cell in cells]
    try:
        return np.array([float(cell) if cell not in MISSING else np.nan for cell in cells])
    except ValueError:
        return None


def values(cells: Sequence[str], mark: str) -> Any:
    """Return cells as int64, float or bool if all of them are, else as text; a missing cell is NaN or None."""
    numbers = floats(cells, mark)
    if numbers is None:
        missing = set(MISSING)
        if all(cell in _TRUTH for cell in cells):
            return np.array([_TRUTH[cell] for cell in cells])
        if all(cell in _TRUTH or cell in missing for cell in cells):
            return [_TRUTH.get(cell) for cell in cells]
        return [None if cell in missing else cell for cell in cells]
    if set("".join(cells)) <= set("+-0123456789") and (np.abs(numbers) < 2.0**63).all():
        return np.array(list(map(int, cells)), np.int64)
    return numbers


def labels(cells: Sequence[str], mark: str) -> Any:
    """Return cells that name something, such as seeds: int64 if all are whole numbers, else text as written."""
    numbers = values(cells, mark)
    if isinstance(numbers, np.ndarray) and numbers.dtype == float and (np.abs(numbers) < 2.0**53).all():
        numbers = numbers.astype(np.int64) if (numbers == np.floor(numbers)).all() else numbers
    return numbers if isinstance(numbers, np.ndarray) and numbers.dtype == np.int64 else list(cells)


def logged(cells: Sequence[str]) -> np.ndarray:
    """Return whether each cell has a value, (rows,); NaN is the value of a run that broke."""
    return np.array([cell not in MISSING or cell in ("NaN", "nan") for cell in cells])


def require_numbers(table: Cells, name: str, mark: str) -> None:
    """Raise ValueError, naming the line, unless each cell of the column `name` is a number or missing."""
    cells = table.column(name)
    found = floats(cells, mark)
    if found is None and all(cell in _TRUTH for cell in cells):
        return
    if found is None:
        wrong = next(i for i, cell in enumerate(cells) if floats([cell], mark) is None)
        doubt = floats([cells[wrong]], ",") is not None
        why = "not a number" + (", since its comma may mark decimals or thousands" if doubt else "")
    else:
        wrong = next((i for i in np.flatnonzero(np.isinf(found)) if any(map(str.isdigit, cells[i]))), None)
        why = "which is too large"
    if wrong is not None:
        raise ValueError(f"{table.path}: line {table.lines[wrong]}: {name} is {shown(cells[wrong])}, {why}")


def require_filled(table: Cells, name: str, missing: Iterable[str] = MISSING) -> None:
    """Raise ValueError, naming the line, if a cell of the column `name` is missing."""
    missing = set(missing)
    empty = next((i for i, cell in enumerate(table.column(name)) if cell in missing), None)
    if empty is not None:
        raise ValueError(f"{table.path}: line {table.lines[empty]} has no {name}")
