"""The messages between the parts of a round. The interfaces are in `interfaces.py`.

One round has this order (`engine/round.py` is the only file that knows all of it):

    environment.observe -> selector.probe -> selector.select -> controller.plan -> environment.respond
    -> algorithm (start, step ..., finish for each client that returns; then aggregate on the server)
    -> selector.update, controller.update

Each of these functions is written for ONE run and is pure; the engine batches it over runs. There are three
masks of clients: `available` (before the selection), `selected` (the cohort) and `succeeded` (after training).
Per-client arrays have the leading axis `clients` (K); rounds count from 1, as in the papers.

A hyperparameter is part of a member's `Params` (a NamedTuple of arrays) and is dynamic: a sweep over it
compiles once. A setting that shapes the program is a static option, closed over when the member is made.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int

State = Any  # a member's own pytree
Params = Any  # a member's own NamedTuple of arrays
Weights = Any  # a model's pytree of parameters


@dataclass(frozen=True)
class Dims:
    """The static sizes of a program's arrays.

    Attributes:
        num_clients: K.
        slots: static upper bound on the cohort's size.
        batch_size: B, images per local SGD step.
        features: names of the features in `View.context`.
        resources: number of types of resources that the world counts; the first is time.
    """

    num_clients: int
    slots: int
    batch_size: int = 1
    features: tuple[str, ...] = ("one",)
    resources: int = 1


class Problem(NamedTuple):
    """The facts about one run that a member may need before it starts (host numbers).

    Attributes:
        num_clients: K.
        cohort_size: k, clients per round.
        num_rounds: T.
        availability: probability that a client is available in a round, which bounds the quotas of schemes.
        learning_rate: step size of the clients' local steps; NaN without training.
        demand: least and largest demand of a client, in units of the mean demand.
        costs: mean costs of a local step and an exchange of each client; None for a world that states none.
        first_cohort: size of the first round's cohort.
        labels: number of training images of each label of each client, for a world that declares `needs_labels`; None
            for all other members, and without training.
    """

    num_clients: int
    cohort_size: int
    num_rounds: int
    availability: float = 1.0
    learning_rate: float = float("nan")
    demand: tuple[float, float] = (1.0, 1.0)
    costs: "Costs | None" = None
    first_cohort: int = 1
    labels: Int[np.ndarray, "clients labels"] | None = None


# ---------------------------------------------------------------------------------------------- messages


class Oracle(NamedTuple):
    """The truth about the world, shown only to a selector that declares `needs_oracle`.

    Attributes:
        success_rate: probability that a client returns its model.
        latency_s: expected latency of a client in this round, given all that can be known before it.
    """

    success_rate: Float[Array, " clients"]
    latency_s: Float[Array, " clients"]


class View(NamedTuple):
    """The information available before the selection.

    Attributes:
        round: t, from 1.
        horizon: T.
        available: whether the server can reach a client in this round.
        num_samples: number of training images of each client.
        context: features that each client reports of itself; the number 1 in a world without features.
        probed: loss of the global model on a client's data; NaN if the client was not probed, 0 if it has no images.
        probed_accuracy: accuracy of the global model there; NaN if the client was not probed or has no images.
        oracle: see `Oracle`; None for a scheme that does not need it.
    """

    round: Int[Array, ""]
    horizon: Int[Array, ""]
    available: Bool[Array, " clients"]
    num_samples: Int[Array, " clients"]
    context: Float[Array, "clients features"]
    probed: Float[Array, " clients"]
    probed_accuracy: Float[Array, " clients"]
    oracle: Oracle | None


class Probe(NamedTuple):
    """A request for the global model's loss at clients, before the selection.

    Attributes:
        asked: whether a client is probed.
        num_images: number of a client's images, drawn at random, to evaluate; all if it has fewer.
    """

    asked: Bool[Array, " clients"]
    num_images: Int[Array, ""]


class Cohort(NamedTuple):
    """The selected clients.

    Attributes:
        selected: whether a client is in the cohort; at most `Dims.slots` clients are.
        inclusion: inclusion probability of each client; NaN if the scheme has none.
        importance: factor of each client's number of images in the average; None: 1.
    """

    selected: Bool[Array, " clients"]
    inclusion: Float[Array, " clients"]
    importance: Float[Array, " clients"] | None = None


class Plan(NamedTuple):
    """The training of each client if it is selected.

    Attributes:
        steps: number of local SGD steps.
        learns: whether the round changes the model; if not, clients only evaluate it. None: always.
    """

    steps: Int[Array, " clients"]
    learns: Bool[Array, ""] | None = None


class Costs(NamedTuple):
    """The costs of each client in this round, by type of resource; the first type is time, in seconds.

    Attributes:
        step: cost of a local step, on average over the steps of the round.
        exchange: cost of an exchange with the server.
    """

    step: Float[Array, "resources clients"]
    exchange: Float[Array, "resources clients"]


class Outcome(NamedTuple):
    """The world's draws in this round, for ALL clients; only the engine sees all of it.

    Attributes:
        succeeded: whether a client would return its model if selected.
        latency_s: time that the server would wait for a client.
        idle_s: duration of a round without a cohort.
        costs: costs of each client; None for a world that states none: the latency is then the cost of the exchange.
        steps: most local steps for which a client has time; None: all that are planned.
        used: whether the server uses the model of a client of the cohort that returns, such as one of the first; it may
            depend on the cohort, which `succeeded` must not. None: it uses all.
    """

    succeeded: Bool[Array, " clients"]
    latency_s: Float[Array, " clients"]
    idle_s: Float[Array, ""]
    costs: Costs | None = None
    steps: Int[Array, " clients"] | None = None
    used: Bool[Array, " clients"] | None = None

    def returned(self, selected: Bool[Array, "*runs clients"]) -> Bool[Array, "*runs clients"]:
        """Return which of the selected clients return a model that the server uses."""
        came = selected & self.succeeded
        return came if self.used is None else came & self.used


class Estimates(NamedTuple):
    """The clients' estimates for the choice of the number of local steps.

    Attributes:
        loss: loss of the global model on the batch of the first step.
        best_loss: loss of the best global model so far on the same batch.
        rho: |difference of losses| over the distance of two models; 0 where it is not known.
        beta: the same for gradients.
        known: whether there were two models to compare.
        divergence: distance of the client's gradient from the average one.
    """

    loss: Float[Array, "..."]
    best_loss: Float[Array, "..."]
    rho: Float[Array, "..."]
    beta: Float[Array, "..."]
    known: Bool[Array, "..."]
    divergence: Float[Array, "..."]


class Facts(NamedTuple):
    """The clients' reports on their models beyond the training loss; only facts that the selector wants are computed.

    A fact that is not wanted is None. "All its images" are those that the client trains on, each once; a mean over them
    is NaN for a client without any. Losses are in the model's own unit (nats for cross entropy).

    Attributes:
        loss_before: mean loss of the received model on all its images, the model's penalty included.
        loss_after: the same for its own model, after its local steps.
        loss_sq: mean over all its images of the squared loss of one image, by the received model and without the
            penalty; its square root is what Oort multiplies by the number of images.
        accuracy: share of all its images that the received model gets right, in [0, 1].
        gradient_norm: Euclidean norm of the gradient of `loss_before`, all layers together.
        update_norm: Euclidean norm of its update, its own model minus the received one.
        sketch: the update in `Selector.sketch_size` dimensions: a random projection, fixed for a run and the same
            for all clients, that keeps inner products on average.
    """

    loss_before: Float[Array, "..."] | None = None
    loss_after: Float[Array, "..."] | None = None
    loss_sq: Float[Array, "..."] | None = None
    accuracy: Float[Array, "..."] | None = None
    gradient_norm: Float[Array, "..."] | None = None
    update_norm: Float[Array, "..."] | None = None
    sketch: Float[Array, "... dimensions"] | None = None


class Feedback(NamedTuple):
    """The server's knowledge of the outcome.

    Where a client has none, `latency_s`, `costs` and `share` are 0, and losses, estimates and facts are NaN. `share`,
    `estimates` and `kept` are None without training.

    Attributes:
        selected: whether a client is in the cohort.
        succeeded: whether it is and returned.
        latency_s: time that the server waited for each client of the cohort.
        loss: mean minibatch loss over the local steps of a returned client.
        costs: costs of each client of the cohort.
        share: weight of each returned client in the average.
        estimates: estimates of the returned clients; None if the algorithm makes none.
        kept: whether the aggregated model is finite.
        idle_s: duration of this round if no client is selected.
        facts: facts about each returned client; each is None if the selector does not want it.
    """

    selected: Bool[Array, " clients"]
    succeeded: Bool[Array, " clients"]
    latency_s: Float[Array, " clients"]
    loss: Float[Array, " clients"]
    costs: Costs | None = None
    share: Float[Array, " clients"] | None = None
    estimates: Estimates | None = None
    kept: Bool[Array, ""] | None = None
    idle_s: Float[Array, ""] | float = 0.0
    facts: Facts = Facts()

    def heard(self, before: Float[Array, " clients"]) -> Float[Array, " clients"]:
        """Return the last known loss of each client: of the received model where clients estimate it, or of training.

        Args:
            before: losses known before this round, kept for clients that did not return or have no loss.
        """
        new = self.loss if self.estimates is None else self.estimates.loss
        return jnp.where(self.succeeded & ~jnp.isnan(new), new, before)
