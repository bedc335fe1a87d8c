"""Lanes: how a flat list of training jobs is laid out on a device.

A job is (run, client, steps). `sequential` takes one after another with exact step counts: on a CPU a client's
weights stay in one core's cache, and no convolution becomes a grouped one. `vmapped` runs all side by side,
sorted by steps, in prefixes that shrink as short jobs end: for an accelerator.

Both give the same updates up to rounding, and a job of no steps changes nothing.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Bool, Int, PRNGKeyArray, UInt8

from jfed.types import Algorithm, ClientData, Params, Report, Weights

PREFIXES = (1.0, 0.75, 0.5, 0.25)  # share of the jobs still in the batch, stage by stage


class Data(NamedTuple):
    """Everybody's data in one block: a pool of images that all runs share, and each run's tables into it.

    Attributes:
        images: the pool.
        labels: the pool's labels.
        positions: each client's images in the pool, padded.
        num_samples: how many of them are real.
        test_positions: each run's test images, padded.
        num_test: how many of them are real.
    """

    images: UInt8[Array, "pool height width channels"]
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


Train = Callable[[Algorithm, Weights, Params, Data, Jobs], tuple[Weights, Report]]


class Lane(NamedTuple):
    """A layout.

    Attributes:
        train: (algorithm, weights, params, data, jobs) -> (updates, reports). Weights and params have a
            leading axis runs; updates and reports a leading axis jobs.
        each: maps a function over the leading axis of its arguments.
    """

    train: Train
    each: Callable[[Callable[..., Any], Any], Any]


def _start(algorithm: Algorithm, weights: Weights, params: Params, data: Data, job: Jobs) -> tuple[Any, ...]:
    own = jax.tree.map(lambda x: x[job.run], weights)
    own_params = jax.tree.map(lambda x: x[job.run], params)
    share = data.client(job.run, job.client)
    return algorithm.start(job.key, own, own_params, share), own, own_params, share


def _train_sequential(
    algorithm: Algorithm, weights: Weights, params: Params, data: Data, jobs: Jobs
) -> tuple[Weights, Report]:
    def one(job: Jobs) -> tuple[Weights, Report]:
        local, own, own_params, share = _start(algorithm, weights, params, data, job)
        local = lax.fori_loop(0, job.steps, lambda _, state: algorithm.step(state, own, own_params, share), local)
        return algorithm.finish(local, own)

    return lax.map(one, jobs)


def _train_vmapped(
    algorithm: Algorithm, weights: Weights, params: Params, data: Data, jobs: Jobs
) -> tuple[Weights, Report]:
    order = jnp.argsort(-jobs.steps)
    jobs = jax.tree.map(lambda x: x[order], jobs)
    total = jobs.steps.shape[0]

    def step(state: Any, job: Jobs, done: Int[Array, ""]) -> Any:
        own = jax.tree.map(lambda x: x[job.run], weights)
        own_params = jax.tree.map(lambda x: x[job.run], params)
        moved = algorithm.step(state, own, own_params, data.client(job.run, job.client))
        return jax.tree.map(lambda new, old: jnp.where(done < job.steps, new, old), moved, state)

    local = jax.vmap(lambda job: _start(algorithm, weights, params, data, job)[0])(jobs)
    done = jnp.int32(0)
    widths = sorted({max(1, round(share * total)) for share in PREFIXES}, reverse=True)
    for width, next_width in zip(widths, [*widths[1:], 0], strict=True):
        prefix = jax.tree.map(lambda x, w=width: x[:w], (local, jobs))
        until = jobs.steps[next_width]  # sorted: nobody behind the next prefix has more to do

        def advance(carry: tuple[Any, Array], these: Jobs = prefix[1]) -> tuple[Any, Array]:
            state, done = carry
            return jax.vmap(step, in_axes=(0, 0, None))(state, these, done), done + 1

        def unfinished(carry: tuple[Any, Array], until: Array = until) -> Bool[Array, ""]:
            return carry[1] < until

        state, done = lax.while_loop(unfinished, advance, (prefix[0], done))
        local = jax.tree.map(lambda whole, part, w=width: whole.at[:w].set(part), local, state)

    own = jax.tree.map(lambda x: x[jobs.run], weights)
    result = jax.vmap(algorithm.finish)(local, own)
    back = jnp.argsort(order)
    return jax.tree.map(lambda x: x[back], result)


LANES: dict[str, Lane] = {
    "sequential": Lane(_train_sequential, lax.map),
    "vmapped": Lane(_train_vmapped, lambda f, xs: jax.vmap(f)(xs)),
}
