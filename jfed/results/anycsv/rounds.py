"""One score per run from a log with a row per round."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from jfed.results.alike import COLUMNS

At = Literal["last", "best"] | int
_SHOWN = 5  # runs that a note names


class Log(NamedTuple):
    """A log of several rounds per run.

    Attributes:
        frame: one row per run and round.
        runs: columns that tell runs apart.
        column: column that counts rounds.
        metric: column of the values.
        logged: whether each row has a value, (rows,). NaN may be one: that of a run that broke.
    """

    frame: pd.DataFrame
    runs: list[str]
    column: str
    metric: str
    logged: np.ndarray


def score(log: Log, at: At, window: int, higher_is_better: bool) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return one row per run with its score, and notes on how scores were taken and on runs that end early.

    Args:
        log: the log.
        at: "last" takes the value at the last logged round of each run, a number the value at that round, "best" the
            best finite value over rounds. A run without values, or that ends before the given round, has failed (NaN).
        window: number of logged values, up to that round, that are averaged.
        higher_is_better: whether a larger value is better.

    Raises:
        ValueError: `at` or the window is unusable, a run has fewer values than the window, or the round was not logged.
    """
    if window < 1:
        raise ValueError(f"--window must be at least 1, got {window}")
    if isinstance(at, str) and at not in ("last", "best"):
        raise ValueError(f"--at is last, best or a round, got {at!r}")
    rows, parts = _runs(log)
    rounds, values = log.frame[log.column].to_numpy(float), log.frame[log.metric].to_numpy(float)
    ends = np.array([rounds[part[-1]] if len(part) else -np.inf for part in parts])
    if not np.isfinite(ends).any():
        raise ValueError(f"no run has a value of {log.metric!r} in any round")
    target = ends.max() if isinstance(at, str) else at
    if ends.max() < target:
        raise ValueError(f"no run has logged round {at}: the last is {ends.max():g}")
    names = [", ".join(f"{n} {v}" for n, v in zip(log.runs, row, strict=True)) for row in rows[log.runs].to_numpy()]
    scores = np.full(len(parts), np.nan)
    for i, part in enumerate(parts):
        if not len(part) or (ends[i] < target and not isinstance(at, str)):
            continue
        last = len(part) if isinstance(at, str) else _place(names[i], rounds[part], at) + 1
        if last < window:
            raise ValueError(f"{names[i]} has too few logged values up to there ({last}) for a window of {window}")
        means = np.lib.stride_tricks.sliding_window_view(values[part[:last]], window).mean(-1)
        scores[i] = _best(means, higher_is_better) if at == "best" else means[-1]
    early = [f"{names[i]} ({ends[i]:g})" for i in np.flatnonzero((ends < target) & np.isfinite(ends))]
    kept = [*log.runs, *(name for name in COLUMNS if name in rows.columns and name not in log.runs)]
    return rows[kept].assign(**{log.metric: scores}), _notes(log, at, window, target, early)


def _runs(log: Log) -> tuple[pd.DataFrame, list[np.ndarray]]:
    """Return the first row of each run, and the indices of its rows with a value, ordered by round."""
    code = log.frame.groupby(log.runs, sort=False, dropna=False).ngroup().to_numpy()
    order = np.lexsort((log.frame[log.column].to_numpy(), code))
    order = order[log.logged[order]]
    parts = np.split(order, np.searchsorted(code[order], np.arange(1, code.max() + 1)))
    return log.frame.loc[~log.frame.duplicated(log.runs)].reset_index(drop=True), parts


def _place(name: str, rounds: np.ndarray, at: int) -> int:
    """Return the index of a round among the logged rounds of a run, (rounds,), of which the last is not before it."""
    place = int(np.searchsorted(rounds, at))
    if rounds[place] != at:
        near = " or ".join(f"{one:g}" for one in rounds[max(place - 1, 0) : place + 1])
        raise ValueError(f"round {at} of {name} was not logged: take {near}")
    return place


def _best(means: np.ndarray, higher_is_better: bool) -> float:
    finite = means[np.isfinite(means)]
    return float(finite.max() if higher_is_better else finite.min()) if len(finite) else np.nan


def _notes(log: Log, at: At, window: int, target: float, early: Sequence[str]) -> tuple[str, ...]:
    value = "value" if window == 1 else f"mean of {window} logged values"
    how, fate = {
        "last": (f"{value} at the last round of each run", "whose last round counts"),
        "best": (
            f"best {value} over the rounds of each run, which is biased towards looking good",
            "with fewer rounds to choose from",
        ),
    }.get(str(at), (f"{value} at round {at}", "which count as failed"))
    notes = [f"Score: {how}. Rounds are in the column {log.column!r}."]
    if early:
        more = f", and {len(early) - _SHOWN} more" if len(early) > _SHOWN else ""
        notes.append(f"Runs that end before round {target:g}, {fate}: {'; '.join(early[:_SHOWN])}{more}.")
    return tuple(notes)
