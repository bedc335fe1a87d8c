"""A tiny run from end to end over several values of a member's numbers, which must compile once."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import jfed.runner.run as runner
from jfed.config import Config, Training, replace
from jfed.contracts.finding import Failed, require
from jfed.contracts.options import K
from jfed.core.errors import ConfigError
from jfed.engine import simulate
from jfed.runner.units import Layout, plan
from jfed.sweep import Point

TINY = Training(samples_per_client=20, batch_size=8, test_set="official")
NUM_ROUNDS = 3


def sweep(
    settings: Mapping[str, Sequence[Any]], cohort_size: int = 3, training: bool = False, **more: Any
) -> dict[str, np.ndarray]:
    """Return the results of a sweep over settings of one member, by name of variable.

    Args:
        settings: options at one path, such as {"selector": [...]}; the first are the defaults.
        cohort_size: k.
        training: whether clients train.
        more: other settings by path, with two underscores for a dot.

    Raises:
        Broken: the sweep compiles more than one program.
        Failed: the run raised an error.
    """
    base = Config(K, cohort_size, NUM_ROUNDS, training=TINY if training else None)
    base = replace(base, {path.replace("__", "."): value for path, value in more.items()})
    ((path, values),) = settings.items()
    points = [Point(replace(base, {path: one}), {"method": "checked", "value": i}) for i, one in enumerate(values)]
    layout = Layout(block_size=len(points), chunk_rounds=2)
    before = len(simulate.TRACES)
    try:
        groups = {unit.group for unit in plan(points, [0], layout)}
        results = runner.run(points, [0], layout=layout, progress=False)
    except ConfigError:
        raise
    except Exception as error:
        raise Failed("a run of some rounds") from error
    programs = max(len(groups), len(simulate.TRACES) - before)
    require(
        programs == 1,
        f"A sweep over the member's numbers compiles {programs} programs, not one: a shape or a Python value depends on"
        " a dynamic number, or a state changes its type.",
    )
    return {str(name): np.asarray(x.values) for name, x in results.data_vars.items()}
