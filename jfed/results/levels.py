"""The levels of a sweep in results: the runs at each combination of swept settings, and parts of results."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from jfed.results import axes
from jfed.results.whole import SEEDS

if TYPE_CHECKING:
    import xarray as xr

REAL = ("client_loss", "client_accuracy")  # variables by client that are not whole numbers
IDENTITY = ("run_id", "setting", "varied", "precision", "versions", "config")
STANDARD = ("method", "mode", "oracle", *SEEDS, *IDENTITY)


def part(dataset: xr.Dataset, rows: np.ndarray) -> xr.Dataset:
    """Return some runs, without the clients, rounds and evaluations that none of them has."""
    chosen = dataset.isel(run=rows)
    missing = chosen["times_selected"].isnull().values.all(0)
    chosen = _without_rounds(chosen.isel(client=np.flatnonzero(~missing)))
    filled = [
        str(n) for n, v in chosen.data_vars.items() if "client" in v.dims and v.dtype.kind == "f" and n not in REAL
    ]
    return chosen.assign({n: chosen[n].astype(np.int32) for n in filled if not chosen[n].isnull().any()})


def _without_rounds(chosen: xr.Dataset) -> xr.Dataset:
    """Return runs without the rounds behind the longest one, and without evaluations that none of them made."""
    played = np.flatnonzero(chosen["num_succeeded"].notnull().values.any(0))
    last = int(played[-1]) + 1 if len(played) else 0
    if last < chosen.sizes["round"]:
        rounds = chosen["round"].values[:last]
        chosen = chosen.isel(round=slice(last))
        if "eval_round" in chosen.dims:
            chosen = chosen.isel(eval_round=np.flatnonzero(chosen["eval_round"].values <= rounds.max(initial=0)))
    if "test_loss" not in chosen:
        return chosen
    tested: Any = chosen["test_loss"].notnull().values.any(0)
    later = np.logical_or.accumulate(tested[::-1])[::-1]  # the last ones are NaN, too, if all models are broken
    return chosen if (tested | ~later).all() else chosen.isel(eval_round=np.flatnonzero(tested | ~later))


def swept(dataset: xr.Dataset) -> list[tuple[dict[str, Any], np.ndarray]]:
    """Return the levels of the settings that vary between runs, beside scheme and seed, each with its runs.

    A scheme without a setting (such as eta, in a sweep of E3CS beside uniform) is in each of the setting's levels.
    Runs that would be in no level, such as those of a world without a setting that others vary, have levels of the
    settings that they have.
    """
    import pandas as pd

    names = settings(dataset)
    values = {name: dataset[name].values for name in names}
    lacks = {name: np.asarray(pd.isna(column)) | (column == "") for name, column in values.items()}
    known = [axes.values(dataset, name) for name in names]
    levels, placed = [], np.zeros(dataset.sizes["run"], bool)
    for level in itertools.product(*known):
        has = {name: values[name] == value for name, value in zip(names, level, strict=True)}
        rows = np.ones(dataset.sizes["run"], bool)
        for name in names:
            rows &= has[name] | lacks[name]
        if all((rows & has[name]).any() for name in names):  # only combinations that were run
            levels.append((dict(zip(names, level, strict=True)), np.flatnonzero(rows)))
            placed |= rows
    left: dict[tuple, list[int]] = {}
    for i in np.flatnonzero(~placed):
        own = tuple((name, values[name][i]) for name in names if not lacks[name][i])
        left.setdefault(own, []).append(int(i))
    plain = ({name: v.item() if isinstance(v, np.generic) else v for name, v in own} for own in left)
    return levels + list(zip(plain, map(np.array, left.values()), strict=True))


def settings(dataset: xr.Dataset) -> list[str]:
    """Return the names of the coordinates that vary between runs, beside scheme and seed."""
    import pandas as pd

    names = [str(n) for n, c in dataset.coords.items() if c.dims == ("run",) and n not in STANDARD]
    return [name for name in names if len(pd.unique(pd.Series(dataset[name].values))) > 1]


def said_once(level: Mapping[str, Any]) -> dict[str, Any]:
    """Return a level of the swept settings without the name of its world where the swept environment is that name."""
    return {name: level[name] for name in level if name != "world" or level[name] != level.get("environment")}


def data_words(dataset: xr.Dataset) -> str:
    """Return the names of the runs' data sets in words."""
    return ", ".join(sorted(set(dataset["dataset"].values.astype(str)))).replace("none", "no training")
