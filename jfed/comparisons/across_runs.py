"""Runs that count in a comparison over several data sets: which seeds, and whether data sets share them."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from jfed.results.anycsv.keys import FACTORS, unknown
from jfed.results.frames import KEYS, SELECTED_HERE, company_notes, scores_by_scheme, with_seeds


@dataclass(frozen=True)
class Runs:
    """Scores of several schemes on several data sets.

    Attributes:
        scores: by data set, (seeds, schemes).
        failed: failed runs by scheme.
        selected: schemes whose setting was selected by these very scores.
        shared: whether the data sets have the same seeds; else no two of them share one.
        notes: what restricts the conclusions.
    """

    scores: Mapping[Hashable, np.ndarray]
    failed: Mapping[str, int]
    selected: frozenset[str]
    shared: bool
    notes: tuple[str, ...]


def runs_that_count(frame: pd.DataFrame, metric: str, by: str) -> Runs:
    """Return the scores on seeds that all schemes finished: those on all data sets, or each data set's own.

    Args:
        frame: one row per (data set, scheme, seed), with columns `scheme`, `seed`, `by` and `metric`.
        metric: the metric.
        by: column that names the data set.

    Raises:
        ValueError: as in `across`.
    """
    frame = with_seeds(frame)
    if by not in frame.columns or by in (*KEYS, metric):
        raise ValueError(unknown("column of data sets", by, [c for c in frame.columns if c not in (*KEYS, metric)]))
    if frame[by].isna().to_numpy().any():
        raise ValueError(f"a run has no {by}")
    parts = dict(iter(frame.groupby(by, sort=False)))
    if len(parts) < 2:
        raise ValueError(f"a claim about several data sets needs at least two, got {len(parts)}; use compare for one")
    found = {name: scores_by_scheme(part, metric) for name, part in parts.items()}
    schemes = list(dict.fromkeys(scheme for one in found.values() for scheme in one))
    if len(schemes) < 2:
        raise ValueError(f"a comparison needs at least two schemes, got {len(schemes)}")
    notes = [*_factor_notes(frame, by)]
    notes += [f"{by} {name}: {note}" for name, part in parts.items() for note in company_notes(part)]

    failed = dict.fromkeys(schemes, 0)
    tables: dict[Hashable, pd.DataFrame] = {}
    for name, one in found.items():
        if missing := [scheme for scheme in schemes if scheme not in one]:
            raise ValueError(f"{by} {name} has no run of {missing[0]}; each data set needs all schemes")
        table = pd.DataFrame({scheme: one[scheme] for scheme in schemes})
        tables[name] = pd.DataFrame(table[np.isfinite(table.to_numpy(float)).all(axis=1)])
        if tables[name].empty:
            raise ValueError(f"{by} {name} has no seed that all schemes finished")
        if len(tables[name]) < len(table):
            notes.append(f"{by} {name}: {len(table) - len(tables[name])} of {len(table)} seeds lack a finished run")
        for scheme in schemes:
            failed[scheme] += int(np.sum(~np.isfinite(one[scheme].to_numpy())))
    shared = _shared(tables, by)
    if shared:
        left_out = max(map(len, tables.values())) - len(shared)
        notes += [f"up to {left_out} seeds are not on all values of {by}, and left out"] if left_out else []
        tables = {name: table.reindex(shared) for name, table in tables.items()}
    if len(parts) == 2:
        notes.append(f"two values of {by} leave one degree of freedom, which shows next to nothing about further ones")
    sizes = [len(table) for table in tables.values()]
    if min(sizes) < max(sizes):
        notes.append(
            f"values of {by} have {min(sizes)} to {max(sizes)} seeds: the test for further ones is approximate"
        )
    is_selected = frame[SELECTED_HERE].astype(bool) if SELECTED_HERE in frame else np.zeros(len(frame), bool)
    return Runs(
        scores={name: table.to_numpy(float) for name, table in tables.items()},
        failed=failed,
        selected=frozenset(frame["scheme"][is_selected].astype(str)),
        shared=bool(shared),
        notes=tuple(notes),
    )


def _factor_notes(frame: pd.DataFrame, by: str) -> list[str]:
    """Return notes on seeds of factors that all runs share; raise ValueError if some runs share one and others not."""
    notes = []
    for name in (name for name in FACTORS if name in frame.columns):
        pairs = frame[["seed", name]].dropna().drop_duplicates()
        levels = sorted(set(pairs[name]))
        if 1 < len(levels) < len(pairs):
            raise ValueError(f"runs on different seeds share {name}: compare each value of {by} by itself")
        if len(levels) == 1 < len(pairs):
            notes.append(f"all runs share {name} {levels[0]}: the conclusion holds for it only")
    return notes


def _shared(tables: Mapping[Hashable, pd.DataFrame], by: str) -> list[Hashable]:
    """Return the seeds that are on all data sets; none if each has its own; raise ValueError if they share too few."""
    seeds = [set(table.index) for table in tables.values()]
    if len(set.union(*seeds)) == sum(map(len, seeds)):
        return []
    shared = sorted(set.intersection(*seeds))
    if len(shared) < 2:
        raise ValueError(
            f"values of {by} share seeds, but all schemes finished only {len(shared)} seeds on all of them: run all on"
            " the same two seeds or more, or each on seeds of its own"
        )
    return shared
