"""A fixed number of local steps, the same for every client and round: tau of local SGD, 1 for plain distributed SGD."""

from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jaxtyping import Int, PRNGKeyArray

from jfed.errors import require
from jfed.interfaces import Controller
from jfed.options import Member, as_arrays
from jfed.types import Cohort, Dims, Feedback, Plan, Problem, View


@dataclass(frozen=True)
class Options:
    """What a user may set."""

    steps: int = 1
    """tau."""


class Params(NamedTuple):
    """Dynamic half. Attributes: steps: tau."""

    steps: Int[Array, ""]


def params(options: Options, problem: Problem) -> Params:
    """Check the options and turn them into arrays."""
    require(options.steps >= 0, f"Local steps must not be negative, found {options.steps}.")
    return as_arrays(Params, steps=options.steps)


def make(dims: Dims, options: Options) -> Controller:
    """The controller."""

    def init(key: PRNGKeyArray, params: Params, num_samples: Int[Array, " clients"]) -> tuple[()]:
        return ()

    def plan(state: tuple[()], params: Params, view: View, cohort: Cohort) -> tuple[tuple[()], Plan]:
        return (), Plan(steps=jnp.where(view.num_samples > 0, params.steps, 0))

    def update(state: tuple[()], params: Params, view: View, cohort: Cohort, feedback: Feedback) -> tuple[()]:
        return ()

    return Controller(init, plan, update)


MEMBER = Member(Options, params, make)
