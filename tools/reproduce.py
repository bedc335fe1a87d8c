"""Run every cheap experiment again, and compare its runs with those in experiments/reproduction.

On one kind of processor a run comes out the same to the bit. On another one sums are rounded in other ways, and where a
scheme learns, one run may then differ in all that follows: such runs are compared by their means over seeds, and by the
verdicts that they give. The check fails where a mean differs by more than chance, a verdict changes, or runs are
missing on either side.
"""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console

from experiments.shared.common import command, show
from jfed.claims import gather, judge, read
from jfed.claims.making import Making, makings
from jfed.core.errors import require
from jfed.report.tables import Table
from tools.choices import COMPANY
from tools.claims import TABLES

SAME, CHANCE = 1e-6, 6.0  # relative difference of equal numbers; standard errors that means may differ by
NOT_MADE = "the command failed: see above"


@dataclass(frozen=True)
class Settings:
    """Command-line settings."""

    out: Path = Path("build/reproduce")
    """Folder of the results; what is finished there is not run again."""
    minutes: float = 15
    """The longest command that is run, by the time that `jfed/claims/commands.toml` gives it."""
    only: tuple[str, ...] = ()
    """Names of experiments, such as e3cs_numerical; none for all."""


@dataclass(frozen=True)
class Compared:
    """The runs of one experiment beside those that the repository has.

    Attributes:
        line: command that made them.
        name: name of the experiment.
        runs: number of runs on both sides.
        same: how many of them are the same.
        apart: largest difference of a mean over seeds, in standard errors, and the mean that it is.
        verdicts: verdicts that changed, in words.
        wrong: what is missing, in words.
    """

    line: str
    name: str
    runs: int = 0
    same: int = 0
    apart: tuple[float, str] = (0.0, "")
    verdicts: tuple[str, ...] = ()
    wrong: str = ""

    @property
    def good(self) -> bool:
        """Return whether the runs came out as before."""
        return not self.wrong and not self.verdicts and self.apart[0] <= CHANCE


def keys_of(*frames: pd.DataFrame) -> list[str]:
    """Return the columns that all frames have and that tell runs apart: schemes, seeds, and the settings of claims."""
    named = {"scheme", "seed", "mode", "eta", "num_rounds", "study", "curve"}
    for claim in read():
        named |= {*claim.where, *claim.by, *claim.expects}
        named |= {name for test in claim.tests for name in (*test.get("where", {}), *test.get("at", ()))}
        named |= {name for test in claim.tests for name in test.get("trend", {}) if isinstance(test["trend"], Mapping)}
    return [name for name in frames[0].columns if name in named and all(name in frame for frame in frames)]


def compared(line: str, name: str, new: pd.DataFrame, kept: pd.DataFrame) -> Compared:
    """Return new runs beside those of the repository that have the same settings.

    Args:
        line: command that made them.
        name: name of the experiment.
        new: its table of runs.
        kept: that of the repository; it may have runs of further settings.
    """
    keys = keys_of(new, kept)
    settings = [key for key in keys if key not in ("scheme", "seed", "eta")]
    beside: Any = kept[_in_words(kept, settings).isin(set(_in_words(new, settings)))]
    both: Any = new.merge(beside, on=keys, how="outer", suffixes=("", " before"), indicator=True)
    if both[keys].duplicated().any():
        return Compared(line, name, wrong=f"several runs have the same {', '.join(keys)}")
    lost = (both["_merge"] != "both").sum()
    if lost:
        return Compared(line, name, wrong=f"{lost} of {len(both)} runs are on one side only")
    numbers = [
        column for column in new.columns
        if column not in (*keys, *COMPANY) and f"{column} before" in both and pd.api.types.is_numeric_dtype(new[column])
    ]  # fmt: skip
    ours, theirs = both[numbers], both[[f"{column} before" for column in numbers]].set_axis(numbers, axis=1)
    alike = np.isclose(ours.astype(float), theirs.astype(float), rtol=SAME, atol=1e-12, equal_nan=True)
    groups = _in_words(both, [key for key in keys if key != "seed"])
    return Compared(
        line, name, len(both), int(alike.all(1).sum()), _apart(ours - theirs, groups), tuple(_turned(name, new, beside))
    )


