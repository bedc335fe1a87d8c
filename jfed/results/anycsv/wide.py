"""Exports with one column per run, such as "uniform-seed0 - accuracy", as one row per run and round."""

import re

from jfed.results.anycsv.cells import Cells
from jfed.results.anycsv.keys import round_columns

_RANGE = ("__MIN", "__MAX")  # columns of smoothed curves, beside the value
_RUN = re.compile(r"(.*[^\s_./:,=-])[\s_./:,-]+seed[\s_=:-]*(\d{1,18})", re.IGNORECASE)


def to_long(cells: Cells) -> Cells:
    """Return a row per run and round if the first column counts rounds and all others are metrics of runs.

    Other tables are returned unchanged.

    Raises:
        ValueError: a column does not name scheme and seed, or two name the same.
    """
    first, *others = cells.header
    if not others or not round_columns([first]) or not all(" - " in name for name in others):
        return cells
    found: dict[tuple[str, str], dict[str, int]] = {}
    for place, name in enumerate(others, 1):
        if name.endswith(_RANGE):
            continue
        run, _, metric = name.rpartition(" - ")
        parts = _RUN.fullmatch(run.strip())
        if not parts:
            raise ValueError(
                f"{cells.path}: the column {name!r} does not name scheme and seed as 'uniform-seed0 - accuracy' does:"
                " rename it, or write a row per run and round with columns scheme, seed and round"
            )
        own = found.setdefault((parts[1].strip(), str(int(parts[2]))), {})
        if metric.strip() in own:
            raise ValueError(
                f"{cells.path}: {cells.header[own[metric.strip()]]!r} and {name!r} are the same run: rename one of them"
            )
        own[metric.strip()] = place
    metrics = list(dict.fromkeys(metric for own in found.values() for metric in own))
    size, nothing = len(cells.lines), [""] * len(cells.lines)
    columns: list[list[str]] = [
        [scheme for scheme, _ in found for _ in range(size)],
        [seed for _, seed in found for _ in range(size)],
        cells.columns[0] * len(found),
    ]
    for metric in metrics:
        parts = [cells.columns[own[metric]] if metric in own else nothing for own in found.values()]
        columns.append([cell for part in parts for cell in part])
    return Cells(cells.path, ["scheme", "seed", first, *metrics], columns, cells.lines * len(found), cells.separator)
