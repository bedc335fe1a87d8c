"""The vocabulary of jfed: what a round's parts say to each other, and the four interfaces.

One round, in this order (`engine/round.py` is the only file that knows it all):

    environment.observe -> selector.probe -> selector.select -> controller.plan -> environment.respond
    -> algorithm (start, step ..., finish for each client that returns; then aggregate)
    -> selector.update, controller.update

Every function here is written for ONE run and is pure. The engine batches it over runs. Three masks have
three names: `available` (before the choice), `selected` (the choice), `succeeded` (after it).
Per-client arrays have the leading axis `clients` (K); rounds count from 1, as in the papers.

A hyperparameter lives in a member's `Params` (a NamedTuple of arrays) and is dynamic: a sweep over it
compiles once. What shapes the program is a static option, closed over when the member is made.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from jax import Array
from jaxtyping import Bool, Float, Int, PRNGKeyArray, UInt8

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
        num_features: of a client's context.
    """

    num_clients: int
    slots: int
    batch_size: int = 1
    num_features: int = 1


class Problem(NamedTuple):
    """What every member may need to know about one run before it starts (host numbers).

    Attributes:
        num_clients: K.
        cohort_size: k, clients per round.
        num_rounds: T.
        availability: chance that a client can be asked in a round, by which promises are checked.
    """

    num_clients: int
    cohort_size: int
    num_rounds: int
    availability: float = 1.0


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
    """

    selected: Bool[Array, " clients"]
    inclusion: Float[Array, " clients"]


class Plan(NamedTuple):
    """How much a client trains if it is selected.

    Attributes:
        steps: local SGD steps.
    """

    steps: Int[Array, " clients"]


class Outcome(NamedTuple):
    """What the world does in this round, drawn for ALL clients; only the engine sees it whole.

    Attributes:
        succeeded: would this client return its model?
        latency_s: how long the server would wait for it.
        idle_s: how long a round without a cohort takes.
    """

    succeeded: Bool[Array, " clients"]
    latency_s: Float[Array, " clients"]
    idle_s: Float[Array, ""]


class Feedback(NamedTuple):
    """What the server learns of the outcome: zero or False where a client was not selected.

    Attributes:
        selected: the cohort.
        succeeded: those of the cohort who returned.
        latency_s: how long the server waited for each of the cohort.
        loss: mean training loss that a returned client reports; NaN where there is none.
    """

    selected: Bool[Array, " clients"]
    succeeded: Bool[Array, " clients"]
    latency_s: Float[Array, " clients"]
    loss: Float[Array, " clients"]


# ------------------------------------------------------------------------------------------- client data


class ClientData(NamedTuple):
    """One client's share of the pool of images, never copied.

    Attributes:
        images: the whole pool.
        labels: the whole pool's labels.
        positions: this client's images in the pool, padded.
        num_samples: how many of them are real.
    """

    images: UInt8[Array, "pool height width channels"]
    labels: Int[Array, " pool"]
    positions: Int[Array, " samples"]
    num_samples: Int[Array, ""]


class Report(NamedTuple):
    """What a client says about its own training.

    Attributes:
        loss: mean minibatch loss over its steps; NaN if it made none.
    """

    loss: Float[Array, ""]


# -------------------------------------------------------------------------------------- the four interfaces


class Environment(NamedTuple):
    """A world. `observe` fills in what it knows of the view; `respond` draws for all clients.

    The draws depend on (seed, round) alone, never on who was selected. What follows from them may: a client that took
    part last round can be faster in this one.
    """

    init: Callable[[PRNGKeyArray, Params, Int[Array, " clients"]], State]
    observe: Callable[[PRNGKeyArray, State, Params, View], tuple[State, View]]
    respond: Callable[[PRNGKeyArray, State, Params, View, Cohort, Plan], tuple[State, Outcome]]


class Selector(NamedTuple):
    """A client selection scheme.

    Attributes:
        init: (key, params) -> state
        select: (key, state, params, view) -> (state, cohort)
        update: (state, params, view, cohort, feedback) -> state
        probe: (key, state, params, view) -> Probe, or None for a scheme that asks nobody.
        needs_oracle: whether it is shown the truth; such a scheme is marked in every table.
        watch: state -> numbers to record after each round, by name; results prefix them with `selector_`.
    """

    init: Callable[[PRNGKeyArray, Params], State]
    select: Callable[[PRNGKeyArray, State, Params, View], tuple[State, Cohort]]
    update: Callable[[State, Params, View, Cohort, Feedback], State]
    probe: Callable[[PRNGKeyArray, State, Params, View], Probe] | None = None
    needs_oracle: bool = False
    watch: Callable[[State], dict[str, Float[Array, ""]]] | None = None


class Controller(NamedTuple):
    """How many local steps each client makes.

    Attributes:
        init: (key, params, num_samples) -> state
        plan: (state, params, view, cohort) -> (state, plan)
        update: (state, params, view, cohort, feedback) -> state
    """

    init: Callable[[PRNGKeyArray, Params, Int[Array, " clients"]], State]
    plan: Callable[[State, Params, View, Cohort], tuple[State, Plan]]
    update: Callable[[State, Params, View, Cohort, Feedback], State]


class Algorithm(NamedTuple):
    """Local training of ONE client, and the server's aggregation.

    The lane (`engine/lanes.py`) drives the steps, so that a CPU can run one client after another with
    exact step counts and an accelerator can run many side by side.

    Attributes:
        start: (key, weights, params, data) -> local state
        step: (local, weights, params, data) -> local state, one SGD step on
        finish: (local, weights) -> (update, report); `weights` are the global ones
        aggregate: (weights, updates, share, returned) -> weights; leading axis `slots` on all but the first
    """

    start: Callable[[PRNGKeyArray, Weights, Params, ClientData], State]
    step: Callable[[State, Weights, Params, ClientData], State]
    finish: Callable[[State, Weights], tuple[Weights, Report]]
    aggregate: Callable[
        [Weights, Weights, Float[Array, " slots"], Bool[Array, " slots"]],
        Weights,
    ]


class Model(NamedTuple):
    """A classifier of uint8 images.

    Attributes:
        init: key -> weights
        logits: (weights, images) -> (batch, classes)
    """

    init: Callable[[PRNGKeyArray], Weights]
    logits: Callable[[Weights, UInt8[Array, "batch height width channels"]], Float[Array, "batch classes"]]
