"""A driver that steps an algorithm through rounds of quadratic losses, without the engine, in one compiled program.

Client i has the points x of its images; its loss is the mean of |w - x|^2 / 2 over them. A batch holds all of them.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jfed.core import ops
from jfed.core.learning import Answers, ClientData, Received
from jfed.core.types import Dims, Problem


class Clients(NamedTuple):
    """Clients' points, their number, the local steps, and the clients that return.

    Attributes:
        points: (K, n, d).
        many: number of real points of each client, (K,).
        steps: (K,).
        returned: (T, K).
        share: (T, K); by default 1 / K.
    """

    points: np.ndarray
    many: np.ndarray
    steps: np.ndarray
    returned: np.ndarray
    share: np.ndarray | None = None


def distance(weights: Any, points: Any, labels: Any, real: Any) -> Any:
    """Return the mean loss over the real points of a batch."""
    each = 0.5 * jnp.sum(jnp.square(weights["w"] - points), -1)
    return jnp.sum(jnp.where(real, each, 0.0)) / jnp.maximum(jnp.sum(real), 1)


@functools.cache
def program(options: Any, rounds: int, number: int, size: int) -> Any:
    """Return the compiled rounds of some options and sizes."""
    algorithm = options.make(Dims(number, number, size), distance)
    positions = jnp.arange(number * size, dtype=jnp.int32).reshape(number, size)

    @jax.jit
    def all_rounds(params: Any, weights: Any, pool: Any, many: Any, steps: Any, returned: Any, share: Any) -> Any:
        keys = jax.random.split(jax.random.key(0), number)

        def one_round(state: Any, row: Any) -> Any:
            t, back, weigh = row
            weights, server, memory = state
            now = params if algorithm.at_round is None else algorithm.at_round(params, t)

            def train(key: Any, own: Any, place: Any, count: Any, number: Any) -> Any:
                data = ClientData(pool, jnp.zeros(len(pool), jnp.int32), place, count)
                local = algorithm.start(key, Received(weights, number, server, own), now, data)
                local = jax.lax.fori_loop(0, number, lambda _, s: algorithm.step(s, weights, now, data), local)
                return algorithm.finish(local, weights, now)

            answer = jax.vmap(train)(keys, memory, positions, many, steps)
            answers = Answers(answer.move, answer.report, weigh, back, answer.more)
            made = algorithm.aggregate(server, weights, now, answers)
            after = ops.where((back & (weigh > 0)).any(), (made.weights, made.server), (weights, server))
            state = (*after, ops.where(back & (steps > 0), answer.memory, memory))
            return state, state

        server = None if algorithm.init is None else algorithm.init(keys[0], params, weights)
        memory = None
        if algorithm.remember is not None:
            memory = jax.vmap(algorithm.remember, in_axes=(0, None, 0))(keys, weights, positions)
        rows = jnp.arange(1, rounds + 1, dtype=jnp.int32), returned, share
        return jax.lax.scan(one_round, (weights, server, memory), rows)[1]

    return all_rounds


def run(options: Any, clients: Clients, start: Any) -> tuple[np.ndarray, Any, Any]:
    """Return the models after each round, (T, d), and the server's states and the clients' memories, leading axis T.

    Options and sizes compile once.
    """
    rounds, number = clients.returned.shape
    share = np.full((rounds, number), 1 / number) if clients.share is None else clients.share
    params = jax.tree.map(jnp.asarray, options.params(Problem(number, number, rounds, learning_rate=0.1)))
    pool = jnp.asarray(clients.points.reshape(-1, clients.points.shape[-1]))
    many, steps = jnp.asarray(clients.many, jnp.int32), jnp.asarray(clients.steps, jnp.int32)
    all_rounds = program(options, rounds, number, clients.points.shape[1])
    found = all_rounds(params, {"w": jnp.asarray(start)}, pool, many, steps, clients.returned, jnp.asarray(share))
    weights, server, memory = jax.tree.map(np.asarray, found)
    return weights["w"], server, memory
