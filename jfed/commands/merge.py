"""`jfed merge`: results that were computed apart, as one directory."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from tyro.conf import arg


@dataclass(frozen=True)
class Settings:
    """Merge directories of results; running the study again there computes only what is missing in all of them.

    Attributes:
        results: the --out of experiments.
        out: directory to write to, which may be one of them; it keeps what it has.
    """

    results: Annotated[tyro.conf.Positional[tuple[Path, ...]], arg(metavar="RESULTS ...", help_behavior_hint="")]
    out: Path


def main(settings: Settings, console: Console) -> None:
    """Merge, and print what was found."""
    from jfed.core.errors import require
    from jfed.results.merge import merge

    require(bool(settings.results), "Name the directories to merge: jfed merge A B --out C.")
    found = merge(settings.results, settings.out)
    lines = [f"{settings.out}: {found.runs:,} runs, {found.added:,} of them new"]
    if found.doubled:
        lines.append(f"{found.doubled:,} runs were in several directories and are there once")
    if found.unlike:
        lines.append(f"{found.unlike:,} of these have other numbers in another directory: the newest ones count")
    for line in lines:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
