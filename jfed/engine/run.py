"""The host loop: what is not done yet is dispatched, watched, and written, unit by unit."""

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
import xarray as xr
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from jfed import config as configs
from jfed import prng, store
from jfed.analysis.load import combine
from jfed.engine.simulate import clock, due, program
from jfed.engine.spec import build
from jfed.engine.units import Layout, Unit, plan
from jfed.envs import ENVIRONMENTS
from jfed.sweep import Point
from jfed.types import Problem

SET_APART = ("data", "model", "environment")  # seeds that need not follow the run's


def run(
    points: Sequence[Point],
    seeds: Iterable[int | prng.Seeds],
    *,
    out: str | Path | None = None,
    layout: Layout | None = None,
    data_dir: str | None = None,
    progress: bool = True,
) -> xr.Dataset:
    """Run every point on every seed and return all results.

    Args:
        points: from `jfed.sweep`.
        seeds: from 0 to 2^32 - 1.
        out: directory of results; units found there are not computed again. None keeps them in memory.
        layout: how work is cut up; the defaults suit most.
        data_dir: where data sets are.
        progress: show a bar on stderr.

    Returns:
        As `jfed.load`, the runs asked for only.

    Raises:
        ConfigError: a setting that cannot be run; nothing has been computed then.
    """
    units = plan(points, seeds, layout or Layout(), data_dir)
    out = None if out is None else store.prepare(Path(out))
    done = {u.id for u in units if out is not None and store.unit_path(out, u.id).exists()}
    parts: dict[str, xr.Dataset] = {}
    started = time.perf_counter()
    bar = Progress(
        TextColumn("{task.description:24}"), BarColumn(), MofNCompleteColumn(), TextColumn("run-rounds"),
        TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
        console=Console(stderr=True), disable=not progress,
    )  # fmt: skip
    todo = [u for u in units if u.id not in done]
    try:
        with bar:
            for _, members in itertools.groupby(todo, key=lambda u: u.group):
                for unit, dataset in _compute_group(list(members), bar):
                    parts[unit.id] = dataset
                    if out is not None:
                        store.write_unit(out, unit.id, dataset)
    finally:  # of an interrupted command, too
        if out is not None and parts:
            store.write_manifest(
                out,
                {
                    "units": list(parts),
                    "seconds": round(time.perf_counter() - started, 3),
                    "device": str(jax.devices()[0].device_kind),
                    "num_devices": len(jax.devices()),
                    "block_sizes": sorted({u.block_size for u in units}),
                    "points": [{"coords": p.coords, "config": configs.canonical(p.config)} for p in points],
                },
            )
    for unit in units:
        if unit.id not in parts:
            assert out is not None
            with xr.open_dataset(store.unit_path(out, unit.id), engine="h5netcdf") as opened:
                parts[unit.id] = opened.load()
    return combine([parts[u.id] for u in units])


def _compute_group(group: Sequence[Unit], bar: Progress) -> Iterator[tuple[Unit, xr.Dataset]]:
    """Run the units that share a program, as many at a time as there are devices."""
    label = "+".join(dict.fromkeys(str(r.point.coords.get("method", "")) for u in group for r in u.runs))
    rounds = group[0].config.num_rounds
    task = bar.add_task(label[:24], total=sum(len(u.runs) for u in group) * rounds)
    devices, finished = min(len(jax.devices()), len(group)), 0
    for start in range(0, len(group), devices):
        batch = group[start : start + devices]
        size = sum(len(u.runs) for u in batch)

        def report(done: int, before: int = finished, size: int = size) -> None:
            bar.update(task, completed=before + done * size)

        yield from _compute(batch, devices, report)
        finished += size * rounds


