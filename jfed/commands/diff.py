"""`jfed diff`: the differences between two directories of results."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

MOST_NAMED = 6  # schemes with the same difference that are named


@dataclass(frozen=True)
class Settings:
    """Show what differs between two results: settings, data, devices, code, and the scores of runs that both have.

    Attributes:
        a: the --out of an experiment.
        b: that of another one.
    """

    a: tyro.conf.Positional[Annotated[Path, tyro.conf.arg(metavar="A")]]
    b: tyro.conf.Positional[Annotated[Path, tyro.conf.arg(metavar="B")]]


def main(settings: Settings, console: Console) -> None:
    """Print the schemes by what differs in their settings, and a table of scores."""
    from jfed.analysis import to_terminal
    from jfed.report.differences import of_numbers, of_settings

    table = of_numbers(settings.a, settings.b)
    console.print(f"A: {settings.a}\nB: {settings.b}\n", highlight=False, markup=False, soft_wrap=True)
    for words, schemes in of_settings(settings.a, settings.b).items():
        more = f" and {len(schemes) - MOST_NAMED} more" if len(schemes) > MOST_NAMED else ""
        console.print(
            f"{'; '.join(schemes[:MOST_NAMED])}{more}: {words or 'no difference'}", highlight=False, markup=False
        )
    console.print()
    to_terminal(table, console)
