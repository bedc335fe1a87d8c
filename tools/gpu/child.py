"""What the processes of all stages share: their command line, their time, and tables that grow row by row."""

import argparse
import csv
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Asked:
    """What a stage was asked for.

    Attributes:
        out: folder of its results.
        data_dir: folder of the unpacked data sets.
        pack: the pack; None without one.
        seconds: time until it should end by itself.
        small: whether to try everything at a tiny size.
        began: when it began.
    """

    out: Path
    data_dir: Path
    pack: str | None
    seconds: float
    small: bool
    began: float = field(default_factory=time.monotonic)

    def spent(self) -> float:
        """Return the seconds since the beginning."""
        return time.monotonic() - self.began

    def left(self) -> float:
        """Return the seconds that are left."""
        return self.seconds - self.spent()


def told(description: str | None, set_up: bool = True) -> Asked:
    """Return what the command line asks for, after jax's settings are made if `set_up`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--pack")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--small", action="store_true")
    asked = Asked(**vars(parser.parse_args()))
    asked.out.mkdir(parents=True, exist_ok=True)
    if set_up:
        from jfed.runner.host import setup

        setup()
    return asked


class Rows:
    """A table that is printed and written row by row, so that a killed process leaves what it found."""

    def __init__(self, path: Path) -> None:
        """Begin the CSV file; its columns are those of the first row."""
        self._path = path
        self._columns: list[str] = []

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row: to the file in full, to the screen in short."""
        begun = bool(self._columns)
        if not begun:
            print("  ".join(row), flush=True)
        self._columns = self._columns or list(row)
        with self._path.open("a", newline="") as file:
            writer = csv.DictWriter(file, self._columns)
            if not begun:
                writer.writeheader()
            writer.writerow(row)
        words = (f"{value:.4g}" if isinstance(value, float) else str(value) for value in row.values())
        print("  ".join(word for word in words if word), flush=True)
