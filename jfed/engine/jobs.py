"""Training jobs, and the arrays that lanes read: the data of a block, and the values with which jobs begin.

A job is (run, client, steps): the local training of one client in one round of one run.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Int, Num, PRNGKeyArray

from jfed.core.interfaces import Algorithm
from jfed.core.learning import Answer, ClientData, Received
from jfed.core.types import Params, Weights


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


def at(tree: Any, *where: Array) -> Any:
    """Return the entries of each leaf at an index."""
    return jax.tree.map(lambda x: x[where], tree)


def start(algorithm: Algorithm, carried: Carried, params: Params, data: Data, job: Jobs) -> Any:
    """Return the algorithm's state at the start of one job; params have a leading axis runs."""
    received = Received(
        weights=at(carried.weights, job.run),
        steps=job.steps,
        server=at(carried.server, job.run),
        memory=at(carried.memories, job.run, job.client),
        best=at(carried.best, job.run),
    )
    return algorithm.start(job.key, received, at(params, job.run), data.client(job.run, job.client))


def blank(one: Callable[[Jobs], Answer], jobs: Jobs) -> tuple[Answer, Answer]:
    """Return zeros in the shape of one job's answer, and in that of all answers."""
    shapes = jax.eval_shape(one, jax.tree.map(lambda x: x[0], jobs))
    number = jobs.steps.shape[0]
    nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
    return nothing, jax.tree.map(lambda x: jnp.zeros((number, *x.shape), x.dtype), shapes)
