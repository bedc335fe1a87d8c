"""The number of runs in a block: the default number, halved until the program fits into memory.

A program's need comes from XLA's own analysis, which exists only once the program is compiled. A group of units
therefore starts with its planned blocks, which are cut into smaller ones if they turn out too large.
"""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import jax
import psutil

from jfed.core.errors import ConfigError
from jfed.engine.simulate import clock, program
from jfed.runner.ahead import side_by_side
from jfed.runner.units import Layout, Unit, cut, halved

SHARE = 0.8  # of the free memory: allocators need some room, and the analysis leaves out what the host holds

log = logging.getLogger("jfed")


class TooLarge(Exception):
    """A block that would not fit into memory."""


def needed(compiled: Any) -> int:
    """Return the bytes that a compiled program needs on each device, temporaries included; 0 if XLA gives none."""
    found = compiled and compiled.memory_analysis()
    if not found:
        return 0
    whole = found.argument_size_in_bytes + found.output_size_in_bytes + found.temp_size_in_bytes
    return int(whole - found.alias_size_in_bytes)  # a donated argument is counted as a result, too


def available(devices: int) -> int:
    """Return the free bytes for a program on each device; CPU devices share those of the machine or container."""
    stats = jax.local_devices()[0].memory_stats()
    if stats and "bytes_limit" in stats:
        return int(stats["bytes_limit"] - stats["bytes_in_use"])
    return min(psutil.virtual_memory().available, _left_to_container()) // devices


def _left_to_container() -> int:
    """Return the bytes that Linux's control group has left; a very large number without a limit."""
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
        return max(int(limit) - used, 0)
    except (OSError, ValueError):  # no control group, or the limit "max"
        return 1 << 62


def check(compiled: Any, devices: int, unit: Unit, layout: Layout) -> None:
    """Check that a block fits into memory, unless its size was given or it holds a single run.

    Arguments that are already in memory are counted again, which errs on the safe side.

    Raises:
        TooLarge: the block would not fit.
    """
    if layout.block_size is not None or unit.block_size == 1:
        return  # nothing else could be done; the analysis takes as long as a thousand rounds
    want, have = needed(compiled), int(SHARE * available(devices))
    if want > have:
        raise TooLarge(
            f"Blocks of {unit.block_size} runs need {size(want)} on each device, and {size(have)} can be used"
        )


def fitted(
    group: Sequence[Unit], layout: Layout, devices: int, compute: Callable[[Sequence[Unit]], None]
) -> Sequence[Unit]:  # fmt: skip
    """Compute a compile group, in smaller blocks if the planned ones are too large.

    Returns:
        the group in the blocks in which it was computed.

    Raises:
        ConfigError: memory ran out nevertheless; the message gives a block size that would fit, if there is one.
    """
    while True:
        try:
            compute(group)
            return group
        except TooLarge as error:
            group = halved(group)
            log.warning(f"{error}: taking blocks of {max(unit.block_size for unit in group)}.")
        except jax.errors.JaxRuntimeError as error:
            explain(error, group, devices)


def explain(error: Exception, group: Sequence[Unit], devices: int) -> NoReturn:
    """Raise the error of a computation again; if memory ran out, as a `ConfigError` that says what would fit."""
    if "RESOURCE_EXHAUSTED" not in str(error):
        raise error
    raise ConfigError(_advice(group, devices)) from error


def _advice(group: Sequence[Unit], devices: int) -> str:
    runs = max(unit.block_size for unit in group)
    smaller = runs
    while (smaller := smaller // 2) >= 1:
        want = needed(_compiled(cut(group, smaller)[0], devices))
        if want <= SHARE * available(devices):
            return (
                f"Memory ran out with blocks of {runs} runs. Blocks of {smaller} need {size(want)} on each device,"
                f" which would fit: set block_size to {smaller} (--block-size {smaller})."
            )
    return f"Memory ran out with blocks of {runs} runs, and even a single run would not fit into the free memory."


def _compiled(unit: Unit, devices: int) -> Any:
    block = side_by_side([unit.block()] * devices)
    made, pool = program(unit.spec, devices), unit.pool(devices)
    state = made.shapes(block)
    when = clock(1, 2, unit.config.num_rounds, unit.config.eval_every)
    return made.chunk.lower(pool, block, state, when).compile()  # type: ignore[attr-defined]


def size(count: float) -> str:
    """Return a number of bytes as text, such as "1.5 GB"."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1024:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} GB"
