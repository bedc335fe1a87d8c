"""FedAvg and FedProx: local SGD with momentum, and averaging of the models that return by the deadline.

H. B. McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data", AISTATS 2017;
T. Li et al., "Federated Optimization in Heterogeneous Networks", MLSys 2020. As used in E3CS (Huang et al.
2022), Sec. VI-A: FedProx adds (mu/2) ||w - w_t||^2 to the local loss (their gamma, 0.5); FedAvg is mu = 0.

*Notation.* B: batch size; n_k: images of the client; w_t: global weights; w: local weights.

*Departures.*
- Momentum starts at zero in each round, as in the simulator that E3CS extends.
- An epoch walks through all n_k images in a new random order; its last batch holds the remaining ones, and its loss
  is the mean over these.
- Weights are averaged as w_t + sum_i share_i (w_i - w_t), which is Algorithm 1, lines 9 and 10 of E3CS with the
  global model standing in for missing clients, and leaves w_t bit for bit where no client returns.
- The learning rate may follow a schedule and gradients may be clipped (`schedules`); FedProx's term is clipped with
  the gradient of the loss.

Algorithms that differ on the server alone (`fedavgm`, `fedopt`) take their clients from here through `with_server`.
"""

import functools
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from jfed.algorithms.schedules import SteppingOptions, clipped, scaled
from jfed.algorithms.vectors import average
from jfed.core import ops
from jfed.core.errors import require
from jfed.core.interfaces import Algorithm, Loss
from jfed.core.learning import Aggregated, Answer, Answers, ClientData, Received, Report
from jfed.core.members import Name
from jfed.core.options import as_arrays
from jfed.core.rarely import rarely
from jfed.core.types import Dims, Problem, Weights


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        learning_rate: of the local steps.
        momentum: of the local steps.
        prox: mu of FedProx.
        schedule: factor of the learning rate in each round; None: 1.
    """

    learning_rate: Float[Array, ""]
    momentum: Float[Array, ""]
    prox: Float[Array, ""]
    schedule: Float[Array, " rounds"] | None = None


class Local(NamedTuple):
    """One client in the middle of its training.

    Attributes:
        key: of this client in this round.
        step: steps done.
        order: the client's images in this epoch's order, real ones first.
        weights: local weights.
        optimizer: optax state.
        loss: sum of minibatch losses so far.
        drift: added to each gradient; None: nothing.
    """

    key: PRNGKeyArray
    step: Int[Array, ""]
    order: Int[Array, " samples"]
    weights: Weights
    optimizer: optax.OptState
    loss: Float[Array, ""]
    drift: Weights | None = None


@dataclass(frozen=True)
class LocalOptions(SteppingOptions):
    """Settings of the local steps. The defaults are those of E3CS (Table I).

    Attributes:
        learning_rate: of the local steps.
        momentum: of the local steps.
        prox: mu of FedProx (gamma in E3CS, where it is 0.5); 0 is FedAvg.
    """

    learning_rate: float = 0.01
    momentum: float = 0.9
    prox: float = 0.0

    def local_params(self, problem: Problem) -> Params:
        """Return these options as arrays, after checking them."""
        momentum, prox = float(self.momentum), float(self.prox)
        rates = self.rates(problem)
        require(0 <= momentum < 1, f"Momentum must lie in [0, 1), found {momentum:g}.")
        require(0 <= prox < inf, f"FedProx's coefficient must be finite and not negative, found {prox:g}.")
        params = functools.partial(Params, schedule=rates.schedule)
        return as_arrays(params, learning_rate=rates.learning_rate, momentum=momentum, prox=prox)

    def local_sgd(self, dims: Dims, loss: Loss) -> Algorithm:
        """Return FedAvg for a loss, which is the mean over the real images of a batch."""
        batch_size = dims.batch_size

        def optimizer(params: Params) -> optax.GradientTransformation:
            return optax.sgd(params.learning_rate, params.momentum)

        def start(key: PRNGKeyArray, received: Received, params: Params, data: ClientData) -> Local:
            return Local(
                key=key,
                step=jnp.int32(0),
                order=data.positions,
                weights=received.weights,
                optimizer=optimizer(params).init(received.weights),
                loss=jnp.zeros((), jnp.result_type(float)),
            )

        def step(local: Local, weights: Weights, params: Params, data: ClientData) -> Local:
            order, images, labels, real = minibatch(local.key, local.step, local.order, data, batch_size)

            def objective(w: Weights) -> Float[Array, ""]:
                return loss(w, images, labels, real)

            value, gradient = jax.value_and_grad(objective)(local.weights)
            gradient = jax.tree.map(lambda g, w, w_t: g + params.prox * (w - w_t), gradient, local.weights, weights)
            if local.drift is not None:
                gradient = jax.tree.map(jnp.add, gradient, local.drift)
            gradient = clipped(gradient, self.clip)
            change, state = optimizer(params).update(gradient, local.optimizer)
            moved = optax.apply_updates(local.weights, change)
            return Local(local.key, local.step + 1, order, moved, state, local.loss + value, local.drift)

        def finish(local: Local, weights: Weights, params: Params) -> Answer:
            mean = jnp.where(local.step > 0, local.loss / local.step, jnp.nan)
            return Answer(move=jax.tree.map(jnp.subtract, local.weights, weights), report=Report(loss=mean))

        def aggregate(server: None, weights: Weights, params: Params, answers: Answers) -> Aggregated:
            mean = average(answers.moves, answers.share, answers.returned)
            return Aggregated(jax.tree.map(jnp.add, weights, mean), None, answers.reports)

        return Algorithm(start, step, finish, aggregate, at_round=scaled)


@dataclass(frozen=True)
class Options(LocalOptions):
    """Settings of FedAvg and FedProx."""

    names = (Name("fedavg"), Name("fedprox", {"prox": 0.5}))

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        return self.local_params(problem)

    def make(self, dims: Dims, loss: Loss) -> Algorithm:
        """Return the algorithm."""
        return self.local_sgd(dims, loss)


def minibatch(
    key: PRNGKeyArray, step: Int[Array, ""], order: Int[Array, " samples"], data: ClientData, size: int
) -> tuple[Int[Array, " samples"], Array, Array, Bool[Array, " batch"]]:
    """Return the epoch's order, and a step's minibatch: images, labels, and which of them are real.

    Args:
        key: of the client in this round; each epoch draws an order of its own from it.
        step: number of the step, from 0.
        order: that of the step before.
        data: of the client.
        size: B.
    """
    per_epoch = jnp.maximum(-(-data.num_samples // size), 1)
    epoch, batch = step // per_epoch, step % per_epoch
    own = jax.random.fold_in(key, epoch)
    order = rarely(batch == 0, ops.shuffled, order, own, data.positions, data.num_samples)
    position = batch * size + jnp.arange(size)
    chosen = order[jnp.minimum(position, order.shape[0] - 1)]
    return order, data.images[chosen], data.labels[chosen], position < data.num_samples


def with_server(clients: Algorithm, init: Any, aggregate: Any) -> Algorithm:
    """Return an algorithm that has the clients of another one and a server with a state of its own.

    Args:
        clients: the other algorithm; its params are `params.clients` of the new one's. `params.server.eta` follows
            `params.server.schedule`.
        init: of the new algorithm.
        aggregate: of the new algorithm.
    """

    def at_round(params: Any, t: Int[Array, ""]) -> Any:
        return params._replace(clients=scaled(params.clients, t), server=scaled(params.server, t, "eta"))

    return clients._replace(
        start=lambda key, received, params, data: clients.start(key, received, params.clients, data),
        step=lambda local, weights, params, data: clients.step(local, weights, params.clients, data),
        finish=lambda local, weights, params: clients.finish(local, weights, params.clients),
        aggregate=aggregate,
        init=init,
        at_round=at_round,
    )
