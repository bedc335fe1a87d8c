"""What a world does by itself: its draws on each seed, as every scheme meets them, without any scheme.

Common random numbers make this well defined: draws depend on (seed, round) alone. What a reference for regret needs,
such as the expected round time of a fixed cohort on the very draws that a scheme met, follows from it.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jaxtyping import Int

from jfed import config as configs
from jfed.core import prng
from jfed.core.errors import require
from jfed.core.options import static_half
from jfed.core.types import Cohort, Dims, Plan
from jfed.engine.round import first_view

MANY = 64  # seeds at a time, so that memory does not grow with them on the device


class Outcomes(NamedTuple):
    """NumPy arrays, (seeds, T, K) but for the last.

    Attributes:
        available: whom the server could reach.
        succeeded: who would have returned a model.
        latency_s: how long the server would have waited.
        expected_latency_s: mean of `latency_s` given what could be known before the round.
        idle_s: how long a round without a cohort would have taken, (seeds, T).
    """

    available: np.ndarray
    succeeded: np.ndarray
    latency_s: np.ndarray
    expected_latency_s: np.ndarray
    idle_s: np.ndarray


def outcomes(config: configs.Config, seeds: Iterable[int]) -> Outcomes:
    """What the world of a config does on each seed if nobody is ever selected.

    Where a client's time depends on whether it took part last round (`exchange`), this is the time of one that did not.

    Args:
        config: its environment, number of clients and rounds count; training does not.
        seeds: of the runs to be compared with.

    Raises:
        ConfigError: a config that cannot be run.
    """
    configs.check(config)
    problem = configs.problem(config)
    options = config.environment
    params = jax.tree.map(jnp.asarray, options.params(problem))
    dims = Dims(config.num_clients, slots=1, features=options.features, resources=configs.resources(config))
    world = static_half(options).options.make(dims)
    nobody = Cohort(jnp.zeros(dims.num_clients, bool), jnp.full(dims.num_clients, jnp.nan))
    none, ones = jnp.zeros(dims.num_clients, jnp.int32), jnp.ones(dims.num_clients, jnp.int32)

    def one(seeds: prng.Seeds) -> Any:
        keys = prng.keys(seeds)
        start = world.init(prng.at(keys.environment, 0, 0), params, ones)

        def step(state: Any, t: Int[Array, ""]) -> Any:
            view = first_view(dims, ones, t, jnp.int32(config.num_rounds))
            state, view = world.observe(prng.at(keys.environment, t, 0), state, params, view)
            key = prng.at(keys.environment, t, 1)
            state, drawn = world.respond(key, state, params, view, nobody, Plan(none))
            assert view.oracle is not None
            return state, (view.available, drawn.succeeded, drawn.latency_s, view.oracle.latency_s, drawn.idle_s)

        return lax.scan(step, start, jnp.arange(1, config.num_rounds + 1))[1]

    every = [prng.seeds(seed) for seed in seeds]
    require(len(every) > 0, "Give at least one seed.")
    all_of = jax.jit(lambda stacked: lax.map(one, stacked))
    parts = [
        jax.tree.map(np.asarray, all_of(jax.tree.map(lambda *x: np.stack(x), *every[i : i + MANY])))
        for i in range(0, len(every), MANY)
    ]
    return Outcomes(*(np.concatenate(column) for column in zip(*parts, strict=True)))
