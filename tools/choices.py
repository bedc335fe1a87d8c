"""Run experiments at other choices where the papers leave one to us, for a column of experiments/README.md.

The choices are in experiments/choices/choices.toml. A choice that has its table of runs there is not run again.
"""

import subprocess
import sys
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from experiments.shared.common import command
from jfed.claims import Verdict, gather, judge_all
from jfed.core.errors import require, unknown

FOLDER = Path(__file__).parents[1] / "experiments" / "choices"
COMPANY = ("setting", "versions", "varied")  # columns that tell whether runs belong together, not what came out


@dataclass(frozen=True)
class Choice:
    """A choice of ours, made otherwise.

    Attributes:
        name: name of its table of runs.
        about: the other choice, in words that follow "with".
        line: name of the experiment, and its flags.
        minutes: what it takes on two cores.
    """

    name: str
    about: str
    line: str
    minutes: float

    @property
    def file(self) -> Path:
        """Return the place of its table of runs."""
        return FOLDER / f"{self.name}.csv"


def choices() -> list[Choice]:
    """Return all choices."""
    return [Choice(**entry) for entry in tomllib.loads((FOLDER / "choices.toml").read_text())["choice"]]


def without_company(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table of runs as the repository keeps it."""
    kept = frame.drop(columns=[name for name in COMPANY if name in frame.columns])
    return kept.dropna(axis="columns", how="all")


def verdicts() -> list[tuple[Choice, list[Verdict]]]:
    """Return the verdicts at each choice that has runs, without claims that it has no runs for."""
    found = []
    for choice in choices():
        if choice.file.exists():
            judged = judge_all(gather([choice.file]))
            found.append((choice, [verdict for verdict in judged if verdict.finding.seeds]))
    return found


def survives(verdict: Verdict, others: Iterable[tuple[Choice, Sequence[Verdict]]]) -> str:
    """Return in words whether a verdict is the same at the other choices; "" if none is about it."""
    same, turned = [], []
    for choice, judged in others:
        for other in judged:
            if (other.claim.id, other.where, other.reduced) == (verdict.claim.id, verdict.where, verdict.reduced):
                alike = other.finding.verdict == verdict.finding.verdict
                same += [f"with {choice.about}"] * alike
                turned += [f"**{other.finding.verdict}** with {choice.about}"] * (not alike)
    parts = [f"the same {', '.join(same)}"] if same else []
    return "; ".join(parts + turned)


@dataclass(frozen=True)
class Settings:
    """Command-line settings."""

    only: tuple[str, ...] = ()
    """Names of choices, which are run also where they have runs; none for all that have none."""
    out: Path = Path("build/choices")
    """Folder of the results."""


def main(settings: Settings) -> None:
    """Run the choices, and write their tables of runs."""
    known = {choice.name: choice for choice in choices()}
    for name in settings.only:
        if name not in known:
            raise unknown("choice", name, known)
    wanted = settings.only or [name for name, choice in known.items() if not choice.file.exists()]
    for choice in (known[name] for name in wanted):
        name, *flags = choice.line.split()
        folder = settings.out / choice.name
        print(f"{choice.name}, with {choice.about}: some {choice.minutes:g} minutes", flush=True)
        done = subprocess.run([sys.executable, "-m", f"experiments.{name}", *flags, "--out", str(folder)], check=False)
        require(done.returncode == 0, f"{choice.line} ended with an error; the same command resumes it.")
        without_company(pd.concat(gather([folder]).values())).to_csv(choice.file, index=False)


if __name__ == "__main__":
    command(main, Settings)
