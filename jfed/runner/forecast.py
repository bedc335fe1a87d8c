"""Forecast what a study takes (runs, programs, time, memory, disk) from a few rounds of each program."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import jax

from jfed.core import prng
from jfed.engine.simulate import clock, due, program
from jfed.results import index, store
from jfed.runner import ahead, checkpoint, memory
from jfed.runner.leave import wait
from jfed.runner.site import here
from jfed.runner.specs import Layout
from jfed.runner.units import Unit, ask, blocks
from jfed.sweep import Point, listed

PROBE_S = 0.5  # of rounds that are timed
LIMIT_S = 60.0  # after which further programs are taken to be as fast as the measured ones
SPREAD = (0.7, 1.5)  # of the measured time: other work on the machine, and rounds that differ
GROWTH = 8  # of the rounds that are timed, until they take long enough


@dataclass(frozen=True)
class Forecast:
    """The part of a study that is left, and what it takes.

    Attributes:
        programs: programs to compile.
        measured: programs that were compiled and timed.
        runs: all runs of the study.
        done: runs that are finished.
        resumed: runs that resume from a checkpoint.
        seconds: least and greatest time, without tables and figures; None if nothing was measured.
        memory: bytes that the largest program needs on each device.
        free: bytes that are free there.
        disk: most bytes of the results, checkpoints included.
    """

    programs: int
    measured: int
    runs: int
    done: int
    resumed: int
    seconds: tuple[float, float] | None
    memory: int
    free: int
    disk: int


class _Measure(NamedTuple):
    """Measurements of a program.

    Attributes:
        round_s: seconds of a round of units side by side.
        compile_s: seconds until it was compiled.
        bytes: what it needs on each device.
        disk: most bytes of its runs' results.
    """

    round_s: float
    compile_s: float
    bytes: int
    disk: int


def forecast(
    points: Iterable[Point],
    seeds: Iterable[int | prng.Seeds],
    *,
    out: Path,
    layout: Layout | None = None,
    data_dir: str | None = None,
) -> Forecast:
    """Return what `run` with the same arguments would take; nothing is written to `out`.

    Raises:
        ConfigError: a setting cannot be run.
    """
    layout, started = layout or Layout(), time.perf_counter()
    site = here()
    groups = ask(listed(points), seeds, layout, data_dir, site)
    known = index.survey(out, store.files(out / "results"), set_aside=False)
    runs = [run for group in groups for run in group.runs]
    done = {run.id for run in runs if known.place(run.id, layout.record_selected) is not None}
    begun = [block for folder in sorted(out.glob("checkpoints/*")) if (block := checkpoint.begun(folder))]
    planned = [units for group in groups if (units := blocks(group, layout, done, begun))]
    found: list[_Measure | None] = []
    for units in planned:
        late = bool(found) and time.perf_counter() - started > LIMIT_S
        found.append(None if late else _measured(units, layout, site.num_devices))
    measures = [one for one in found if one is not None]
    left = [_left(units, out, site.num_devices) for units in planned]
    return Forecast(
        programs=len(planned),
        measured=len(measures),
        runs=len(runs),
        done=len(done),
        resumed=sum(len(unit.runs) for units in planned for unit in units if checkpoint.reached(out, unit.id)),
        seconds=_seconds(found, left),
        memory=max((one.bytes for one in measures), default=0),
        free=memory.available(site.num_devices),
        disk=sum(one.disk for one in measures) * len(planned) // max(len(measures), 1),
    )


def _left(units: Sequence[Unit], out: Path, devices: int) -> int:
    """Return the rounds that are left of units, counted once for those side by side."""
    total, devices = units[0].config.num_rounds, min(devices, len(units))
    rounds = sorted((total - checkpoint.reached(out, unit.id) for unit in units), reverse=True)
    return sum(rounds[::devices])


def _seconds(found: Sequence[_Measure | None], left: Sequence[int]) -> tuple[float, float] | None:
    known = [one for one in found if one is not None]
    if not known:
        return None
    others = _Measure(sum(m.round_s for m in known) / len(known), max(m.compile_s for m in known), 0, 0)
    each = [others if one is None else one for one in found]
    work = sum(one.round_s * rounds for one, rounds in zip(each, left, strict=True))
    return SPREAD[0] * work, SPREAD[1] * work + sum(one.compile_s for one in each)


def _measured(units: Sequence[Unit], layout: Layout, devices: int) -> _Measure:
    """Compile the program of units and time some of its rounds, in blocks that fit into memory."""
    made: list[_Measure] = []
    memory.fitted(units, layout, devices, lambda group: made.append(_probe(group, layout, devices)))
    return made[-1]


def _probe(units: Sequence[Unit], layout: Layout, devices: int) -> _Measure:
    unit, devices, began = units[0], min(devices, len(units)), time.perf_counter()
    total, every = unit.config.num_rounds, unit.config.eval_every
    compiled, pool = program(unit.spec, devices), unit.pool(devices)
    block = ahead.side_by_side([unit.block()] * devices)
    state = compiled.init(block)
    chunk = ahead.compiled(compiled.chunk, pool, block, state, clock(1, 2, total, every))
    memory.check(chunk, devices, unit, layout)
    shapes: list[Any] = []
    compile_s, done, rounds, seconds = time.perf_counter() - began, 0, 1, 0.0
    while done < total and (done < 2 or seconds < PROBE_S):
        rounds = min(rounds if done < 2 else GROWTH * rounds, unit.spec.chunk_rounds, total - done)
        began = time.perf_counter()
        state, *shapes = compiled.chunk(pool, block, state, clock(done + 1, done + rounds + 1, total, every))
        wait(state)
        seconds, done = time.perf_counter() - began, done + rounds  # the first call does more than its round
    runs = sum(len(one.runs) for one in units)
    return _Measure(seconds / rounds, compile_s, memory.needed(chunk), runs * _disk(unit, state, shapes, devices))


def _disk(unit: Unit, state: Any, shapes: Any, devices: int) -> int:
    """Return the most bytes of a run's results and of its two checkpoints, without compression."""
    spec, config = unit.spec, unit.config
    evaluated = sum(due(t, config.num_rounds, config.eval_every) for t in range(1, config.num_rounds + 1))
    record, quality = (_bytes(tree) / spec.chunk_rounds for tree in shapes)
    clients = 24 * config.num_clients  # times selected and succeeded, class, examples, loss and accuracy
    wide = unit.block_size * devices
    results = (record * config.num_rounds + quality * evaluated) / wide + clients
    return int(results + checkpoint.KEEP * (_bytes(state) / wide + results))


def _bytes(tree: Any) -> int:
    return sum(leaf.nbytes for leaf in jax.tree.leaves(tree))
