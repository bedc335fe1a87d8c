"""Results as long frames for other tools: a row per round, per client or per selected client of each run."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from jfed.core.errors import extra
from jfed.results.load import schemes, settings
from jfed.results.meaning import described
from jfed.results.store import writing

SET_APART = ("data_seed", "model_seed", "environment_seed")


def per_round(dataset: xr.Dataset) -> pd.DataFrame:
    """Return a frame with one row per run and round, in the Dataset's order; a row has about 40 bytes.

    Args:
        dataset: Dataset from `load`.

    Returns:
        columns scheme (categorical), seed, the seeds of data, model and environment if they differ from it, the swept
        settings, and one per variable of a whole run (such as broken_round), the same in all of its rows; then round,
        counted from 1, and every variable of a round. Variables of evaluated rounds are NaN in the others. Rounds that
        a shorter run never had are left out.
    """
    ran = _ran(dataset)
    num_runs, num_rounds = ran.shape
    columns = _of_runs(dataset, np.full(num_runs, num_rounds))
    columns["round"] = np.tile(dataset["round"].values.astype(np.int32), num_runs)
    columns |= _flat(dataset, "round")
    if "eval_round" in dataset.dims:
        where = pd.Index(dataset["round"].values).get_indexer(pd.Index(dataset["eval_round"].values))
        for name in _variables(dataset, ("run", "eval_round")):
            values = dataset[name].transpose("run", "eval_round").values
            whole = np.full(ran.shape, np.nan, np.result_type(values.dtype, np.float32))
            whole[:, where] = values
            columns[name] = whole.ravel()
    frame = _described(pd.DataFrame(columns))
    return frame if ran.all() else frame.loc[ran.ravel()].reset_index(drop=True)


def per_client(dataset: xr.Dataset) -> pd.DataFrame:
    """Return a frame with one row per run and client.

    Args:
        dataset: Dataset from `load`.

    Returns:
        columns of the run as in `per_round`; client, counted from 0, and every variable of a client, such as
        times_selected.
    """
    num_runs, num_clients = dataset.sizes["run"], dataset.sizes["client"]
    columns = _of_runs(dataset, np.full(num_runs, num_clients))
    columns["client"] = np.tile(np.arange(num_clients, dtype=np.int32), num_runs)
    frame = _described(pd.DataFrame(columns | _flat(dataset, "client")))
    exists = frame["times_selected"].notna().to_numpy()  # not a client that only other runs have
    return frame if exists.all() else frame.loc[exists].reset_index(drop=True)


def per_selection(dataset: xr.Dataset) -> pd.DataFrame:
    """Return a frame with one row per run, round and client selected in it; a row has about 20 bytes.

    Args:
        dataset: Dataset from `load`, of runs that recorded the cohort of every round.

    Returns:
        columns of the run as in `per_round`; round, counted from 1, and client, counted from 0, increasing.

    Raises:
        ValueError: the cohorts of some run were not recorded.
    """
    ran = _ran(dataset)
    unrecorded = "the cohorts were not recorded: run with Layout(record_selected=True)"
    if "selected" not in dataset:
        raise ValueError(unrecorded)
    packed = dataset["selected"].transpose("run", "round", "byte").values
    if packed.dtype != np.uint8:  # runs without recorded cohorts are filled with NaN
        recorded = np.asarray(~np.isnan(packed).any(axis=-1))
        if (ran & ~recorded).any():
            raise ValueError(unrecorded)
        packed = np.where(recorded[..., None], packed, 0).astype(np.uint8)
    rounds = dataset["round"].values.astype(np.int32)
    when, who = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    counts = np.zeros(len(packed), int)
    for run, bits in enumerate(packed):  # one run at a time: unpacked, all of them need eight times the memory
        row, client = np.nonzero(np.unpackbits(bits, axis=-1, count=dataset.sizes["client"]))
        when.append(rounds[row])
        who.append(client.astype(np.int32))
        counts[run] = len(row)
    columns = _of_runs(dataset, counts)
    columns |= {"round": np.concatenate(when), "client": np.concatenate(who)}
    return pd.DataFrame(columns, copy=False)


def write(frame: pd.DataFrame, path: str | Path) -> Path:
    """Write a frame as Parquet or CSV, by the path's suffix, and return the path; missing folders are made.

    CSV writes NaN as nothing and forgets which columns were categorical; Parquet keeps all types, and the meanings of
    columns (`read_parquet(...).attrs`).

    Raises:
        ValueError: the suffix is another one.
        ConfigError: Parquet needs pyarrow, which is not installed.
        StorageError: the file cannot be written.
    """
    path = Path(path)
    if path.suffix not in (".parquet", ".csv"):
        raise ValueError(f"a frame is written as .parquet or .csv, not as {path.name!r}")
    if path.suffix == ".parquet":
        with extra("parquet"):
            import pyarrow  # noqa: F401  # pandas reports its absence as another error

    with writing(path, "The export") as part:
        if path.suffix == ".csv":
            frame.to_csv(part, index=False)
        else:
            frame.to_parquet(part, engine="pyarrow", index=False)
    return path


def _described(frame: pd.DataFrame) -> pd.DataFrame:
    """Note the meanings and units of a frame's columns in its attributes, which Parquet keeps; return the frame."""
    told = {str(name): described(str(name)) for name in frame.columns}
    frame.attrs["columns"] = {name: words for name, words in told.items() if words}
    return frame


def _variables(dataset: xr.Dataset, dims: tuple[str, ...]) -> list[str]:
    return [str(name) for name, variable in dataset.data_vars.items() if set(variable.dims) == set(dims)]


def _flat(dataset: xr.Dataset, dim: str) -> dict[str, Any]:
    """Return every variable of (run, dim), run by run."""
    names = _variables(dataset, ("run", dim))
    return {name: dataset[name].transpose("run", dim).values.ravel() for name in names}


def _ran(dataset: xr.Dataset) -> np.ndarray:
    """Return whether each run had each round, (runs, rounds): shorter runs are filled up with NaN."""
    ran = np.zeros((dataset.sizes["run"], dataset.sizes["round"]), bool)
    for name in _variables(dataset, ("run", "round")):
        ran |= ~np.isnan(dataset[name].transpose("run", "round").values)
    return ran


def _of_runs(dataset: xr.Dataset, rows: np.ndarray) -> dict[str, Any]:
    """Return the columns that are constant in a run, `rows[i]` times for run i."""
    seed = dataset["seed"].values
    apart = [name for name in SET_APART if name in dataset.coords and (dataset[name].values != seed).any()]
    names = [*apart, *settings(dataset), *_variables(dataset, ("run",))]
    columns = {"scheme": schemes(dataset), "seed": seed} | {name: dataset[name].values for name in names}
    return {name: _repeat(values, rows) for name, values in columns.items()}


def _repeat(values: np.ndarray, rows: np.ndarray) -> Any:
    """Return values repeated; text becomes a categorical, with one or two bytes a row."""
    if values.dtype.kind not in "OSUT":
        return np.repeat(values, rows)
    labels = pd.Categorical(values, categories=list(dict.fromkeys(values.tolist())))
    return pd.Categorical.from_codes(np.repeat(labels.codes, rows), dtype=labels.dtype)
