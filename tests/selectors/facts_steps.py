"""A driver that steps a scheme that wants norms or sketches of updates through made-up rounds, without the engine."""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from stepping import Rounds, on_device, view

from jfed.algorithms import deadline
from jfed.core.interfaces import Selector
from jfed.core.types import Cohort, Facts, Feedback


class Told(NamedTuple):
    """The events of all rounds; leading axes T and K.

    Attributes:
        available: the clients that may be selected.
        returns: those that return if selected.
        norm: norms of their updates.
        sketch: sketches of their updates, (T, K, dimensions).
    """

    available: Any
    returns: Any
    norm: Any
    sketch: Any


def told(seed: int, rounds: int, num_clients: int, dimensions: int = 3) -> Told:
    """Return made-up events: one round each has all, no and one available client, and some models break."""
    rng = np.random.default_rng(seed)
    there, back = rng.uniform(size=(2, rounds, num_clients)) < 0.7
    there[5], there[7], there[11] = True, False, np.arange(num_clients) == 3
    sketch = rng.normal(size=(rounds, num_clients, dimensions))
    norm = np.linalg.norm(sketch, axis=-1)
    norm[4], sketch[4, :, 0] = np.inf, np.nan
    return Told(there, back, norm, sketch)


@functools.partial(jax.jit, static_argnums=0)
def _walk(selector: Selector, params: Any, num_samples: Any, events: Told, key: Any) -> Any:
    horizon = events.available.shape[0]

    def one(before: Any, row: Any) -> Any:
        t, now = row
        seen = view(t, horizon, Rounds(now.available, num_samples=num_samples))
        state, cohort = selector.select(jax.random.fold_in(key, t), before, params, seen)
        came = cohort.selected & now.returns
        nothing = jnp.full(came.shape, jnp.nan)
        facts = Facts(
            update_norm=jnp.where(came, now.norm, jnp.nan),
            sketch=jnp.where(came[:, None], now.sketch, jnp.nan),
        )
        fed = Feedback(cohort.selected, came, jnp.zeros_like(nothing), nothing, facts=facts)
        return selector.update(state, params, seen, cohort, fed), (before, cohort)

    start = selector.init(jax.random.fold_in(key, 0), params)
    return jax.lax.scan(one, start, (jnp.arange(1, horizon + 1, dtype=jnp.int32), events))[1]


def walk(selector: Selector, params: Any, num_samples: Any, events: Told, seed: int = 0) -> tuple[Any, Cohort]:
    """Return the state before each choice, and the cohorts; leading axis T. Keys are those of `stepping.walk`."""
    numbers = jnp.asarray(num_samples, jnp.int32)
    found = _walk(selector, on_device(params), numbers, jax.tree.map(jnp.asarray, events), jax.random.key(seed))
    return jax.tree.map(np.asarray, found)


@functools.partial(jax.jit, static_argnums=(0, 4))
def _cohorts(selector: Selector, params: Any, state: Any, num_samples: Any, draws: int) -> Cohort:
    seen = view(jnp.int32(1), 1, Rounds(jnp.ones(num_samples.shape, bool), num_samples=num_samples))
    keys = jax.random.split(jax.random.key(1), draws)
    return jax.vmap(lambda key: selector.select(key, state, params, seen)[1])(keys)


def cohorts(selector: Selector, params: Any, state: Any, num_samples: Any, draws: int = 4000) -> Cohort:
    """Return the cohorts that a scheme draws from one state with all clients available; leading axis draws.

    Each selector and number of draws compiles a program.
    """
    found = _cohorts(selector, on_device(params), on_device(state), jnp.asarray(num_samples, jnp.int32), draws)
    return jax.tree.map(np.asarray, found)


def is_unbiased(cohort: Cohort, num_samples: Any, updates: Any) -> bool:
    """Return whether the engine's unscaled average has the mean sum_i p_i D_i, within 4.5 standard errors."""
    assert cohort.importance is not None
    numbers = jnp.asarray(num_samples)
    one = functools.partial(deadline.share, "unscaled", numbers)
    shares = np.asarray(jax.vmap(lambda who, factor: one(who, who, factor))(cohort.selected, cohort.importance))
    each = np.where(cohort.selected, shares, 0.0) @ updates
    error = each.std(0) / np.sqrt(len(each))
    mean = np.asarray(num_samples) / np.sum(num_samples) @ updates
    return bool((np.abs(each.mean(0) - mean) < 4.5 * error + 1e-6).all() and (error > 0).any())
