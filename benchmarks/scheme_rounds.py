"""Selectors of jfed stepped through made-up feedback, without the engine: the other side of `selector_loops`.

The program is that of the engine without everything but the selector: a loop over the rounds of a block of runs, each
with its own settings, events and keys, and on each device its part of the runs.
"""

import functools
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import jfed
from benchmarks import scheme_events
from benchmarks.scheme_events import Events
from benchmarks.simulation import LEAST_S, configured
from jfed.core import ops, prng
from jfed.core.interfaces import Selector
from jfed.core.types import Dims, Facts, Feedback, Problem, View
from jfed.engine import compiler

RUNS, ROUNDS = PartitionSpec("block"), PartitionSpec(None, "block")
AVAILABILITY = {"clustered-size": 0.9, "clustered-similarity": 0.9}  # else the distributions would never change
NORMS = {"update_norm": "norm"}


def problem(config: jfed.Config) -> Problem:
    """Return what a selector's options need to know."""
    return Problem(config.num_clients, config.cohort_size, config.num_rounds)


def made(config: jfed.Config) -> Selector:
    """Return the selector of a config."""
    return config.selector.make(Dims(config.num_clients, config.selector.slots(problem(config))))


def wanted(selector: Selector) -> list[str]:
    """Return the events that a selector wants beside those that all get."""
    names = ["accuracy"] * (selector.probe is not None)
    names += [NORMS.get(name, name) for name in selector.wants]
    return [f"sketch-{selector.sketch_size}" if name == "sketch" else name for name in names]


def one_round(
    selector: Selector, key: Any, state: Any, params: Any, t: Any, horizon: int, num_samples: Any, now: Any
) -> tuple[Any, tuple[Any, Any]]:
    """Return the state after one round of one run, its cohort, and the sum of p_i times importance over it."""
    key, nothing = prng.at(key, t), jnp.full(num_samples.shape, jnp.nan)
    view = View(
        t, jnp.int32(horizon), now.available, num_samples, jnp.ones((*nothing.shape, 1)), nothing, nothing, None
    )  # fmt: skip
    if selector.probe is not None:
        asked = selector.probe(prng.at(key, 0), state, params, view).asked
        view = view._replace(
            probed=jnp.where(asked, now.loss, jnp.nan), probed_accuracy=jnp.where(asked, now.accuracy, jnp.nan)
        )
    state, cohort = selector.select(prng.at(key, 1), state, params, view)
    came = cohort.selected & now.succeeded

    def told(values: Any) -> Any:
        return jnp.where(came.reshape(-1, *[1] * (values.ndim - 1)), values, jnp.nan)

    all_facts = {
        "loss_before": now.loss, "loss_sq": now.loss**2, "accuracy": now.accuracy, "update_norm": now.norm,
        "sketch": now.sketch,
    }  # fmt: skip
    facts = Facts(**{name: told(all_facts[name]) for name in selector.wants})
    waited = jnp.where(cohort.selected, now.latency_s, 0.0)
    fed = Feedback(cohort.selected, came, waited, told(now.loss), facts=facts)
    weight = 0.0
    if cohort.importance is not None:
        parts = jnp.where(cohort.selected, num_samples * cohort.importance, 0.0)
        weight = ops.total(parts) / jnp.maximum(ops.total(num_samples), 1)
    return selector.update(state, params, view, cohort, fed), (cohort.selected, weight)


def program(config: jfed.Config, devices: int) -> Any:
    """Return the function (seeds, params, events) -> cohorts and weights of all rounds, on some devices."""
    selector, rounds = made(config), config.num_rounds

    def block(seeds: Any, params: Any, num_samples: Any, tables: Events) -> Any:
        keys = jax.vmap(lambda seed: prng.at(jax.random.key(seed), int(prng.Stream.SELECTOR)))(seeds)
        states = jax.vmap(lambda key, own: selector.init(prng.at(key, 0), own))(keys, params)
        one = functools.partial(one_round, selector)

        def step(states: Any, row: Any) -> Any:
            t, now = row
            return jax.vmap(one, (0, 0, 0, None, None, 0, 0))(keys, states, params, t, rounds, num_samples, now)

        return lax.scan(step, states, (jnp.arange(1, rounds + 1, dtype=jnp.int32), tables))[1]

    mesh = Mesh(np.array(jax.local_devices()[:devices]), ("block",))
    mapped = jax.shard_map(
        block, mesh=mesh, in_specs=(RUNS, RUNS, RUNS, ROUNDS), out_specs=ROUNDS, check_vma=False
    )  # fmt: skip
    return jax.jit(mapped, compiler_options=compiler.options(False))


def inputs(config: jfed.Config, name: str, runs: int) -> tuple[Any, Any, Any, Events]:
    """Return the seeds, the settings, the numbers of images and the events of all runs, (T, runs, K)."""
    drawn = [
        scheme_events.draw(seed, config.num_rounds, config.num_clients, wanted(made(config)), AVAILABILITY.get(name, 1))
        for seed in range(runs)
    ]
    params = config.selector.params(problem(config))
    settings = jax.tree.map(lambda x: np.broadcast_to(x, (runs, *np.shape(x))), params)
    numbers = np.stack([one.num_samples for one in drawn])
    tables = jax.tree.map(lambda *xs: np.stack(xs, 1), *(one._replace(num_samples=None) for one in drawn))
    return np.arange(runs, dtype=np.uint32), settings, numbers, tables


@functools.lru_cache(maxsize=2)
def _ready(module: str, name: str, runs: int) -> tuple[Callable[[], Any], Events]:
    """Return a function that runs all rounds of all runs once, and the events."""
    config, devices = configured(module, name), len(jax.devices())
    given = inputs(config, name, runs)
    run = program(config, devices)
    mesh = Mesh(np.array(jax.local_devices()[:devices]), ("block",))
    places = tuple(NamedSharding(mesh, spec) for spec in (RUNS, RUNS, RUNS, ROUNDS))
    held = jax.device_put(given, places)
    compiled = run.lower(*held).compile()

    def once() -> Any:
        return jax.tree.map(np.asarray, compiled(*held))

    once()
    return once, given[3]._replace(num_samples=given[2])


def alone(module: str, name: str, seeds: int) -> dict[str, Any]:
    """Return seed-rounds per second of the compiled rounds, their layout, and the figures of all rounds."""
    once, events = _ready(module, name, seeds)
    rounds, done, found, started = events.loss.shape[0], 0, None, time.perf_counter()
    while found is None or time.perf_counter() - started < LEAST_S:
        found, done = once(), done + seeds * rounds
    rate, devices = done / (time.perf_counter() - started), len(jax.devices())
    layout = f"block {seeds // devices}, {devices} device{'s' if devices > 1 else ''}"
    return {"rate": rate, "layout": layout} | scheme_events.figures(found[0], found[1], events)


def compiling(module: str, name: str, seeds: int) -> dict[str, float]:
    """Return the CPU seconds of tracing and compiling the program of all runs on one device, from nothing."""
    config = configured(module, name)
    given = inputs(config, name, seeds)
    jax.clear_caches()
    jax.jit(lambda x: x + 1).lower(given[0]).compile()  # what the first compilation of a process pays
    started = time.process_time()
    program(config, 1).lower(*given).compile()
    return {"seconds": time.process_time() - started}
