"""The host loop: what is not done yet is dispatched, watched, kept safe, and written, unit by unit."""

from __future__ import annotations

import functools
import itertools
import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import jax
import numpy as np

from jfed import config as configs
from jfed.core import prng
from jfed.core.errors import Unfinished, require
from jfed.engine import ending
from jfed.engine.evaluate import Quality
from jfed.engine.round import Record, watched
from jfed.engine.simulate import clock, due, program
from jfed.engine.spec import build
from jfed.results import netcdf, store
from jfed.results.load import combine
from jfed.runner import checkpoint, memory
from jfed.runner.checkpoint import Arrays, Saved, joined, named
from jfed.runner.leave import Leaving, compile_ahead, wait
from jfed.runner.record import dataset
from jfed.runner.units import Layout, Unit, plan
from jfed.runner.watch import Pace, Watch
from jfed.sweep import Point

if TYPE_CHECKING:
    import xarray as xr

log = logging.getLogger("jfed")


@dataclass
class Host:
    """What surrounds a computation.

    Attributes:
        out: where results go; None: nowhere.
        layout: how work is cut up.
        leaving: whether to leave.
        watch: shows progress.
        unsafe: a checkpoint could not be written, and this was said.
        fitting: compile groups and block sizes that were found to fit into memory.
    """

    out: Path | None
    layout: Layout
    leaving: Leaving
    watch: Watch
    unsafe: bool = False
    fitting: set[tuple[int, int]] = field(default_factory=set)


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

    With `out`, finished units are kept and unfinished ones leave checkpoints: the same call goes on from there, to the
    same bits. Ctrl-C and SIGTERM then end it after the chunk of rounds that is running, a second Ctrl-C at once.

    Args:
        points: from `jfed.sweep`.
        seeds: from 0 to 2^32 - 1.
        out: directory of results; units found there are not computed again. None keeps them in memory.
        layout: how work is cut up; the defaults suit most.
        data_dir: where data sets are.
        progress: show a bar on stderr, or a line a minute if that is no terminal.

    Returns:
        As `jfed.load`, the runs asked for only.

    Raises:
        ConfigError: a setting that cannot be run, or another process writes to `out`; nothing has been computed then.
        StorageError: a result cannot be written.
        Unfinished: `Layout.max_seconds` is over.
        KeyboardInterrupt: by a signal.
    """
    layout = layout or Layout()
    require(layout.max_seconds is None or out is not None, "max_seconds needs out: what is left would be lost.")
    leaving = Leaving(layout.max_seconds)
    units = plan(points, seeds, layout, data_dir)
    parts: dict[str, xr.Dataset] = {}
    if out is None:
        units = _compute_units(units, None, layout, leaving, progress, parts)
        return combine([parts[u.id] for u in units])
    out = store.prepare(Path(out))
    units = [unit for group in _groups(units) for unit in memory.as_begun(group, out, layout)]
    if not all(store.unit_path(out, u.id).exists() for u in units):
        with store.lock(out):
            store.remove_leftovers(out)
            started = time.perf_counter()
            try:
                with leaving:
                    units = _compute_units(units, out, layout, leaving, progress, parts)
            finally:  # of an interrupted command, too
                if parts:
                    entry = {
                        "units": list(parts),
                        "seconds": round(time.perf_counter() - started, 3),
                        "device": str(jax.devices()[0].device_kind),
                        "num_devices": len(jax.devices()),
                        "block_sizes": sorted({u.block_size for u in units}),
                        "points": [{"coords": p.coords, "config": configs.canonical(p.config)} for p in points],
                    }
                    store.write_manifest(out, entry)
    for unit in units:
        if unit.id not in parts:
            parts[unit.id] = netcdf.read(store.unit_path(out, unit.id))
    return combine([parts[u.id] for u in units])


def _groups(units: Iterable[Unit]) -> list[list[Unit]]:
    return [list(members) for _, members in itertools.groupby(units, key=lambda u: u.group)]


def _compute_units(
    units: Sequence[Unit], out: Path | None, layout: Layout, leaving: Leaving, progress: bool,
    parts: dict[str, xr.Dataset],
) -> list[Unit]:  # fmt: skip
    """Compute the units whose results are not in place, and put them there and into `parts`.

    Returns:
        The units, of which some may have been cut into smaller blocks to fit into memory.
    """
    groups, final = _groups(units), []
    todo = [[u for u in group if out is None or not store.unit_path(out, u.id).exists()] for group in groups]
    work = [-(-len(group) // len(jax.devices())) * group[0].config.num_rounds for group in todo if group]
    runs, left = (sum(len(u.runs) for group in some for u in group) for some in (groups, todo))
    with Watch(work, runs, runs - left, progress) as watch:
        host = Host(out, layout, leaving, watch)
        for planned in groups:
            final += memory.fitted(planned, layout, lambda group: _compute_missing(group, host, parts))
    if leaving.asked:
        _leave(host)
    return final


def _compute_missing(group: Sequence[Unit], host: Host, parts: dict[str, xr.Dataset]) -> None:
    """Compute those units of a compile group that are not in place."""
    missing = [u for u in group if host.out is None or not store.unit_path(host.out, u.id).exists()]
    try:
        for unit, part in _compute_group(missing, host) if missing else ():
            if host.out is not None:
                store.write_unit(host.out, unit.id, part)
            parts[unit.id] = part
            host.watch.unit(len(unit.runs))
    except memory.TooLarge:
        host.watch.again()
        raise


def _leave(host: Host) -> NoReturn:
    if host.leaving.asked:
        raise KeyboardInterrupt
    raise Unfinished(f"The time is up ({host.watch}): the same command goes on from there.")


def _compute_group(group: Sequence[Unit], host: Host) -> Iterator[tuple[Unit, xr.Dataset]]:
    """Run the units that share a program, as many at a time as there are devices, those far gone first."""
    label = "+".join(dict.fromkeys(str(r.point.coords.get("method", "")) for u in group for r in u.runs))
    devices, total = min(len(jax.devices()), len(group)), group[0].config.num_rounds
    saved = {u.id: _saved(u, host.out) for u in group}
    by_round = sorted(group, key=lambda u: -saved[u.id].round)  # units side by side are at the same round
    batches = []
    for _, same in itertools.groupby(by_round, key=lambda u: saved[u.id].round):
        members = list(same)
        batches += [members[i : i + devices] for i in range(0, len(members), devices)]
    host.watch.group(label[:24], total, sum(total - saved[batch[0].id].round for batch in batches))
    pace = Pace(group[0].spec.chunk_rounds)
    for batch in batches:
        yield from _compute(batch, [saved.pop(u.id) for u in batch], devices, pace, host)


def _saved(unit: Unit, out: Path | None) -> Saved:
    """A unit's newest good checkpoint."""
    folder = None if out is None else store.checkpoint_folder(out, unit.id)
    if folder is None or not folder.exists():
        return checkpoint.NOTHING
    state = jax.eval_shape(program(unit.spec).init, unit.pool(), unit.block())
    unnamed = {"watched"} if unit.spec.record_selected else {"watched", "selected"}
    kept = {f"record.{name}" for name in Record._fields if name not in unnamed}
    shown = jax.eval_shape(jax.vmap(functools.partial(watched, build(unit.spec))), state)
    kept |= set(named("record.watched", shown))
    if unit.spec.training is not None:
        kept |= {f"quality.{name}" for name in Quality._fields}
    return checkpoint.load(folder, named("state", state), kept)


