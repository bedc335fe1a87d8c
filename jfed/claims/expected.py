"""The settings for which a paper makes a claim, and those of them that have no runs."""

import itertools
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from jfed.claims.runs import Runs


def lacking(runs: Runs, expects: Mapping[str, Sequence[Any]]) -> tuple[str, ...]:
    """Return the expected settings without runs, as text: first values that have none at all, then combinations.

    A row without a value of a setting, to whose scheme it does not apply, is no run at that setting.

    Args:
        runs: the runs that the claim is about.
        expects: for each setting, the values that the paper shows. A setting that is no column has no runs.
    """
    known = runs.frame.reindex(columns=list(expects)).dropna().drop_duplicates()
    found = set(known.itertuples(index=False, name=None))
    present = {name: [v for v in values if (known[name] == v).any()] for name, values in expects.items()}
    absent = [(name, [v for v in values if v not in present[name]]) for name, values in expects.items()]
    texts = [f"{name} = {' or '.join(map(shown, values))}" for name, values in absent if values]
    rest = (values for values in itertools.product(*present.values()) if values not in found)
    return (*texts, *(setting(dict(zip(expects, values, strict=True))) for values in rest if values))


def setting(values: Mapping[str, Any]) -> str:
    """Return a setting as text, such as "k = 10, partition = iid"."""
    return ", ".join(f"{name} = {shown(value)}" for name, value in values.items())


def shown(value: Any) -> str:
    """Return a setting's value as text; words as they are."""
    return f"{value:g}" if isinstance(value, Real) and not isinstance(value, bool) else str(value)
