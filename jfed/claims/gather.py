"""Per-run tables of experiments, read from their output."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from jfed.results.frames import read_csv

NEEDED = ("experiment", "scheme", "seed")


def gather(paths: Sequence[str | Path]) -> dict[str, pd.DataFrame]:
    """Return per-run tables by name of their experiment.

    Args:
        paths: the `--out` of experiments, or CSV files: one row per run, with columns experiment, scheme, seed, the
            metrics, and those that distinguish runs (mode, num_rounds, settings). Tables of one experiment are joined.

    Raises:
        FileNotFoundError: there is no table at a path.
        ValueError: a table lacks one of these columns, or a row has no experiment.
    """
    parts: dict[str, list[pd.DataFrame]] = {}
    for path in map(Path, paths):
        file = path / "tables" / "per_run.csv" if path.is_dir() else path
        if not file.is_file():
            raise FileNotFoundError(f"There is no per-run table at {file}: name the --out of a finished experiment.")
        frame = read_csv(file)
        missing = [name for name in NEEDED if name not in frame.columns]
        if missing:
            raise ValueError(f"{file} has no column {missing[0]!r}: claims need {', '.join(NEEDED)} and the metrics")
        if any(map(pd.isna, frame["experiment"])):
            raise ValueError(f"{file} has rows without an experiment")
        for name, rows in frame.groupby("experiment"):
            parts.setdefault(str(name), []).append(rows)
    return {name: pd.concat(rows, ignore_index=True).drop_duplicates() for name, rows in parts.items()}
