"""The tidy frame that every analysis starts from: a row per (scheme, seed), a column per metric."""

import difflib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from jfed.results import alike

KEYS = ("scheme", "seed")
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "None", "<NA>")
LARGEST = 1e150  # largest finite score: beyond it squares may overflow


def read_csv(path: str | Path) -> pd.DataFrame:
    """Return a CSV table with schemes' names as they are written: "01" is not "1", and "None" is a name.

    Raises:
        ValueError: the file is no table with rows.
    """
    try:
        columns = pd.read_csv(path, nrows=0).columns
        missing: Any = {name: MISSING for name in columns if name != "scheme"}
        frame = pd.read_csv(path, dtype={"scheme": str}, keep_default_na=False, na_values=missing)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError):
        raise ValueError(f"{path} is not a CSV table") from None
    if len(frame) == 0:
        raise ValueError(f"{path} is not a CSV table with rows")
    return frame


def scores_by_scheme(frame: pd.DataFrame, metric: str) -> dict[str, pd.Series]:
    """Check a tidy frame and split one metric by scheme.

    Args:
        frame: columns `scheme`, `seed` and metrics, one row per run; further columns are allowed.
        metric: column to take, in its own units.

    Returns:
        for each scheme, in order of first appearance, a float Series of its scores with the seed as index, sorted by
        seed. A failed run keeps its row: its score is NaN or infinite.

    Raises:
        ValueError: a column is missing or not numeric, a key is missing, seeds are of two types, two rows are the same
            (scheme, seed), a finite score is too large to be squared, or the column `setting` shows that schemes ran
            under different settings.
    """
    for column in KEYS:
        if column not in frame.columns:
            raise ValueError(f"the frame has no column {column!r}; it needs one row per {KEYS}")
    if metric not in frame.columns or metric in KEYS:
        raise ValueError(_unknown("metric", metric, [c for c in frame.columns if c not in KEYS]))
    if (frame[list(KEYS)].isna() | (frame[list(KEYS)] == "")).to_numpy().any():
        raise ValueError("a row of the frame has no scheme or no seed")
    if len({isinstance(seed, str) for seed in frame["seed"]}) > 1:
        raise ValueError("some seeds are numbers and some are text; use one type")
    frame = frame.assign(scheme=frame["scheme"].astype(str))
    require_alike(frame)

    twice = frame.loc[frame.duplicated(list(KEYS)), list(KEYS)]
    if len(twice):
        scheme, seed = twice.iloc[0]
        raise ValueError(
            f"{len(twice)} rows repeat a (scheme, seed), the first is ({scheme!r}, {seed}); "
            "select one world, mode and point of the sweep before comparing"
        )
    try:
        scores = pd.Series(frame[metric].to_numpy(dtype=float, na_value=np.nan))
    except (TypeError, ValueError):
        raise ValueError(f"metric {metric!r} is not numeric") from None
    if (scores.abs().where(np.isfinite(scores)) > LARGEST).any():
        raise ValueError(f"metric {metric!r} has values beyond {LARGEST:g}, whose squares overflow: rescale it")

    labels = frame["scheme"].to_numpy()
    scores.index = pd.Index(frame["seed"].to_numpy(), name="seed")
    return {scheme: scores.loc[labels == scheme].sort_index() for scheme in dict.fromkeys(labels)}


def require_alike(frame: pd.DataFrame) -> None:
    """Refuse a frame whose column `setting` shows that its schemes cannot be compared; without the column it passes."""
    if {"scheme", "setting"} <= set(frame.columns):
        alike.require_alike(frame["scheme"], frame["setting"])


def company_notes(frame: pd.DataFrame) -> tuple[str, ...]:
    """Return notes on runs that differ in more than their schemes; see `alike.notes`."""
    return alike.notes({name: frame[name] for name in ("scheme", *alike.COLUMNS) if name in frame.columns})


def require_scheme(scheme: str, known: list[str]) -> None:
    """Raise ValueError, naming the near matches, unless `scheme` is one of `known`."""
    if scheme not in known:
        raise ValueError(_unknown("scheme", scheme, known))


def require_alpha(alpha: float) -> None:
    """Raise ValueError unless the significance level is strictly between 0 and 1."""
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha must lie strictly between 0 and 1, got {alpha}")


def _unknown(kind: str, name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, [str(one) for one in known], n=3)
    if near:
        return f"no {kind} {name!r}; did you mean {' or '.join(map(repr, near))}?"
    return f"no {kind} {name!r}; there are {', '.join(map(repr, known)) or 'none'}"
