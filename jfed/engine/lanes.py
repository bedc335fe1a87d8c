"""Lanes: how a flat list of training jobs is laid out on a device.

`sequential` is for a CPU, `vmapped` for an accelerator. Both give the same answers up to rounding. A client that
returns without a step, because it has no images, answers like the others; a client that does not return costs no step
and, if starts are costly, no start.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from jfed.core.interfaces import Algorithm
from jfed.core.learning import Answer
from jfed.core.types import Params
from jfed.engine import sequential, vmapped
from jfed.engine.jobs import Carried, Data, Jobs


class Lane(NamedTuple):
    """A layout of jobs on a device.

    Attributes:
        train: (algorithm, carried, params, data, jobs) -> answers. Params have a leading axis runs, answers a leading
            axis jobs.
        each: (f, xs, wanted, cost) -> f of each entry along the leading axis of xs; NaN, and not computed, where it is
            not wanted (None: all are). `cost` is the number of images that f evaluates.
        images: the number of images to evaluate at once.
        runs: slots of a run -> the number of runs that a block with training should have, if memory allows.
    """

    train: Callable[[Algorithm, Carried, Params, Data, Jobs], Answer]
    each: Callable[..., Any]
    images: int
    runs: Callable[[int], int]


LANES: dict[str, Lane] = {
    "sequential": Lane(sequential.train, sequential.each, sequential.IMAGES, sequential.runs),
    "vmapped": Lane(vmapped.train, vmapped.each, vmapped.IMAGES, vmapped.runs),
}
