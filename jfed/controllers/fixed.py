"""A fixed number of local steps, the same for every client and round: tau of local SGD, 1 for plain distributed SGD."""

from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
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
        steps: tau.
    """

    steps: Int[Array, ""]


@dataclass(frozen=True)
class Options(ControllerOptions):
    """Settings of a fixed number of steps.

    Attributes:
        steps: tau.
    """

    names = (Name("fixed"),)

    steps: int = 1

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        require(self.steps >= 0, f"Local steps must not be negative, found {self.steps}.")
        return as_arrays(Params, steps=self.steps)

    def make(self, dims: Dims) -> Controller:
        """Return the controller."""

        def init(key: PRNGKeyArray, params: Params, num_samples: Int[Array, " clients"]) -> tuple[()]:
            return ()

        def plan(state: tuple[()], params: Params, view: View, cohort: Cohort) -> tuple[tuple[()], Plan]:
            return (), Plan(steps=jnp.where(view.num_samples > 0, params.steps, 0))

        def update(state: tuple[()], params: Params, view: View, cohort: Cohort, feedback: Feedback) -> tuple[()]:
            return ()

        return Controller(init, plan, update)
