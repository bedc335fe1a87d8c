"""Lanes: how a flat list of training jobs is laid out on a device.

A job is (run, client, steps). `sequential` takes one after another with exact step counts: on a CPU a client's
weights stay in one core's cache. `vmapped` has a number of places side by side, for an accelerator: the longest
jobs begin, and a place whose job is done takes the next one, so that hardly any step is wasted on jobs that have
ended, or on clients that fail.

Both give the same updates up to rounding, and a job of no steps changes nothing.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Bool, Int, Num, PRNGKeyArray

from jfed.core.interfaces import Algorithm
from jfed.core.types import ClientData, Memory, Params, Report, Weights

PLACES = 0.25  # of the jobs are side by side: about half have no steps, and the longest take twice the mean


class Data(NamedTuple):
    """Everybody's data in one block: a pool of images that all runs share, and each run's tables into it.

    Attributes:
        images: the pool, uint8 images or float32 features.
        labels: the pool's labels.
        positions: each client's images in the pool, padded.
        num_samples: how many of them are real.
        test_positions: each run's test images, padded.
        num_test: how many of them are real.
    """

    images: Num[Array, "pool ..."]
    labels: Int[Array, " pool"]
    positions: Int[Array, "runs clients samples"]
    num_samples: Int[Array, "runs clients"]
    test_positions: Int[Array, "runs tests"]
    num_test: Int[Array, " runs"]

    def client(self, run: Int[Array, ""], client: Int[Array, ""]) -> ClientData:
        """One client's share of the pool."""
        row = (run, client)
        return ClientData(self.images, self.labels, self.positions[row], self.num_samples[row])


class Jobs(NamedTuple):
    """Training to be done; leading axis jobs."""

    run: Int[Array, " jobs"]
    client: Int[Array, " jobs"]
    steps: Int[Array, " jobs"]
    key: PRNGKeyArray


Train = Callable[[Algorithm, Weights, Params, Data, Jobs, Memory], tuple[Any, Report, Any]]


class Lane(NamedTuple):
    """A layout.

    Attributes:
        train: (algorithm, weights, params, data, jobs, memory) -> (updates, reports, own memories). Weights, params
            and the best model have a leading axis runs, memories (runs, clients); what comes out a leading axis jobs.
        each: maps a function over the leading axis of its arguments.
    """

    train: Train
    each: Callable[[Callable[..., Any], Any], Any]


def _start(
    algorithm: Algorithm, weights: Weights, params: Params, data: Data, job: Jobs, memory: Memory
) -> tuple[Any, ...]:
    own = jax.tree.map(lambda x: x[job.run], weights)
    own_params = jax.tree.map(lambda x: x[job.run], params)
    share = data.client(job.run, job.client)
    remembered = Memory(
        own=jax.tree.map(lambda x: x[job.run, job.client], memory.own),
        best=jax.tree.map(lambda x: x[job.run], memory.best),
        steps=job.steps,
    )
    return algorithm.start(job.key, own, own_params, share, remembered), own, own_params, share


def _train_sequential(
    algorithm: Algorithm, weights: Weights, params: Params, data: Data, jobs: Jobs, memory: Memory
) -> tuple[Any, Report, Any]:
    def one(job: Jobs) -> tuple[Any, Report, Any]:
        local, own, own_params, share = _start(algorithm, weights, params, data, job, memory)
        local = lax.fori_loop(0, job.steps, lambda _, state: algorithm.step(state, own, own_params, share), local)
        return algorithm.finish(local, own)

    if algorithm.remember is None:  # to start costs nothing
        return lax.map(one, jobs)
    nothing = jax.eval_shape(one, jax.tree.map(lambda x: x[0], jobs))
    blank = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), nothing)
    number = jobs.steps.shape[0]
    busy = jnp.max(jnp.where(jobs.steps > 0, jnp.arange(1, number + 1), 0))  # mostly the first ones

    def put(i: Array, results: Any) -> Any:
        job = jax.tree.map(lambda x: x[i], jobs)
        result = lax.cond(job.steps > 0, one, lambda _: blank, job)
        return jax.tree.map(lambda all_, x: all_.at[i].set(x), results, result)

    start = jax.tree.map(lambda x: jnp.zeros((number, *x.shape), x.dtype), nothing)
    return lax.fori_loop(0, busy, put, start)


