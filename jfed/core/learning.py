"""What server and clients say to each other while they train: data, what is received, answers and the next model.

Everything else that a round's parts say to each other is in `types.py`.
"""

from typing import Any, NamedTuple

from jax import Array
from jaxtyping import Bool, Float, Int, Num

from jfed.core.types import Estimates, State, Weights


class ClientData(NamedTuple):
    """One client's share of the pool of images, never copied.

    Attributes:
        images: the whole pool, uint8 images or float32 features.
        labels: the whole pool's labels.
        positions: this client's images in the pool, padded.
        num_samples: how many of them are real.
    """

    images: Num[Array, "pool ..."]
    labels: Int[Array, " pool"]
    positions: Int[Array, " samples"]
    num_samples: Int[Array, ""]


class Report(NamedTuple):
    """What a client says about its own training.

    Attributes:
        loss: mean minibatch loss over its steps; NaN if it made none.
        estimates: where the algorithm makes any; otherwise None.
    """

    loss: Float[Array, ""]
    estimates: Estimates | None = None


class Received(NamedTuple):
    """What a client has before it when it begins.

    Attributes:
        weights: the global model.
        steps: how many it will make in this round.
        server: the server's state, of which a client uses what the server sends; None where it keeps nothing.
        memory: what the client itself remembers; None where an algorithm gives clients no memory.
        best: the best global model so far, by the clients' estimates; None where they make none.
    """

    weights: Weights
    steps: Int[Array, ""]
    server: State = None
    memory: State = None
    best: Weights = None


class Answer(NamedTuple):
    """What a client ends with.

    Attributes:
        move: its own model less the received one.
        report: what it says of its training.
        memory: what it will remember in the next round in which it takes part; None where it has no memory.
        more: whatever else the server's `aggregate` needs of it.
    """

    move: Weights
    report: Report
    memory: State = None
    more: Any = None


class Answers(NamedTuple):
    """What came back of a round, as the server sees it; leading axis slots.

    Slots without a client that returned hold numbers without meaning, even NaN: `returned` tells them.

    Attributes:
        moves, more, reports: see `Answer`.
        share: what each weighs in the average, by the reading of the deadline; adds up to less than 1 over those who
            returned where the global model stands in for who is missing.
        returned: whose slots are real.
    """

    moves: Weights
    reports: Report
    share: Float[Array, " slots"]
    returned: Bool[Array, " slots"]
    more: Any = None


class Aggregated(NamedTuple):
    """What the server makes of a round.

    Attributes:
        weights: the next global model.
        server: the server's next state; None where it keeps nothing.
        reports: those of the clients, with what only the server can know of them filled in.
    """

    weights: Weights
    server: State
    reports: Report
