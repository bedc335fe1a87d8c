"""Lanes: how a flat list of training jobs is laid out on a device.

A job is (run, client, steps). `sequential` does one job after another with exact step counts: on a CPU a client's
weights stay in one core's cache. `vmapped`, for an accelerator, has a number of places side by side: the longest jobs
begin, and a place whose job is done takes the next one, so that few steps are wasted on jobs that have ended, or on
clients that fail.

Both give the same answers up to rounding. A client that returns without a step, because it has no images, answers
like the others; a client that does not return costs no step and, if starts are costly, no start.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Bool, Int, Num, PRNGKeyArray

from jfed.core import ops
from jfed.core.interfaces import Algorithm
from jfed.core.learning import Answer, ClientData, Received
from jfed.core.types import Params, Weights

PLACES = 0.25  # places per job: about half of the jobs have no steps, and the longest take twice the mean


class Data(NamedTuple):
    """The data of a block: a pool of images that all runs share, and each run's tables of positions in it.

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
        """Return one client's share of the pool."""
        row = (run, client)
        return ClientData(self.images, self.labels, self.positions[row], self.num_samples[row])


class Jobs(NamedTuple):
    """Training jobs; leading axis jobs.

    Attributes:
        run: number of the run in the block.
        client: number of the client.
        steps: local steps; 0 if the client does not return.
        key: key of this client in this round.
        returns: whether the client returns; answers of other jobs have no meaning.
    """

    run: Int[Array, " jobs"]
    client: Int[Array, " jobs"]
    steps: Int[Array, " jobs"]
    key: PRNGKeyArray
    returns: Bool[Array, " jobs"]


class Carried(NamedTuple):
    """The values with which jobs begin, leading axis runs; None for those that an algorithm does not keep.

    Attributes:
        weights: global models.
        server: states of the servers.
        memories: memories of the clients, leading axes (runs, clients).
        best: best global models so far.
    """

    weights: Weights
    server: Any = None
    memories: Any = None
    best: Weights = None


Train = Callable[[Algorithm, Carried, Params, Data, Jobs], Answer]


class Lane(NamedTuple):
    """A layout of jobs on a device.

    Attributes:
        train: (algorithm, carried, params, data, jobs) -> answers. Params have a leading axis runs, answers a leading
            axis jobs.
        each: map of a function over the leading axis of its argument.
    """

    train: Train
    each: Callable[[Callable[..., Any], Any], Any]


def _at(tree: Any, *where: Array) -> Any:
    return jax.tree.map(lambda x: x[where], tree)


def _start(
    algorithm: Algorithm, carried: Carried, params: Params, data: Data, job: Jobs
) -> tuple[Any, Weights, Params, ClientData]:
    own_params, share = _at(params, job.run), data.client(job.run, job.client)
    received = Received(
        weights=_at(carried.weights, job.run),
        steps=job.steps,
        server=_at(carried.server, job.run),
        memory=_at(carried.memories, job.run, job.client),
        best=_at(carried.best, job.run),
    )
    return algorithm.start(job.key, received, own_params, share), received.weights, own_params, share


def _train_sequential(algorithm: Algorithm, carried: Carried, params: Params, data: Data, jobs: Jobs) -> Answer:
    def one(job: Jobs) -> Answer:
        local, own, own_params, share = _start(algorithm, carried, params, data, job)
        local = lax.fori_loop(0, job.steps, lambda _, state: algorithm.step(state, own, own_params, share), local)
        return algorithm.finish(local, own, own_params)

    if not algorithm.costly:
        return lax.map(one, jobs)
    blank, results = _blank(one, jobs)
    number = jobs.steps.shape[0]
    busy = jnp.max(jnp.where(jobs.returns, jnp.arange(1, number + 1), 0))  # jobs that return are mostly the first ones

    def put(i: Array, results: Any) -> Any:
        job = _at(jobs, i)
        result = lax.cond(job.returns, one, lambda _: blank, job)
        return jax.tree.map(lambda all_, x: all_.at[i].set(x), results, result)

    return lax.fori_loop(0, busy, put, results)


