"""From a directory of finished units to one xarray Dataset, and from there to tidy frames."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr


def load(path: str | Path) -> xr.Dataset:
    """All finished runs below a directory.

    Args:
        path: the `--out` of an experiment, its `results` folder, or one unit's file.

    Returns:
        Dimensions run, round, client and, with training, eval_round. Coordinates on `run`: method, mode, seed,
        world, oracle (1 for a scheme that is shown the truth), dataset, config (names its settings), the seeds that may
        be set apart, and one per swept setting. The README
        lists the variables.

    Raises:
        FileNotFoundError: there are no results.
    """
    path = Path(path)
    files = [path] if path.is_file() else sorted({*path.glob("results/*.nc"), *path.glob("*.nc")})
    if not files:
        raise FileNotFoundError(f"There are no results in {path}: run an experiment with --out {path} first.")
    parts = []
    for file in files:
        with xr.open_dataset(file, engine="h5netcdf") as opened:
            parts.append(opened.load())
    return combine(parts)


def combine(parts: Sequence[xr.Dataset]) -> xr.Dataset:
    """Units as one Dataset along `run`, ordered by method, mode and seed."""
    names = {name: part[name].dtype for part in parts for name in part.coords if part[name].dims == ("run",)}
    filled = []
    for part in parts:
        missing = {
            name: ("run", np.full(part.sizes["run"], np.nan if dtype.kind in "fiu" else ""))
            for name, dtype in names.items()
            if name not in part.coords
        }
        filled.append(part.assign_coords(missing))
    whole: Any = xr.concat(
        filled, dim="run", join="outer", data_vars="all", coords="different", compat="equals",
        combine_attrs="drop_conflicts",
    )  # fmt: skip
    # A run may stand in two units, if more seeds were added with another block size: it is the same run.
    same = pd.DataFrame({name: whole[name].values for name in names}).duplicated().to_numpy()
    order = np.lexsort([whole[name].values for name in ("seed", "mode", "method")])
    return whole.isel({"run": order[~same[order]]})


def schemes(dataset: xr.Dataset, by: Sequence[str] = ()) -> np.ndarray:
    """A label for each run: its method; marked if it is an oracle, or its mode would leave it ambiguous.

    Args:
        dataset: from `load`.
        by: further coordinates that set schemes apart, such as ("k",).
    """
    methods, modes = dataset["method"].values.astype(str), dataset["mode"].values.astype(str)
    several = {m for m in set(methods) if len(set(modes[methods == m])) > 1}
    oracles = dataset["oracle"].values
    labels = [
        f"{m} (oracle)" if oracle else f"{m} ({mode})" if m in several else m
        for m, mode, oracle in zip(methods, modes, oracles, strict=True)
    ]
    for name in by:
        labels = [f"{x}, {name}={value}" for x, value in zip(labels, dataset[name].values, strict=True)]
    return np.array(labels)


STANDARD = ("method", "mode", "oracle", "config", "seed", "data_seed", "model_seed", "environment_seed")


def swept(dataset: xr.Dataset) -> list[tuple[dict[str, Any], np.ndarray]]:
    """The settings that vary between runs beside scheme and seed, level by level, with each level's runs."""
    names = [str(n) for n, c in dataset.coords.items() if c.dims == ("run",) and n not in STANDARD]
    values = {name: dataset[name].values for name in names}
    names = [name for name in names if len(pd.unique(pd.Series(values[name]))) > 1]
    if not names:
        return [({}, np.arange(dataset.sizes["run"]))]
    groups: Any = pd.DataFrame({name: values[name] for name in names}).groupby(names, dropna=False)
    levels = [(level if isinstance(level, tuple) else (level,), rows) for level, rows in groups.indices.items()]
    return [(dict(zip(names, level, strict=True)), rows) for level, rows in levels]


def tidy(dataset: xr.Dataset, metrics: Mapping[str, xr.DataArray], by: Sequence[str] = ()) -> pd.DataFrame:
    """One row per run: scheme, seed, and the given numbers. Those of a run that broke are NaN: it has failed.

    Args:
        dataset: from `load`.
        metrics: one value per run under each name.
        by: see `schemes`.
    """
    frame = pd.DataFrame({"scheme": schemes(dataset, by), "seed": dataset["seed"].values})
    broken = dataset["broken_round"].values > 0 if "broken_round" in dataset else np.zeros(len(frame), bool)
    for name, values in metrics.items():
        frame[name] = np.where(broken, np.nan, values.values) if broken.any() else values.values
    return frame
