"""FedAvg and FedProx: local SGD with momentum, and averaging of what returns by the deadline.

H. B. McMahan et al., "Communication-Efficient Learning of Deep Networks from Decentralized Data", AISTATS 2017;
T. Li et al., "Federated Optimization in Heterogeneous Networks", MLSys 2020. As used in E3CS (Huang et al.
2022), Sec. VI-A: FedProx adds (mu/2) ||w - w_t||^2 to the local loss (their gamma, 0.5); FedAvg is mu = 0.

*Notation.* B batch size, n_k images of the client, w_t global weights, w local weights.

*Departures.*
- Momentum starts at zero in each round, as in the simulator that E3CS extends.
- An epoch walks through all n_k images in a new random order; its last batch is what is left, and the mean of
  its loss is over the real images.
- Weights are averaged as w_t + sum_i share_i (w_i - w_t), which is Algorithm 1, lines 9 and 10 of E3CS with the
  global model standing in for whoever is missing, and leaves w_t bit for bit where nobody returns.
"""

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array, lax
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from jfed.core import ops
from jfed.core.errors import require
from jfed.core.interfaces import Algorithm, Loss
from jfed.core.members import AlgorithmOptions, Name
from jfed.core.options import as_arrays
from jfed.core.types import ClientData, Dims, Memory, Problem, Report, Weights


class Params(NamedTuple):
    """Dynamic half."""

    learning_rate: Float[Array, ""]
    momentum: Float[Array, ""]
    prox: Float[Array, ""]


class Local(NamedTuple):
    """One client in the middle of its training.

    Attributes:
        key: of this client in this round.
        step: steps done.
        order: the client's images in this epoch's order, real ones first.
        weights: local weights.
        optimizer: optax state.
        loss: sum of minibatch losses so far.
    """

    key: PRNGKeyArray
    step: Int[Array, ""]
    order: Int[Array, " samples"]
    weights: Weights
    optimizer: optax.OptState
    loss: Float[Array, ""]


@dataclass(frozen=True)
class Options(AlgorithmOptions):
    """What a user may set (E3CS, Table I)."""

    names = (Name("fedavg"), Name("fedprox", {"prox": 0.5}))

    learning_rate: float = 0.01
    momentum: float = 0.9
    prox: float = 0.0
    """mu of FedProx (gamma in E3CS, where it is 0.5); 0 is FedAvg."""

    def params(self, problem: Problem) -> Params:
        """Check the options and turn them into arrays."""
        rate, momentum, prox = (float(x) for x in (self.learning_rate, self.momentum, self.prox))
        require(0 < rate < inf, f"The learning rate must be positive and finite, found {rate:g}.")
        require(0 <= momentum < 1, f"Momentum must lie in [0, 1), found {momentum:g}.")
        require(0 <= prox < inf, f"FedProx's coefficient must be finite and not negative, found {prox:g}.")
        return as_arrays(Params, learning_rate=rate, momentum=momentum, prox=prox)

    def make(self, dims: Dims, loss: Loss) -> Algorithm:
        """The algorithm for a loss: the mean over those images of a batch that are real."""
        batch_size = dims.batch_size

        def optimizer(params: Params) -> optax.GradientTransformation:
            return optax.sgd(params.learning_rate, params.momentum)

        def start(key: PRNGKeyArray, weights: Weights, params: Params, data: ClientData, memory: Memory) -> Local:
            return Local(
                key=key,
                step=jnp.int32(0),
                order=data.positions,
                weights=weights,
                optimizer=optimizer(params).init(weights),
                loss=jnp.zeros((), jnp.result_type(float)),
            )

        def step(local: Local, weights: Weights, params: Params, data: ClientData) -> Local:
            per_epoch = jnp.maximum(-(-data.num_samples // batch_size), 1)
            epoch, batch = local.step // per_epoch, local.step % per_epoch
            key = jax.random.fold_in(local.key, epoch)
            order = lax.cond(
                batch == 0, lambda: ops.shuffled(key, data.positions, data.num_samples), lambda: local.order
            )
            position = batch * batch_size + jnp.arange(batch_size)
            chosen = order[jnp.minimum(position, order.shape[0] - 1)]
            images, labels, real = data.images[chosen], data.labels[chosen], position < data.num_samples

            def objective(w: Weights) -> Float[Array, ""]:
                return loss(w, images, labels, real)

            value, gradient = jax.value_and_grad(objective)(local.weights)
            gradient = jax.tree.map(lambda g, w, w_t: g + params.prox * (w - w_t), gradient, local.weights, weights)
            change, state = optimizer(params).update(gradient, local.optimizer)
            moved = optax.apply_updates(local.weights, change)
            return Local(local.key, local.step + 1, order, moved, state, local.loss + value)

        def finish(local: Local, weights: Weights) -> tuple[Weights, Report, tuple[()]]:
            update = jax.tree.map(jnp.subtract, local.weights, weights)
            return update, Report(loss=jnp.where(local.step > 0, local.loss / local.step, jnp.nan)), ()

        def aggregate(
            weights: Weights, params: Params, updates: Weights, report: Report, share: Float[Array, " slots"],
            returned: Bool[Array, " slots"],
        ) -> tuple[Weights, Report]:  # fmt: skip
            return jax.tree.map(jnp.add, weights, average(updates, share, returned)), report

        return Algorithm(start, step, finish, aggregate)


def average(updates: Weights, share: Float[Array, " slots"], returned: Bool[Array, " slots"]) -> Weights:
    """sum_i share_i update_i over those who returned; leading axis slots on every leaf of the updates."""

    def one(update: Array) -> Array:
        mask = returned.reshape(-1, *([1] * (update.ndim - 1)))
        return jnp.where(mask, update * share.reshape(mask.shape), 0.0).sum(0)  # never NaN * 0

    return jax.tree.map(one, updates)
