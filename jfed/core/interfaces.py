"""The four interfaces, and the model's: functions for ONE run or client, which the engine batches.

What they say to each other, and in which order, is in `types.py`.
"""

from collections.abc import Callable
from typing import NamedTuple

from jax import Array
from jaxtyping import Bool, Float, Int, Num, PRNGKeyArray

from jfed.core.learning import Aggregated, Answer, Answers, ClientData, Received
from jfed.core.types import Cohort, Feedback, Outcome, Params, Plan, Probe, State, View, Weights

Loss = Callable[[Weights, Num[Array, "batch ..."], Int[Array, " batch"], Bool[Array, " batch"]], Float[Array, ""]]
"""Mean loss over those images of a batch that are real: (weights, images, labels, mask) -> loss."""


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
        wants: names of the `Facts` that it wants in its feedback; only these are computed, and only with training.
        sketch_size: dimensions of the fact "sketch".
    """

    init: Callable[[PRNGKeyArray, Params], State]
    select: Callable[[PRNGKeyArray, State, Params, View], tuple[State, Cohort]]
    update: Callable[[State, Params, View, Cohort, Feedback], State]
    probe: Callable[[PRNGKeyArray, State, Params, View], Probe] | None = None
    needs_oracle: bool = False
    watch: Callable[[State], dict[str, Float[Array, ""]]] | None = None
    wants: tuple[str, ...] = ()
    sketch_size: int = 8


class Controller(NamedTuple):
    """How many local steps each client makes.

    Attributes:
        init: (key, params, num_samples) -> state
        plan: (state, params, view, cohort) -> (state, plan)
        update: (state, params, view, cohort, feedback) -> state
        ended: state -> whether the run is over before its last round; None: never. Asked after `plan`, when it means
            that this round is not held, and after `update`.
        watch: as in `Selector`; results prefix the names with `controller_`.
    """

    init: Callable[[PRNGKeyArray, Params, Int[Array, " clients"]], State]
    plan: Callable[[State, Params, View, Cohort], tuple[State, Plan]]
    update: Callable[[State, Params, View, Cohort, Feedback], State]
    ended: Callable[[State], Bool[Array, ""]] | None = None
    watch: Callable[[State], dict[str, Array]] | None = None


class Algorithm(NamedTuple):
    """Local training of ONE client, and the server's aggregation.

    A client that returns goes through `start`, as many `step`s as were planned, and `finish`. The lane
    (`engine/lanes.py`) drives the steps, so that a CPU can run one client after another with exact step counts and an
    accelerator can run many side by side. The server then has one `aggregate` for the round.

    Two things last from round to round, both in the run's state and in its checkpoints. The *server's state* begins
    with `init` and is what `aggregate` returns; clients see it in `Received.server`. A *client's memory* begins with
    `remember` and is what `finish` returns; the server never sees it. The engine leaves things as they were, bit for
    bit: the server's state, and with it the model, in a round in which nobody returns and after the end of the run; the
    state also from the round on after which the model is not finite; a client's memory in a round in which that client
    does not return, or makes no step because it has no images. Such a client tells no loss either. An algorithm that
    keeps nothing on the server must itself add nothing to the model where nobody returns.

    Attributes:
        start: (key, received, params, data) -> local state
        step: (local, weights, params, data) -> local state, one SGD step on; `weights` are the global ones
        finish: (local, weights, params) -> Answer
        aggregate: (server, weights, params, answers) -> Aggregated
        init: (key, params, weights) -> the server's state before the first round; None: it keeps nothing.
        remember: (key, weights, positions of its images) -> a client's memory before its first round; None: it has
            none.
        estimates: whether clients estimate losses (`Report.estimates`), which adaptive tau and the best model need.
            A model that is not finite then does not replace the global one.
        costly: whether `start` or `finish` evaluate the model, which a lane then spares clients that do not return.
    """

    start: Callable[[PRNGKeyArray, Received, Params, ClientData], State]
    step: Callable[[State, Weights, Params, ClientData], State]
    finish: Callable[[State, Weights, Params], Answer]
    aggregate: Callable[[State, Weights, Params, Answers], Aggregated]
    init: Callable[[PRNGKeyArray, Params, Weights], State] | None = None
    remember: Callable[[PRNGKeyArray, Weights, Int[Array, " samples"]], State] | None = None
    estimates: bool = False
    costly: bool = False


class Grades(NamedTuple):
    """What a model's answers are worth, example by example.

    Attributes:
        loss: in the unit of the model's loss.
        right: whether the answer is.
    """

    loss: Float[Array, " batch"]
    right: Bool[Array, " batch"]


class Model(NamedTuple):
    """A classifier of uint8 images.

    Attributes:
        init: key -> weights
        logits: (weights, images) -> (batch, classes)
        grade: (logits, labels) -> each example's loss, and whether it is right
        penalty: weights -> what is added once to the mean loss of any number of examples
    """

    init: Callable[[PRNGKeyArray], Weights]
    logits: Callable[[Weights, Num[Array, "batch ..."]], Float[Array, "batch classes"]]
    grade: Callable[[Float[Array, "batch classes"], Int[Array, " batch"]], Grades]
    penalty: Callable[[Weights], Float[Array, ""] | float]
