"""SCAFFOLD: control variates that correct a client's steps for its difference from the other clients.

S. P. Karimireddy, S. Kale, M. Mohri, S. Reddi, S. Stich, A. T. Suresh, "SCAFFOLD: Stochastic Controlled Averaging for
Federated Learning", ICML 2020, Algorithm 1.

*Notation.* x: global model; y_i: a client's own; c, c_i: controls of the server and of a client, 0 at first; eta_l,
eta_g: learning rates of clients and server; K: local steps; g_i: minibatch gradient; S: clients that take part; N:
number of clients.

    y_i <- y_i - eta_l (g_i(y_i) - c_i + c)                                 a local step
    c_i+ = g_i(x), over all the client's images                             option I
    c_i+ = c_i - c + (x - y_i) / (K eta_l)                                  option II
    x <- x + eta_g mean over S of (y_i - x)
    c <- c + |S| / N mean over S of (c_i+ - c_i)

*Which updates count.* S are the clients that returned: one that fails changes neither its own c_i nor c, so that c
stays the mean of all c_i. x moves by the sum of shares times y_i - x, with the shares of `Training.average_over`; the
paper's mean is "returned", for clients of equal size, and under "all" a client that is missing counts as a move of 0.
The controls count the same for all, as printed, whatever the shares.

*Departures.* A client that returns without having made a step, because it has no images, keeps its c_i. Minibatches
are those of FedAvg: all images in a new order in each epoch. Local steps have no momentum. Where gradients are
clipped (`schedules`), g_i - c_i + c is.
"""

import functools
from dataclasses import dataclass
from math import inf
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray

from jfed.algorithms.local_sgd import minibatch
from jfed.algorithms.schedules import Schedule, SteppingOptions, clipped, factors, scaled
from jfed.algorithms.vectors import average, zeros
from jfed.algorithms.whole import mean_over
from jfed.core.errors import require
from jfed.core.interfaces import Algorithm, Loss
from jfed.core.learning import Aggregated, Answer, Answers, ClientData, Received, Report
from jfed.core.members import Name
from jfed.core.options import as_arrays, static
from jfed.core.types import Dims, Problem, Weights


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        learning_rate: eta_l.
        server_rate: eta_g.
        schedule: factor of eta_l in each round; None: 1.
        server_schedule: factor of eta_g in each round; None: 1.
    """

    learning_rate: Float[Array, ""]
    server_rate: Float[Array, ""]
    schedule: Float[Array, " rounds"] | None = None
    server_schedule: Float[Array, " rounds"] | None = None


class Local(NamedTuple):
    """One client in the middle of its training.

    Attributes:
        key: of this client in this round.
        step: steps done.
        order: the client's images in this epoch's order.
        weights: y_i.
        loss: sum of minibatch losses so far.
        control: c_i.
        drift: c - c_i, which corrects each step.
        whole: g_i(x) over all images; None for option II.
    """

    key: PRNGKeyArray
    step: Int[Array, ""]
    order: Int[Array, " samples"]
    weights: Weights
    loss: Float[Array, ""]
    control: Weights
    drift: Weights
    whole: Weights | None


@dataclass(frozen=True)
class Options(SteppingOptions):
    """Settings of SCAFFOLD.

    Attributes:
        learning_rate: eta_l.
        server_rate: eta_g.
        server_schedule: factor of eta_g in each round, as for `schedule`.
        option: how a client makes its new control: I evaluates the received model on all its images, II costs nothing.
    """

    names = (Name("scaffold", {"option": "II"}), Name("scaffold-i", {"option": "I"}))

    learning_rate: float = 0.01
    server_rate: float = 1.0
    server_schedule: Schedule = "constant"
    option: Literal["I", "II"] = static("II")

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        own, server = self.rates(problem), float(self.server_rate)
        require(0 < server < inf, f"The server's learning rate must be positive and finite, found {server:g}.")
        schedule = factors(self.server_schedule, problem.num_rounds)
        params = functools.partial(Params, schedule=own.schedule, server_schedule=schedule)
        return as_arrays(params, learning_rate=own.learning_rate, server_rate=server)

    def make(self, dims: Dims, loss: Loss) -> Algorithm:
        """Return the algorithm."""

        def init(key: PRNGKeyArray, params: Params, weights: Weights) -> Weights:
            return zeros(weights)

        def remember(key: PRNGKeyArray, weights: Weights, positions: Int[Array, " samples"]) -> Weights:
            return zeros(weights)

        def start(key: PRNGKeyArray, received: Received, params: Params, data: ClientData) -> Local:
            whole = None
            if self.option == "I":
                whole = mean_over(data, lambda *batch: jax.grad(loss)(received.weights, *batch))
            return Local(
                key=key,
                step=jnp.int32(0),
                order=data.positions,
                weights=received.weights,
                loss=jnp.zeros((), jnp.result_type(float)),
                control=received.memory,
                drift=jax.tree.map(jnp.subtract, received.server, received.memory),
                whole=whole,
            )

        def step(local: Local, weights: Weights, params: Params, data: ClientData) -> Local:
            order, images, labels, real = minibatch(local.key, local.step, local.order, data, dims.batch_size)
            value, gradient = jax.value_and_grad(loss)(local.weights, images, labels, real)
            corrected = clipped(jax.tree.map(jnp.add, gradient, local.drift), self.clip)
            moved = jax.tree.map(
                lambda y, g: y - params.learning_rate * g,  # Algorithm 1, line 10
                local.weights, corrected,
            )  # fmt: skip
            return local._replace(step=local.step + 1, order=order, weights=moved, loss=local.loss + value)

        def finish(local: Local, weights: Weights, params: Params) -> Answer:
            works, steps = local.step > 0, jnp.maximum(local.step, 1)
            move = jax.tree.map(jnp.subtract, local.weights, weights)
            new = local.whole
            if new is None:
                length = steps * params.learning_rate
                new = jax.tree.map(lambda d, m: -d - m / length, local.drift, move)  # Algorithm 1, line 12 (ii)
            new = jax.tree.map(lambda new, old: jnp.where(works, new, old), new, local.control)
            return Answer(
                move=move,
                report=Report(jnp.where(works, local.loss / steps, jnp.nan)),
                memory=new,
                more=jax.tree.map(jnp.subtract, new, local.control),
            )

        def aggregate(server: Weights, weights: Weights, params: Params, answers: Answers) -> Aggregated:
            mean = average(answers.moves, answers.share, answers.returned)
            each = jnp.full(answers.share.shape, 1 / dims.num_clients)  # |S| / N times 1 / |S|
            control = jax.tree.map(jnp.add, server, average(answers.more, each, answers.returned))  # line 17
            moved = jax.tree.map(lambda x, d: x + params.server_rate * d, weights, mean)  # line 17
            return Aggregated(moved, control, answers.reports)

        def at_round(params: Params, t: Int[Array, ""]) -> Params:
            return scaled(scaled(params, t), t, "server_rate", "server_schedule")

        return Algorithm(start, step, finish, aggregate, init, remember, at_round, costly=self.option == "I")
