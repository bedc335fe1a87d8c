"""Composed worlds and their parts, stepped without the engine."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jfed.core import prng
from jfed.core.types import Cohort, Dims, Plan, Problem, View
from jfed.envs.parts.base import About


def on_device(params: Any) -> Any:
    return jax.tree.map(jnp.asarray, params)


def key_of(seed: Any) -> Any:
    return prng.keys(prng.Seeds(*[jnp.uint32(seed)] * 4)).environment


def problem(num_clients: int, cohort_size: int = 3, num_rounds: int = 10, **more: Any) -> Problem:
    return Problem(num_clients, cohort_size, num_rounds, **more)


def view(t: Any, num_samples: Any) -> View:
    """Return the view of round t before the world fills it in."""
    nothing = jnp.full(num_samples.shape, jnp.nan)
    return View(
        round=t, horizon=jnp.int32(10), available=jnp.ones(num_samples.shape, bool), num_samples=num_samples,
        context=jnp.ones((*num_samples.shape, 1)), probed=nothing, probed_accuracy=nothing, oracle=None,
    )  # fmt: skip


def ons(part: Any, num_clients: int, num_rounds: int, seeds: int, **about: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return whether each client is on, and with which chance given the past: (seeds, T, K) each."""
    process = part.make(Dims(num_clients, num_clients))
    params = on_device(part.params(problem(num_clients, num_rounds=num_rounds, labels=about.get("labels"))))
    facts = About(
        jnp.asarray(about.get("num_samples", np.ones(num_clients)), jnp.int32),
        jnp.asarray(about.get("seconds", np.ones(num_clients)), jnp.float32),
    )

    def one(seed: Any) -> Any:
        key, rate = jax.random.key(seed), process.rate(params, facts)

        def step(state: Any, t: Any) -> Any:
            chance = process.chance(state, params, rate, t)
            state, on = process.step(prng.at(key, t), state, params, rate, t)
            return state, (on, chance)

        start = process.init(prng.at(key, 0), params, rate)
        return jax.lax.scan(step, start, jnp.arange(1, num_rounds + 1))[1]

    return jax.device_get(jax.jit(jax.vmap(one))(jnp.arange(seeds)))


def walk(
    options: Any, selected: np.ndarray, steps: np.ndarray, num_samples: Any, seed: int, k: int = 3, labels: Any = None
) -> Any:
    """Return the first state, and the states, views and outcomes of a world's rounds, whose cohorts are (T, K)."""
    num_rounds, num_clients = selected.shape
    params = on_device(options.params(problem(num_clients, k, num_rounds, labels=labels)))
    args = (params, jnp.asarray(selected), jnp.asarray(steps, jnp.int32), jnp.asarray(num_samples, jnp.int32))
    return jax.device_get(_program(options, num_clients)(*args, jnp.uint32(seed)))


@functools.lru_cache(maxsize=8)
def _program(options: Any, num_clients: int) -> Any:
    world = options.make(Dims(num_clients, num_clients))

    @jax.jit
    def walked(params: Any, selected: Any, steps: Any, num_samples: Any, seed: Any) -> Any:
        key = key_of(seed)

        def one(state: Any, now: Any) -> Any:
            t, chosen, planned = now
            state, seen = world.observe(prng.at(key, t, 0), state, params, view(t, num_samples))
            cohort = Cohort(chosen & seen.available, jnp.full(num_clients, jnp.nan))
            state, outcome = world.respond(prng.at(key, t, 1), state, params, seen, cohort, Plan(planned))
            return state, (state, seen, outcome)

        start = world.init(prng.at(key, 0, 0), params, num_samples)
        rounds = jnp.arange(1, selected.shape[0] + 1)
        return start, jax.lax.scan(one, start, (rounds, selected, steps))[1]

    return walked
