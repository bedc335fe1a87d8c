"""`jfed claims`: the papers' claims, and the verdicts of finished runs."""

import importlib.util
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table
from rich.text import Text

from jfed.core.errors import ConfigError, require, unknown

if TYPE_CHECKING:
    from jfed.claims import Claim

ID = re.compile(r"[A-Za-z]-\d+")


@dataclass(frozen=True)
class Settings:
    """List the papers' claims, or judge some of them on finished runs.

    Attributes:
        about: claims, such as R-5, and the --out of experiments or CSV files with one row per run. Claims without runs
            are judged on those that the repository has, where it is at hand; without anything all claims are listed.
        run: first run the commands that make the runs of the named claims; they may take long. It needs the repository.
        out: folder of the results of --run.
    """

    about: tyro.conf.Positional[tuple[Annotated[str, tyro.conf.arg(metavar="CLAIM|RESULTS")], ...]] = ()
    run: bool = False
    out: Path = Path("out/claims")


def main(settings: Settings, console: Console) -> None:
    """Print the claims, or their verdicts with what is needed to judge them."""
    from jfed.claims import read

    claims = {claim.id: claim for claim in read()}
    named = [word.upper() for word in settings.about if ID.fullmatch(word) and not Path(word).exists()]
    for name in named:
        if name not in claims:
            raise unknown("claim", name, claims)
    paths = [Path(word) for word in settings.about if word.upper() not in named]
    require(bool(named) or not settings.run, "--run needs the name of a claim, such as jfed claims R-5 --run.")
    require(not (settings.run and paths), "--run makes the runs itself: leave out the results.")
    if named:
        _some([claims[name] for name in named], paths, settings, console)
    elif paths:
        _all(paths, console)
    else:
        _print([(claim.id, claim.claim) for claim in claims.values()], console)
        console.print(
            "\nOne of them: jfed claims R-5. All that your own runs decide: jfed claims OUT ...", highlight=False
        )


def _some(claims: "list[Claim]", paths: list[Path], settings: Settings, console: Console) -> None:
    """Print each claim with its verdicts and the commands that make its runs."""
    from jfed.claims import gather, judge, table_of
    from jfed.claims.making import makings_of

    if settings.run:
        paths = _made(claims, settings.out, console)
    tables = gather(paths or _repositorys())
    for claim in claims:
        facts = [
            (claim.id, claim.claim),
            ("Source", f"{claim.paper}, {claim.place}"),
            ("Measure", claim.measure),
            ("Margin", claim.margin_reason),
            ("Note", claim.note),
        ]
        for verdict in judge(claim, table_of(claim, tables)):
            seeds = f"{verdict.finding.seeds} seeds" if verdict.finding.seeds else ""
            where = ", ".join(filter(None, (verdict.where, seeds)))
            facts.append(("Verdict", f"{verdict.word}{f' ({where})' if where else ''}. {verdict.finding.text}".strip()))
        facts += [("Runs", f"{made.text}: {made.time}") for made in makings_of(claim)]
        _print(facts, console)


def _print(facts: list[tuple[str, str]], console: Console) -> None:
    """Print words, each with a text beside it that wraps; an empty text is left out."""
    grid = Table.grid(padding=(0, 2))
    for word, text in facts:
        if text:
            grid.add_row(Text(word), Text(text))
    console.print()
    console.print(grid)


def _all(paths: list[Path], console: Console) -> None:
    """Print a summary per paper and the verdicts, then the number of claims for which there are no runs."""
    from jfed import analysis
    from jfed.claims import gather, judge_all, summary_table, verdicts_table

    verdicts = judge_all(gather(paths))
    waiting = [v for v in verdicts if v.finding.verdict == "not run"]
    analysis.to_terminal(summary_table(verdicts, "Verdicts per paper"), console)
    console.print()
    analysis.to_terminal(verdicts_table([v for v in verdicts if v not in waiting], "Published claims"), console)
    console.print()
    reasons: dict[str, list[str]] = {}
    for v in waiting:
        why = f": {v.finding.text}" if v.other_data else f", in whole or in part, for want of {v.claim.runs}"
        if v.claim.id not in (names := reasons.setdefault(why, [])):
            names.append(v.claim.id)
    for why, names in reasons.items():
        console.print(f"Not run{why}: {', '.join(names)}", highlight=False, markup=False)
    if waiting:
        known = f"What is missing, and the command that makes it: jfed claims {waiting[0].claim.id}"
        console.print(known, highlight=False, markup=False)


def _repositorys() -> list[Path]:
    """Return the per-run tables of the repository; none where it is not at hand."""
    found: Any = importlib.util.find_spec("experiments")
    if found is None or found.origin is None:
        return []
    return sorted((Path(found.origin).parent / "reproduction").glob("*.csv"))


def _made(claims: "list[Claim]", out: Path, console: Console) -> list[Path]:
    """Run the commands that make the runs of some claims, and return their folders."""
    from jfed.claims.making import makings_of

    if importlib.util.find_spec("experiments") is None:
        raise ConfigError("--run needs the repository: change to its folder, where experiments/ is.")
    folders = []
    for made in {made.line: made for claim in claims for made in makings_of(claim)}.values():
        folder = out / re.sub(r"\W+", "_", made.line)
        line = f"{made.text} --out {folder}: {made.time}"
        console.print(line, highlight=False, markup=False, soft_wrap=True)
        name, *flags = made.line.split()
        done = subprocess.run([sys.executable, "-m", f"experiments.{name}", *flags, "--out", str(folder)], check=False)
        require(done.returncode == 0, f"{made.text} ended with an error; the same command resumes it.")
        folders.append(folder)
    return folders
