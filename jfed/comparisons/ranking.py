"""All points of a sweep in the order of their means, and those that are not shown to be worse than the best."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from jfed.comparisons.compare import compare
from jfed.comparisons.comparison import Comparison, Comparisons, best_group
from jfed.comparisons.summary import SchemeSummary, summarise
from jfed.core.errors import require_columns
from jfed.results.direction import require_direction
from jfed.stats.paired import NAN

BEST = "best"
AMONG = "not shown to be worse"
CHOICES = ("alpha", "correction", "test", "paired", "failed", "higher_is_better")  # of `compare` that a ranking has


@dataclass(frozen=True)
class RankedPoint:
    """One point of a sweep.

    Attributes:
        scheme: name of the scheme.
        settings: its values of the axes; "" for an axis that the scheme does not have.
        summary: mean, standard deviation and pointwise interval over its finished runs.
        behind: its mean minus that of the best point, on the seeds that both finished; NaN for the best.
        low: lower end of the simultaneous interval of that difference.
        high: its upper end.
        standing: best, not shown to be worse, or the verdict of its comparison with the best.
    """

    scheme: str
    settings: Mapping[str, Any]
    summary: SchemeSummary
    behind: float
    low: float
    high: float
    standing: str


@dataclass(frozen=True)
class Ranking:
    """The points of a sweep on one metric.

    Attributes:
        metric: name of the metric.
        higher_is_better: whether a larger score is better.
        alpha: one minus the level of tests and intervals.
        axes: names of the swept settings.
        seeds: number of seeds that all points have.
        left_out: number of seeds that only some points have.
        rows: the points, the best first; those with failed runs last.
        comparisons: all points against the best; None if there is one point, or each has failed runs.
    """

    metric: str
    higher_is_better: bool
    alpha: float
    axes: tuple[str, ...]
    seeds: int
    left_out: int
    rows: tuple[RankedPoint, ...]
    comparisons: Comparisons | None

    @property
    def best(self) -> tuple[RankedPoint, ...]:
        """Return the best point and those that are not shown to be worse."""
        return tuple(row for row in self.rows if row.standing in (BEST, AMONG))

    def frame(self) -> pd.DataFrame:
        """Return one row per point at full precision."""
        rows = [
            {"metric": self.metric, "rank": i + 1}
            | dict(row.settings)
            | {name: value for name, value in asdict(row.summary).items() if name not in ("scheme", "failed")}
            | {"scheme": row.scheme, "failed": " ".join(map(str, row.summary.failed)), "behind": row.behind}
            | {"behind_low": row.low, "behind_high": row.high, "standing": row.standing}
            for i, row in enumerate(self.rows)
        ]
        first = ["metric", "rank", "scheme", *self.axes]
        frame = pd.DataFrame(rows)
        return frame.reindex(columns=[*first, *frame.columns.drop(first)])


def rank(frame: pd.DataFrame, metric: str, axes: Sequence[str], **choices: Any) -> Ranking:
    """Rank all points of a sweep by their means on the seeds that all have, and compare them with the best.

    The best is found on the same seeds. A point that is truly best is nevertheless seldom left out of those not shown
    to be worse: only if some point is shown to be better than it, in comparisons that are corrected for the number of
    points. Of up to 20 equal or nearly equal points, with and without 30 bad ones, Holm's correction at 5 % left such a
    point out in at most 2.7 % of 4000 simulated sweeps of 10 seeds.

    Args:
        frame: one row per run: columns `scheme`, `seed`, the metric and the axes.
        metric: the metric.
        axes: columns of the swept settings. One that a scheme does not have is NaN or "".
        **choices: as in `compare_levels`, without a baseline.

    Raises:
        ValueError: as in `compare`, or the frame lacks a column.

    Source: Hsu (1984), Constrained simultaneous confidence intervals for multiple comparisons with the best.
    """
    require_columns(frame, ("scheme", "seed", metric, *axes))
    higher = require_direction(metric, choices.get("higher_is_better"))
    points = points_of(frame, axes)
    labels = {point: _label(point, axes) for point in dict.fromkeys(points)}
    named: Any = frame.assign(scheme=[labels[point] for point in points])
    shared, everywhere = _shared(named)
    named = named[named["seed"].isin(shared)]
    alpha = choices.get("alpha", 0.05)
    summary = {row.scheme: row for row in summarise(named, metric, alpha).rows}
    sign = -1.0 if higher else 1.0
    order = sorted(summary, key=lambda label: (bool(summary[label].failed), sign * np.nan_to_num(summary[label].mean)))
    sound = [label for label in order if not summary[label].failed]
    found = compare(named, metric, baseline=order[0], **choices) if sound and len(order) > 1 else None
    rows = {row.scheme: row for row in found.rows} if found else {}
    among = best_group(found) if found else frozenset()
    of_label = {label: point for point, label in labels.items()}
    return Ranking(
        metric=metric,
        higher_is_better=higher,
        alpha=alpha,
        axes=tuple(axes),
        seeds=len(shared),
        left_out=len(everywhere) - len(shared),
        rows=tuple(
            _ranked(of_label[label], axes, summary[label], rows.get(label), label == order[0] and bool(sound), among)
            for label in order
        ),
        comparisons=found,
    )


def of_ranking(choices: Mapping[str, Any]) -> dict[str, Any]:
    """Return those choices of a comparison that a ranking has: not a margin, nor planned looks."""
    return {name: value for name, value in choices.items() if name in CHOICES}


def points_of(frame: pd.DataFrame, axes: Sequence[str]) -> list[tuple]:
    """Return the point of each run: its scheme and its values of the axes, "" for one that the scheme does not have."""
    return [tuple("" if pd.isna(v) else v for v in key) for key in frame[["scheme", *axes]].itertuples(index=False)]


def _shared(named: pd.DataFrame) -> tuple[set, set]:
    """Return the seeds that all points have, or all seeds if there are none, and the seeds that any point has."""
    seeds = [set(group) for _, group in named.groupby("scheme")["seed"]]
    everywhere = set.union(*seeds)
    return set.intersection(*seeds) or everywhere, everywhere


def _label(point: tuple, axes: Sequence[str]) -> str:
    told = [f"{name} = {value}" for name, value in zip(axes, point[1:], strict=True) if value != ""]
    return ", ".join([str(point[0]), *told])


def _ranked(
    point: tuple, axes: Sequence[str], summary: SchemeSummary, row: Comparison | None, first: bool, among: Container
) -> RankedPoint:  # fmt: skip
    settings = dict(zip(axes, point[1:], strict=True))
    if row is None:
        return RankedPoint(str(point[0]), settings, summary, NAN, NAN, NAN, BEST if first else "failed runs")
    standing = AMONG if row.scheme in among else row.verdict
    return RankedPoint(str(point[0]), settings, summary, row.difference, row.low, row.high, standing)