def _compute(batch: Sequence[Unit], devices: int, report: Callable[[int], None]) -> Iterator[tuple[Unit, xr.Dataset]]:
    """Run one unit per device. A device without a unit repeats the last one, which costs no time."""
    unit = batch[0]
    spec, config = unit.spec, unit.config
    blocks = [u.block() for u in batch]
    blocks += [blocks[-1]] * (devices - len(blocks))
    block = jax.tree.map(lambda *xs: np.concatenate(xs), *blocks)
    compiled, pool = program(spec, devices), unit.pool()
    state = compiled.init(pool, block)
    records, qualities = [], []
    for start in range(1, config.num_rounds + 1, spec.chunk_rounds):
        stop = min(start + spec.chunk_rounds, config.num_rounds + 1)
        when = clock(start, stop, config.num_rounds, config.eval_every)
        state, record, quality = compiled.chunk(pool, block, state, when)
        count, rounds = stop - start, np.arange(start, stop)
        records.append(jax.tree.map(lambda x, n=count: np.asarray(x)[:n], record))
        evaluated = np.flatnonzero(due(rounds, config.num_rounds, config.eval_every))
        qualities.append(jax.tree.map(lambda x, rows=evaluated: np.asarray(x)[rows], quality))
        report(stop - 1)
    final = jax.tree.map(np.asarray, compiled.finish(pool, block, state))
    record, quality = (
        jax.tree.map(lambda *xs: np.concatenate(xs), *rows) if rows else () for rows in (records, qualities)
    )
    counts = {name: np.asarray(getattr(state, name)) for name in ("times_selected", "times_succeeded")}
    for i, one in enumerate(batch):
        rows = slice(i * one.block_size, i * one.block_size + len(one.runs))
        yield one, _dataset(one, rows, record, quality, final, counts, block.num_samples)


def _dataset(
    unit: Unit, rows: slice, record: Any, quality: Any, final: Any, counts: dict[str, np.ndarray], sizes: Any
) -> xr.Dataset:
    config, spec = unit.config, unit.spec
    rounds = np.arange(1, config.num_rounds + 1)
    per_round = ("num_selected", "num_succeeded", "expected_succeeded", "num_probed", "num_steps")
    variables: dict[str, Any] = {name: (("run", "round"), getattr(record, name)[:, rows].T) for name in per_round}
    variables |= {name: (("run", "client"), values[rows]) for name, values in counts.items()}
    variables["client_class"] = (("run", "client"), np.stack([_classes(r.point.config) for r in unit.runs]))
    if spec.record_selected:
        variables["selected"] = (("run", "round", "byte"), record.selected[:, rows].swapaxes(0, 1))
    coords: dict[str, Any] = {"round": rounds}
    if spec.training is not None:
        variables["num_samples"] = (("run", "client"), sizes[rows])
        coords["eval_round"] = rounds[due(rounds, config.num_rounds, config.eval_every)]
        for name in ("loss", "accuracy"):
            variables[f"test_{name}"] = (("run", "eval_round"), getattr(quality, name)[:, rows].T)
            variables[f"client_{name}"] = (("run", "client"), getattr(final, name)[rows])
    return xr.Dataset(variables, coords | _run_coords(unit), {"block_size": unit.block_size, "lane": spec.lane})


def _run_coords(unit: Unit) -> dict[str, Any]:
    training, world = unit.config.training, unit.spec.environment[0]
    coords: dict[str, Any] = {
        "seed": ("run", [int(r.seeds.seed) for r in unit.runs]),
        **{f"{kind}_seed": ("run", [int(getattr(r.seeds, kind)) for r in unit.runs]) for kind in SET_APART},
        "config": ("run", [configs.digest(r.point.config) for r in unit.runs]),
        "world": ("run", [world] * len(unit.runs)),
        "oracle": ("run", [int(build(unit.spec).selector.needs_oracle)] * len(unit.runs)),
        "dataset": ("run", ["none" if training is None else training.dataset] * len(unit.runs)),
    }
    default = {"method": unit.spec.selector[0], "mode": "faithful"}
    names = dict.fromkeys([*default, *(name for r in unit.runs for name in r.point.coords)])
    for name in names:
        coords[name] = ("run", [_plain((default | r.point.coords)[name]) for r in unit.runs])
    return coords


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float) else str(value)


def _classes(config: configs.Config) -> np.ndarray:
    problem = Problem(config.num_clients, config.cohort_size, config.num_rounds)
    name, options = configs.named(ENVIRONMENTS, config.environment)
    return ENVIRONMENTS[name].client_class(options, problem).astype(np.int32)
