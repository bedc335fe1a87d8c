"""Everybody who can be asked, in every round: the participation of plain and of adaptive federated learning."""

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from jfed.interfaces import Selector
from jfed.options import Member, all_clients
from jfed.types import Cohort, Dims, Feedback, Problem, View


@dataclass(frozen=True)
class Options:
    """Nothing to set."""


def params(options: Options, problem: Problem) -> tuple[()]:
    """Nothing to check."""
    return ()


def make(dims: Dims, options: Options) -> Selector:
    """The selector."""

    def init(key: PRNGKeyArray, params: tuple[()]) -> tuple[()]:
        return ()

    def select(key: PRNGKeyArray, state: tuple[()], params: tuple[()], view: View) -> tuple[tuple[()], Cohort]:
        return (), Cohort(view.available, view.available.astype(jnp.result_type(float)))

    def update(state: tuple[()], params: tuple[()], view: View, cohort: Cohort, feedback: Feedback) -> tuple[()]:
        return ()

    return Selector(init, select, update)


MEMBER = Member(Options, params, make, all_clients, first_cohort=all_clients)
