"""The messages between server and clients in training: data, received state, answers and the next model.

All other messages of a round are in `types.py`.
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
        num_samples: number of real positions.
    """

    images: Num[Array, "pool ..."]
    labels: Int[Array, " pool"]
    positions: Int[Array, " samples"]
    num_samples: Int[Array, ""]


class Report(NamedTuple):
    """A client's report on its own training.

    Attributes:
        loss: mean minibatch loss over its steps; NaN if it made none.
        estimates: its estimates of losses; None if the algorithm makes none.
    """

    loss: Float[Array, ""]
    estimates: Estimates | None = None


class Received(NamedTuple):
    """The input of a client's local training.

    Attributes:
        weights: the global model.
        steps: number of steps that the client will make in this round.
        server: the server's state, of which a client uses only what the server would send; None if there is none.
        memory: the client's own memory; None if the algorithm gives clients none.
        best: the best global model so far, by the clients' estimates; None if they make none.
    """

    weights: Weights
    steps: Int[Array, ""]
    server: State = None
    memory: State = None
    best: Weights = None


class Answer(NamedTuple):
    """The output of a client's local training.

    Attributes:
        move: its own model minus the received one.
        report: its report on its training.
        memory: its memory for the next round in which it takes part; None if clients have none.
        more: anything else that `Algorithm.aggregate` needs from the client.
    """

    move: Weights
    report: Report
    memory: State = None
    more: Any = None


class Answers(NamedTuple):
    """The clients' answers in a round, as the server sees them; leading axis slots.

    Slots without a returned client hold meaningless numbers, even NaN: mask them with `returned`.

    Attributes:
        moves: moves of the clients; see `Answer`.
        reports: reports of the clients.
        share: weight of each in the average, by the reading of the deadline. The weights of the returned clients sum
            to less than 1 where the global model replaces missing ones.
        returned: whether the slot holds a returned client.
        more: as in `Answer`.
    """

    moves: Weights
    reports: Report
    share: Float[Array, " slots"]
    returned: Bool[Array, " slots"]
    more: Any = None


class Aggregated(NamedTuple):
    """The result of a round's aggregation.

    Attributes:
        weights: the next global model.
        server: the server's next state; None if it has none.
        reports: the clients' reports, with values that only the server can compute filled in.
    """

    weights: Weights
    server: State
    reports: Report
