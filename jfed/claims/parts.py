"""The scores that the parts of a claim's test are about."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from jfed.claims.finding import Finding, together
from jfed.claims.runs import Missing, Runs

Test = Mapping[str, Any]


def each(parts: Mapping[str, Callable[[], Finding]]) -> Finding:
    """Return the finding on several named parts; one that has no runs does not stop the others."""
    return together([attempt(part).named(name) for name, part in parts.items()])


def attempt(one: Callable[[], Finding]) -> Finding:
    """Return a finding, or one that tells what is missing."""
    try:
        return one()
    except (Missing, ValueError) as missing:  # one unusable table must not stop the other parts' verdicts
        return Finding(missing=(str(missing),))


def alone(runs: Runs, scheme: str, metric: str) -> np.ndarray:
    """Return one scheme's scores, (seeds,).

    Raises:
        Missing: there are fewer than 2.
    """
    scores = runs.scores(scheme, metric).to_numpy()
    if len(scores) < 2:
        raise Missing(f"fewer than 2 seeds of {scheme}")
    return scores


def at_levels(test: Test, runs: Runs, scheme: str, setting: str, values: Sequence[Any]) -> np.ndarray:
    """Return one scheme's scores at several values of a setting, (seeds, values).

    Raises:
        Missing: runs at one of them are missing, or there are fewer than 2 common seeds.
    """
    columns = [runs.where({setting: value}).scores(scheme, test["metric"]) for value in values]
    return common(columns, f"{scheme} at all values of {setting}")


def common(columns: Sequence[pd.Series], what: str) -> np.ndarray:
    """Return scores on their common seeds, (seeds, columns).

    Raises:
        Missing: there are fewer than 2.
    """
    both = pd.concat(list(columns), axis=1, join="inner").to_numpy(float)
    if len(both) < 2:
        raise Missing(f"fewer than 2 seeds of {what}")
    return both
