"""One job after another, with exact numbers of steps: on a CPU a client's weights stay in one core's cache."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Bool

from jfed.core.interfaces import Algorithm
from jfed.core.learning import Answer
from jfed.core.types import Params
from jfed.engine.jobs import Carried, Data, Jobs, at, blank, start

IMAGES = 64  # evaluated at once: the patches that convolutions unfold stay in a core's cache


def train(algorithm: Algorithm, carried: Carried, params: Params, data: Data, jobs: Jobs) -> Answer:
    """Return the answers of all jobs."""

    def one(job: Jobs) -> Answer:
        own, own_params = at(carried.weights, job.run), at(params, job.run)
        share = data.client(job.run, job.client)
        local = start(algorithm, carried, params, data, job)
        local = lax.fori_loop(0, job.steps, lambda _, state: algorithm.step(state, own, own_params, share), local)
        return algorithm.finish(local, own, own_params)

    if not algorithm.costly:
        return lax.map(one, jobs)
    nothing, results = blank(one, jobs)
    number = jobs.steps.shape[0]
    busy = jnp.max(jnp.where(jobs.returns, jnp.arange(1, number + 1), 0))  # jobs that return are mostly the first ones

    def put(i: Array, results: Any) -> Any:
        job = at(jobs, i)
        result = lax.cond(job.returns, one, lambda _: nothing, job)
        return jax.tree.map(lambda all_, x: all_.at[i].set(x), results, result)

    return lax.fori_loop(0, busy, put, results)


def each(f: Callable[..., Any], xs: Any, wanted: Bool[Array, " n"] | None = None, cost: int = 1) -> Any:
    """Return f of each entry along the leading axis; NaN, without computing it, where it is not wanted."""
    if wanted is None:
        return lax.map(f, xs)

    def one(job: tuple[Any, Bool[Array, ""]]) -> Any:
        x, asked = job
        shapes = jax.eval_shape(f, x)
        return lax.cond(asked, f, lambda _: jax.tree.map(lambda s: jnp.full(s.shape, jnp.nan, s.dtype), shapes), x)

    return lax.map(one, (xs, wanted))


def runs(slots: int) -> int:
    """Return the number of runs of a block: a CPU gains little from more than one, and a device may have none left."""
    return 1