def _in_words(frame: pd.DataFrame, names: Sequence[str]) -> pd.Series:
    """Return the values of some columns as one text for each row."""
    return pd.Series([", ".join(map(str, row)) for row in frame[list(names)].itertuples(index=False)], frame.index, str)


def _apart(differences: pd.DataFrame, groups: pd.Series) -> tuple[float, str]:
    """Return the mean over seeds that differs most, in standard errors of the paired differences, and its name."""
    most = (0.0, "")
    for where, part in differences.groupby(groups):
        for column in part:
            values = part[column].to_numpy(float)
            values = values[np.isfinite(values)]
            if len(values) < 2 or not np.any(values):
                continue
            error = values.std(ddof=1) / np.sqrt(len(values))
            size = abs(values.mean()) / error if error > 0 else np.inf
            most = max(most, (float(size), f"{column} ({where})"))
    return most


def _turned(name: str, new: pd.DataFrame, kept: pd.DataFrame) -> list[str]:
    """Return the verdicts that differ, in words."""
    turned = []
    for claim in read():
        if claim.runs == name:
            before, after = ({v.where: v.word for v in judge(claim, frame)} for frame in (kept, new))
            turned += [
                f"{claim.id}{f' ({where})' if where else ''}: {before.get(where, 'none')} before,"
                f" {after.get(where, 'none')} now"
                for where in {**before, **after} if before.get(where) != after.get(where)
            ]  # fmt: skip
    return turned


def folder_of(line: str) -> str:
    """Return the name of the folder of a command's results."""
    name, *flags = line.split()
    return "_".join([name, *(flag.lstrip("-") for flag in flags)])


def made(one: Making, out: Path, kept: Mapping[str, pd.DataFrame]) -> list[Compared]:
    """Run a command, and return its experiments beside the repository's."""
    name, *flags = one.line.split()
    folder = out / folder_of(one.line)
    done = subprocess.run([sys.executable, "-m", f"experiments.{name}", *flags, "--out", str(folder)], check=False)
    if done.returncode:
        return [Compared(one.line, name, wrong=NOT_MADE)]
    found = gather([folder])
    lost = [Compared(one.line, missing, wrong="no table of runs") for missing in one.makes if missing not in found]
    return lost + [
        compared(one.line, key, rows, kept[key]) if key in kept else Compared(one.line, key, wrong="not in repository")
        for key, rows in found.items()
    ]


def table(results: Sequence[Compared]) -> Table:
    """Return the table of all experiments."""
    rows = []
    for one in results:
        size, where = one.apart
        told = "; ".join(filter(None, (one.wrong, *one.verdicts, f"{where}: {size:.1f} standard errors" * bool(where))))
        rows.append((one.name, "as before" if one.good else "not as before", str(one.runs), str(one.same), told))
    columns = ("experiment", "came out", "runs", "the same", "largest difference of a mean, and what changed")
    return Table("Experiments run again", columns, "llrrl", tuple(rows), ())


def main(settings: Settings) -> None:
    """Run the commands, print the table, and end with an error if anything came out otherwise."""
    wanted = set(settings.only)
    chosen = [
        one for one in makings()
        if one.minutes <= settings.minutes and (not wanted or wanted & {*one.makes, one.line.split()[0]})
    ]  # fmt: skip
    require(len(chosen) > 0, "No command of these experiments is that short: see jfed/claims/commands.toml.")
    kept = gather(sorted(TABLES.glob("*.csv")))
    results = [found for one in chosen for found in made(one, settings.out, kept)]
    show(table(results), Console())
    if not all(one.good for one in results):
        sys.exit("Some experiments came out otherwise than the repository's tables.")


if __name__ == "__main__":
    command(main, Settings)
