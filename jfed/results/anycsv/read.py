"""Anybody's CSV file as a tidy frame."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from jfed.results.anycsv import numerals, rounds
from jfed.results.anycsv.cells import Cells, read_cells
from jfed.results.anycsv.keys import FACTORS, KEYS, ROUNDS, Keys, find_keys, require_key, round_columns, unknown
from jfed.results.anycsv.wide import to_long
from jfed.results.direction import require_direction


def read_csv(
    path: str | Path,
    metric: str | None = None,
    *,
    scheme: str | None = None,
    seed: str | None = None,
    at: rounds.At | None = None,
    window: int | None = None,
    higher_is_better: bool | None = None,
    apart: Sequence[str] = (),
) -> pd.DataFrame:
    """Return a CSV table with columns `scheme` and `seed`, and notes on how it was read in `attrs["notes"]`.

    Separators, decimal commas and other names of the two columns are recognised where only one reading is possible.
    Names of schemes are taken as they are seen: "01" is not "1", and "None" is a name, but a line break is a blank, and
    control characters and invisible marks are left out. In other columns an empty cell, NA, NaN, null and the like are
    missing, and inf is infinite.

    Args:
        path: a text file with names in its first line; comments (#) may stand above it.
        metric: the column to compare. With it, the table is checked for comparisons, and a log with a row per round
            becomes a table with a row per run: scheme, seeds and that metric. Without it, columns are only read.
        scheme: the column of schemes, if it has a name of its own.
        seed: the column of seeds, if it has a name of its own.
        at: the round of a log whose value counts: "last", "best" or a number. In a log an empty cell is a round
            without a value, and NaN the value of a run that broke.
        window: how many logged values, up to that round, are averaged.
        higher_is_better: whether a larger value is better, for "best"; None goes by the metric's name.
        apart: further columns that tell runs apart, such as swept settings.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file cannot be read without doubt; the message says where and why. Or the best round is asked
            for, and the metric's direction is unknown.
    """
    higher = metric is None or at != "best" or require_direction(metric, higher_is_better)
    cells = to_long(read_cells(Path(path)))
    keys = find_keys(path, cells.header, scheme, seed)
    table = cells._replace(header=list(keys.places), columns=[cells.columns[i] for i in keys.places.values()])
    columns = {name: table.column(name) for name in table.header}
    others = [column for name, column in columns.items() if name != "scheme"]
    mark = "." if table.separator == "," else numerals.decimal_mark(others, columns.get(metric or "", []))
    frame = pd.DataFrame({name: c if name == "scheme" else numerals.values(c, mark) for name, c in columns.items()})
    notes = (*keys.notes, *(["Decimal commas: 0,5 is read as 0.5."] if mark == "," else []))
    if metric is not None:
        seeds = _require_runs(table, keys, metric, mark)
        frame = frame.assign(**{name: numerals.labels(table.column(name), mark) for name in seeds})
        runs = ["scheme", *seeds, *(name for name in apart if name in frame.columns)]
        if column := _rounds_of(table, frame, runs, metric, asked=at is not None or window is not None):
            numerals.require_filled(table, column)
            numerals.require_numbers(table, column, mark)
            log = rounds.Log(frame, runs, column, metric, numerals.logged(table.column(metric)))
            window = 1 if window is None else window
            frame, more = rounds.score(log, "last" if at is None else at, window, higher)
            notes = (*notes, *more)
    frame.attrs["notes"] = notes
    return frame


def _require_runs(table: Cells, keys: Keys, metric: str, mark: str) -> list[str]:
    """Return the columns of seeds; refuse a table in which not every row has a scheme, seeds and a readable score."""
    require_key(table.path, "scheme", keys)
    seeds = [name for name in ("seed", *FACTORS) if name in table.header]
    if not seeds:
        require_key(table.path, "seed", keys)
    if metric not in table.header or metric in KEYS:
        raise ValueError(unknown("metric", metric, [name for name in table.header if name not in KEYS]))
    numerals.require_filled(table, "scheme", [""])
    for name in seeds:
        numerals.require_filled(table, name)
    numerals.require_numbers(table, metric, mark)
    return seeds


def _rounds_of(table: Cells, frame: pd.DataFrame, runs: list[str], metric: str, asked: bool) -> str | None:
    """Return the column that counts the rounds of a log; None for a table with one row per run.

    It is the first column with a known name in which no run has a value twice.
    """
    known = [name for name in round_columns(table.header) if name not in (*runs, metric)]
    if not asked and not (known and frame.duplicated(runs).any()):
        return None
    column = next((name for name in known if not frame.duplicated([*runs, name]).any()), None)
    if not asked and column:
        raise ValueError(
            f"{table.path} has several rounds of a run (column {column!r}): choose the one that counts with --at last,"
            " --at best or --at ROUND, or average the last ten with --window 10"
        )
    if asked and not known:
        raise ValueError(f"{table.path} has no column of rounds for --at and --window: name it {', '.join(ROUNDS)}")
    if asked and not column:
        columns = [*runs, known[0]]
        again = int(frame.duplicated(columns).to_numpy().argmax())
        what = ", ".join(f"{name} {value}" for name, value in frame.loc[again, columns].items())
        raise ValueError(f"{table.path}: line {table.lines[again]} repeats {what}")
    return column
