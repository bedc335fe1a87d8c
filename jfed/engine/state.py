"""The arrays of a run: the dynamic half of its settings, and its state from round to round."""

from typing import Any, NamedTuple

from jax import Array
from jaxtyping import Int


class RunParams(NamedTuple):
    """The dynamic half of a run's settings, by room; `algorithm` is None in a selection-only run."""

    environment: Any
    selector: Any
    controller: Any
    algorithm: Any = None


class RunState(NamedTuple):
    """The state of a run from round to round; fields that a run does not need are None.

    Attributes:
        environment, selector, controller: states of the members.
        times_selected: number of rounds in which each client was selected.
        times_succeeded: number of rounds in which each client was selected and returned.
        weights: global model; None in a selection-only run.
        broken_round: first round after which the model was not finite, 0 if there is none; None like `weights`.
        server: the algorithm's state on the server; None if it keeps none there.
        clients: memories that the algorithm gives to clients; None if it gives none.
        best: best model so far, by the clients' estimates; None if they make none.
        mean: mean of the models after each round; None unless it is the tested model.
        ended_round: round after which the controller ended the run, 0 before; None if it never ends runs.
    """

    environment: Any
    selector: Any
    controller: Any
    times_selected: Int[Array, " clients"]
    times_succeeded: Int[Array, " clients"]
    weights: Any = None
    broken_round: Int[Array, ""] | None = None
    server: Any = None
    clients: Any = None
    best: Any = None
    mean: Any = None
    ended_round: Int[Array, ""] | None = None
