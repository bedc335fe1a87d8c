"""Loading a directory of results as one xarray Dataset, and tidy frames made from it."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jfed.core.errors import ConfigError, shown, unknown
from jfed.results import alike, index, parts, sound, store
from jfed.results.levels import IDENTITY
from jfed.results.levels import STANDARD as STANDARD
from jfed.results.levels import data_words as data_words
from jfed.results.levels import part as part
from jfed.results.levels import said_once as said_once
from jfed.results.levels import settings as settings
from jfed.results.levels import swept as swept
from jfed.results.meaning import describe
from jfed.results.whole import SEEDS, Row, assemble

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

log = logging.getLogger("jfed")


def load(path: str | Path) -> xr.Dataset:
    """Return all finished runs below a directory.

    Of two different runs with the same name and seeds, the one that a command requested last is taken, and a warning
    gives their differences.

    Args:
        path: `--out` of an experiment, its `results` folder, or one unit's file.

    Returns:
        a Dataset with the dimensions run, round, client and, with training, eval_round. Coordinates on `run`: method,
        mode, seed, world, oracle (1 for a scheme that sees the truth), dataset, config (a digest of its settings), the
        seeds of data, model and environment, one per swept setting, and run_id, setting, precision and versions (see
        `alike`). docs/reference/results.md lists the variables. If runs have different numbers of clients, variables by
        client end in NaN: see `part`.

    Raises:
        FileNotFoundError: there are no results.
        ValueError: a file is damaged, or is no result.
    """
    if not isinstance(path, str | os.PathLike):
        raise ConfigError(f"Results are loaded from a folder or a file, found {shown(path)}.")
    path = Path(path)
    if path.is_file() and path.suffix not in ENDINGS:
        words = "; jfed table and jfed report read a CSV file" if path.suffix.lower() == ".csv" else ""
        raise ValueError(f"{path} is no result: give the --out of an experiment, or one of its result files{words}.")
    files = [path] if path.is_file() else store.files(path, ENDINGS)
    if not files and any(path.glob("checkpoints/*")):
        raise FileNotFoundError(f"Nothing in {path} is finished yet: repeat the command that began it to resume.")
    if not files:
        raise FileNotFoundError(f"There are no results in {path}: run an experiment with --out {path} first.")
    out = path.parent.parent if path.is_file() else path.parent if path.name == "results" else path
    known = index.survey(out, [file for file in files if file.suffix == ".npz"], set_aside=False, with_arrays=True)
    named = [(run, one) for run, places in known.runs.items() for one in known.called(places[0].kind)]
    rows = read_rows(known, named, have=known.parts)
    new = [assemble(_last(rows, out))] if rows else []
    older = _read_older([file for file in files if file.suffix == ".nc"])
    for file, unit in older.items():
        if {"method", "mode", "seed"} - set(unit.coords):
            raise ValueError(f"{file} is no result of jfed.")
    return new[0] if new and not older else describe(combine([*new, *older.values()]))


def _read_older(files: Sequence[Path]) -> Mapping[Path, Any]:
    """Return results that former versions wrote; reading them needs an extra of the package."""
    if not files:
        return {}
    from jfed.results import netcdf

    return netcdf.read_all(files)


def read_rows(
    known: index.Index, wanted: Sequence[tuple[str, Mapping[str, Any]]], recorded: bool = False,
    have: Mapping[Path, parts.Part] | None = None,
) -> list[Row]:  # fmt: skip
    """Return stored runs under the requested names, reading each file once.

    Args:
        known: index of the directory.
        wanted: ids of runs, each with its coordinates and the paths left open in its setting.
        recorded: whether the cohorts of the runs must have been recorded.
        have: parts that are already in memory, by file.
    """
    read, rows = dict(have or {}), []
    for run, called in wanted:
        place = known.place(run, recorded)
        assert place is not None
        if place.path not in read:
            try:
                read[place.path] = parts.read(place.path)
            except FileNotFoundError:
                raise FileNotFoundError(f"{place.path} is gone: something removed it while it was needed.") from None
        rows.append(Row(read[place.path], place.at, called["coords"], tuple(called["open"]), called.get("turn", 0)))
    return rows


def _last(rows: Sequence[Row], out: Path) -> list[Row]:
    """Return rows without those that a later one replaces: of the same name, world, data set and seeds."""
    chosen: dict[str, Row] = {}
    replaced: dict[str, list[str]] = {}
    for row in sorted(rows, key=lambda row: (row.turn, row.part.date)):
        run = row.part.runs[row.at]
        about = row.part.kinds[run.kind]["about"]
        name = json.dumps([sorted(row.coords.items()), about["world"], about["dataset"], run.seeds])
        if name in chosen:
            words = _changed(chosen[name], row)
            replaced.setdefault(words, []).append(str(row.coords.get("method")))
        chosen[name] = row
    for words, schemes in replaced.items():
        who = ", ".join(dict.fromkeys(schemes))
        log.warning(
            f"{out} holds {len(schemes)} runs of {who} twice: {words}. Those that a command requested last are taken."
        )
    return list(chosen.values())


def _changed(before: Row, after: Row) -> str:
    """Return in words the differences between two runs of one name."""
    a, b = (row.part.kinds[row.part.runs[row.at].kind]["what"] for row in (before, after))
    words = [alike.difference(alike.everything(a), alike.everything(b))]
    if before.part.versions(before.part.runs[before.at].kind) != after.part.versions(after.part.runs[after.at].kind):
        words.append("made by other versions")
    return ", ".join(filter(None, words)) or "their code cannot be read"


def combine(parts: Sequence[xr.Dataset]) -> xr.Dataset:
    """Return units as one Dataset along `run`, ordered by method, mode and seed."""
    import pandas as pd
    import xarray as xr

    parts = _as_wide(parts)
    names = {name: unit[name].dtype for unit in parts for name in unit.coords if unit[name].dims == ("run",)}
    filled = []
    for unit in parts:
        missing = {
            name: ("run", np.full(unit.sizes["run"], np.nan if dtype.kind in "fiu" else ""))
            for name, dtype in names.items()
            if name not in unit.coords
        }
        filled.append(unit.assign_coords(missing))
    whole: Any = xr.concat(
        filled, dim="run", join="outer", data_vars="all", coords="different", compat="equals",
        combine_attrs="drop_conflicts",
    )  # fmt: skip
    # Two units may hold the same run, if more seeds were added with another block size. A run may also be both in an
    # older file without identities and in a newer one: the parts with identities come first, and the first is kept.
    own = [name for name in names if name not in IDENTITY] if "run_id" in names else list(names)
    same = pd.DataFrame({name: whole[name].values for name in own}).duplicated().to_numpy()
    order = np.lexsort([whole[name].values for name in ("seed", "mode", "method")])
    return whole.isel({"run": order[~same[order]]})


def _as_wide(parts: Sequence[xr.Dataset]) -> Sequence[xr.Dataset]:
    """Return units filled up to the most clients: numbers with NaN (None), packed cohorts with unselected (0)."""
    for dim, fill in (("client", None), ("byte", 0)):
        most = max(part.sizes.get(dim, 0) for part in parts)
        lacking = [most - part.sizes.get(dim, most) for part in parts]
        parts = [
            part.pad({dim: (0, number)}, constant_values=fill) if number else part
            for part, number in zip(parts, lacking, strict=True)
        ]
    return parts


def schemes(dataset: xr.Dataset, by: Sequence[str] = ()) -> np.ndarray:
    """Return a label for each run: its method, marked if it is an oracle or was run in several modes.

    Args:
        dataset: Dataset from `load`.
        by: further coordinates that tell schemes apart, such as ("k",).

    Raises:
        ConfigError: there is no such coordinate.
    """
    _require_coordinates(dataset, by)
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


def _require_coordinates(dataset: xr.Dataset, names: Sequence[str]) -> None:
    """Refuse a name without one value per run."""
    known = [str(name) for name, values in dataset.variables.items() if values.dims == ("run",)]
    for name in names:
        if name not in known:
            raise unknown("coordinate", name, known)


ENDINGS = (".npz", ".nc")


def score(dataset: xr.Dataset, metric: str) -> xr.DataArray:
    """Return one number per run, (runs,): a variable's sum over rounds, or its last finite value at an evaluation.

    Args:
        dataset: Dataset from `load`.
        metric: variable of a round or of an evaluated round, in its own unit.

    Raises:
        ConfigError: there is no such variable.
    """
    import xarray as xr

    known = [str(n) for n, v in dataset.data_vars.items() if set(v.dims) in ({"run", "round"}, {"run", "eval_round"})]
    if metric not in known:
        raise unknown("metric", metric, known)
    values = dataset[metric]
    if "round" in values.dims:
        return values.sum("round", min_count=1)
    # Shorter runs are filled up with NaN; `tidy` marks runs that failed.
    return xr.DataArray(sound.last_known(values.values, np.isfinite(values.values)), dims="run")


def tidy(
    dataset: xr.Dataset, metrics: Mapping[str, xr.DataArray], by: Sequence[str] = (), keep: Sequence[str] = ()
) -> pd.DataFrame:
    """Return a frame with one row per run: scheme, seed, and the given numbers, NaN for a failed run (`sound`).

    Args:
        dataset: Dataset from `load`.
        metrics: one value per run under each name.
        by: see `schemes`.
        keep: coordinates that become columns, such as a swept setting.

    Raises:
        ValueError: runs of different settings cannot be told apart.
        ConfigError: there is no such coordinate.
    """
    import pandas as pd

    _require_coordinates(dataset, keep)
    frame = pd.DataFrame({"scheme": schemes(dataset, by), "seed": dataset["seed"].values})
    for name in keep:
        frame[name] = dataset[name].values
    twice = np.flatnonzero(frame.duplicated())
    if len(twice):
        scheme, seed = frame["scheme"].to_numpy()[twice[0]], frame["seed"].to_numpy()[twice[0]]
        raise ValueError(
            f"Runs of different settings have the same name: {len(twice)} too many, the first is seed {seed} of"
            f" {scheme}. Give each experiment an --out of its own."
        )
    failed = sound.failed(dataset)
    for name, values in metrics.items():
        frame[name] = np.where(failed, np.nan, values.values) if failed.any() else values.values
    return frame.assign(**company(dataset))


def shares_seeds(dataset: xr.Dataset) -> bool:
    """Return whether runs share seeds of data, model or environment with other ones, and are not independent."""
    return any(name in company(dataset) for name in SEEDS[1:])


def company(dataset: xr.Dataset) -> dict[str, np.ndarray]:
    """Return the columns that show whether runs can be compared, see `alike.COLUMNS`, and seeds that they share."""
    columns = {name: dataset[name].values for name in alike.COLUMNS if name in dataset.coords}
    seeds = {name: dataset[name].values for name in SEEDS[1:] if name in dataset.coords}
    own = all((one == dataset["seed"].values).all() for one in seeds.values())
    return columns if own else columns | seeds
