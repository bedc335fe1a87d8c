"""Computation of units side by side, one per device: from checkpoint to result, chunk by chunk."""

import functools
import itertools
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import jax
import numpy as np

from jfed.core.errors import Unfinished
from jfed.engine import ending
from jfed.engine.evaluate import Quality
from jfed.engine.round import Record, watched
from jfed.engine.simulate import clock, due, program
from jfed.engine.spec import build
from jfed.results import store
from jfed.results.parts import Part
from jfed.results.sealed import Arrays
from jfed.runner import ahead, checkpoint, memory
from jfed.runner.checkpoint import Saved, joined, named
from jfed.runner.leave import Leaving, wait
from jfed.runner.live import Live
from jfed.runner.record import part as record_part
from jfed.runner.site import Site
from jfed.runner.specs import Layout
from jfed.runner.units import Unit
from jfed.runner.watch import Pace, Watch

log = logging.getLogger("jfed")


@dataclass
class Host:
    """A command's settings, and its state while it computes.

    Attributes:
        out: directory of results; None keeps them in memory.
        layout: how runs are grouped into blocks and chunks.
        leaving: whether to stop early.
        site: the devices that compute.
        names: coordinates by which the command calls each kind of run; see `identity.called`.
        live: the caller's callback; None without one.
        watch: progress display.
        parts: computed results by the path of their file, which is not written without `out`.
        warned: whether the warning about other engine code has been given.
        unsafe: whether the warning about a checkpoint that could not be written has been given.
        sharing: number of processes that share the machine's memory.
        fitting: pairs of compile group and block size that were found to fit into memory.
    """

    out: Path | None
    layout: Layout
    leaving: Leaving
    site: Site
    names: Mapping[str, list[dict[str, Any]]]
    live: Live | None = None
    watch: Watch = field(default_factory=lambda: Watch([], 0, 0, False))
    parts: dict[Path, Part] = field(default_factory=dict)
    warned: bool = False
    unsafe: bool = False
    sharing: int = 1
    fitting: set[tuple[int, int]] = field(default_factory=set)

    def path(self, unit: Unit) -> Path:
        """Return the path of a unit's file, which names its result even without a directory."""
        return store.unit_path(self.out or Path(), unit.id)


def leave(host: Host) -> NoReturn:
    """Raise the exception that ends a command before its work is done."""
    if host.leaving.asked:
        raise KeyboardInterrupt
    why = "The callback has ended it" if host.leaving.told else "The time is up"
    then = "repeat the command to resume" if host.out is not None else "without out, nothing of it is kept"
    raise Unfinished(f"{why} ({host.watch}): {then}.")


def compute_group(group: Sequence[Unit], host: Host) -> Iterator[tuple[Unit, Part]]:
    """Yield the results of units that share a program: one unit per device at a time, the most advanced first."""
    label = "+".join(dict.fromkeys(str(r.point.coords.get("method", "")) for u in group for r in u.runs))
    devices, total = min(host.site.num_devices, len(group)), group[0].config.num_rounds
    saved = {u.id: _saved(u, host.out) for u in group}
    # Units side by side must be at the same round and have the same block size.
    alike = sorted(group, key=lambda u: (-saved[u.id].round, -u.block_size))
    batches = []
    for _, same in itertools.groupby(alike, key=lambda u: (saved[u.id].round, u.block_size)):
        members = list(same)
        batches += [members[i : i + devices] for i in range(0, len(members), devices)]
    host.watch.group(label[:24], total, sum(total - saved[batch[0].id].round for batch in batches))
    pace = Pace(group[0].spec.chunk_rounds)
    for batch in batches:
        yield from _compute(batch, [saved.pop(u.id) for u in batch], devices, pace, host)


def _saved(unit: Unit, out: Path | None) -> Saved:
    """Return a unit's newest usable checkpoint; `NOTHING` if it has none."""
    folder = None if out is None else store.checkpoint_folder(out, unit.id)
    if folder is None or not folder.exists():
        return checkpoint.NOTHING
    state = program(unit.spec).shapes(unit.block())
    recorded = {"selected": unit.spec.record_selected, "spent": unit.spec.dims.resources > 1}
    unnamed = {"watched", *(name for name, present in recorded.items() if not present)}
    kept = {f"record.{name}" for name in Record._fields if name not in unnamed}
    shown = jax.eval_shape(jax.vmap(functools.partial(watched, build(unit.spec))), state)
    kept |= set(named("record.watched", shown))
    if unit.spec.training is not None:
        kept |= {f"quality.{name}" for name in Quality._fields}
    return checkpoint.load(folder, named("state", state), kept)


