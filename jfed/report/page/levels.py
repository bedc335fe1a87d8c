"""What a page compares: for each problem, the schemes at all their settings, one row per run.

A swept setting of the scheme or of its training (a knob, such as eta or a learning rate) makes further rows of one
table, and any other (a problem, such as the number of clients or the world) makes a table of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from jfed.comparisons.compare import compare
from jfed.comparisons.comparison import Comparisons
from jfed.comparisons.summary import jain
from jfed.report.page.words import number
from jfed.results import load
from jfed.results.alike import COLUMNS
from jfed.results.direction import direction

if TYPE_CHECKING:
    import xarray as xr

KNOBS = ("selector.", "controller.", "training.algorithm.", "training.batch_size")
DEFAULT = ("test_accuracy", "num_succeeded", "round_time_s")  # scores, the primary one first
JAIN = "jain"  # index of selections, a further score


@dataclass(frozen=True)
class Level:
    """The runs on one problem.

    Attributes:
        title: the problem in words, "" if there is only one.
        frame: one row per run, with columns scheme (at its setting), method (without it), seed, the knobs and scores.
        metrics: names of the scores, the primary one first.
        baseline: scheme with which the others are compared; None compares all pairs.
        knobs: swept settings of the schemes.
        family: words that tell its tables from others of the same results, as `jfed table` has them.
        notes: notes on the runs.
        runs: Dataset of the runs, in the order of the frame; None for a CSV file.
    """

    title: str
    frame: pd.DataFrame
    metrics: tuple[str, ...]
    baseline: str | None
    knobs: tuple[str, ...] = ()
    family: str = ""
    notes: tuple[str, ...] = ()
    runs: Any = field(default=None, compare=False)

    @property
    def schemes(self) -> tuple[str, ...]:
        """Return the schemes at their settings, the baseline first."""
        names = list(dict.fromkeys(self.frame.scheme.astype(str)))
        return tuple(sorted(names, key=lambda name: name != self.baseline))

    def compared(self, metric: str, choices: Mapping[str, Any]) -> Comparisons | None:
        """Return the comparisons; None for a single scheme, or if the baseline itself has several settings."""
        schemes = set(self.frame.scheme)
        if len(schemes) < 2 or (self.baseline is not None and self.baseline not in schemes):
            return None
        return compare(self.frame, metric, baseline=self.baseline, **choices)


def of_results(
    results: xr.Dataset, metrics: Sequence[str], baseline: str | None, configs: Mapping[str, Mapping[str, Any]]
) -> list[Level]:
    """Return the levels of results.

    Args:
        results: Dataset from `jfed.load`.
        metrics: scores to compare; by default those that differ between runs, accuracy first.
        baseline: method with which the others are compared; None compares all pairs.
        configs: settings by their digest, by dotted path.
    """
    names = load.settings(results)
    knobs = [name for name in names if _is_knob(results, name, configs)]
    scores: dict[str, Any] = {name: load.score(results, name) for name in metrics or _default(results)}
    if not metrics and results.sizes["client"] > 1:
        scores[JAIN] = results["num_selected"][:, 0].copy(data=of_clients(jain, results["times_selected"].values))
    levels = []
    for level, rows in load.swept(results.drop_vars(knobs)):
        part = load.part(results, rows)
        frame = load.tidy(part, {name: values.isel(run=rows) for name, values in scores.items()}, keep=knobs)
        frame = frame.assign(method=frame.scheme, scheme=_labels(frame, knobs))
        own_knobs = tuple(name for name in knobs if len(set(frame[name].dropna())) > 1)
        order = _ranked(frame, next(iter(scores))) if own_knobs else np.arange(len(frame))
        part, frame = part.isel(run=order), frame.iloc[order].reset_index(drop=True)
        own = frame.method[part["method"].values.astype(str) == baseline].unique()
        data = ", ".join(sorted(set(part["dataset"].values.astype(str)))).replace("none", "no training")
        told = {name: value for name, value in level.items() if name != "world" or value != level.get("environment")}
        levels.append(
            Level(
                title=", ".join(f"{name} = {number(value)}" for name, value in told.items()),
                frame=frame,
                metrics=tuple(scores),
                baseline=str(own[0]) if len(own) == 1 else baseline,
                knobs=own_knobs,
                family=", ".join([data, *(f"{name} = {value}" for name, value in told.items() if name != "dataset")]),
                runs=part,
            )
        )
    return levels


def of_frame(frame: pd.DataFrame, metrics: Sequence[str], baseline: str | None) -> Level:
    """Return the level of a CSV file's frame; its notes are those of its reading."""
    known = frame.scheme.astype(str)
    return Level("", frame.assign(scheme=known, method=known), tuple(metrics), baseline,
                 notes=tuple(frame.attrs.get("notes", ())))  # fmt: skip


def of_clients(index: Callable[[np.ndarray], np.ndarray], counts: np.ndarray) -> np.ndarray:
    """Return an index over the clients of each run, (runs,); NaN among counts, (runs, clients), is no client."""
    return np.array([index(own[~np.isnan(own)]) for own in counts.astype(float)], float)


def num_rounds(runs: xr.Dataset) -> np.ndarray:
    """Return the number of rounds of each run, (runs,); shorter ones are filled with NaN."""
    return np.isfinite(runs["num_selected"].values).sum(1)


def _default(results: xr.Dataset) -> list[str]:
    """Return the scores of results that differ between runs, the primary one first; one at least."""
    known = [name for name in DEFAULT if name in results]
    return [name for name in known if np.ptp(load.score(results, name).fillna(0).values) > 0] or known[:1]


def _is_knob(results: xr.Dataset, name: str, configs: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether a swept setting is one of the schemes: by its path, or since some schemes lack it."""
    paths = {path for config in configs.values() for path in config if path.rpartition(".")[2] == name}
    lacks = pd.isna(results[name].values) | (results[name].values == "")
    return bool(lacks.any() or (paths and all(path.startswith(KNOBS) for path in paths)))


def _labels(frame: pd.DataFrame, knobs: Sequence[str]) -> list[str]:
    """Return each run's scheme with those of its settings that it has several values of."""
    several = {
        scheme: [name for name in knobs if len(set(part[name].dropna())) > 1]
        for scheme, part in frame.groupby("scheme")
    }
    columns = {name: frame[name].to_numpy() for name in knobs}
    return [
        ", ".join([scheme, *(f"{name} = {number(columns[name][i])}" for name in several[scheme])])
        for i, scheme in enumerate(frame.scheme)
    ]


def _ranked(frame: pd.DataFrame, metric: str) -> np.ndarray:
    """Return the order of rows in which schemes with the best mean score come first, and seeds keep their order."""
    sign = 1 if direction(metric) is False else -1
    means: Any = frame.groupby("scheme")[metric].mean()
    return np.lexsort([np.arange(len(frame)), frame.scheme.to_numpy(str), sign * means[frame.scheme].to_numpy()])


def plain_columns(level: Level) -> pd.DataFrame:
    """Return scheme, seed and scores of each run, which is the table of runs to download."""
    dropped = [name for name in (*COLUMNS, "method") if name in level.frame]
    return level.frame.drop(columns=dropped)
