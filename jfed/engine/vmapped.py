"""Jobs side by side, for an accelerator: a number of places, each of which takes the next job when its own is done.

The longest jobs begin, so that few steps are wasted on jobs that have ended, or on clients that fail. What an
accelerator pays for is memory traffic, launches, and stops for the host; hence
- all places make steps until the next of them is done, in a loop without a branch;
- only the places whose jobs are done are written again, some at a time;
- global models are read where they are, by the number of the run, and not copied into places.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Bool, Int

from jfed.core.interfaces import Algorithm
from jfed.core.learning import Answer
from jfed.core.types import Params
from jfed.engine.jobs import Carried, Data, Jobs, at, blank, start

PLACES = 0.25  # places per job: about half of the jobs have no steps, and the longest take twice the mean
LEAST = 64  # places, if as many jobs may return: with fewer, a step costs launches rather than arithmetic
FULL = 256  # places of a block; a guess: no accelerator was at hand
SHARE = 8  # a place in so many is exchanged at once
IMAGES = 4096  # evaluated at once: the patches of a convolution with 64 channels then take some gigabytes


class _Places(NamedTuple):
    """Jobs side by side; leading axis places.

    Attributes:
        job: number of the job in a place, in sorted order; past the last one if none is left.
        local: the algorithm's state of the job.
        done: steps of the job that are done.
    """

    job: Int[Array, " places"]
    local: Any
    done: Int[Array, " places"]


def train(algorithm: Algorithm, carried: Carried, params: Params, data: Data, jobs: Jobs) -> Answer:
    """Return the answers of all jobs."""
    order = jnp.argsort(-jnp.where(jobs.returns, jobs.steps, -1))
    jobs = at(jobs, order)
    total = jobs.steps.shape[0]
    number = places_of(total)
    some = -(-number // SHARE)
    busy = jnp.sum(jobs.returns, dtype=jnp.int32)

    def of(job: Int[Array, " any"]) -> Jobs:
        return at(jobs, jnp.minimum(job, total - 1))

    def begin(job: Int[Array, " any"]) -> _Places:
        local = jax.vmap(lambda one: start(algorithm, carried, params, data, one))(of(job))
        return _Places(job, local, jnp.zeros(job.shape, jnp.int32))

    def step(local: Any, job: Jobs) -> Any:
        share = data.client(job.run, job.client)
        return algorithm.step(local, at(carried.weights, job.run), at(params, job.run), share)

    def finish(local: Any, job: Jobs) -> Answer:
        return algorithm.finish(local, at(carried.weights, job.run), at(params, job.run))

    def exchange(carry: tuple[_Places, Array, Answer]) -> tuple[_Places, Array, Answer]:
        """Take the answers of some places whose jobs are done, and give these places the next jobs."""
        places, following, results = carry
        ended = over(places)
        place = jnp.nonzero(ended, size=some, fill_value=number)[0]  # `number`: none
        here = at(places, jnp.minimum(place, number - 1))
        answers = jax.vmap(finish)(here.local, of(here.job))
        where = jnp.where(place < number, here.job, total)
        results = jax.tree.map(lambda all_, x: all_.at[where].set(x, mode="drop"), results, answers)
        job = following + jnp.arange(some, dtype=jnp.int32)
        fresh = begin(jnp.where(job < busy, job, total))
        places = jax.tree.map(lambda all_, x: all_.at[place].set(x, mode="drop"), places, fresh)
        return places, following + jnp.sum(place < number, dtype=jnp.int32), results

    def over(places: _Places) -> Bool[Array, " places"]:
        return (places.job < total) & (places.done >= of(places.job).steps)

    def advance(carry: tuple[_Places, Array, Answer]) -> tuple[_Places, Array, Answer]:
        places, following, results = carry
        job, held = of(places.job), places.job < total
        many = jnp.min(jnp.where(held, job.steps - places.done, jnp.iinfo(jnp.int32).max))
        # Steps of places without a job are lost; a client may return without a step.
        local = lax.fori_loop(0, many, lambda _, local: jax.vmap(step)(local, job), places.local)
        carry = (places._replace(local=local, done=places.done + many), following, results)
        return lax.while_loop(lambda carry: over(carry[0]).any(), exchange, carry)

    def unfinished(carry: tuple[_Places, Array, Answer]) -> Bool[Array, ""]:
        return jnp.any(carry[0].job < total)

    def untrained(job: Jobs) -> Answer:
        return finish(start(algorithm, carried, params, data, job), job)

    first = jnp.arange(number, dtype=jnp.int32)
    places = begin(jnp.where(first < busy, first, total))
    carry = (places, jnp.int32(number), blank(untrained, jobs)[1])
    _, _, results = lax.while_loop(unfinished, advance, carry)
    return at(results, jnp.argsort(order))


def runs(slots: int) -> int:
    """Return the number of runs of a block that have `FULL` places together; memory may allow fewer."""
    return max(1, round(FULL / (PLACES * slots)))


def places_of(jobs: int) -> int:
    """Return the number of places for a number of jobs."""
    return max(1, round(PLACES * jobs), min(jobs // 2, LEAST))  # about half of the jobs have no steps


def each(f: Callable[..., Any], xs: Any, wanted: Bool[Array, " n"] | None = None, cost: int = 1) -> Any:
    """Return f of each entry along the leading axis, as many at once as memory takes; NaN where it is not wanted.

    Entries that are not wanted are not computed, except to fill the last slice.

    Args:
        f: function of one entry.
        xs: its arguments.
        wanted: entries to compute; None: all.
        cost: number of images that f evaluates.
    """
    total = jax.tree.leaves(xs)[0].shape[0]
    width = max(1, min(total, IMAGES // cost))
    if wanted is None:
        wanted = jnp.ones(total, bool)
    order = jnp.argsort(~wanted)  # stable: those that are wanted, in their order, then the others
    number = jnp.sum(wanted, dtype=jnp.int32)
    shapes = jax.eval_shape(lambda xs: f(jax.tree.map(lambda x: x[0], xs)), xs)
    results = jax.tree.map(lambda s: jnp.full((total, *s.shape), jnp.nan, s.dtype), shapes)

    def put(i: Array, results: Any) -> Any:
        place = i * width + jnp.arange(width, dtype=jnp.int32)
        which = order[jnp.minimum(place, total - 1)]
        found = jax.vmap(f)(at(xs, which))
        where = jnp.where(place < number, which, total)
        return jax.tree.map(lambda all_, x: all_.at[where].set(x, mode="drop"), results, found)

    return lax.fori_loop(0, -(-number // width), put, results)