def _compute(
    batch: Sequence[Unit], saved: Sequence[Saved], devices: int, pace: Pace, host: Host
) -> Iterator[tuple[Unit, Part]]:
    """Yield the results of a batch, one unit per device; a spare device repeats the last unit, which costs no time."""
    unit, started = batch[0], time.perf_counter()
    spec, total, every = unit.spec, unit.config.num_rounds, unit.config.eval_every
    blocks, idle = [u.block() for u in batch], devices - len(batch)
    block = ahead.side_by_side([*blocks, *[blocks[-1]] * idle])
    compiled, pool = program(spec, devices), unit.pool(devices)
    state, done, kept = compiled.init(block), saved[0].round, []
    if done:
        state, kept = _restored(state, [*saved, *[saved[-1]] * idle])
    last, safe, shown = time.monotonic(), done, ()
    while done < total:
        leaving, late = host.leaving.now(), time.monotonic() - last >= host.layout.checkpoint_s
        if host.out is not None and done > safe and (late or leaving):
            kept = [joined(kept)]
            _save(batch, done, named("state", state), kept[0], host)
            last, safe = time.monotonic(), done
        if leaving:
            leave(host)
        stop = min(done + pace.rounds(), total)
        when = clock(done + 1, stop + 1, total, every)
        if done == saved[0].round:
            chunk = ahead.compiled(compiled.chunk, pool, block, state, when)
            if (unit.group, unit.block_size) not in host.fitting:  # only once: blocks of a size in use are not cut
                memory.check(chunk, devices * host.sharing, unit, host.layout)
                if spec.training is not None:
                    finish = ahead.compiled(compiled.finish, pool, block, state)
                    memory.check(finish, devices * host.sharing, unit, host.layout)
                host.fitting.add((unit.group, unit.block_size))
        began = time.perf_counter()
        state, record, quality = compiled.chunk(pool, block, state, when)
        if done > saved[0].round + 1:  # the first two chunks have one round each
            ahead.import_xarray()
        wait(record)
        shown = tuple(record.watched)
        pace.took(stop - done, time.perf_counter() - began)
        rows = np.arange(done + 1, stop + 1)
        evaluated = np.flatnonzero(due(rows, total, every))
        # Copies of the filled rows: views would keep all rows of a short chunk in memory.
        part = {name: np.asarray(x)[: len(rows)].copy() for name, x in named("record", record).items()}
        kept.append(part | {name: np.asarray(x)[evaluated] for name, x in named("quality", quality).items()})
        host.watch.chunk(stop, stop - done)
        host.leaving.useful = True
        done = stop
        if (rest := _all_over(state, kept, done, total, every)) is not None:
            host.watch.chunk(total, total - done)
            kept, done = [*kept, rest], total
        if host.live is not None:
            host.live.tell(batch, range(int(rows[0]), done + 1), kept, host.watch)
    final = compiled.finish(pool, block, state)
    wait(final)
    whole = joined(kept) | {name: np.asarray(x) for name, x in (named("final", final) | named("state", state)).items()}
    seconds = time.perf_counter() - started
    for i, one in enumerate(batch):
        rows = slice(i * one.block_size, i * one.block_size + len(one.runs))
        yield one, record_part(one, rows, whole, shown, block.num_samples, host.names, seconds)


def _all_over(state: Any, kept: Sequence[Arrays], done: int, total: int, every: int) -> Arrays | None:
    """Return the records of the remaining rounds, if every run is over and its last model was tested; else None.

    No client is selected and nothing is spent in them; watched values and test scores keep their last values.
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
    shown = ("record.watched.", "quality.")
    return {name: x if name.startswith(shown) else np.zeros_like(x) for name, x in rest.items()}


def _restored(state: Any, saved: Sequence[Saved]) -> tuple[Any, list[Arrays]]:
    """Return the saved state of units side by side, on the devices of the given state, and their records so far."""
    arrays = [s.arrays for s in saved]
    names = named("state", state)
    rows = joined([{name: a[name] for name in names} for a in arrays])
    leaves = [jax.device_put(rows[name], leaf.sharding) for name, leaf in names.items()]
    kept = joined([{name: x for name, x in a.items() if name not in names} for a in arrays], axis=1)
    return jax.tree.unflatten(jax.tree.structure(state), leaves), [kept]


def _save(batch: Sequence[Unit], done: int, state: dict[str, Any], kept: Arrays, host: Host) -> None:
    """Write a checkpoint of each unit; if that fails, warn once and continue."""
    assert host.out is not None
    try:
        for i, unit in enumerate(batch):
            rows = slice(i * unit.block_size, (i + 1) * unit.block_size)
            own = {name: np.asarray(x)[rows] for name, x in state.items()} | {n: x[:, rows] for n, x in kept.items()}
            folder = store.checkpoint_folder(host.out, unit.id)
            checkpoint.begin(folder, {"runs": [run.id for run in unit.runs], **unit.block_layout()})
            checkpoint.save(folder, done, own)
    except OSError as error:
        if not host.unsafe:
            log.warning(f"A checkpoint cannot be written to {host.out} ({error.strerror}): continuing without it.")
        host.unsafe = True
