"""A driver that steps a selector through made-up rounds, without the engine."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jfed.core.interfaces import Selector
from jfed.core.types import Cohort, Feedback, Oracle, View


class Rounds(NamedTuple):
    """The events of all rounds, (T, K) each.

    Attributes:
        available: the clients that may be selected.
        accuracy: the probed accuracy; by default NaN.
        success_rate: the true success rate, for oracles; by default NaN.
        latency_s: the expected time, for oracles; by default NaN.
        context: the reported features, (T, K, F); by default 1.
        num_samples: images of each client; by default 1.
        returns: the clients that return if selected; by default all.
        waited_s, loss: the feedback of selected clients; by default made up.
    """

    available: Any
    accuracy: Any = None
    success_rate: Any = None
    latency_s: Any = None
    context: Any = None
    num_samples: Any = None
    returns: Any = None
    waited_s: Any = None
    loss: Any = None


def on_device(params: Any) -> Any:
    """Return the parameters as device arrays, as the engine passes them."""
    return jax.tree.map(jnp.asarray, params)


def view(t: Any, horizon: int, rounds: Rounds, oracle: bool = False) -> View:
    """Return the view of one round, whose fields are (K,)."""
    nothing = jnp.full(rounds.available.shape, jnp.nan)

    def known(x: Any, otherwise: Any = nothing) -> Any:
        return otherwise if x is None else x

    return View(
        round=t,
        horizon=jnp.int32(horizon),
        available=rounds.available,
        num_samples=known(rounds.num_samples, jnp.ones(nothing.shape, jnp.int32)),
        context=known(rounds.context, jnp.ones((*nothing.shape, 1))),
        probed=nothing,
        probed_accuracy=known(rounds.accuracy),
        oracle=Oracle(known(rounds.success_rate), known(rounds.latency_s)) if oracle else None,
    )


@functools.partial(jax.jit, static_argnums=0)
def _walk(selector: Selector, params: Any, rounds: Rounds, key: Any) -> tuple[Any, Cohort]:
    horizon = rounds.available.shape[0]

    def one(state: Any, row: Any) -> Any:
        t, now = row
        seen = view(t, horizon, now, selector.needs_oracle)
        state, cohort = selector.select(jax.random.fold_in(key, t), state, params, seen)
        came = cohort.selected if now.returns is None else cohort.selected & now.returns
        made_up = jnp.broadcast_to(1.0 / t, came.shape)  # arbitrary: a scheme must not use feedback it lacks
        waited, loss = (made_up if x is None else x for x in (now.waited_s, now.loss))
        fed = Feedback(
            selected=cohort.selected,
            succeeded=came,
            latency_s=jnp.where(cohort.selected, waited, 0.0),
            loss=jnp.where(came, loss, jnp.nan),
        )
        return selector.update(state, params, seen, cohort, fed), (state, cohort)

    start = selector.init(jax.random.fold_in(key, 0), params)
    return jax.lax.scan(one, start, (jnp.arange(1, horizon + 1, dtype=jnp.int32), rounds))[1]


def walk(selector: Selector, params: Any, rounds: Rounds, seed: int = 0) -> tuple[Any, Cohort]:
    """Return the state after each choice, and the cohorts; leading axis T. Round t has the key `key_of(seed, t)`.

    Each selector and shape compiles a program: a test that makes its selector once compiles once.
    """
    real = Rounds(*(None if x is None else jnp.asarray(x) for x in rounds))
    return jax.tree.map(np.asarray, _walk(selector, on_device(params), real, jax.random.key(seed)))


def key_of(seed: int, t: int) -> Any:
    """Return the key that `walk` passes to the choice of round t, or to `init` for t = 0."""
    return jax.random.fold_in(jax.random.key(seed), t)


@functools.partial(jax.jit, static_argnums=0)
def _drawn(draw: Callable[[Any], Any], seed: Any, rounds: Any) -> Any:
    return jax.lax.map(lambda t: draw(key_of(seed, t)), rounds)


def drawn(draw: Callable[[Any], Any], seed: int, first: int, rounds: int) -> Any:
    """Return the results of `draw` for the keys of `rounds` rounds from `first` on; NumPy arrays, leading axis T."""
    return jax.tree.map(np.asarray, _drawn(draw, seed, jnp.arange(first, first + rounds)))
