"""The settings that coordinates stand for: the dotted path of each swept setting, as the attribute `path`."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jfed.paths import scheme_axes
from jfed.results import alike

MEMBERS = ("environment", "controller", "training.dataset", "training.model", "training.algorithm")  # go by names

if TYPE_CHECKING:
    import xarray as xr

    from jfed.results.whole import Row


def with_paths(dataset: xr.Dataset, rows: Sequence[Row]) -> xr.Dataset:
    """Give each coordinate that stands for a setting its path, and return the Dataset."""
    of_kind: dict[str, dict[str, Any]] = {}
    open_paths: dict[str, set[str]] = {}
    for row in rows:
        kind = row.part.runs[row.at].kind
        if kind not in of_kind:
            of_kind[kind] = alike.everything(row.part.kinds[kind]["what"])
        for name, value in row.coords.items():
            known = {path for path, own in of_kind[kind].items() if path.rpartition(".")[2] == name}
            fitting = {path for path in known if path in MEMBERS or _same(value, of_kind[kind][path])}
            open_paths[name] = open_paths[name] & fitting if name in open_paths else fitting
    for name, found in open_paths.items():
        if found:
            dataset[name].attrs["path"] = min(found)
    return dataset


def paths(dataset: xr.Dataset) -> Mapping[str, str]:
    """Return the path of each coordinate that stands for a setting."""
    return {str(name): column.attrs["path"] for name, column in dataset.coords.items() if "path" in column.attrs}


def of_schemes(dataset: xr.Dataset, names: Sequence[str]) -> list[str]:
    """Return those of the named coordinates that stand for settings of the schemes, see `scheme_axes`."""
    known = paths(dataset)
    return [name for name in names if scheme_axes([known.get(name, "")])]


def values(dataset: xr.Dataset, name: str) -> list[Any]:
    """Return the values of a coordinate in order, without the gaps of runs that lack it."""
    import pandas as pd

    column = dataset[name].values
    return sorted(set(column[~(np.asarray(pd.isna(column)) | (column == ""))].tolist()), key=by_value)


def by_value(value: Any) -> tuple[bool, float, str]:
    """Return the key by which settings are sorted: numbers by their value, also if they are texts, and then texts."""
    try:
        return (False, float(value), "")
    except ValueError:
        return (True, 0.0, value)


def _same(told: Any, own: Any) -> bool:
    """Return whether a coordinate, a number or a text, is a setting as results store it, as plain JSON."""
    if isinstance(told, str) and not isinstance(own, str):
        try:
            told = ast.literal_eval(told)
        except (ValueError, SyntaxError):
            return False
    return (repr(told) if told in (math.inf, -math.inf) else json.loads(json.dumps(told))) == own
