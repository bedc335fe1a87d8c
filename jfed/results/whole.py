"""Assembly of rows of parts into one Dataset, with the runs along one axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jfed.results import alike
from jfed.results import axes as axes_of
from jfed.results.meaning import describe
from jfed.results.parts import Part

if TYPE_CHECKING:
    import xarray as xr

SEEDS = ("seed", "data_seed", "model_seed", "environment_seed")
FIRST = ("method", "mode", "seed")


class Row(NamedTuple):
    """One run of a result.

    Attributes:
        part: part that holds it.
        at: position among the part's runs.
        coords: coordinates that name it.
        left_open: paths left open in its setting; see `alike`.
        turn: rank among the runs of this name; see `Index.rename`.
    """

    part: Part
    at: int
    coords: Mapping[str, Any]
    left_open: tuple[str, ...]
    turn: int = 0


def assemble(rows: Sequence[Row]) -> xr.Dataset:
    """Return rows as one Dataset, ordered by method, mode, seed and the other coordinates.

    If runs have different numbers of rounds or clients, or some lack a variable, gaps are filled with NaN; bytes of
    cohorts for missing clients are 0.
    """
    import xarray as xr

    coords = _coords(rows)
    others = sorted(set(coords) - set(FIRST))
    order = np.lexsort([coords[name] for name in (*reversed(others), "seed", "mode", "method")])
    rows = [rows[i] for i in order]
    of_part: dict[int, tuple[Part, list[int], list[int]]] = {}
    for place, row in enumerate(rows):
        _, places, indices = of_part.setdefault(id(row.part), (row.part, [], []))
        places.append(place)
        indices.append(row.at)
    parts = list(of_part.values())
    axes = _axes([part for part, _, _ in parts])
    names = dict.fromkeys(name for part, _, _ in parts for name in part.arrays if name not in axes)
    variables = {name: _variable(name, parts, axes, len(rows)) for name in names}
    layouts = [part.layout for part, _, _ in parts]
    same = {name: value for name, value in layouts[0].items() if all(other.get(name) == value for other in layouts)}
    per_run = {name: ("run", column[order]) for name, column in coords.items()}
    kept = {name: axis for name, axis in axes.items() if name in ("round", "eval_round")}
    return axes_of.with_paths(describe(xr.Dataset(variables, per_run | kept, same)), rows)


def _axes(parts: Sequence[Part]) -> dict[str, Any]:
    """Return the values of each axis of the Dataset: rounds, evaluated rounds, and positions on the other axes."""
    axes: dict[str, Any] = {}
    for part in parts:
        for name, array in part.arrays.items():
            for dim, size in zip(part.dims[name], array.shape, strict=True):
                if dim != "run":
                    own = _places(part, dim, size)
                    axes[dim] = np.union1d(axes[dim], own) if dim in axes else own
    return axes


def _places(part: Part, dim: str, size: int) -> np.ndarray:
    """Return the values of an axis of a part; positions if the part gives none."""
    return part.arrays[dim] if dim in part.arrays else np.arange(size)


def _variable(name: str, parts: Sequence[tuple[Part, list[int], list[int]]], axes: Mapping[str, Any], runs: int) -> Any:
    having = [part for part, _, _ in parts if name in part.arrays]
    dims, arrays = having[0].dims[name], [part.arrays[name] for part in having]
    shape = (runs, *(len(axes[dim]) for dim in dims[1:]))
    short = any(
        size < full
        for array in arrays
        for dim, size, full in zip(dims[1:], array.shape[1:], shape[1:], strict=True)
        if dim != "byte"
    )
    dtype = np.result_type(*arrays)
    if len(having) < len(parts) or short:
        dtype = _with_nan(dtype)
        whole = np.full(shape, np.nan, dtype)
    else:
        whole = np.zeros(shape, dtype)
    for part, places, indices in parts:
        if name not in part.arrays:
            continue
        array = part.arrays[name][indices]
        if "byte" in dims:
            array = np.pad(array, [*[(0, 0)] * (array.ndim - 1), (0, shape[-1] - array.shape[-1])])
        sizes = zip(dims[1:], array.shape[1:], strict=True)
        where: Any = [np.searchsorted(axes[dim], _places(part, dim, size)) for dim, size in sizes]
        whole[np.ix_(places, *where)] = array
    return dims, whole


def _with_nan(dtype: np.dtype) -> np.dtype:
    """Return the type to which xarray promotes this one to hold NaN."""
    if dtype.kind in "iu":
        return np.dtype(np.float32 if dtype.itemsize <= 2 else np.float64)
    return dtype


def _coords(rows: Sequence[Row]) -> dict[str, np.ndarray]:
    """Return the coordinates of all runs by name."""
    settings: dict[tuple[str, tuple[str, ...]], dict[str, str]] = {}
    columns: list[dict[str, Any]] = []
    for row in rows:
        run = row.part.runs[row.at]
        kind = row.part.kinds[run.kind]
        if (run.kind, row.left_open) not in settings:
            what, left_open = kind["what"], row.left_open
            own = {"setting": alike.setting(what, left_open), "varied": alike.varied(what, left_open)}
            settings[run.kind, left_open] = own
        columns.append(
            dict(zip(SEEDS, run.seeds, strict=True))
            | kind["about"]
            | dict(row.coords)
            | {"run_id": run.id, **settings[run.kind, row.left_open]}
            | {"precision": kind["what"]["precision"], "versions": row.part.versions(run.kind)}
        )
    names = dict.fromkeys(name for column in columns for name in column)
    return {name: _column([column.get(name) for column in columns]) for name in names}


def _column(values: list[Any]) -> np.ndarray:
    """Return a coordinate of all runs; one that a run lacks is NaN among numbers and "" among texts."""
    lacking = "" if any(isinstance(value, str) for value in values) else np.nan
    return np.array([lacking if value is None else value for value in values])
