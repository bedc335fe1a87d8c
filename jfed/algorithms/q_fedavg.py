"""q-FedAvg: clients with larger losses move the model more, so that losses become more alike.

T. Li, M. Sanjabi, A. Beirami, V. Smith, "Fair Resource Allocation in Federated Learning", ICLR 2020, and its public
code. Clients make the steps, and the estimates for adaptive tau, of `estimating.py`.

*Notation.* q: strength of fairness; L = 1 / learning rate; F_k: loss of the received model on all training images of
client k; w_k: model at which its steps end.

    Dw_k = L (w - w_k)        Delta_k = F_k^q Dw_k        h_k = q F_k^(q-1) |Dw_k|^2 + L F_k^q
    w <- w - sum_k Delta_k / sum_k h_k

*Departures.* As in the public code, 1e-10 is added to each loss, and all clients that return count the same, whatever
their images and `Training.average_over`; q = 0 is the plain mean of their models. Eiffel uses q = 1.5. The evaluation
of F_k is not charged to a budget. With a schedule of the learning rate, L is that of the round.
"""

import functools
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray

from jfed.algorithms import estimating
from jfed.algorithms.schedules import SteppingOptions, scaled
from jfed.algorithms.vectors import average, norm
from jfed.algorithms.whole import mean_over
from jfed.core.errors import require
from jfed.core.interfaces import Algorithm, Loss
from jfed.core.learning import Aggregated, Answer, Answers, ClientData, Received
from jfed.core.members import Name
from jfed.core.options import as_arrays
from jfed.core.types import Dims, Problem, Weights

OFFSET = 1e-10  # added to each loss


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        steps: of the local steps; see `estimating`.
        q: strength of fairness.
    """

    steps: estimating.Params
    q: Float[Array, ""]


class Local(NamedTuple):
    """One client in the middle of its training.

    Attributes:
        plain: see `estimating`.
        whole: F_k.
    """

    plain: estimating.Local
    whole: Float[Array, ""]

    @property
    def step(self) -> Int[Array, ""]:
        """Return the number of steps done."""
        return self.plain.step


def step_length(q: Array, lipschitz: Array, loss: Array, square: Array) -> Array:
    """Return h_k from F_k and |Dw_k|^2."""
    return q * loss ** (q - 1) * square + lipschitz * loss**q


@dataclass(frozen=True)
class Options(SteppingOptions):
    """Settings of q-FedAvg.

    Attributes:
        learning_rate: of the local steps.
        q: strength of fairness.
    """

    names = (Name("q-fedavg", aliases=("q-ffl",)),)

    learning_rate: float = 0.01
    q: float = 1.5

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        q = float(self.q)
        steps = estimating.Options(self.learning_rate, schedule=self.schedule, clip=self.clip).params(problem)
        require(0 <= q < inf, f"q-FedAvg's q must be finite and not negative, found {q:g}.")
        return as_arrays(functools.partial(Params, steps), q=q)

    def make(self, dims: Dims, loss: Loss) -> Algorithm:
        """Return the algorithm."""
        plain = estimating.Options(clip=self.clip).make(dims, loss)

        def start(key: PRNGKeyArray, received: Received, params: Params, data: ClientData) -> Local:
            whole = mean_over(data, lambda *batch: loss(received.weights, *batch))
            return Local(plain.start(key, received, params.steps, data), whole)

        def step(local: Local, weights: Weights, params: Params, data: ClientData) -> Local:
            return local._replace(plain=plain.step(local.plain, weights, params.steps, data))

        def finish(local: Local, weights: Weights, params: Params) -> Answer:
            answer = plain.finish(local.plain, weights, params.steps)
            return answer._replace(more=(answer.more, local.whole))

        def aggregate(server: None, weights: Weights, params: Params, answers: Answers) -> Aggregated:
            (gradients, whole), returned = answers.more, answers.returned
            estimated = plain.aggregate(None, weights, params.steps, answers._replace(more=gradients))
            lipschitz, loss = 1 / params.steps.learning_rate, jnp.where(returned, whole, 1.0) + OFFSET
            square = jax.vmap(lambda move: jnp.square(lipschitz * norm(move)))(answers.moves)
            lengths = jnp.where(returned, step_length(params.q, lipschitz, loss, square), 0.0)
            total = jnp.sum(lengths)
            factor = lipschitz * loss**params.q / jnp.where(total > 0, total, 1.0)
            return estimated._replace(weights=jax.tree.map(jnp.add, weights, average(answers.moves, factor, returned)))

        def at_round(params: Params, t: Int[Array, ""]) -> Params:
            return params._replace(steps=scaled(params.steps, t))

        return plain._replace(start=start, step=step, finish=finish, aggregate=aggregate, at_round=at_round)
