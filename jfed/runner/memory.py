"""How many runs share a block: the default number, halved until the program fits into memory.

What a program needs is XLA's own analysis of it, which is at hand only when it has been compiled; so a group of units
is begun with its planned blocks, and cut into smaller ones if they turn out too large.
"""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
import psutil

from jfed.core.errors import ConfigError
from jfed.engine.simulate import clock, program
from jfed.runner.units import Layout, Unit, cut, halved

SHARE = 0.8  # of what is free: allocators need some room, and the analysis leaves out what the host holds

log = logging.getLogger("jfed")


class TooLarge(Exception):
    """A block that would not fit."""


def needed(compiled: Any) -> int:
    """Bytes that a compiled program needs on each device: arguments, results and temporaries; 0 if XLA does not say."""
    found = compiled and compiled.memory_analysis()
    if not found:
        return 0
    whole = found.argument_size_in_bytes + found.output_size_in_bytes + found.temp_size_in_bytes
    return int(whole - found.alias_size_in_bytes)  # a donated argument is counted as a result, too


def available(devices: int) -> int:
    """Bytes at hand for a program on each of so many devices. CPU devices share those of the machine or container."""
    stats = jax.devices()[0].memory_stats()
    if stats and "bytes_limit" in stats:
        return int(stats["bytes_limit"] - stats["bytes_in_use"])
    return min(psutil.virtual_memory().available, _left_to_container()) // devices


def _left_to_container() -> int:
    """What Linux's control group leaves; a very large number elsewhere."""
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
        return max(int(limit) - used, 0)
    except (OSError, ValueError):  # there is none, or it says "max"
        return 1 << 62


def check(compiled: Any, devices: int, unit: Unit, layout: Layout) -> None:
    """Refuse a block that would not fit, unless its size was asked for or it holds one run only.

    Arguments that are in memory already are counted again: a cautious reading.

    Raises:
        TooLarge: with both numbers.
    """
    want, have = needed(compiled), int(SHARE * available(devices))
    if want > have and layout.block_size is None and unit.block_size > 1:
        raise TooLarge(f"Blocks of {unit.block_size} runs need {size(want)} on each device, and {size(have)} are free")


def fitted(group: Sequence[Unit], layout: Layout, compute: Callable[[Sequence[Unit]], None]) -> Sequence[Unit]:
    """Compute a compile group, in smaller blocks if those planned are too large.

    Returns:
        The group as it was computed.

    Raises:
        ConfigError: memory ran out all the same; the message says which block size would fit.
    """
    while True:
        try:
            compute(group)
            return group
        except TooLarge as error:
            group = halved(group)
            log.warning(f"{error}: taking blocks of {max(unit.block_size for unit in group)}.")
        except jax.errors.JaxRuntimeError as error:
            if "RESOURCE_EXHAUSTED" not in str(error):
                raise
            raise ConfigError(_advice(group)) from error


def _advice(group: Sequence[Unit]) -> str:
    runs, devices = max(unit.block_size for unit in group), len(jax.devices())
    smaller = runs
    while (smaller := smaller // 2) >= 1:
        want = needed(_compiled(cut(group, smaller)[0], devices))
        if want <= SHARE * available(devices):
            return (
                f"Memory ran out with blocks of {runs} runs. Blocks of {smaller} need {size(want)} on each device,"
                f" which would fit: set block_size to {smaller} (--block-size {smaller})."
            )
    return f"Memory ran out with blocks of {runs} runs, and not even one run would fit into what is free now."


def _compiled(unit: Unit, devices: int) -> Any:
    block = jax.tree.map(lambda x: np.concatenate([x] * devices), unit.block())
    made, pool = program(unit.spec, devices), unit.pool(devices)
    state = jax.eval_shape(made.init, pool, block)
    when = clock(1, 2, unit.config.num_rounds, unit.config.eval_every)
    return made.chunk.lower(pool, block, state, when).compile()  # type: ignore[attr-defined]


def size(count: float) -> str:
    """Bytes as people say it."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1024:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} GB"
