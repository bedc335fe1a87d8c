"""Round robin: one group of clients after another, in a fixed order.

The baseline of Sec. V-B of CS-UCB (Xia et al. 2020), after H. H. Yang, Z. Liu, T. Q. S. Quek, H. V. Poor, "Scheduling
Policies for Federated Learning in Wireless Networks", IEEE Transactions on Communications, 2020.

*Departures.*
- The order is drawn once per run.
- Where some clients are unavailable, the next k available ones are selected, and the next round starts after the last
  of them; with all clients available and k a divisor of K these are the paper's fixed groups.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Int, PRNGKeyArray

from jfed.core import ops
from jfed.core.interfaces import Selector
from jfed.core.members import Name, SelectorOptions
from jfed.core.options import as_arrays
from jfed.core.types import Cohort, Dims, Feedback, Problem, View


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        k: cohort size.
    """

    k: Int[Array, ""]


class State(NamedTuple):
    """The selector's state.

    Attributes:
        place: of each client in the order.
        next: the place at which the next round starts.
    """

    place: Int[Array, " clients"]
    next: Int[Array, ""]


@dataclass(frozen=True)
class Options(SelectorOptions):
    """A scheme without settings."""

    names = (Name("round-robin"),)

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays."""
        return as_arrays(Params, k=problem.cohort_size)

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""
        num_clients = dims.num_clients

        def distance(state: State) -> Int[Array, " clients"]:
            return (state.place - state.next) % num_clients

        def init(key: PRNGKeyArray, params: Params) -> State:
            return State(jax.random.permutation(key, jnp.arange(num_clients, dtype=jnp.int32)), jnp.int32(0))

        def select(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
            ahead = distance(state).astype(jnp.result_type(float))
            selected = ops.smallest(ahead, params.k, among=view.available)
            return state, Cohort(selected, selected.astype(ahead.dtype))

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            farthest = jnp.max(jnp.where(cohort.selected, distance(state), -1))
            return state._replace(next=(state.next + farthest + 1) % num_clients)

        return Selector(init, select, update)
