"""Clients that remember their last update, for servers that use it while they are away (`mifa`, `fedvarp`).

*Notation.* w: model that a client received; w_i: model at which its steps ended; eta: learning rate of the round; G_i:
its last normalised update, 0 before its first.

    G_i <- (w - w_i) / eta

G_i is kept in place of w - w_i so that an old update is not larger than a new one where the learning rate falls. The
server never sees G_i itself but the change of it, from which it keeps sums over all clients.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Bool, Int, PRNGKeyArray

from jfed.algorithms import local_sgd
from jfed.algorithms.local_sgd import Params
from jfed.algorithms.vectors import zeros
from jfed.core.interfaces import Algorithm
from jfed.core.learning import Answer, ClientData, Received
from jfed.core.types import Weights


class Own(NamedTuple):
    """A client's memory.

    Attributes:
        update: G_i.
        known: whether it took part before.
    """

    update: Weights
    known: Bool[Any, ""]


class Local(NamedTuple):
    """One client in the middle of its training.

    Attributes:
        plain: see `local_sgd`.
        own: its memory.
    """

    plain: local_sgd.Local
    own: Own

    @property
    def step(self) -> Int[Any, ""]:
        """Return the number of steps done."""
        return self.plain.step


class Change(NamedTuple):
    """The change of a client's memory, sent with its move; leading axis slots on the server.

    Attributes:
        update: new G_i minus the old one; 0 if the client made no step.
        works: whether it made a step.
        fresh: whether this was its first update.
    """

    update: Weights
    works: Bool[Any, "..."]
    fresh: Bool[Any, "..."]


def remembering(plain: Algorithm) -> Algorithm:
    """Return local SGD whose clients remember G_i and answer with a `Change`; the server is still that of `plain`."""

    def remember(key: PRNGKeyArray, weights: Weights, positions: Int[Any, " samples"]) -> Own:
        return Own(zeros(weights), jnp.bool_(False))

    def start(key: PRNGKeyArray, received: Received, params: Params, data: ClientData) -> Local:
        return Local(plain.start(key, received, params, data), received.memory)

    def step(local: Local, weights: Weights, params: Params, data: ClientData) -> Local:
        return local._replace(plain=plain.step(local.plain, weights, params, data))

    def finish(local: Local, weights: Weights, params: Params) -> Answer:
        answer, works, own = plain.finish(local.plain, weights, params), local.step > 0, local.own
        new = jax.tree.map(lambda m, old: jnp.where(works, -m / params.learning_rate, old), answer.move, own.update)
        change = Change(jax.tree.map(jnp.subtract, new, own.update), works, works & ~own.known)
        return answer._replace(memory=Own(new, own.known | works), more=change)

    return plain._replace(start=start, step=step, finish=finish, remember=remember)
