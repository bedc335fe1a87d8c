"""FedCS among volatile clients: always the k clients with the highest true success rates.

T. Nishio, R. Yonetani, "Client Selection for Federated Learning with Heterogeneous Resources in Mobile Edge",
ICC 2019, as adapted in Sec. VI-A of E3CS (Huang et al. 2022): prophetic, so an oracle. Without a quota it is
also the best fixed allocation that E3CS's regret is measured against.

*Departures.* Equal rates are ordered at random once per run: the paper's FedCS always takes the same 20 of 25
clients.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray

from jfed import ops
from jfed.options import Member, as_arrays
from jfed.types import Cohort, Dims, Feedback, Problem, Selector, View


@dataclass(frozen=True)
class Options:
    """Nothing to set."""


class Params(NamedTuple):
    """Dynamic half. Attributes: k: cohort size."""

    k: Int[Array, ""]


class State(NamedTuple):
    """Attributes: tie_break: order among equal rates, fixed for the run."""

    tie_break: Float[Array, " clients"]


def params(options: Options, problem: Problem) -> Params:
    """The options as arrays."""
    return as_arrays(Params, k=problem.cohort_size)


def make(dims: Dims, options: Options) -> Selector:
    """The selector."""

    def init(key: PRNGKeyArray, params: Params) -> State:
        return State(tie_break=jax.random.uniform(key, (dims.num_clients,)))

    def select(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
        assert view.oracle is not None
        rates = view.oracle.success_rate
        selected = ops.smallest(-rates, params.k, among=view.available, tie_break=state.tie_break)
        return state, Cohort(selected, selected.astype(rates.dtype))

    def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
        return state

    return Selector(init, select, update, needs_oracle=True)


MEMBER = Member(Options, params, make)
