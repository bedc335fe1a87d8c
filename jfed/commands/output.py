"""The output folder of a command: the tables and figures that it writes, and where it says that they are."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from jfed.analysis import Comparisons, Table, comparisons_table, to_terminal, write
from jfed.commands import page
from jfed.report.figures.savers import Savers
from jfed.report.formats import file_stem
from jfed.report.kept import keep
from jfed.report.memory import remembered
from jfed.results.store import writing

INDENT = 9 * " "


@dataclass(frozen=True)
class Output:
    """The output folder of a command, and the tables and figures that it has written there.

    Attributes:
        out: the output folder.
        files: the written files, in the order of writing.
        tables: the written tables, in that order.
        savers: what saves the figures.
    """

    out: Path
    files: list[Path] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    savers: Savers = field(default_factory=Savers)

    def table(self, table: Table, stem: str) -> None:
        """Write a table as CSV, Markdown, LaTeX and HTML, and keep it for the page."""
        self.tables.append(table)
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

    def runs(self, frame: Any) -> None:
        """Write the table of runs, a data frame with one row per run, which claims are judged by."""
        path = self.out / "tables" / "per_run.csv"
        with writing(path, "The table of runs") as part:
            frame.to_csv(part, index=False, float_format="%.6g")
        self.files.append(path)

    def figure(self, figure: Any, stem: str) -> None:
        """Write a figure, and the numbers of curves, boxes and maps, at the latest when `tell` is called."""
        self.files.extend(self.savers.save(figure, self.out / "figures", file_stem(stem)))

    def tell(
        self, console: Console, results: Sequence[Path] = (), tune_seeds: Sequence[int] = (),
        tuned_by: str | None = None,
    ) -> None:  # fmt: skip
        """Print where the files are, one a line and unbroken, and write and name a page about each folder of results.

        A file that is not in all of the endings that its folder has is named with its own ones, figures' numbers apart.

        Args:
            console: where to print.
            results: folders of results; by default `out`.
            tune_seeds: seeds on which each scheme's best point of a sweep was chosen.
            tuned_by: variable of the results by which it was chosen; by default the page's primary one.
        """
        self.savers.finish()
        lines = [""]
        for folder in results or [self.out]:
            lines.append(f"Results  {folder / 'results'}  (read them with jfed.load({str(folder)!r}))")
        for kind in ("tables", "figures"):
            own: dict[str, set[str]] = {}
            for file in self.files:
                if file.parent.name == kind:
                    own.setdefault(file.stem, set()).add(file.suffix)
            further = ""
            if kind == "figures" and any(".csv" in found for found in own.values()):
                own = {stem: found - {".csv"} for stem, found in own.items()}
                further = "; .csv of curves over rounds, boxes and selection maps"
            if own:
                endings = max(own.values(), key=len)
                lines.append(f"{kind.capitalize():8} {self.out / kind}  ({', '.join(sorted(endings))}{further})")
                named = {stem: "" if found == endings else ", ".join(sorted(found)) for stem, found in own.items()}
                lines += [f"{INDENT}{stem}{named[stem]}" for stem in sorted(own, key=_naturally)]
        for line in lines:
            console.print(line, highlight=False, markup=False, soft_wrap=True)
        for folder in results or [self.out]:
            if (folder / "results").is_dir():
                keep(self.tables, folder)
                page.tell(folder, console, tune_seeds=tune_seeds, tuned_by=tuned_by)


def _naturally(stem: str) -> list[tuple[bool, int, str]]:
    """Return the key by which names are sorted: numbers in them by their size."""
    return [(word.isdecimal(), int(word) if word.isdecimal() else 0, word) for word in re.split(r"(\d+)", stem)]


def show(table: Table, console: Console) -> None:
    """Print a table after an empty line."""
    console.print()
    to_terminal(table, console)
