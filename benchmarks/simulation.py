"""Configs timed twice: the compiled simulation alone, and the whole of `jfed.run`.

Blocks and devices are those that `jfed.run` would choose. A measurement repeats all seeds until a second has passed. It
includes initial states, all rounds and the transfer of every round's record, but no compilation.
"""

import functools
import importlib
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import jfed
from jfed.engine import simulate
from jfed.engine.round import Record
from jfed.runner import units

LEAST_S = 1.0


def configured(module: str, name: str) -> jfed.Config:
    """Return a config that a benchmark names in its CONFIGS."""
    return importlib.import_module(f"benchmarks.{module}").CONFIGS[name]


@functools.cache
def _simulation(module: str, name: str, seeds: int) -> tuple[Callable[[], Record], str]:
    """Return a function that runs all seeds once and returns the mean of all records, and the layout in words."""
    config = configured(module, name)
    whole = units.plan([jfed.Point(config, {})], range(seeds), units.Layout())
    devices = min(len(jax.devices()), len(whole))
    batches = [whole[i : i + devices] for i in range(0, len(whole), devices)]
    batches[-1] += [whole[-1]] * (devices - len(batches[-1]))  # a spare device repeats the last block
    program = simulate.program(whole[0].spec, devices)
    blocks = [jax.tree.map(lambda *xs: np.concatenate(xs), *(u.block() for u in batch)) for batch in batches]
    pool, chunk, rounds = whole[0].pool(devices), whole[0].spec.chunk_rounds, config.num_rounds

    def once() -> Record:
        kept = []
        for stacked in blocks:
            state = program.init(stacked)
            for start in range(1, rounds + 1, chunk):
                when = simulate.clock(start, min(start + chunk, rounds + 1), rounds, config.eval_every)
                state, record, _ = program.chunk(pool, stacked, state, when)
                kept.append(jax.tree.map(lambda x, n=when.stop - when.start: np.asarray(x)[: int(n)].sum(), record))
        computed = len(blocks) * devices * whole[0].block_size * rounds  # with the copies that pad a block
        return jax.tree.map(lambda *xs: float(sum(xs)) / computed, *kept)

    once()
    return once, f"block {whole[0].block_size}, {devices} device{'s' if devices > 1 else ''}"


def alone(module: str, name: str, seeds: int) -> dict[str, Any]:
    """Return seed-rounds per second of the compiled simulation, its layout, and means of a round's record."""
    once, layout = _simulation(module, name, seeds)
    each, done, mean, started = seeds * configured(module, name).num_rounds, 0, None, time.perf_counter()
    while mean is None or time.perf_counter() - started < LEAST_S:
        mean, done = once(), done + each
    rate, fields = done / (time.perf_counter() - started), ("num_selected", "num_succeeded", "round_time_s")
    return {"rate": rate, "layout": layout} | {field: getattr(mean, field) for field in fields}


def whole(module: str, name: str, seeds: int) -> dict[str, float]:
    """Return seed-rounds per second of `jfed.run`: the simulation, and planning, checks and the resulting dataset."""
    point = jfed.Point(configured(module, name), {"method": name})
    done, started = 0, time.perf_counter()
    while done == 0 or time.perf_counter() - started < LEAST_S:
        jfed.run([point], range(seeds), progress=False)
        done += seeds * point.config.num_rounds
    return {"rate": done / (time.perf_counter() - started)}
