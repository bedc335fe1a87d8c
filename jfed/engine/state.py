"""What a run carries: the dynamic half of its settings, and its state from round to round."""

from typing import Any, NamedTuple

from jax import Array
from jaxtyping import Int


class RunParams(NamedTuple):
    """The dynamic half of a run, by room; `algorithm` is None in a selection-only run."""

    environment: Any
    selector: Any
    controller: Any
    algorithm: Any = None


class RunState(NamedTuple):
    """What a run carries from round to round. What a run does not have is None, and no leaf of the state.

    Attributes:
        environment, selector, controller: the members' states.
        times_selected: so far.
        times_succeeded: so far, while selected.
        weights: the global model; None in a selection-only run.
        broken_round: first round after which the model was not finite, 0 if there is none; None like `weights`.
        server: the algorithm's, on the server; None if it keeps nothing there.
        clients: what the algorithm has clients remember; None if they remember nothing.
        best: the best model so far, by the clients' estimates; None if they make none.
        mean: of the models after each round; None unless it is the one that counts.
        ended_round: the round after which the controller ended the run, 0 before; None if it never ends one.
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
