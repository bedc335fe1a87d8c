"""MIFA: the server uses the last update of every client, whether or not it takes part in the round.

X. Gu, K. Huang, J. Zhang, L. Huang, "Fast Federated Learning in the Presence of Arbitrary Device Unavailability",
NeurIPS 2021, and its public code. Clients are those of FedAvg, without momentum by default.

*Notation.* w_t: global model; w_i: a client's own after its steps; eta_t: learning rate of the round; G_i: last
normalised update; N: number of clients.

    G_i <- (w_t - w_i) / eta_t for a client that takes part; other clients keep G_i
    w_{t+1} = w_t - eta_t (1 / N) sum over all i of G_i

A client keeps its own G_i and sends the change of it; the server keeps the mean of all, as the paper suggests to save
memory. G_i is free of the learning rate: a server that kept w_t - w_i would apply the large updates of early rounds
where the rate has fallen since (`schedule`).

*Which updates count.* Clients take part that return. All clients count the same, as printed, whatever their images,
the shares of `Training.average_over` and the importance that a scheme gives them.

*Before a client's first return.* The paper lets all clients take part in the first round. Its code has two forms: one
waits until every client was available once and then trains all of them at once, even those that are away again; the
other, the one here, has G_i = 0 until then (`over="all"`: early steps are shorter by the share of clients that have
returned). The first needs clients that train while they are away, and never ends where one never returns. `over="seen"`
divides by the number of clients that have returned so far, as another public copy does.

*Departures.* In a round in which no client returns, or none makes a step, the model stays; in the paper it would repeat
its last step. With everybody in each round, a round is that of FedAvg for clients of equal size.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Float, PRNGKeyArray

from jfed.algorithms import local_sgd
from jfed.algorithms.last_updates import remembering
from jfed.algorithms.local_sgd import Params
from jfed.algorithms.vectors import average, zeros
from jfed.core import ops
from jfed.core.interfaces import Algorithm, Loss
from jfed.core.learning import Aggregated, Answers
from jfed.core.members import Name
from jfed.core.options import static
from jfed.core.types import Dims, Problem, Weights


class Memory(NamedTuple):
    """The server's state.

    Attributes:
        mean: mean of G_i over all N clients.
        seen: share of the clients that have returned an update.
    """

    mean: Weights
    seen: Float[jax.Array, ""]


@dataclass(frozen=True)
class Options(local_sgd.LocalOptions):
    """Settings of MIFA.

    Attributes:
        momentum: of a client's own steps, as in FedAvg; the paper has none.
        over: clients over whose G_i the mean is: all, or those seen so far.
    """

    names = (Name("mifa"),)

    momentum: float = 0.0
    over: Literal["all", "seen"] = static("all")

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        return self.local_params(problem)

    def make(self, dims: Dims, loss: Loss) -> Algorithm:
        """Return the algorithm."""

        def init(key: PRNGKeyArray, params: Params, weights: Weights) -> Memory:
            return Memory(zeros(weights), jnp.zeros((), jnp.result_type(float)))

        def aggregate(server: Memory, weights: Weights, params: Params, answers: Answers) -> Aggregated:
            change, works = answers.more, answers.returned & answers.more.works
            each = jnp.full(answers.share.shape, 1 / dims.num_clients)
            mean = jax.tree.map(jnp.add, server.mean, average(change.update, each, works))
            seen = server.seen + jnp.sum(jnp.where(works & change.fresh, each, 0.0))
            rate = params.learning_rate if self.over == "all" else params.learning_rate / jnp.where(seen > 0, seen, 1.0)
            moved = jax.tree.map(lambda w, g: w - rate * g, weights, mean)
            return Aggregated(ops.where(works.any(), moved, weights), Memory(mean, seen), answers.reports)

        return remembering(self.local_sgd(dims, loss))._replace(init=init, aggregate=aggregate)
