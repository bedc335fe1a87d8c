"""Per-run tables from where experiments leave them."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

NEEDED = ("experiment", "scheme", "seed")


def gather(paths: Sequence[str | Path]) -> dict[str, pd.DataFrame]:
    """Per-run tables by name of their experiment.

    Args:
        paths: the `--out` of experiments, or CSV files: one row per run, with columns experiment, scheme, seed, the
            metrics, and what sets runs apart (mode, num_rounds, settings). Tables of one experiment are joined.

    Raises:
        FileNotFoundError: no table there.
        ValueError: a table without these columns.
    """
    parts: dict[str, list[pd.DataFrame]] = {}
    for path in map(Path, paths):
        file = path / "tables" / "per_run.csv" if path.is_dir() else path
        if not file.is_file():
            raise FileNotFoundError(f"There is no per-run table at {file}: name the --out of a finished experiment.")
        try:
            frame = pd.read_csv(file)
        except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError):
            raise ValueError(f"{file} is not a CSV table") from None
        missing = [name for name in NEEDED if name not in frame.columns]
        if missing:
            raise ValueError(f"{file} has no column {missing[0]!r}: claims need {', '.join(NEEDED)} and the metrics")
        for name, rows in frame.groupby("experiment"):
            parts.setdefault(str(name), []).append(rows)
    return {name: pd.concat(rows, ignore_index=True).drop_duplicates() for name, rows in parts.items()}
