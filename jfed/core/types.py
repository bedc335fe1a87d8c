"""The vocabulary of jfed: what a round's parts say to each other. The interfaces are in `interfaces.py`.

One round, in this order (`engine/round.py` is the only file that knows it all):

    environment.observe -> selector.probe -> selector.select -> controller.plan -> environment.respond
    -> algorithm (start, step ..., finish for each client that returns; then aggregate on the server)
    -> selector.update, controller.update

Every function here is written for ONE run and is pure. The engine batches it over runs. Three masks have
three names: `available` (before the choice), `selected` (the choice), `succeeded` (after it).
Per-client arrays have the leading axis `clients` (K); rounds count from 1, as in the papers.

A hyperparameter lives in a member's `Params` (a NamedTuple of arrays) and is dynamic: a sweep over it
compiles once. What shapes the program is a static option, closed over when the member is made.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int

State = Any  # a member's own pytree
Params = Any  # a member's own NamedTuple of arrays
Weights = Any  # a model's pytree of parameters


@dataclass(frozen=True)
class Dims:
    """Static sizes of a program: what arrays are as long as.

    Attributes:
        num_clients: K.
        slots: static upper bound on the cohort's size.
        batch_size: B, images of a local SGD step.
        features: names of what a client reports of itself.
        resources: types of resources that a budget may count; the first is time.
    """

    num_clients: int
    slots: int
    batch_size: int = 1
    features: tuple[str, ...] = ("one",)
    resources: int = 1


class Problem(NamedTuple):
    """What every member may need to know about one run before it starts (host numbers).

    Attributes:
        num_clients: K.
        cohort_size: k, clients per round.
        num_rounds: T.
        availability: chance that a client can be asked in a round, by which promises are checked.
        learning_rate: of the clients' local steps; NaN without training.
        demand: least and largest that a client may demand, in those of an average one.
        costs: what a local step and an exchange of each client cost on average; None where a world does not say.
        first_cohort: how many clients the first round has.
    """

    num_clients: int
    cohort_size: int
    num_rounds: int
    availability: float = 1.0
    learning_rate: float = float("nan")
    demand: tuple[float, float] = (1.0, 1.0)
    costs: "Costs | None" = None
    first_cohort: int = 1


# ---------------------------------------------------------------------------------------------- messages


class Oracle(NamedTuple):
    """The truth about the world, shown only to a selector that declares `needs_oracle`.

    Attributes:
        success_rate: probability that a client returns its model.
        latency_s: how long it is expected to take in this round, given all that can be known before it.
    """

    success_rate: Float[Array, " clients"]
    latency_s: Float[Array, " clients"]


class View(NamedTuple):
    """What is known before the choice.

    Attributes:
        round: t, from 1.
        horizon: T.
        available: whom the server can reach in this round.
        num_samples: training images of each client.
        context: what each client reports of itself; the number 1 in a world where it reports nothing.
        probed: loss of the global model on a client's data; NaN where it was not asked.
        probed_accuracy: its accuracy there, likewise.
        oracle: see `Oracle`; None for everybody else.
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
    """Whom to ask for the global model's loss before the choice.

    Attributes:
        asked: who answers.
        num_images: on how many of its images a client answers, drawn at random; all if it has fewer.
    """

    asked: Bool[Array, " clients"]
    num_images: Int[Array, ""]


class Cohort(NamedTuple):
    """The choice.

    Attributes:
        selected: the cohort; at most `Dims.slots` clients.
        inclusion: the probability with which each client was to be selected; NaN where a scheme has none.
        importance: by what a client's number of images is multiplied in the average; None: 1.
    """

    selected: Bool[Array, " clients"]
    inclusion: Float[Array, " clients"]
    importance: Float[Array, " clients"] | None = None


class Plan(NamedTuple):
    """How much a client trains if it is selected.

    Attributes:
        steps: local SGD steps.
        learns: whether the model changes; where it does not, clients only look at it. None: always.
    """

    steps: Int[Array, " clients"]
    learns: Bool[Array, ""] | None = None


class Costs(NamedTuple):
    """What each client spends in this round, in the units of as many types of resources as the world has.

    The first of them is time, in seconds.

    Attributes:
        step: on a local step, on average over those of the round.
        exchange: on an exchange with the server.
    """

    step: Float[Array, "resources clients"]
    exchange: Float[Array, "resources clients"]


class Outcome(NamedTuple):
    """What the world does in this round, drawn for ALL clients; only the engine sees it whole.

    Attributes:
        succeeded: would this client return its model?
        latency_s: how long the server would wait for it.
        idle_s: how long a round without a cohort takes.
        costs: of each client; None where a world knows of time alone: all of it is the exchange's.
    """

    succeeded: Bool[Array, " clients"]
    latency_s: Float[Array, " clients"]
    idle_s: Float[Array, ""]
    costs: Costs | None = None


class Estimates(NamedTuple):
    """What clients find out about the loss on the way, for the choice of the number of local steps.

    Attributes:
        loss: of the global model, on the batch of the first step.
        best_loss: of the best global model so far, on the same.
        rho: |difference of losses| over the distance of two models; 0 where it is not known.
        beta: the same of gradients.
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
    """What clients tell of their models beside the training loss, each fact only where the selector wants it.

    A fact that is not wanted is None, and costs nothing. "All its images" are those that the client trains on, each
    once; what is a mean over them is NaN for a client without any. Losses are in the model's own unit (nats for cross
    entropy).

    Attributes:
        loss_before: mean loss of the received model on all its images, the model's penalty included.
        loss_after: the same of its own model, where its local steps ended.
        loss_sq: mean over all its images of the squared loss of one image, by the received model and without the
            penalty; its square root is what Oort multiplies by the number of images.
        accuracy: share of all its images that the received model gets right, in [0, 1].
        gradient_norm: Euclidean norm of the gradient of `loss_before`, all layers together.
        update_norm: Euclidean norm of what the local steps changed, its own model less the received one.
        sketch: the same change in `Selector.sketch_size` dimensions: a random projection, fixed for a run and the same
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
    """What the server learns of the outcome: zero or False where a client was not selected.

    Attributes:
        selected: the cohort.
        succeeded: those of the cohort who returned.
        latency_s: how long the server waited for each of the cohort.
        loss: mean minibatch loss over the local steps of a returned client; NaN where there is none.
        costs: what the cohort spent.
        share: what each returned client weighed in the average.
        estimates: of the returned clients, where the algorithm makes any; otherwise None.
        kept: whether the average was finite, and so became the global model.
        idle_s: how long this round takes if nobody is selected.
        facts: of each client, as the selector wants them; NaN for who did not return. All None if it wants none.
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
            before: what was known before this round, which stays for whoever did not return.
        """
        new = self.loss if self.estimates is None else self.estimates.loss
        return jnp.where(self.succeeded & ~jnp.isnan(new), new, before)
