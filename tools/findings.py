"""Write the tables and pictures of docs/findings from experiments/results/*.csv, one row per run.

On each page the tables stand between two marks; the words around them are written by hand.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from experiments import non_stationary
from experiments.board import report
from experiments.board.problems import DATA, WORLDS
from experiments.board.rows import OUTCOMES
from experiments.shared.common import command
from jfed.analysis import to_markdown
from tools.pages.marked import rewritten

ROOT = Path(__file__).parents[1]
RUNS, PAGES = ROOT / "experiments" / "results", ROOT / "docs" / "findings"
ALPHA = 0.05


class Finding(NamedTuple):
    """A page, and what is written on it.

    Attributes:
        columns: columns of the table of runs that are kept.
        text: what stands between the marks, from the rows of all runs.
        figures: figures by name, from the same rows; None: the experiment's own picture is taken.
    """

    columns: tuple[str, ...]
    text: Callable[[Any], list[str]]
    figures: Callable[[Any], dict[str, Any]] | None


def _leaderboard(runs: Any) -> list[str]:
    made = report.tables(runs, ALPHA)
    names = [report.PRIMARY, "overview", *(f"best_{world}" for world in runs["world"].unique()), "oracles"]
    about = {"world": WORLDS, "data": DATA}
    problems = [f"- `{name}`: {of[name].about}" for column, of in about.items() for name in runs[column].unique()]
    return ["\n".join(problems), *(to_markdown(made[name]) for name in names if name in made)]


def _non_stationary(runs: Any) -> list[str]:
    title = f"K = 100, k = 20, T = 2500, {runs['seed'].nunique()} seeds"
    changes = [change for change in non_stationary.CHANGES if change in set(runs["change"])]
    return [to_markdown(table) for table in non_stationary.tables(runs, changes, title).values()]


_PROBLEM = ("world", "data", "scheme", "variant", "rate", "seed", "num_rounds", "oracle")
FINDINGS = {
    "leaderboard": Finding(
        (*_PROBLEM, *OUTCOMES, "seconds", "energy"), _leaderboard, lambda runs: report.figures(runs, ALPHA)
    ),
    "non_stationary": Finding(("change", "scheme", "method", "seed", *non_stationary.METRICS), _non_stationary, None),
}


@dataclass(frozen=True)
class Settings:
    """Command-line settings."""

    take: tuple[Path, ...] = ()
    """The --out of finished experiments, whose tables of runs are first copied into experiments/results."""


def take(out: Path) -> None:
    """Copy an experiment's table of runs, and its pictures if the page cannot draw them.

    Args:
        out: --out of the experiment.
    """
    runs: Any = pd.read_csv(out / "tables" / "per_run.csv")
    name = str(runs["experiment"].iloc[0])
    runs[list(FINDINGS[name].columns)].to_csv(RUNS / f"{name}.csv", index=False, float_format="%.6g")
    if FINDINGS[name].figures is None:
        for picture in (out / "figures").glob("*.png"):
            (PAGES / f"{name}_{picture.name}").write_bytes(picture.read_bytes())


def page(name: str) -> tuple[Path, str, Any]:
    """Return a page's path, its text with tables anew, and the rows that they are made from."""
    path, runs = PAGES / f"{name}.md", pd.read_csv(RUNS / f"{name}.csv")
    text = "\n\n".join(part.strip() for part in FINDINGS[name].text(runs))
    return path, rewritten(path.read_text(), "tools.findings", text), runs


def main(settings: Settings) -> None:
    """Write the pages."""
    for out in settings.take:
        take(out)
    for name, finding in FINDINGS.items():
        if (RUNS / f"{name}.csv").exists():
            path, text, runs = page(name)
            path.write_text(text)
            for stem, figure in finding.figures(runs).items() if finding.figures else ():
                figure.savefig(PAGES / f"{name}_{stem}.png", dpi=150)
            print(f"wrote {path}")


if __name__ == "__main__":
    command(main, Settings)
