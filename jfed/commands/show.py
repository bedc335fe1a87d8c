"""`jfed show`: what a directory of results holds."""

from dataclasses import dataclass

import tyro
from rich.console import Console
from rich.table import Table
from rich.text import Text

from jfed.commands.reading import Results, require_results


@dataclass(frozen=True)
class Settings:
    """Show what is in results: schemes, seeds, settings, metrics, origin, failed and unfinished runs, and files.

    Attributes:
        results: the --out of an experiment.
    """

    results: tyro.conf.Positional[Results] = None


def main(settings: Settings, console: Console) -> None:
    """Print a line for each fact."""
    from jfed.report.contents import contents

    grid = Table.grid(padding=(0, 2))
    for word, text in contents(require_results(settings.results, "jfed show RESULTS")).items():
        grid.add_row(word, Text(text, overflow="fold"))
    console.print(grid)