def _blank(one: Callable[[Jobs], Answer], jobs: Jobs) -> tuple[Answer, Answer]:
    """Return zeros in the shape of one job's answer, and in that of all answers."""
    shapes = jax.eval_shape(one, jax.tree.map(lambda x: x[0], jobs))
    number = jobs.steps.shape[0]
    blank = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
    return blank, jax.tree.map(lambda x: jnp.zeros((number, *x.shape), x.dtype), shapes)


class _Places(NamedTuple):
    """Jobs side by side; leading axis places.

    Attributes:
        job: number of the job in a place, in sorted order; past the last one if none is left.
        local: the algorithm's state of the job.
        own: global weights of the job's run.
        done: steps of the job that are done.
    """

    job: Int[Array, " places"]
    local: Any
    own: Weights
    done: Int[Array, " places"]


def _train_vmapped(algorithm: Algorithm, carried: Carried, params: Params, data: Data, jobs: Jobs) -> Answer:
    order = jnp.argsort(-jnp.where(jobs.returns, jobs.steps, -1))
    jobs = _at(jobs, order)
    total = jobs.steps.shape[0]
    number = max(1, round(PLACES * total))
    busy = jnp.sum(jobs.returns, dtype=jnp.int32)

    def at(job: Int[Array, " places"]) -> Jobs:
        return _at(jobs, jnp.minimum(job, total - 1))

    def begin(job: Int[Array, " places"]) -> _Places:
        local, own, _, _ = jax.vmap(lambda one: _start(algorithm, carried, params, data, one))(at(job))
        return _Places(job, local, own, jnp.zeros(number, jnp.int32))

    def step(local: Any, own: Weights, job: Jobs) -> Any:
        return algorithm.step(local, own, _at(params, job.run), data.client(job.run, job.client))

    def finish(local: Any, own: Weights, job: Jobs) -> Answer:
        return algorithm.finish(local, own, _at(params, job.run))

    def exchange(carry: tuple[_Places, Array, Answer], ended: Bool[Array, " places"]) -> tuple[_Places, Array, Answer]:
        places, following, results = carry
        finished = jax.vmap(finish)(places.local, places.own, at(places.job))
        where = jnp.where(ended, places.job, total)
        results = jax.tree.map(lambda all_, x: all_.at[where].set(x, mode="drop"), results, finished)
        job = following + jnp.cumsum(ended, dtype=jnp.int32) - 1
        fresh = begin(jnp.where(job < busy, job, total))
        return ops.where(ended, fresh, places), following + ended.sum(dtype=jnp.int32), results

    def advance(carry: tuple[_Places, Array, Answer]) -> tuple[_Places, Array, Answer]:
        places, following, results = carry
        job, held = at(places.job), places.job < total
        works = held & (places.done < job.steps)  # a client may return without a step
        local = ops.where(works, jax.vmap(step)(places.local, places.own, job), places.local)
        places = places._replace(local=local, done=places.done + works)
        ended = held & (places.done >= job.steps)
        carry = (places, following, results)
        return lax.cond(ended.any(), lambda: exchange(carry, ended), lambda: carry)

    def unfinished(carry: tuple[_Places, Array, Answer]) -> Bool[Array, ""]:
        return jnp.any(carry[0].job < total)

    def untrained(job: Jobs) -> Answer:
        local, own, own_params, _ = _start(algorithm, carried, params, data, job)
        return algorithm.finish(local, own, own_params)

    first = jnp.arange(number, dtype=jnp.int32)
    places = begin(jnp.where(first < busy, first, total))
    carry = (places, jnp.int32(number), _blank(untrained, jobs)[1])
    _, _, results = lax.while_loop(unfinished, advance, carry)
    return _at(results, jnp.argsort(order))


LANES: dict[str, Lane] = {
    "sequential": Lane(_train_sequential, lax.map),
    "vmapped": Lane(_train_vmapped, lambda f, xs: jax.vmap(f)(xs)),
}
