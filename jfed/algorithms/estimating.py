"""Plain SGD whose clients also estimate, for adaptive tau, the steepness, smoothness and divergence of their losses.

S. Wang et al., "Adaptive Federated Learning in Resource Constrained Edge Computing Systems", IEEE JSAC 2019, and its
public code.

*Notation.* w: global model just received; w_i: model at which the client's own steps ended last time. F_i and its
gradient are of one minibatch, that of the first step, which is also that of the client's last step before:
rho_i = |F_i(w_i) - F_i(w)| / |w_i - w|; beta_i: the same of gradients; delta_i = |grad F_i(w) - g|, where g is the
average of grad F_i(w) over the clients that returned.

A client that comes back after rounds without it compares with the w_i of its own last steps, however old.

*Departures.*
- An epoch walks through the client's images in a new random order, in whole batches; the remaining images are dropped,
  as in the public code, which also drops the last batch where none remain. A client with fewer images than a batch has
  one batch of all of them.
- The client keeps its last model and evaluates it again; the public code keeps that model's loss and gradient, which
  are of another batch than those of w where a batch was replaced after three single steps.
- A model that is not finite does not replace the global one: see `controllers/adaptive`.
- `average="models"` is the sum of shares times models, for shares that do not add up to 1: Eiffel's line 13 as printed,
  with `Training.average_over="unscaled"`. The default adds shares times moves to the global model, which is the same
  where shares add up to 1.
- The learning rate may follow a schedule, of which adaptive tau knows nothing: it computes with `learning_rate`.
"""

import functools
from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Bool, Float, Int, PRNGKeyArray, UInt32

from jfed.algorithms.schedules import SteppingOptions, clipped, scaled
from jfed.algorithms.vectors import average, norm, normalised
from jfed.core import ops
from jfed.core.interfaces import Algorithm, Loss
from jfed.core.learning import Aggregated, Answer, Answers, ClientData, Received, Report
from jfed.core.members import Name
from jfed.core.options import as_arrays, static
from jfed.core.rarely import rarely
from jfed.core.types import Dims, Estimates, Problem, Weights

APART = 1e-10  # models closer than this give no estimates
SMOOTHEST = 1e-5  # least beta_i
USES = 3  # steps for which a batch serves where tau is 1


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        learning_rate: of the local steps.
        schedule: factor of the learning rate in each round; None: 1.
    """

    learning_rate: Float[Array, ""]
    schedule: Float[Array, " rounds"] | None = None


class Own(NamedTuple):
    """A client's memory.

    Attributes:
        words: data of the key to its orders of images; a state holds no keys.
        point: the model at which its steps ended last time.
        batch: number of the batch that it used last.
        uses: steps that it made with that batch.
        order: its images in the order of that batch's epoch.
        known: whether it took part before.
    """

    words: UInt32[Array, "2"]
    point: Weights
    batch: Int[Array, ""]
    uses: Int[Array, ""]
    order: Int[Array, " samples"]
    known: Bool[Array, ""]


class Local(NamedTuple):
    """One client in the middle of its training.

    Attributes:
        own: its memory.
        step: steps done.
        first: number of the round's first batch.
        weights: local weights.
        loss: sum of minibatch losses so far.
        gradient: of the first batch, at w.
        estimates: from the first batch, at w; `divergence` is filled in by the server.
    """

    own: Own
    step: Int[Array, ""]
    first: Int[Array, ""]
    weights: Weights
    loss: Float[Array, ""]
    gradient: Weights
    estimates: Estimates


def slopes(
    losses: tuple[Array, Array], gradients: tuple[Weights, Weights], points: tuple[Weights, Weights], known: Array
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Return rho_i and beta_i of two models; 0 and the least beta where the models are the same or not both known."""
    distance = norm(jax.tree.map(jnp.subtract, *points))
    apart = known & (distance > APART)
    safe = jnp.where(apart, distance, 1.0)
    rho = jnp.where(apart, jnp.abs(losses[0] - losses[1]) / safe, 0.0)
    beta = jnp.where(apart, norm(jax.tree.map(jnp.subtract, *gradients)) / safe, 0.0)
    return jnp.where(jnp.isnan(rho), 0.0, rho), jnp.where(beta >= SMOOTHEST, beta, SMOOTHEST)


