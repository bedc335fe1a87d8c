"""Shared parts of commands on finished results: the place of results, and the reading of CSV files."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import tyro

from jfed.core.errors import ConfigError, require

if TYPE_CHECKING:
    import pandas as pd

Results = Annotated[Path | None, tyro.conf.arg(metavar="RESULTS")]


@dataclass(frozen=True)
class Reading:
    """Settings for reading a CSV file.

    Attributes:
        scheme_column: column of schemes, if it has a name of its own.
        seed_column: column of seeds, if it has a name of its own.
        at: the round whose value counts in a log with a row per round: last, best, or its number.
        window: how many logged values, up to that round, are averaged.
    """

    scheme_column: str | None = None
    seed_column: str | None = None
    at: Literal["last", "best"] | int | None = None
    window: int | None = None

    def frame(
        self, path: Path, metric: str | None, higher_is_better: bool | None = None, apart: tuple[str, ...] = ()
    ) -> "pd.DataFrame":
        """Return the table as `read_csv` does."""
        from jfed.results.frames import read_csv

        return read_csv(
            path, metric, scheme=self.scheme_column, seed=self.seed_column, at=self.at, window=self.window,
            higher_is_better=higher_is_better, apart=apart,
        )  # fmt: skip

    def ask_for_metric(self, path: Path) -> NoReturn:
        """End with the sentence that asks for a metric of a table, which has no usual one.

        Raises:
            ConfigError: always; the sentence names the columns.
        """
        columns = [name for name in self.frame(path, None).columns if name not in ("scheme", "seed")]
        raise ConfigError(f"Name the column to compare with --metric: {path} has {', '.join(columns)}.")

    def applies(self, results: Path) -> bool:
        """Return whether results are a CSV file, under whatever name; otherwise no option may be given."""
        from jfed.results.load import ENDINGS

        csv = results.suffix.lower() in (".csv", ".tsv", ".txt") and not results.is_dir()
        if csv or (results.is_file() and results.suffix not in ENDINGS):
            return True
        require(self == Reading(), "--scheme-column, --seed-column, --at and --window are for CSV files.")
        return False


def require_results(results: Path | None, usage: str) -> Path:
    """Return the path of the results; without one, end with the sentence that shows where it stands."""
    if results is None:
        raise ConfigError(f"Results are named without a flag, and --out is where to write: {usage}.")
    return results


def tables_folder(results: Path, out: Path | None) -> Path:
    """Return the folder for tables: the one asked for, or the one in the directory of the results."""
    require(out is None or not out.is_file(), f"{out} is a file: --out names a folder for tables.")
    return out or (results.parent if results.is_file() else results) / "tables"
