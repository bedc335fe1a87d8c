"""FedAvgM: FedAvg with momentum on the server.

T.-M. H. Hsu, H. Qi, M. Brown, "Measuring the Effects of Non-Identical Data Distribution for Federated Visual
Classification", 2019 (arXiv 1909.06335), Section 4.3. Clients are those of FedAvg.

*Notation.* w: global model; D: averaged update (the paper's Delta w with its sign turned: D points downhill); v: the
server's momentum; beta: its factor; eta_g: the server's learning rate.

    v <- beta v + D        w <- w + eta_g v

*Which updates count.* D is the sum of shares times moves, with the shares of `Training.average_over`. Under "all" a
client that is missing counts as an update of 0, which pulls D, and with it v, towards 0; under "returned" D is the mean
over the clients that returned.

*Departures.*
- As in the paper there is no factor (1 - beta): steps are up to 1 / (1 - beta) times those of FedAvg.
- The paper has no eta_g; at its default, 1, it is the paper's form, and with beta = 0 FedAvg.
- In a round in which no client returns, neither v nor w changes.
"""

import functools
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jaxtyping import Float, PRNGKeyArray

from jfed.algorithms import local_sgd
from jfed.algorithms.schedules import Schedule, factors
from jfed.algorithms.vectors import average
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
        eta: learning rate.
        beta: momentum factor.
        schedule: factor of eta in each round; None: 1.
    """

    eta: Float[Array, ""]
    beta: Float[Array, ""]
    schedule: Float[Array, " rounds"] | None = None


@dataclass(frozen=True)
class Options(local_sgd.LocalOptions):
    """Settings of FedAvgM.

    Attributes:
        momentum: of a client's own steps, as in FedAvg.
        server_rate: eta_g.
        server_schedule: factor of eta_g in each round, as for `schedule`.
        beta: factor of the server's momentum.
    """

    names = (Name("fedavgm"),)

    momentum: float = 0.0
    server_rate: float = 1.0
    server_schedule: Schedule = "constant"
    beta: float = 0.9

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        rate, beta = float(self.server_rate), float(self.beta)
        require(0 < rate < inf, f"The server's learning rate must be positive and finite, found {rate:g}.")
        require(0 <= beta < 1, f"FedAvgM's beta must lie in [0, 1), found {beta:g}.")
        schedule = factors(self.server_schedule, problem.num_rounds)
        server = as_arrays(functools.partial(ServerParams, schedule=schedule), eta=rate, beta=beta)
        return Params(self.local_params(problem), server)

    def make(self, dims: Dims, loss: Loss) -> Algorithm:
        """Return the algorithm."""

        def optimizer(params: Params) -> optax.GradientTransformation:
            return optax.sgd(params.server.eta, params.server.beta)

        def init(key: PRNGKeyArray, params: Params, weights: Weights) -> optax.OptState:
            return optimizer(params).init(weights)

        def aggregate(server: optax.OptState, weights: Weights, params: Params, answers: Answers) -> Aggregated:
            uphill = jax.tree.map(jnp.negative, average(answers.moves, answers.share, answers.returned))
            change, server = optimizer(params).update(uphill, server)
            return Aggregated(optax.apply_updates(weights, change), server, answers.reports)

        return local_sgd.with_server(self.local_sgd(dims, loss), init, aggregate)