@dataclass(frozen=True)
class Options(SteppingOptions):
    """Settings of SGD with estimates.

    Attributes:
        learning_rate: of the local steps.
        average: moves, or models for shares that do not add up to 1.
    """

    names = (Name("adaptive"),)

    learning_rate: float = 0.01
    average: Literal["moves", "models"] = static("moves")

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        rates = self.rates(problem)
        return as_arrays(functools.partial(Params, schedule=rates.schedule), learning_rate=rates.learning_rate)

    def make(self, dims: Dims, loss: Loss) -> Algorithm:
        """Return the algorithm."""
        size = dims.batch_size

        def remember(key: PRNGKeyArray, weights: Weights, positions: Int[Array, " samples"]) -> Own:
            return Own(jax.random.key_data(key), weights, jnp.int32(0), jnp.int32(0), positions, jnp.bool_(False))

        def place(batch: Int[Array, ""], data: ClientData) -> tuple[Array, Array]:
            """Return the epoch of a batch, and the batch's number in it."""
            return jnp.divmod(batch, jnp.maximum(data.num_samples // size, 1))

        def ordered(own: Own, batch: Int[Array, ""], fresh: Bool[Array, ""], data: ClientData) -> Own:
            """Return `own` with the order of a batch's epoch, drawn for a fresh first batch alone: sorting is slow."""
            epoch, number = place(batch, data)
            key = jax.random.fold_in(jax.random.wrap_key_data(own.words), epoch)
            needed = fresh & (number == 0)
            return own._replace(order=rarely(needed, ops.shuffled, own.order, key, data.positions, data.num_samples))

        def at(order: Array, batch: Int[Array, ""], data: ClientData) -> tuple[Array, Array, Array]:
            """Return a batch's images, its labels, and which of them are real."""
            position = place(batch, data)[1] * size + jnp.arange(size)
            chosen = order[jnp.minimum(position, order.shape[0] - 1)]
            return data.images[chosen], data.labels[chosen], position < data.num_samples

        def start(key: PRNGKeyArray, received: Received, params: Params, data: ClientData) -> Local:
            weights, own = received.weights, received.memory
            worn = (received.steps <= 1) & (own.uses >= USES)
            first = own.batch + worn
            own = ordered(own._replace(uses=jnp.where(worn, 0, own.uses)), first, worn | ~own.known, data)
            batch = at(own.order, first, data)
            here, gradient = jax.value_and_grad(loss)(weights, *batch)
            there, other = jax.value_and_grad(loss)(own.point, *batch)
            rho, beta = slopes((there, here), (other, gradient), (own.point, weights), own.known)
            best = loss(received.best, *batch)
            zero = jnp.zeros((), jnp.result_type(float))
            return Local(
                own=own,
                step=jnp.int32(0),
                first=first,
                weights=weights,
                loss=zero,
                gradient=gradient,
                estimates=Estimates(here, best, rho, beta, own.known, zero),
            )

        def step(local: Local, weights: Weights, params: Params, data: ClientData) -> Local:
            number = local.first + local.step
            own = ordered(local.own, number, local.step > 0, data)

            def descend() -> tuple[Array, Weights]:
                return jax.value_and_grad(loss)(local.weights, *at(own.order, number, data))

            value, gradient = lax.cond(local.step == 0, lambda: (local.estimates.loss, local.gradient), descend)
            gradient = clipped(gradient, self.clip)
            moved = jax.tree.map(lambda w, g: w - params.learning_rate * g, local.weights, gradient)
            return local._replace(own=own, step=local.step + 1, weights=moved, loss=local.loss + value)

        def finish(local: Local, weights: Weights, params: Params) -> Answer:
            last = local.first + jnp.maximum(local.step - 1, 0)
            uses = jnp.where(local.step > 1, 1, local.own.uses + 1)
            mean = jnp.where(local.step > 0, local.loss / local.step, jnp.nan)
            kept = local.own._replace(point=local.weights, batch=last, uses=uses, known=jnp.bool_(True))
            return Answer(
                move=jax.tree.map(jnp.subtract, local.weights, weights),
                report=Report(mean, local.estimates),
                memory=kept,
                more=local.gradient,
            )

        def aggregate(server: None, weights: Weights, params: Params, answers: Answers) -> Aggregated:
            share, returned, gradients = answers.share, answers.returned, answers.more
            of_returned = share if self.average == "models" else normalised(share, returned)
            mean = average(gradients, of_returned, returned)
            divergence = jax.vmap(lambda gradient: norm(jax.tree.map(jnp.subtract, gradient, mean)))(gradients)
            assert answers.reports.estimates is not None
            estimates = answers.reports.estimates._replace(divergence=divergence)
            moved = jax.tree.map(jnp.add, weights, average(answers.moves, share, returned))
            if self.average == "models":
                rest = 1 - jnp.sum(jnp.where(returned, share, 0.0))
                moved = jax.tree.map(lambda new, old: new - rest * old, moved, weights)
            return Aggregated(moved, None, answers.reports._replace(estimates=estimates))

        return Algorithm(
            start, step, finish, aggregate, remember=remember, at_round=scaled, estimates=True, costly=True
        )
