"""The tidy frame that every analysis starts from: a row per (scheme, seed), a column per metric."""

import itertools
import re
from collections import Counter
from collections.abc import Iterable

import numpy as np
import pandas as pd

from jfed.core.errors import shown
from jfed.results import alike
from jfed.results.anycsv.keys import FACTORS, unknown
from jfed.results.anycsv.keys import KEYS as KEYS
from jfed.results.anycsv.read import read_csv as read_csv
from jfed.results.direction import direction

SELECTED_HERE = "selected_here"  # column: whether the scheme's setting was chosen by the scores in this frame
LARGEST = 1e150  # largest finite score: beyond it squares may overflow


def with_seeds(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with a column `seed`: where only seeds of factors are known, one for each combination."""
    known = [name for name in FACTORS if name in frame.columns]
    if "seed" in frame.columns or not known:
        return frame
    combinations = frame[known].astype(str).agg(" ".join, axis=1)
    return frame.assign(seed=combinations.where(~frame[known].isna().any(axis=1)))


def scores_by_scheme(frame: pd.DataFrame, metric: str) -> dict[str, pd.Series]:
    """Check a tidy frame and split one metric by scheme.

    Args:
        frame: columns `scheme`, `seed` and metrics, one row per run; further columns are allowed.
        metric: column to take, in its own units.

    Returns:
        for each scheme, in order of first appearance, a float Series of its scores with the seed as index, sorted by
        seed, numbers within text by their value (s2 before s10). A failed run keeps its row: its score is NaN or
        infinite.

    Raises:
        ValueError: a column is missing or not numeric, a key is missing, seeds are of two types, two rows are the same
            (scheme, seed), a finite score is too large to be squared, or the column `setting` shows that schemes ran
            under different settings.
    """
    frame = with_seeds(frame)
    for column in KEYS:
        if column not in frame.columns:
            raise ValueError(f"the frame has no column {column!r}; it needs one row per {KEYS}")
    if metric not in frame.columns or metric in KEYS:
        raise ValueError(unknown("metric", metric, [c for c in frame.columns if c not in KEYS]))
    if (frame[list(KEYS)].isna() | (frame[list(KEYS)] == "")).to_numpy().any():
        raise ValueError("a row of the frame has no scheme or no seed")
    if len({isinstance(seed, str) for seed in frame["seed"]}) > 1:
        raise ValueError("some seeds are numbers and some are text; use one type")
    frame = frame.assign(scheme=frame["scheme"].astype(str))
    require_alike(frame)

    if frame.duplicated(list(KEYS)).any():
        raise ValueError(_repeated(frame, metric))
    try:
        scores = pd.Series(frame[metric].to_numpy(dtype=float, na_value=np.nan))
    except (TypeError, ValueError):
        raise ValueError(f"metric {metric!r} is not numeric") from None
    if (scores.abs().where(np.isfinite(scores)) > LARGEST).any():
        raise ValueError(f"metric {metric!r} has values beyond {LARGEST:g}, whose squares overflow: rescale it")

    labels = frame["scheme"].to_numpy()
    scores.index = _ordered(frame["seed"])
    return {scheme: scores.loc[labels == scheme].sort_index() for scheme in dict.fromkeys(labels)}


def _ordered(seeds: Iterable) -> pd.Index:
    """Return seeds as an index that sorts numbers within text by their value, as do unions of its parts.

    Planned looks take the first seeds, which of s0 to s19 are not s0, s1, s10 and s11.
    """
    seeds = np.asarray(seeds)
    if not any(isinstance(seed, str) for seed in seeds):
        return pd.Index(seeds, name="seed")

    def parts(seed: str) -> tuple[list, str]:
        pieces = re.split(r"([0-9]+)", seed)  # text and digits by turns
        return [int(piece) if i % 2 else piece for i, piece in enumerate(pieces)], seed

    return pd.CategoricalIndex(seeds, categories=sorted(set(seeds), key=parts), ordered=True, name="seed")


def _repeated(frame: pd.DataFrame, metric: str) -> str:
    """Return the sentence on rows of the same (scheme, seed), with the columns that tell them apart if there are any.

    Such a column is no metric, and has few values, as a data set or a swept setting has: not more than the most rows
    of a run, and one where a scheme does not have it.
    """
    keys = list(KEYS)
    twice = frame.loc[frame.duplicated(keys), keys]
    scheme, seed = twice.iloc[0]
    first = repr(seed) if isinstance(seed, str) else str(seed)
    rows = "1 row repeats" if len(twice) == 1 else f"{len(twice)} rows repeat"
    start = f"{rows} a (scheme, seed), the first is ({scheme!r}, {first})"
    most = max(Counter(zip(frame["scheme"], frame["seed"], strict=True)).values())
    known = {*keys, *FACTORS, *alike.COLUMNS, SELECTED_HERE, metric}
    others = [name for name in frame.columns if name not in known and direction(str(name)) is None]
    few = [name for name in others if 1 < len(frame[[name]].drop_duplicates()) <= most + 1]
    for names in itertools.chain(itertools.combinations(few, 1), itertools.combinations(few, 2)):
        if frame.duplicated([*keys, *names]).any():
            continue
        if len(names) == 1:
            return (
                f"{start}: the column {names[0]} tells them apart; compare over its values (--over {names[0]}), choose"
                f" each scheme's best (--tune-over {names[0]}), or give one value's rows"
            )
        return (
            f"{start}: the columns {names[0]} and {names[1]} tell them apart; give the rows of one value of one of"
            " them, and compare over the other (--over) or choose each scheme's best (--tune-over)"
        )
    return f"{start}: give one row per run, and runs that differ in no column seeds of their own"


def require_alike(frame: pd.DataFrame) -> None:
    """Refuse a frame whose column `setting` shows that its schemes cannot be compared; without the column it passes."""
    if {"scheme", "setting"} <= set(frame.columns):
        alike.require_alike(frame["scheme"], frame["setting"])


def company_notes(frame: pd.DataFrame) -> tuple[str, ...]:
    """Return notes on runs that differ in more than their schemes; see `alike.notes`."""
    return alike.notes({name: frame[name] for name in ("scheme", *alike.COLUMNS) if name in frame.columns})


def require_scheme(scheme: object, known: list[str]) -> None:
    """Raise ValueError, naming the near matches, unless `scheme` is one of `known`, which are text."""
    if not isinstance(scheme, str):
        raise ValueError(f"names of schemes are text: give {str(scheme)!r} in place of {shown(scheme)}")
    if scheme not in known:
        raise ValueError(unknown("scheme", scheme, known))
