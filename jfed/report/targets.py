"""Times to a target. A run that never reaches it is censored, not left out."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from jfed.comparisons.compare import compare
from jfed.comparisons.comparison import Comparisons
from jfed.report.tables import Table
from jfed.results.direction import direction


def first_reached(rounds: ArrayLike, values: ArrayLike, target: float) -> np.ndarray:
    """Return the first round at which each run is at or above the target, (runs,); inf where it never is.

    Args:
        rounds: rounds of the evaluations, (evaluations,), increasing.
        values: one row per run, (runs, evaluations); NaN counts as below the target.
        target: value to reach, such as an accuracy of 0.65.
    """
    reached = np.asarray(values, float) >= target
    first = np.asarray(rounds, float)[reached.argmax(1)]
    return np.where(reached.any(1), first, np.inf)


def compare_times(
    frame: pd.DataFrame, target: str, horizon: float, *, baseline: str | None = None, alpha: float = 0.05
) -> Comparisons:
    """Compare times to a target that some runs never reach, paired by seed, by the sign-flip test.

    A run that never reaches the target counts with the horizon (its restricted time), so the mean difference is one of
    restricted means: it says nothing about times beyond the horizon, and does not leave out the unsuccessful runs.

    Args:
        frame: one row per (scheme, seed).
        target: column of times (rounds, seconds, cost), inf where the target was never reached; NaN is a failed run.
        horizon: end of observation, the same for all runs.
        baseline: as in `compare`.
        alpha: as in `compare`.

    Raises:
        ValueError: the target's name says that it is no time, a time is beyond the horizon, or as in `compare`.

    Returns:
        As `compare`; the verdict on two schemes of which no run reaches the target is "never reached".
    """
    if direction(target):
        raise ValueError(f"the name {target!r} says that a higher value is better, and of times a lower one is")
    if target not in frame.columns:
        return compare(frame, target, baseline=baseline, higher_is_better=False, alpha=alpha, test="sign-flip")
    if (np.isfinite(frame[target]) & (frame[target] > horizon)).any():
        raise ValueError(f"a run reaches {target!r} after the horizon of {horizon:g}")
    restricted = frame.assign(**{target: np.minimum(frame[target], horizon)})
    found = compare(restricted, target, baseline=baseline, higher_is_better=False, alpha=alpha, test="sign-flip")
    arrived = {str(s) for s, times in frame.groupby("scheme")[target] if np.isfinite(times).any()}
    rows = [
        replace(row, verdict="never reached", low=math.nan, high=math.nan)
        if row.verdict == "identical" and not {row.scheme, row.reference} & arrived
        else row
        for row in found.rows
    ]
    return replace(found, rows=tuple(rows))


def targets_table(frame: pd.DataFrame, targets: Sequence[str], horizon: int, title: str) -> Table:
    """Lay out median rounds to each target per scheme, with the range over seeds; a target never reached is "> T".

    Args:
        frame: one row per (scheme, seed); each target a column of rounds, inf where it was never reached.
        targets: the columns, such as "rounds to 65 %"; the title should say that they are rounds.
        horizon: T, the last round.
        title: title, which must name the data set.
    """

    def text(rounds: float) -> str:
        return f"{rounds:g}" if np.isfinite(rounds) else f"> {horizon}"

    rows, records = [], []
    for scheme, group in frame.groupby("scheme", sort=False):
        cells = [str(scheme), str(len(group))]
        for target in targets:
            values = group[target].to_numpy(float)
            # The lower median of an even number of runs, so that it is a round that occurs.
            failed, values = int(np.isnan(values).sum()), np.where(np.isnan(values), np.inf, values)
            low, middle, high = np.sort(values)[[0, (len(values) - 1) // 2, -1]]
            reached = int(np.isfinite(values).sum())
            some = f"; {reached}/{len(values)}" if 0 < reached < len(values) else ""
            some += f"; {failed} failed" if failed else ""
            spread = f"{text(low)} to {text(high)}{some}" if low < high else some.removeprefix("; ")
            cells.append(text(middle) + (f" ({spread})" if spread else ""))
            records.append((scheme, target, len(values), reached, failed, low, middle, high))
        rows.append(tuple(cells))
    notes = (
        "First round at or above the target: lower median over seeds (range, and how many reached it if not all did).",
        f"A run that never reaches a target, or fails, counts as later than T = {horizon}; no mean is taken.",
    )
    columns = ["scheme", "n", *(target.removeprefix("rounds to ") for target in targets)]
    names = ["scheme", "target", "n", "reached", "failed", "lowest", "median", "highest"]
    return Table(
        title, tuple(columns), "lr" + "r" * len(targets), tuple(rows), notes, frozenset(),
        pd.DataFrame(records, columns=pd.Index(names)),
    )  # fmt: skip
