"""`jfed claims`: the papers' claims, and the verdicts of finished runs."""

from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console


@dataclass(frozen=True)
class Settings:
    """List the papers' claims, with a verdict for each claim that the given runs can decide.

    Attributes:
        results: the --out of experiments, or CSV files with one row per run. Without any, the claims are listed.
    """

    results: tyro.conf.Positional[tuple[Path, ...]] = ()


def main(settings: Settings, console: Console) -> None:
    """Print a summary per paper and the verdicts, then the claims and settings for which there are no runs."""
    from jfed import analysis
    from jfed.claims import gather, judge_all, summary_table, verdicts_table

    verdicts = judge_all(gather(settings.results))
    waiting = [v for v in verdicts if v.finding.verdict == "not run"]
    shown = [v for v in verdicts if v not in waiting] if settings.results else verdicts
    if settings.results:
        analysis.to_terminal(summary_table(verdicts, "Verdicts per paper"), console)
        console.print()
    analysis.to_terminal(verdicts_table(shown, "Published claims"), console)
    if settings.results:
        console.print()
        for runs in dict.fromkeys(v.claim.runs for v in waiting):
            names = ", ".join(
                f"{v.claim.id} ({v.finding.text})" if v.finding.text else v.claim.id
                for v in waiting
                if v.claim.runs == runs
            )
            console.print(f"Not run, for want of {runs}: {names}", highlight=False, markup=False)
