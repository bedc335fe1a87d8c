"""The interfaces of members and models: functions of ONE run or client, which the engine batches.

Their messages, and the order of a round, are in `types.py`.
"""

from collections.abc import Callable
from typing import NamedTuple

from jax import Array
from jaxtyping import Bool, Float, Int, Num, PRNGKeyArray

from jfed.core.learning import Aggregated, Answer, Answers, ClientData, Received
from jfed.core.types import Cohort, Feedback, Outcome, Params, Plan, Probe, State, View, Weights

Loss = Callable[[Weights, Num[Array, "batch ..."], Int[Array, " batch"], Bool[Array, " batch"]], Float[Array, ""]]
"""Mean loss over the real images of a padded batch: (weights, images, labels, mask) -> loss."""


class Environment(NamedTuple):
    """A world.

    Its draws depend on (seed, round) alone, never on the selection. What it derives from them may: a client that took
    part in the last round can be faster in this one.

    Attributes:
        init: (key, params, num_samples) -> state.
        observe: (key, state, params, view) -> (state, view), with the world's knowledge filled in.
        respond: (key, state, params, view, cohort, plan) -> (state, outcome), drawn for all clients.
    """

    init: Callable[[PRNGKeyArray, Params, Int[Array, " clients"]], State]
    observe: Callable[[PRNGKeyArray, State, Params, View], tuple[State, View]]
    respond: Callable[[PRNGKeyArray, State, Params, View, Cohort, Plan], tuple[State, Outcome]]


class Selector(NamedTuple):
    """A client selection scheme.

    Attributes:
        init: (key, params) -> state.
        select: (key, state, params, view) -> (state, cohort).
        update: (state, params, view, cohort, feedback) -> state.
        probe: (key, state, params, view) -> probe; None for a scheme that probes no clients.
        needs_oracle: whether it sees the truth about the world; such a scheme is marked in every table.
        watch: state -> numbers to record after each round, by name; results prefix the names with `selector_`.
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
    """A rule for the number of local steps of each client.

    Attributes:
        init: (key, params, num_samples) -> state.
        plan: (state, params, view, cohort) -> (state, plan).
        update: (state, params, view, cohort, feedback) -> state.
        ended: state -> whether the run ends before its last round; None: never. Called after `plan`, where True means
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

    For each client that returns, the lane (`engine/lanes.py`) calls `start`, `step` as often as planned, and `finish`:
    on a CPU one client after another with exact step counts, on an accelerator many side by side. Then `aggregate` is
    called once for the round.

    Two things persist from round to round, both in the run's state and in its checkpoints. The *server's state* begins
    with `init` and is replaced by `aggregate`; clients see it in `Received.server`. A *client's memory* begins with
    `remember` and is replaced by `finish`; the server never sees it. The engine keeps both unchanged, bit for bit, in
    these cases: the server's state, and with it the model, in a round in which no client returns and after the end of
    the run; the server's state also once the model is not finite; a client's memory in a round in which the client
    does not return, or makes no step because it has no images. Such a client reports no loss either. An algorithm
    without a server's state must itself add nothing to the model in a round in which no client returns.

    Attributes:
        start: (key, received, params, data) -> local state.
        step: (local, weights, params, data) -> local state after one more SGD step; `weights` are the global ones.
        finish: (local, weights, params) -> answer.
        aggregate: (server, weights, params, answers) -> aggregated.
        init: (key, params, weights) -> the server's state before the first round; None: the server has no state.
        remember: (key, weights, positions of its images) -> a client's memory before its first round; None: clients
            have no memory.
        at_round: (params, round) -> the params that hold in that round, which all of its functions but `init` get;
            None: the same params hold in all rounds.
        estimates: whether clients estimate losses (`Report.estimates`), which adaptive tau and the best model need.
            A model that is not finite then does not replace the global one.
        costly: whether `start` or `finish` evaluate the model; a lane then skips clients that do not return.
    """

    start: Callable[[PRNGKeyArray, Received, Params, ClientData], State]
    step: Callable[[State, Weights, Params, ClientData], State]
    finish: Callable[[State, Weights, Params], Answer]
    aggregate: Callable[[State, Weights, Params, Answers], Aggregated]
    init: Callable[[PRNGKeyArray, Params, Weights], State] | None = None
    remember: Callable[[PRNGKeyArray, Weights, Int[Array, " samples"]], State] | None = None
    at_round: Callable[[Params, Int[Array, ""]], Params] | None = None
    estimates: bool = False
    costly: bool = False


class Grades(NamedTuple):
    """The scores of a model's outputs, example by example.

    Attributes:
        loss: loss of each example, in the model's own unit.
        right: whether the predicted label is correct.
    """

    loss: Float[Array, " batch"]
    right: Bool[Array, " batch"]


class Model(NamedTuple):
    """A classifier of uint8 images.

    Attributes:
        init: key -> weights.
        logits: (weights, images) -> logits, (batch, classes).
        grade: (logits, labels) -> grades of each example.
        penalty: weights -> term added once to the mean loss, whatever the number of examples.
    """

    init: Callable[[PRNGKeyArray], Weights]
    logits: Callable[[Weights, Num[Array, "batch ..."]], Float[Array, "batch classes"]]
    grade: Callable[[Float[Array, "batch classes"], Int[Array, " batch"]], Grades]
    penalty: Callable[[Weights], Float[Array, ""] | float]
