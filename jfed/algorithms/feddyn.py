"""FedDyn: each client's loss has a linear and a quadratic term that change from round to round.

D. A. E. Acar, Y. Zhao, R. Matas, M. Mattina, P. Whatmough, V. Saligrama, "Federated Learning Based on Dynamic
Regularization", ICLR 2021, Algorithm 1, and its public code. Clients are those of FedAvg, without momentum by default.

*Notation.* w_t: global model; w_i: a client's own after its steps, D_i = w_i - w_t; f_i: its loss; alpha: coefficient
of the quadratic term (here `prox`, which is FedProx's too); g_i: gradient of f_i at w_i, as the linear term estimates
it, 0 at first; h: the server's state, 0 at first; S: clients that take part; N: number of clients.

    a client minimises f_i(w) - <g_i, w> + (alpha / 2) |w - w_t|^2
    g_i <- g_i - alpha D_i                            for i in S
    h <- h - (alpha / N) sum over S of D_i
    w_{t+1} = mean over S of w_i - h / alpha

The server keeps h / alpha.

*Which updates count.* S are the clients that returned and made a step: one that fails changes neither g_i nor h. The
mean over S is plain, as printed, whatever the clients' images, the shares of `Training.average_over` and the importance
that a scheme gives them.

*Departures.*
- In a round in which S is empty nothing changes; the public code draws its coins again.
- alpha is the same for all clients, as in the paper; the public code divides it by a client's share of the images,
  times 1 / N.
- The tested model is w_t. The public code also plots the mean of the last models of all clients.
- Gradients are clipped only if `clip` is set; the public code clips them, with both terms, at a norm of 10.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Int, PRNGKeyArray

from jfed.algorithms import local_sgd
from jfed.algorithms.local_sgd import Local, Params
from jfed.algorithms.vectors import average, zeros
from jfed.core import ops
from jfed.core.errors import require
from jfed.core.interfaces import Algorithm, Loss
from jfed.core.learning import Aggregated, Answer, Answers, ClientData, Received
from jfed.core.members import Name
from jfed.core.types import Dims, Problem, Weights


class Effort(NamedTuple):
    """A client's effort, sent with its move.

    Attributes:
        works: whether it made a step.
    """

    works: Bool[Array, "..."]


@dataclass(frozen=True)
class Options(local_sgd.LocalOptions):
    """Settings of FedDyn.

    Attributes:
        momentum: of a client's own steps, as in FedAvg; the paper has none.
        prox: alpha.
    """

    names = (Name("feddyn"),)

    momentum: float = 0.0
    prox: float = 0.01

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        require(self.prox > 0, f"FedDyn's alpha, prox, must be positive, found {self.prox:g}.")
        return self.local_params(problem)

    def make(self, dims: Dims, loss: Loss) -> Algorithm:
        """Return the algorithm."""
        plain = self.local_sgd(dims, loss)

        def init(key: PRNGKeyArray, params: Params, weights: Weights) -> Weights:
            return zeros(weights)

        def remember(key: PRNGKeyArray, weights: Weights, positions: Int[Array, " samples"]) -> Weights:
            return zeros(weights)

        def start(key: PRNGKeyArray, received: Received, params: Params, data: ClientData) -> Local:
            drift = jax.tree.map(jnp.negative, received.memory)  # - g_i, the gradient of the linear term
            return plain.start(key, received, params, data)._replace(drift=drift)

        def finish(local: Local, weights: Weights, params: Params) -> Answer:
            answer = plain.finish(local, weights, params)
            new = jax.tree.map(lambda drift, move: -drift - params.prox * move, local.drift, answer.move)
            return answer._replace(memory=new, more=Effort(local.step > 0))

        def aggregate(server: Weights, weights: Weights, params: Params, answers: Answers) -> Aggregated:
            works, shape = answers.returned & answers.more.works, answers.share.shape
            mean = average(answers.moves, jnp.full(shape, 1 / jnp.maximum(jnp.sum(works), 1)), works)
            part = average(answers.moves, jnp.full(shape, 1 / dims.num_clients), works)
            state = jax.tree.map(jnp.subtract, server, part)  # h / alpha
            moved = jax.tree.map(lambda w, d, h: w + d - h, weights, mean, state)
            moved, state = ops.where(works.any(), (moved, state), (weights, server))
            return Aggregated(moved, state, answers.reports)

        return plain._replace(start=start, finish=finish, aggregate=aggregate, init=init, remember=remember)
