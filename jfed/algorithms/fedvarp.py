"""FedVARP: the last updates of the clients that are away stand in for them, without a bias for a uniform cohort.

D. Jhunjhunwala, P. Sharma, A. Nagarkatti, G. Joshi, "FedVARP: Tackling the Variance Due to Partial Client Participation
in Federated Learning", UAI 2022. Clients are those of FedAvg, without momentum by default.

*Notation.* w: global model; D_i: update of a client that takes part, over the learning rate, uphill (`last_updates` has
it as G_i); y_i: the last one of each client, 0 before its first; S: clients that take part; N: number of clients; eta,
eta_g: learning rates of clients and server.

    v = mean over S of (D_i - y_i) + mean over all of y_i
    w <- w - eta_g eta v        y_i <- D_i for i in S

The first mean is over the cohort and the second over all clients: MIFA has 1 / N in both, so that here a new update
counts N / |S| times as much. A step is unbiased where S is drawn uniformly; where no client is noisy, the fixed point
is that of the mean over all clients whatever S is.

*Which updates count.* S are the clients that returned and made a step. All count the same, whatever their images, the
shares of `Training.average_over` and the importance that a scheme gives them.

*Departures.* Updates are divided by the learning rate of their round, so that they are comparable where it follows a
schedule; with a constant rate this is the printed form. In a round in which S is empty nothing changes. A client keeps
its own y_i, and the server the mean of all.
"""

import functools
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, PRNGKeyArray

from jfed.algorithms import local_sgd
from jfed.algorithms.last_updates import remembering
from jfed.algorithms.schedules import Schedule, factors
from jfed.algorithms.vectors import average, zeros
from jfed.core import ops
from jfed.core.errors import require
from jfed.core.interfaces import Algorithm, Loss
from jfed.core.learning import Aggregated, Answers
from jfed.core.members import Name
from jfed.core.options import as_arrays
from jfed.core.types import Dims, Problem, Weights


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        clients: of the local steps.
        server: of the server.
    """

    clients: local_sgd.Params
    server: "ServerParams"


class ServerParams(NamedTuple):
    """Dynamic half of the server's options.

    Attributes:
        eta: eta_g.
        schedule: factor of eta_g in each round; None: 1.
    """

    eta: Float[Array, ""]
    schedule: Float[Array, " rounds"] | None = None


@dataclass(frozen=True)
class Options(local_sgd.LocalOptions):
    """Settings of FedVARP.

    Attributes:
        momentum: of a client's own steps, as in FedAvg; the paper has none.
        server_rate: eta_g.
        server_schedule: factor of eta_g in each round, as for `schedule`.
    """

    names = (Name("fedvarp"),)

    momentum: float = 0.0
    server_rate: float = 1.0
    server_schedule: Schedule = "constant"

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        rate = float(self.server_rate)
        require(0 < rate < inf, f"The server's learning rate must be positive and finite, found {rate:g}.")
        schedule = factors(self.server_schedule, problem.num_rounds)
        return Params(
            self.local_params(problem), as_arrays(functools.partial(ServerParams, schedule=schedule), eta=rate)
        )

    def make(self, dims: Dims, loss: Loss) -> Algorithm:
        """Return the algorithm."""

        def init(key: PRNGKeyArray, params: Params, weights: Weights) -> Weights:
            return zeros(weights)

        def aggregate(server: Weights, weights: Weights, params: Params, answers: Answers) -> Aggregated:
            works, shape = answers.returned & answers.more.works, answers.share.shape
            many = jnp.maximum(jnp.sum(works), 1)
            of_cohort = average(answers.more.update, jnp.full(shape, 1 / many), works)
            of_all = average(answers.more.update, jnp.full(shape, 1 / dims.num_clients), works)
            rate = params.server.eta * params.clients.learning_rate
            moved = jax.tree.map(lambda w, new, y: w - rate * (new + y), weights, of_cohort, server)
            mean = jax.tree.map(jnp.add, server, of_all)
            return Aggregated(ops.where(works.any(), moved, weights), mean, answers.reports)

        return local_sgd.with_server(remembering(self.local_sgd(dims, loss)), init, aggregate)
