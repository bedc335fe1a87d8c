"""The simulation of a selection-only config alone, without the rest of `jfed.run`, for `selection` and `time_aware`."""

import time
from collections.abc import Callable

import jax
import numpy as np

import jfed
from jfed.engine import simulate
from jfed.engine.round import Record
from jfed.runner import units


def shared(seeds: int, block: int) -> tuple[int, int]:
    """Return how many devices can share the seeds evenly, and the block size, at most the seeds of a device."""
    devices = max(d for d in range(1, len(jax.devices()) + 1) if seeds % d == 0)
    return devices, min(block, seeds // devices)


def simulation(config: jfed.Config, seeds: int, devices: int, block: int) -> Callable[[], tuple[float, Record]]:
    """Return a function that runs all seeds once and returns seed-rounds per second and the sum of all records.

    The time includes initial states, all rounds and the transfer of every round's record, but not compilation, if the
    function has run before.
    """
    whole = units.plan([jfed.Point(config, {})], range(seeds), units.Layout(block_size=block))
    program = simulate.program(whole[0].spec, devices)
    batches = [whole[i : i + devices] for i in range(0, len(whole), devices)]
    blocks = [jax.tree.map(lambda *xs: np.concatenate(xs), *(u.block() for u in batch)) for batch in batches]
    pool, chunk, rounds = whole[0].pool(devices), whole[0].spec.chunk_rounds, config.num_rounds

    def once() -> tuple[float, Record]:
        started, kept = time.perf_counter(), []
        for stacked in blocks:
            state = program.init(stacked)
            for start in range(1, rounds + 1, chunk):
                when = simulate.clock(start, min(start + chunk, rounds + 1), rounds, 1)
                state, record, _ = program.chunk(pool, stacked, state, when)
                kept.append(jax.tree.map(lambda x, n=when.stop - when.start: np.asarray(x)[: int(n)].sum(), record))
        rate = seeds * rounds / (time.perf_counter() - started)
        return rate, jax.tree.map(lambda *xs: float(sum(xs)), *kept)

    return once
