"""Results of a benchmark: rows, the table in a terminal, the CSV file, and the machine it ran on."""

import csv
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("jax", "jaxlib", "numpy")
STARTED = time.perf_counter()
NOTE = "note"  # the unit of a row that holds a sentence on the whole table


class Row(NamedTuple):
    """One measurement.

    Attributes:
        case: what was measured.
        unit: unit of median, low and high.
        median: median over the repeats.
        low: smallest value.
        high: largest value.
        ratio: median of each repeat's ratio to the other side; NaN where there is none.
        ratio_low: smallest ratio.
        ratio_high: largest ratio.
        against: the other side of the ratio.
        target: bound on the ratio (or on the value, where there is no ratio); empty where there is none.
        meaning: one sentence on what the row says.
    """

    case: str
    unit: str
    median: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    ratio: float = float("nan")
    ratio_low: float = float("nan")
    ratio_high: float = float("nan")
    against: str = ""
    target: str = ""
    meaning: str = ""


def row(
    case: str,
    unit: str,
    values: Sequence[float],
    others: Sequence[float] = (),
    against: str = "",
    target: str = "",
    meaning: str = "",
) -> Row:
    """Return a row from the values of all repeats; the ratio is value / other, repeat by repeat."""
    v = np.asarray(values, float)
    found = Row(
        case, unit, float(np.median(v)), float(v.min()), float(v.max()), against=against, target=target, meaning=meaning
    )
    if len(others) == 0:
        return found
    ratio = v / np.asarray(others, float)
    return found._replace(ratio=float(np.median(ratio)), ratio_low=float(ratio.min()), ratio_high=float(ratio.max()))


def interleaved(repeats: int, *sides: Callable[[], float]) -> list[list[float]]:
    """Measure every side once per repeat, in turn, so that other load on the machine affects all alike."""
    found: list[list[float]] = [[] for _ in sides]
    for _ in range(repeats):
        for values, side in zip(found, sides, strict=True):
            values.append(side())
    return found


def say(what: str) -> None:
    """Print what is measured next, with the time since the program's start, on stderr."""
    print(f"  {time.perf_counter() - STARTED:5.0f} s  {what}", file=sys.stderr, flush=True)


def machine() -> dict[str, str]:
    """Return the processor, the number of cores, and the versions of Python and packages."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        names = [line.partition(":")[2].strip() for line in lines]
        model = names[0] if names else model
    versions = {name: metadata.version(name) for name in PACKAGES}
    return {"cpu": model, "cores": str(os.cpu_count()), "python": platform.python_version(), **versions}


def show(name: str, rows: Sequence[Row], notes: Sequence[str] = ()) -> None:
    """Print rows as a table, and notes below it."""
    table = Table(title=name, title_justify="left", title_style="bold")
    for column in ("case", "median", "min - max", "unit", "ratio", "min - max", "against", "target"):
        left = column in ("case", "unit", "against", "target")
        table.add_column(column, justify="left" if left else "right", overflow="fold")
    for r in rows:
        ratio = ("", "") if np.isnan(r.ratio) else (f"{r.ratio:.2f}", f"{r.ratio_low:.2f} - {r.ratio_high:.2f}")
        span = f"{number(r.low)} - {number(r.high)}"
        table.add_row(r.case, number(r.median), span, r.unit, *ratio, r.against, r.target)
    console = Console(width=max(140, Console().width))
    console.print(table)
    for note in notes:
        console.print(f"  {note}")


def save(name: str, rows: Sequence[Row], notes: Sequence[str], command: str) -> Path:
    """Write rows and notes, with the machine and the command, to `results/NAME.csv`, and return its path."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.csv"
    facts = machine() | {"command": command}
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*Row._fields, *facts])
        for r in [*rows, *(Row(note, NOTE) for note in notes)]:
            cells = [x if isinstance(x, str) else "" if np.isnan(x) else f"{x:.6g}" for x in r]
            writer.writerow([*cells, *facts.values()])
    return path


def saved(path: Path) -> tuple[list[Row], list[str], dict[str, str]]:
    """Return the rows, the notes and the facts of a file that `save` wrote."""
    numbers = {field for field, kind in Row.__annotations__.items() if kind is float}
    rows, notes, facts = [], [], {}
    with path.open(newline="") as file:
        for line in csv.DictReader(file):
            facts = {name: value for name, value in line.items() if name not in Row._fields}
            if line["unit"] == NOTE:
                notes.append(line["case"])
                continue
            cells = {f: float(line[f] or "nan") if f in numbers else line[f] for f in Row._fields}
            rows.append(Row(**cells))  # type: ignore[arg-type]
    return rows, notes, facts


def number(value: float) -> str:
    """Return a number with three digits, or in full from 100 on."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
