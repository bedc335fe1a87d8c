"""The comparisons of a page: for each problem, the schemes, one row per run.

Of the swept settings of schemes (knobs, such as eta or a learning rate) each scheme has its best values, and a ranking
has all. Any other swept setting (a problem, such as the number of clients or the world) makes a table of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from jfed.comparisons.compare import compare
from jfed.comparisons.comparison import Comparisons
from jfed.comparisons.summary import jain
from jfed.comparisons.tuning import choose
from jfed.report.page.words import number
from jfed.results import axes, load
from jfed.results.alike import COLUMNS
from jfed.results.meaning import score_name

if TYPE_CHECKING:
    import xarray as xr

DEFAULT = ("test_accuracy", "num_succeeded", "round_time_s")  # scores, the primary one first
JAIN = "jain"  # index of selections, a further score


@dataclass(frozen=True)
class Level:
    """The runs on one problem.

    Attributes:
        title: the problem in words, "" if there is only one.
        frame: one row per run, with columns scheme, seed, the knobs and scores.
        metrics: names of the scores, the primary one first.
        baseline: scheme with which the others are compared; None compares all pairs.
        knobs: swept settings of the schemes.
        swept: the rows of all their values, of which the frame has each scheme's best; None without knobs.
        tune_seeds: seeds that chose them; none if all seeds did.
        tuned_by: score by which they were chosen.
        problem: the problem's swept settings.
        family: words that tell its tables from others of the same results, as `jfed table` has them.
        notes: notes on the runs.
        runs: Dataset of the runs, in the order of the frame; None for a CSV file.
    """

    title: str
    frame: pd.DataFrame
    metrics: tuple[str, ...]
    baseline: str | None
    knobs: tuple[str, ...] = ()
    swept: pd.DataFrame | None = field(default=None, compare=False)
    tune_seeds: tuple[int, ...] = ()
    tuned_by: str = ""
    problem: Mapping[str, Any] = field(default_factory=dict)
    family: str = ""
    notes: tuple[str, ...] = ()
    runs: Any = field(default=None, compare=False)

    @property
    def schemes(self) -> tuple[str, ...]:
        """Return the schemes, the baseline first."""
        names = list(dict.fromkeys(self.frame.scheme.astype(str)))
        return tuple(sorted(names, key=lambda name: name != self.baseline))

    def compared(self, metric: str, choices: Mapping[str, Any]) -> Comparisons | None:
        """Return the comparisons; None for a single scheme, or if the baseline was not run."""
        schemes = set(self.frame.scheme)
        if len(schemes) < 2 or (self.baseline is not None and self.baseline not in schemes):
            return None
        return compare(self.frame, metric, baseline=self.baseline, **choices)


def of_results(
    results: xr.Dataset, metrics: Sequence[str], baseline: str | None, tune_seeds: Sequence[int] = (),
    tuned_by: str | None = None, higher_is_better: bool | None = None,
) -> list[Level]:  # fmt: skip
    """Return the levels of results.

    Args:
        results: Dataset from `jfed.load`.
        metrics: scores to compare; by default those that differ between runs, accuracy first.
        baseline: method with which the others are compared; None compares all pairs.
        tune_seeds: seeds on which the knobs are chosen, the others report; without them all seeds do both.
        tuned_by: score by which they are chosen, by default the primary one.
        higher_is_better: direction of that score, if its name does not say it.
    """
    knobs = axes.of_schemes(results, load.settings(results))
    named = list(metrics or _default(results))
    by = tuned_by or named[0]
    scores: dict[str, Any] = {name: load.score(results, name) for name in dict.fromkeys((*named, by))}
    if not metrics and results.sizes["client"] > 1:
        scores[JAIN] = results["num_selected"][:, 0].copy(data=jain(results["times_selected"].values))
    levels = []
    for level, rows in load.swept(results.drop_vars(knobs)):
        part = load.part(results, rows)
        frame = load.tidy(part, {name: values.isel(run=rows) for name, values in scores.items()}, keep=knobs)
        own_knobs = tuple(name for name in knobs if len(axes.values(part, name)) > 1)
        swept, notes = None, ()
        if own_knobs:
            choice = choose(frame, by, own_knobs, tune_seeds or None, higher_is_better)
            swept, frame, notes = frame, choice.of(frame), (choice.note, *choice.settings())
            notes += (f"Settings are chosen by {score_name(by)}.",) if by != named[0] else ()
            part, frame = load.part(part, frame.index.to_numpy()), frame.reset_index(drop=True)
        own = frame.scheme[part["method"].values.astype(str) == baseline].unique()
        data, told = load.data_words(part), load.said_once(level)
        levels.append(
            Level(
                title=", ".join(f"{name} = {number(value)}" for name, value in told.items()),
                frame=frame,
                metrics=tuple(name for name in scores if name in (*named, JAIN)),
                baseline=str(own[0]) if len(own) == 1 else baseline,
                knobs=own_knobs,
                swept=swept,
                tune_seeds=tuple(tune_seeds),
                tuned_by=by,
                problem=told,
                family=", ".join([data, *(f"{name} = {value}" for name, value in told.items() if name != "dataset")]),
                notes=notes,
                runs=part,
            )
        )
    return levels


def of_frame(frame: pd.DataFrame, metrics: Sequence[str], baseline: str | None) -> Level:
    """Return the level of a CSV file's frame; its notes are those of its reading."""
    return Level("", frame.assign(scheme=frame.scheme.astype(str)), tuple(metrics), baseline,
                 notes=tuple(frame.attrs.get("notes", ())))  # fmt: skip


def num_rounds(runs: xr.Dataset) -> np.ndarray:
    """Return the number of rounds of each run, (runs,); shorter ones are filled with NaN."""
    return np.isfinite(runs["num_selected"].values).sum(1)


def _default(results: xr.Dataset) -> list[str]:
    """Return the scores of results that differ between runs, the primary one first; one at least."""
    known = [name for name in DEFAULT if name in results]
    return [name for name in known if np.ptp(load.score(results, name).fillna(0).values) > 0] or known[:1]


def plain_columns(level: Level) -> pd.DataFrame:
    """Return scheme, seed, settings and scores of each run, which is the table of runs to download."""
    frame = level.frame if level.swept is None else level.swept
    return frame.drop(columns=[name for name in COLUMNS if name in frame]).assign(**level.problem)
