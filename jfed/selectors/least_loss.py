"""Least loss first: the k clients whose last known loss is the smallest.

The baseline "LLS" of A. Sultana et al., "Eiffel: Efficient and Fair Scheduling in Adaptive Federated Learning", IEEE
TPDS 2022, Table 3.

*Departures.* The paper says no more than the name. Nobody is asked: what counts is the loss that a client told when it
last took part, and who never did comes first. Ties are broken at random.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray

from jfed import ops
from jfed.interfaces import Selector
from jfed.options import Member, as_arrays
from jfed.types import Cohort, Dims, Feedback, Problem, View


@dataclass(frozen=True)
class Options:
    """Nothing to set."""


class Params(NamedTuple):
    """Dynamic half. Attributes: k: cohort size."""

    k: Int[Array, ""]


class State(NamedTuple):
    """Attributes: last_loss: as told at the last return; minus infinity before the first."""

    last_loss: Float[Array, " clients"]


def params(options: Options, problem: Problem) -> Params:
    """The options as arrays."""
    return as_arrays(Params, k=problem.cohort_size)


def make(dims: Dims, options: Options) -> Selector:
    """The selector."""

    def init(key: PRNGKeyArray, params: Params) -> State:
        return State(last_loss=jnp.full(dims.num_clients, -jnp.inf, jnp.result_type(float)))

    def select(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
        tie = jax.random.uniform(key, state.last_loss.shape)
        selected = ops.smallest(state.last_loss, params.k, view.available, tie)
        return state, Cohort(selected, jnp.full(selected.shape, jnp.nan))

    def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
        return State(last_loss=feedback.heard(state.last_loss))

    return Selector(init, select, update)


MEMBER = Member(Options, params, make)
