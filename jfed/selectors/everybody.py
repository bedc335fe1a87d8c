"""All available clients in every round: the participation of plain and of adaptive federated learning."""

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from jfed.core.interfaces import Selector
from jfed.core.members import EveryoneOptions, Name
from jfed.core.types import Cohort, Dims, Feedback, Problem, View


@dataclass(frozen=True)
class Options(EveryoneOptions):
    """A scheme without settings."""

    names = (Name("everybody"),)

    def params(self, problem: Problem) -> tuple[()]:
        """Return an empty tuple, since there are no settings."""
        return ()

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""

        def init(key: PRNGKeyArray, params: tuple[()]) -> tuple[()]:
            return ()

        def select(key: PRNGKeyArray, state: tuple[()], params: tuple[()], view: View) -> tuple[tuple[()], Cohort]:
            return (), Cohort(view.available, view.available.astype(jnp.result_type(float)))

        def update(state: tuple[()], params: tuple[()], view: View, cohort: Cohort, feedback: Feedback) -> tuple[()]:
            return ()

        return Selector(init, select, update)