def _compute(
    batch: Sequence[Unit], saved: Sequence[Saved], devices: int, pace: Pace, host: Host
) -> Iterator[tuple[Unit, xr.Dataset]]:
    """Run one unit per device. A device without a unit repeats the last one, which costs no time."""
    unit = batch[0]
    spec, total, every = unit.spec, unit.config.num_rounds, unit.config.eval_every
    blocks, idle = [u.block() for u in batch], devices - len(batch)
    block = jax.tree.map(lambda *xs: np.concatenate(xs), *blocks, *[blocks[-1]] * idle)
    compiled, pool = program(spec, devices), unit.pool(devices)
    state, done, kept = compiled.init(pool, block), saved[0].round, []
    if done:
        state, kept = _restored(state, [*saved, *[saved[-1]] * idle])
    last, safe = time.monotonic(), done
    while done < total:
        leave, late = host.leaving.now(), time.monotonic() - last >= host.layout.checkpoint_s
        if host.out is not None and done > safe and (late or leave):
            kept = [joined(kept)]
            _save(batch, done, named("state", state), kept[0], host)
            last, safe = time.monotonic(), done
        if leave:
            _leave(host)
        stop = min(done + pace.rounds(), total)
        when = clock(done + 1, stop + 1, total, every)
        if done == saved[0].round:
            ahead = compile_ahead(compiled.chunk, pool, block, state, when)
            if (unit.group, unit.block_size) not in host.fitting:  # once: what has begun is not cut up again
                memory.check(ahead, devices, unit, host.layout)
                host.fitting.add((unit.group, unit.block_size))
        began = time.perf_counter()
        state, record, quality = compiled.chunk(pool, block, state, when)
        wait(record)
        pace.took(stop - done, time.perf_counter() - began)
        rows = np.arange(done + 1, stop + 1)
        evaluated = np.flatnonzero(due(rows, total, every))
        # Copies: of a short chunk only what it filled.
        part = {name: np.asarray(x)[: len(rows)].copy() for name, x in named("record", record).items()}
        kept.append(part | {name: np.asarray(x)[evaluated] for name, x in named("quality", quality).items()})
        host.watch.chunk(stop, stop - done)
        host.leaving.useful = True
        done = stop
        if (rest := _all_over(state, kept, done, total, every)) is not None:
            host.watch.chunk(total, total - done)
            kept, done = [*kept, rest], total
    final = compiled.finish(pool, block, state)
    wait(final)
    whole = joined(kept) | {name: np.asarray(x) for name, x in (named("final", final) | named("state", state)).items()}
    for i, one in enumerate(batch):
        rows = slice(i * one.block_size, i * one.block_size + len(one.runs))
        yield one, dataset(one, rows, whole, block.num_samples)


