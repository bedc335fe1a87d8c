"""FedNova: averages of normalised updates, so that clients with more local steps do not pull the model their way.

J. Wang, Q. Liu, H. Liang, G. Joshi, H. V. Poor, "Tackling the Objective Inconsistency Problem in Heterogeneous
Federated Optimization", NeurIPS 2020, and its public code. Clients are those of FedAvg: SGD with momentum, and
FedProx's term if `prox` is not 0.

*Notation.* tau_i: local steps; eta: their learning rate; a_i: weights with which a client's gradients add up to its
move: move_i = - eta G_i a_i; |a_i|: sum of a_i; p_i: share of a client.

    d_i = - move_i / (eta |a_i|)        w <- w - tau_eff sum_i p_i eta d_i
    tau_eff = sum_i p_i |a_i|, or sum_i p_i tau_i with FedProx's term

|a_i| is tau_i for plain SGD, (tau_i - rho (1 - rho^tau_i) / (1 - rho)) / (1 - rho) with momentum rho, and
(1 - (1 - eta mu)^tau_i) / (eta mu) with FedProx's mu. Here it is added up step by step, by the client's own recursion.

*Which updates count.* p_i are the shares of `Training.average_over`. In the sum over d_i a client that is missing
counts as 0 under "all", as in FedAvg. tau_eff is a mean, so its shares are scaled to add up to 1 over the clients that
returned: else "all" would shrink a round twice. With equal |a_i|, and without FedProx, a round is that of FedAvg.

*Departures.*
- With momentum and FedProx together the public code adds up the two forms of |a_i|; here |a_i| is that of the
  steps made, in which FedProx's term enters the momentum.
- A client that returns without having made a step counts as missing.
- There is no momentum on the server; see `fedavgm`.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray

from jfed.algorithms import local_sgd
from jfed.algorithms.local_sgd import Params
from jfed.algorithms.vectors import average, normalised
from jfed.core.interfaces import Algorithm, Loss
from jfed.core.learning import Aggregated, Answer, Answers, ClientData, Received
from jfed.core.members import Name
from jfed.core.types import Dims, Problem, Weights


class Local(NamedTuple):
    """One client in the middle of its training.

    Attributes:
        plain: see `local_sgd`.
        speed: weight of all gradients so far in the next change.
        length: |a_i| so far.
    """

    plain: local_sgd.Local
    speed: Float[Array, ""]
    length: Float[Array, ""]

    @property
    def step(self) -> Int[Array, ""]:
        """Return the number of steps done."""
        return self.plain.step


class Effort(NamedTuple):
    """A client's effort, sent with its move.

    Attributes:
        steps: tau_i.
        length: |a_i|.
    """

    steps: Int[Array, "..."]
    length: Float[Array, "..."]


@dataclass(frozen=True)
class Options(local_sgd.LocalOptions):
    """Settings of FedNova."""

    names = (Name("fednova"),)

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        return self.local_params(problem)

    def make(self, dims: Dims, loss: Loss) -> Algorithm:
        """Return the algorithm."""
        plain = self.local_sgd(dims, loss)

        def start(key: PRNGKeyArray, received: Received, params: Params, data: ClientData) -> Local:
            zero = jnp.zeros((), jnp.result_type(float))
            return Local(plain.start(key, received, params, data), zero, zero)

        def step(local: Local, weights: Weights, params: Params, data: ClientData) -> Local:
            back = params.learning_rate * params.prox * local.length  # FedProx's term, for the move so far
            speed = params.momentum * local.speed + 1 - back
            return Local(plain.step(local.plain, weights, params, data), speed, local.length + speed)

        def finish(local: Local, weights: Weights, params: Params) -> Answer:
            answer = plain.finish(local.plain, weights, params)
            return answer._replace(more=Effort(local.plain.step, local.length))

        def aggregate(server: None, weights: Weights, params: Params, answers: Answers) -> Aggregated:
            effort, share = answers.more, answers.share
            works = answers.returned & (effort.steps > 0)
            length = jnp.where(works, effort.length, 1.0)
            counted = jnp.where(params.prox > 0, effort.steps, length)
            effective = jnp.sum(jnp.where(works, normalised(share, works) * counted, 0.0))  # tau_eff
            mean = average(answers.moves, share / length, works)  # - eta sum_i p_i d_i
            moved = jax.tree.map(lambda w, d: w + effective * d, weights, mean)
            return Aggregated(moved, server, answers.reports)

        return plain._replace(start=start, step=step, finish=finish, aggregate=aggregate)
