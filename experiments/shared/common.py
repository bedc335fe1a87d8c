"""Parts that all experiment commands share: the command line and the output files."""

import argparse
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console

from jfed.analysis import Comparisons, Table, comparisons_table, to_terminal, write
from jfed.commands import report
from jfed.commands.mistakes import in_words
from jfed.report.figures.savers import Savers
from jfed.report.formats import file_stem
from jfed.report.memory import remembered

S = TypeVar("S")
INDENT = 9 * " "


@dataclass(frozen=True)
class Output:
    """The output folder of a command, and the tables and figures that it has written there.

    Attributes:
        out: the output folder.
        files: the written files, in the order of writing.
        savers: what saves the figures.
    """

    out: Path
    files: list[Path] = field(default_factory=list)
    savers: Savers = field(default_factory=Savers)

    def table(self, table: Table, stem: str) -> None:
        """Write a table as CSV, Markdown, LaTeX and HTML."""
        self.files.extend(write(table, self.out / "tables", file_stem(stem)).values())

    def comparisons(self, found: Comparisons, title: str, stem: str, primary: str, notes: Sequence[str] = ()) -> Table:
        """Write and return the table of a comparison, with notes on the primary metric, looks and plans.

        Args:
            found: from `compare`.
            title: title of the table.
            stem: name of its files.
            primary: the study's primary metric.
            notes: further notes.
        """
        primary, costs = remembered(self.out / "tables", found, [stem], primary)
        table = comparisons_table(found, title, primary=primary)
        table = replace(table, notes=(*table.notes, *costs, *notes))
        self.table(table, stem)
        return table

    def figure(self, figure: Any, stem: str) -> None:
        """Write a figure as PNG and PDF, at the latest when `tell` is called."""
        self.files.extend(self.savers.save(figure, self.out / "figures", file_stem(stem)))

    def tell(self, console: Console, results: Sequence[Path] = ()) -> None:
        """Print where the files are, with unbroken names, and write and name a page about each folder of results.

        Args:
            console: where to print.
            results: folders of results; by default `out`.
        """
        self.savers.finish()
        lines = [""]
        for folder in results or [self.out]:
            lines.append(f"Results  {folder / 'results'}  (read them with jfed.load({str(folder)!r}))")
        for kind in ("tables", "figures"):
            own = [file for file in self.files if file.parent.name == kind]
            stems, endings = sorted({file.stem for file in own}), sorted({file.suffix for file in own})
            if stems:
                lines.append(f"{kind.capitalize():8} {self.out / kind}  ({', '.join(endings)})")
                lines += textwrap.wrap(
                    ", ".join(stems), console.width, initial_indent=INDENT, subsequent_indent=INDENT,
                    break_long_words=False, break_on_hyphens=False,
                )  # fmt: skip
        for line in lines:
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        for folder in results or [self.out]:
            if (folder / "results").is_dir():
                report.tell(folder, console)


def show(table: Table, console: Console) -> None:
    """Print a table after an empty line."""
    console.print()
    to_terminal(table, console)


def _preset(arguments: Sequence[str], names: Sequence[str]) -> str:
    """Return the value of --preset, or the first name if there is none or an unknown one (tyro then reports it)."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--preset", default=names[0], nargs="?")
    chosen = parser.parse_known_args(arguments)[0].preset
    return chosen if chosen in names else names[0]


def program() -> str | None:
    """Return how the running module is called, `python -m experiments.NAME`; None if it was not called by its name."""
    spec = sys.modules["__main__"].__spec__
    return None if spec is None else f"python -m {spec.name}"


def command(main: Callable[[S], None], settings: type[S] | Mapping[str, S]) -> None:
    """Run an experiment from the command line; a user's mistake ends it with one sentence.

    Args:
        main: the experiment, a function of its settings.
        settings: the dataclass of the settings, or presets by name. --preset chooses a preset (by default the first),
            which gives all flags their defaults.
    """
    try:
        import tyro
    except ImportError:
        sys.exit("The command line needs tyro: pip install tyro.")
    from jfed.runner.host import setup

    prog, description = program(), sys.modules["__main__"].__doc__
    if isinstance(settings, Mapping):
        default = settings[_preset(sys.argv[1:], list(settings))]
        chosen = tyro.cli(type(default), prog=prog, default=default, description=description)
    else:
        chosen = tyro.cli(settings, prog=prog, description=description)
    setup()
    with in_words(getattr(chosen, "load", ())):
        main(chosen)
