"""Preparation: programs are compiled while signals are handled or another group is computed; libraries are imported."""

import functools
import importlib
import threading
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from jfed.engine.simulate import Block, clock, program
from jfed.runner.leave import beside, until
from jfed.runner.units import Unit


def side_by_side(blocks: Sequence[Block]) -> Block:
    """Return blocks of the same size as one, for one device each."""
    return jax.tree.map(lambda *xs: np.concatenate(xs), *blocks)


def compiled(function: Any, *args: Any) -> Any:
    """Compile a jitted function for these arguments while handling signals.

    The next call with such arguments finds it compiled.

    Returns:
        the compiled program; None after an error.
    """
    lowered, made = function.lower(*args), []
    until(beside(lambda: made.append(lowered.compile())))
    return made[0] if made else None


@functools.cache
def import_xarray() -> None:
    """Begin to import the library that results are put together with, in a thread, while devices compute."""
    beside(lambda: importlib.import_module("xarray"))


def begin(group: Sequence[Unit], devices: int) -> threading.Event:
    """Begin to compile the programs of a compile group in a thread, for when it will be computed on so many devices.

    Returns:
        what is set at the end. Only then may the group be computed: two threads would compile everything twice.
    """
    wide = jax.config.jax_enable_x64  # type: ignore[attr-defined]

    def work() -> None:
        with jax.enable_x64(wide):  # a setting of the calling thread
            _compile(group[0], devices)

    return beside(work)


def _compile(unit: Unit, devices: int) -> None:
    made, pool, block = program(unit.spec, devices), unit.pool(devices), side_by_side([unit.block()] * devices)
    state = made.init(block)
    when = clock(1, 2, unit.config.num_rounds, unit.config.eval_every)
    for function, args in ((made.chunk, (state, when)), (made.finish, (state,))):
        function.lower(pool, block, *args).compile()  # type: ignore[attr-defined]
