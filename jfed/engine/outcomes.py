"""A world's draws on each seed without any scheme, equal to those that every scheme gets.

Common random numbers make them well defined: draws depend on (seed, round) alone. References for regret follow from
them, such as the expected round time of a fixed cohort on the draws that a scheme got.
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
from jfed.core.interfaces import Environment
from jfed.core.options import static_half
from jfed.core.types import Cohort, Dims, Plan
from jfed.engine.round import first_view
from jfed.engine.spec import made
from jfed.sweep import listed_seeds

MANY = 64  # seeds at a time, so that device memory does not grow with their number


class Outcomes(NamedTuple):
    """The draws of a world, as NumPy arrays of shape (seeds, T, K).

    Attributes:
        available: whether the server could reach the client.
        succeeded: whether the client would have returned its model.
        latency_s: time for which the server would have waited for the client.
        expected_latency_s: mean of `latency_s` given everything known before the round.
        idle_s: time that a round without a cohort would have taken, (seeds, T).
    """

    available: np.ndarray
    succeeded: np.ndarray
    latency_s: np.ndarray
    expected_latency_s: np.ndarray
    idle_s: np.ndarray


def outcomes(config: configs.Config, seeds: Iterable[int]) -> Outcomes:
    """Return the draws of a config's world on each seed when no client is ever selected.

    If a client's time depends on whether it took part in the last round (`exchange`), this is its time if it did not.

    Args:
        config: config with the environment and the numbers of clients and rounds; its training has no effect.
        seeds: seeds of the runs to compare with.

    Raises:
        ConfigError: the config cannot be run.
    """
    configs.check(config)
    problem = configs.problem(config)
    options = config.environment
    require(
        not options.needs_labels(),
        "The draws of this world depend on the labels of the clients' images, which are not read here: look at results"
        " of runs in place of jfed.outcomes.",
    )
    params = jax.tree.map(jnp.asarray, options.params(problem))
    dims = Dims(config.num_clients, slots=1, features=options.features, resources=configs.resources(config))
    world = made(static_half(options).options, Environment, dims)
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

    every = listed_seeds(seeds)
    require(len(every) > 0, "Give at least one seed.")
    all_of = jax.jit(lambda stacked: lax.map(one, stacked))
    parts = [
        jax.tree.map(np.asarray, all_of(jax.tree.map(lambda *x: np.stack(x), *every[i : i + MANY])))
        for i in range(0, len(every), MANY)
    ]
    return Outcomes(*(np.concatenate(column) for column in zip(*parts, strict=True)))