class _Places(NamedTuple):
    """Jobs side by side; leading axis places.

    Attributes:
        job: which job each place holds, in sorted order; behind the last one if there is none left.
        local: the algorithm's state.
        own: the global weights of the job's run.
        done: steps of the job done.
    """

    job: Int[Array, " places"]
    local: Any
    own: Weights
    done: Int[Array, " places"]


def _where(mask: Bool[Array, " places"], new: Any, old: Any) -> Any:
    return jax.tree.map(lambda x, y: jnp.where(mask.reshape(-1, *[1] * (x.ndim - 1)), x, y), new, old)


def _train_vmapped(
    algorithm: Algorithm, weights: Weights, params: Params, data: Data, jobs: Jobs, memory: Memory
) -> tuple[Any, Report, Any]:
    order = jnp.argsort(-jobs.steps)
    jobs = jax.tree.map(lambda x: x[order], jobs)
    total = jobs.steps.shape[0]
    number = max(1, round(PLACES * total))
    busy = jnp.sum(jobs.steps > 0, dtype=jnp.int32)

    def at(job: Int[Array, " places"]) -> Jobs:
        return jax.tree.map(lambda x: x[jnp.minimum(job, total - 1)], jobs)

    def begin(job: Int[Array, " places"]) -> _Places:
        local, own, _, _ = jax.vmap(lambda one: _start(algorithm, weights, params, data, one, memory))(at(job))
        return _Places(job, local, own, jnp.zeros(number, jnp.int32))

    def step(local: Any, own: Weights, job: Jobs) -> Any:
        own_params = jax.tree.map(lambda x: x[job.run], params)
        return algorithm.step(local, own, own_params, data.client(job.run, job.client))

    def exchange(carry: tuple[_Places, Array, Any], ended: Bool[Array, " places"]) -> tuple[_Places, Array, Any]:
        places, following, results = carry
        finished = jax.vmap(algorithm.finish)(places.local, places.own)
        where = jnp.where(ended, places.job, total)
        results = jax.tree.map(lambda all_, x: all_.at[where].set(x, mode="drop"), results, finished)
        job = following + jnp.cumsum(ended, dtype=jnp.int32) - 1
        fresh = begin(jnp.where(job < busy, job, total))
        return _where(ended, fresh, places), following + ended.sum(dtype=jnp.int32), results

    def advance(carry: tuple[_Places, Array, Any]) -> tuple[_Places, Array, Any]:
        places, following, results = carry
        job = at(places.job)
        works = places.job < total
        local = _where(works, jax.vmap(step)(places.local, places.own, job), places.local)
        places = places._replace(local=local, done=places.done + works)
        ended = works & (places.done >= job.steps)
        carry = (places, following, results)
        return lax.cond(ended.any(), lambda: exchange(carry, ended), lambda: carry)

    def unfinished(carry: tuple[_Places, Array, Any]) -> Bool[Array, ""]:
        return jnp.any(carry[0].job < total)

    def untrained(job: Jobs) -> tuple[Any, Report, Any]:
        local, own, _, _ = _start(algorithm, weights, params, data, job, memory)
        return algorithm.finish(local, own)

    first = jnp.arange(number, dtype=jnp.int32)
    places = begin(jnp.where(first < busy, first, total))
    carry = (places, jnp.int32(number), jax.vmap(untrained)(jobs))
    _, _, results = lax.while_loop(unfinished, advance, carry)
    back = jnp.argsort(order)
    return jax.tree.map(lambda x: x[back], results)


LANES: dict[str, Lane] = {
    "sequential": Lane(_train_sequential, lax.map),
    "vmapped": Lane(_train_vmapped, lambda f, xs: jax.vmap(f)(xs)),
}