def _all_over(state: Any, kept: Sequence[Arrays], done: int, total: int, every: int) -> Arrays | None:
    """What the rounds that are left would record, if every run is over and its last model was tested; else None.

    Nobody is selected, nothing is spent, and what was shown last stays.
    """
    over = ending.last_round(state.ended_round)
    if over is None or done == total:
        return None
    tested = np.flatnonzero(due(np.arange(1, done + 1), total, every))
    if not len(tested) or tested[-1] + 1 < over:
        return None
    left, whole = np.arange(done + 1, total + 1), joined(list(kept))
    many = {True: len(left), False: int(due(left, total, every).sum())}
    rest = {name: np.repeat(x[-1:], many[name.startswith("record.")], 0) for name, x in whole.items()}
    return {n: x if "watched" in n or n.startswith("quality.") else np.zeros_like(x) for n, x in rest.items()}


def _restored(state: Any, saved: Sequence[Saved]) -> tuple[Any, list[Arrays]]:
    """The state in which units were saved side by side, on the devices of the given one, and what was recorded."""
    arrays = [s.arrays for s in saved]
    names = named("state", state)
    rows = joined([{name: a[name] for name in names} for a in arrays])
    leaves = [jax.device_put(rows[name], leaf.sharding) for name, leaf in names.items()]
    kept = joined([{name: x for name, x in a.items() if name not in names} for a in arrays], axis=1)
    return jax.tree.unflatten(jax.tree.structure(state), leaves), [kept]


def _save(batch: Sequence[Unit], done: int, state: dict[str, Any], kept: Arrays, host: Host) -> None:
    """Write a checkpoint of each unit; if that cannot be, say so once and go on."""
    assert host.out is not None
    try:
        for i, unit in enumerate(batch):
            rows = slice(i * unit.block_size, (i + 1) * unit.block_size)
            own = {name: np.asarray(x)[rows] for name, x in state.items()} | {n: x[:, rows] for n, x in kept.items()}
            checkpoint.save(store.checkpoint_folder(host.out, unit.id), done, own)
    except OSError as error:
        if not host.unsafe:
            log.warning(f"A checkpoint cannot be written to {host.out} ({error.strerror}): going on without.")
        host.unsafe = True
