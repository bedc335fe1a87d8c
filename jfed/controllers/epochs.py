"""Heterogeneous local epochs: each client makes a fixed number of epochs, drawn once per run.

Sec. VI-A of E3CS (Huang et al. 2022): epochs drawn from {1, 2, 3, 4}, independent of the success rates.

*Departures.* The paper does not say whether they are redrawn each round; here they are not. An epoch is
ceil(n_k / B) SGD steps, the last one on the remaining images.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
from jax import Array
from jaxtyping import Int, PRNGKeyArray

from jfed.core.errors import require
from jfed.core.interfaces import Controller
from jfed.core.members import ControllerOptions, Name
from jfed.core.options import as_arrays
from jfed.core.types import Cohort, Dims, Feedback, Plan, Problem, View


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        choices: numbers of epochs to draw from.
    """

    choices: Int[Array, " choices"]


class State(NamedTuple):
    """The controller's state.

    Attributes:
        steps: local steps of each client in every round.
    """

    steps: Int[Array, " clients"]


@dataclass(frozen=True)
class Options(ControllerOptions):
    """Settings of heterogeneous epochs.

    Attributes:
        choices: numbers of epochs to draw from, equally likely.
    """

    names = (Name("epochs"),)

    choices: tuple[int, ...] = (1, 2, 3, 4)

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        require(
            len(self.choices) > 0 and min(self.choices) >= 0,
            f"Local epochs must be non-negative integers, found {self.choices}.",
        )
        return as_arrays(Params, choices=self.choices)

    def make(self, dims: Dims) -> Controller:
        """Return the controller."""

        def init(key: PRNGKeyArray, params: Params, num_samples: Int[Array, " clients"]) -> State:
            which = jax.random.randint(key, (dims.num_clients,), 0, params.choices.shape[0])
            return State(steps=params.choices[which] * -(-num_samples // dims.batch_size))

        def plan(state: State, params: Params, view: View, cohort: Cohort) -> tuple[State, Plan]:
            return state, Plan(steps=state.steps)

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            return state

        return Controller(init, plan, update)
