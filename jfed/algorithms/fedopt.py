"""FedAdagrad, FedAdam and FedYogi: a server that adapts its step to each weight.

S. Reddi, Z. Charles, M. Zaheer, Z. Garrett, K. Rush, J. Konecny, S. Kumar, H. B. McMahan, "Adaptive Federated
Optimization", ICLR 2021, Algorithm 2. Clients are those of FedAvg, without momentum by default.

*Notation.* x: global model; Delta_t: averaged update (it points downhill); m_t, v_t: the server's moments; eta: its
learning rate; tau: its adaptivity (a small tau is very adaptive). Powers, roots and quotients are taken weight by
weight; m starts at 0 and v at tau^2.

    m_t = beta_1 m_{t-1} + (1 - beta_1) Delta_t
    v_t = v_{t-1} + Delta_t^2                                              FedAdagrad
    v_t = v_{t-1} - (1 - beta_2) Delta_t^2 sign(v_{t-1} - Delta_t^2)       FedYogi
    v_t = beta_2 v_{t-1} + (1 - beta_2) Delta_t^2                          FedAdam
    x_{t+1} = x_t + eta m_t / (sqrt(v_t) + tau)

This is the printed form, without bias correction. Adam and Yogi of optax correct the bias, start v at other values and
have tau elsewhere, so they are not used.

*Which updates count.* Delta_t is the sum of shares times moves, with the shares of `Training.average_over`. The paper's
mean over the clients that took part is "returned", for clients of equal size. Under "all" a client that is missing
counts as an update of 0: Delta_t is smaller, for which m_t / sqrt(v_t) makes up except for tau.

*Departures.* The paper requires v_{-1} >= tau^2; here it is tau^2. In a round in which no client returns, neither the
moments nor the model change.
"""

import functools
from dataclasses import dataclass
from math import inf
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, PRNGKeyArray

from jfed.algorithms import local_sgd
from jfed.algorithms.schedules import Schedule, factors
from jfed.algorithms.vectors import average, zeros
from jfed.core.errors import require
from jfed.core.interfaces import Algorithm, Loss
from jfed.core.learning import Aggregated, Answers
from jfed.core.members import Name
from jfed.core.options import as_arrays, static
from jfed.core.types import Dims, Problem, Weights

Rule = Literal["adagrad", "adam", "yogi"]


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
        beta_1: decay of m.
        beta_2: decay of v.
        tau: adaptivity.
        schedule: factor of eta in each round; None: 1.
    """

    eta: Float[Array, ""]
    beta_1: Float[Array, ""]
    beta_2: Float[Array, ""]
    tau: Float[Array, ""]
    schedule: Float[Array, " rounds"] | None = None


class Moments(NamedTuple):
    """The server's state.

    Attributes:
        m: first moment of each weight.
        v: second moment of each weight.
    """

    m: Weights
    v: Weights


def second_moment(rule: Rule, v: Array, delta: Array, beta_2: Array) -> Array:
    """Return v_t from v_{t-1} and Delta_t."""
    square = jnp.square(delta)
    if rule == "adagrad":
        return v + square  # Algorithm 2, FedAdagrad
    if rule == "yogi":
        return v - (1 - beta_2) * square * jnp.sign(v - square)  # Algorithm 2, FedYogi
    return beta_2 * v + (1 - beta_2) * square  # Algorithm 2, FedAdam


@dataclass(frozen=True)
class Options(local_sgd.LocalOptions):
    """Settings of FedAdagrad, FedAdam and FedYogi.

    Attributes:
        momentum: of a client's own steps, as in FedAvg; the paper has none.
        rule: adagrad, adam or yogi.
        server_rate: eta.
        server_schedule: factor of eta in each round, as for `schedule`.
        beta_1: decay of m; None: 0.9, or 0 for FedAdagrad, as in the paper's experiments.
        beta_2: decay of v; not used by FedAdagrad.
        tau: adaptivity.
    """

    names = (
        Name("fedadam", {"rule": "adam"}),
        Name("fedyogi", {"rule": "yogi"}),
        Name("fedadagrad", {"rule": "adagrad"}),
    )

    momentum: float = 0.0
    rule: Rule = static("adam")
    server_rate: float = 0.01
    server_schedule: Schedule = "constant"
    beta_1: float | None = None
    beta_2: float = 0.99
    tau: float = 1e-3

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        beta_1 = (0.0 if self.rule == "adagrad" else 0.9) if self.beta_1 is None else float(self.beta_1)
        rate, beta_2, tau = float(self.server_rate), float(self.beta_2), float(self.tau)
        require(0 < rate < inf, f"The server's learning rate must be positive and finite, found {rate:g}.")
        for name, beta in (("beta_1", beta_1), ("beta_2", beta_2)):
            require(0 <= beta < 1, f"The server's {name} must lie in [0, 1), found {beta:g}.")
        require(0 < tau < inf, f"The server's tau must be positive and finite, found {tau:g}.")
        schedule = factors(self.server_schedule, problem.num_rounds)
        server = as_arrays(
            functools.partial(ServerParams, schedule=schedule), eta=rate, beta_1=beta_1, beta_2=beta_2, tau=tau
        )
        return Params(self.local_params(problem), server)

    def make(self, dims: Dims, loss: Loss) -> Algorithm:
        """Return the algorithm."""

        def init(key: PRNGKeyArray, params: Params, weights: Weights) -> Moments:
            return Moments(zeros(weights), jax.tree.map(lambda w: jnp.full_like(w, params.server.tau**2), weights))

        def aggregate(server: Moments, weights: Weights, params: Params, answers: Answers) -> Aggregated:
            eta, beta_1, beta_2, tau, _ = params.server
            delta = average(answers.moves, answers.share, answers.returned)
            m = jax.tree.map(lambda m, d: beta_1 * m + (1 - beta_1) * d, server.m, delta)  # Algorithm 2, m_t
            v = jax.tree.map(lambda v, d: second_moment(self.rule, v, d, beta_2), server.v, delta)
            moved = jax.tree.map(
                lambda x, m, v: x + eta * m / (jnp.sqrt(v) + tau),  # Algorithm 2, x_{t+1}
                weights, m, v,
            )  # fmt: skip
            return Aggregated(moved, Moments(m, v), answers.reports)

        return local_sgd.with_server(self.local_sgd(dims, loss), init, aggregate)
