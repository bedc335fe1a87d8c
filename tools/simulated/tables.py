"""Simulated scores in, rows of a table out.

`compare` of a tidy frame takes several milliseconds, most of them to read the frame. So most studies start below it:
`pairs` calls what `compare` calls for each comparison, and `family` and `alone` call what makes the rows of a table.
The tests of the calibration check that these are the rows of `compare`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from jfed.comparisons.comparison import Comparison, Correction, Failed
from jfed.comparisons.comparison import Test as PairedTest
from jfed.comparisons.family import Rule
from jfed.comparisons.pairs import Pair, any_seeds, same_seeds
from jfed.comparisons.rows import rows
from jfed.stats.crossed import Design
from jfed.stats.locations import typical_values
from jfed.stats.signflip import EXACT_UP_TO
from tools.simulated.model import LEVEL

# name: the test that is named to `compare`, and whether schemes are paired by seed
TESTS: dict[str, tuple[PairedTest, bool]] = {
    "t": ("t", True),
    "Wilcoxon": ("wilcoxon", True),
    "sign flips": ("sign-flip", True),
    "Welch": ("t", False),
    "Mann-Whitney": ("wilcoxon", False),
}
FLIPS = 1999  # instead of 100 000; the level and the coverage are exact with any number
VERDICTS = ("better", "worse")


def frame(scores: np.ndarray, **columns: Any) -> pd.DataFrame:
    """Return a tidy frame of scores, (schemes, runs), the first scheme being the baseline; columns have a run each."""
    schemes, runs = scores.shape
    names = ["baseline", *(f"scheme {i}" for i in range(1, schemes))]
    seeds = {"scheme": np.repeat(names, runs), "seed": np.tile(np.arange(runs), schemes), "accuracy": scores.ravel()}
    return pd.DataFrame(seeds | {name: np.tile(values, schemes) for name, values in columns.items()})


def pairs(scores: Iterable[Any], test: str) -> list[Pair]:
    """Return the comparison of each scheme with the first one.

    Args:
        scores: of each scheme, (n,), or a Series by seed.
        test: one of `TESTS`.
    """
    baseline, *others = (pd.Series(x) for x in scores)
    asked, paired = TESTS[test]
    if not paired:
        return [_quick(any_seeds(scheme, baseline, True, asked)) for scheme in others]
    seeds = Design("independent", (("seed", len(baseline)),), (), {})
    flips = {"flips": FLIPS} if asked == "sign-flip" else {}
    return [_quick(same_seeds(scheme, baseline, True, asked, seeds, **flips)) for scheme in others]


def _quick(pair: Pair) -> Pair:
    """Return the comparison with an interval that is computed once for each level, from few drawn sign patterns."""
    if pair.decided_by == "sign-flip" and pair.numbers.n > EXACT_UP_TO:
        d = pair.scores[0] - pair.scores[1]
        return replace(pair, interval=lru_cache(lambda level: typical_values(d, level, resamples=FLIPS)))
    return replace(pair, interval=lru_cache(pair.interval))


def family(
    compared: Sequence[Pair],
    correction: Correction = "holm",
    margin: float | None = None,
    failed: Failed = "worst",
) -> list[Comparison]:
    """Return the rows of a table of all these comparisons."""
    rule = Rule(correction, LEVEL, (), "obrien-fleming", False, margin, True)
    names = [(f"scheme {i}", "baseline") for i in range(1, len(compared) + 1)]
    return rows(names, [[pair] for pair in compared], [True] * len(names), rule, failed)


def alone(compared: Sequence[Pair], margin: float | None = None, failed: Failed = "worst") -> list[Comparison]:
    """Return each comparison's row in a table that has no other."""
    return [family([pair], margin=margin, failed=failed)[0] for pair in compared]


def share(made: Sequence[Comparison], verdicts: Sequence[str] = VERDICTS) -> float:
    """Return the share of rows that have one of these verdicts."""
    return float(np.mean([row.verdict in verdicts for row in made]))


def some(made: Sequence[Comparison], verdicts: Sequence[str] = VERDICTS) -> bool:
    """Return whether any row has one of these verdicts."""
    return any(row.verdict in verdicts for row in made)


def cover(low: float, high: float, true: float) -> float:
    """Return whether an interval holds the true value; NaN if there is none."""
    return np.nan if np.isnan(low) or np.isnan(high) else float(low <= true <= high)


def all_cover(made: Sequence[Comparison], true: Sequence[float] | np.ndarray) -> float:
    """Return whether no interval of the family misses its true difference; NaN if there are no intervals."""
    return _without_nan([cover(row.low, row.high, value) for row, value in zip(made, true, strict=True)], np.min)


def share_covered(made: Sequence[Comparison], true: float) -> float:
    """Return the share of pointwise intervals that hold the true difference; NaN if there are none."""
    return _without_nan([cover(row.pointwise_low, row.pointwise_high, true) for row in made], np.mean)


def _without_nan(values: list[float], function: Any) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(function(known)) if known else np.nan
