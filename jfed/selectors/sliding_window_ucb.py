"""Sliding-window UCB: upper confidence bounds on the success rates of the last tau rounds.

A. Garivier, E. Moulines, "On Upper-Confidence Bound Policies for Switching Bandit Problems", ALT 2011. The policy plays
the arm that maximises

    S_i / N_i + sqrt(xi ln min(t, tau) / N_i)

*Notation.* t: rounds so far; N_i, S_i: times that client i was selected, and then returned, in the last tau of them;
xi: constant of the exploration. The paper's bound B on the rewards is 1.

*Departures.*
- The paper plays one arm a round; here the k largest indices are played. With a window that is never full and xi = 2
  this is UCB1.
- A client that was not selected in the window comes first. Ties are broken at random.
- The window moves on in each round, also for clients that are away.
- Only available clients are selected; all of them, if they are fewer than k.
- The paper's tau for a horizon T with Y changes is 2 sqrt(T ln T / Y): 280 for T = 2500 and one change.
"""

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Float, Int, Int8, PRNGKeyArray

from jfed.core.errors import require
from jfed.core.interfaces import Selector
from jfed.core.members import Name, SelectorOptions
from jfed.core.options import as_arrays, static
from jfed.core.types import Cohort, Dims, Feedback, Problem, View
from jfed.selectors import ucb


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        k: cohort size.
        xi: constant of the exploration.
    """

    k: Int[Array, ""]
    xi: Float[Array, ""]


class State(NamedTuple):
    """The rounds of the window, and their sums.

    Attributes:
        window: 1 for a client that was selected in a round, 2 if it returned, else 0; round t is in row (t - 1) % tau.
        seen: S and N.
    """

    window: Int8[Array, "tau clients"]
    seen: ucb.State


@dataclass(frozen=True)
class Options(SelectorOptions):
    """Settings of sliding-window UCB.

    Attributes:
        tau: length of the window in rounds; it shapes the program, which keeps tau K bytes for each run.
        xi: constant of the exploration; the paper's theorem needs more than 1/2.
    """

    names = (Name("sw-ucb", {}, "tau", "tau, the rounds of the window", examples=("250",)),)

    tau: int = static(250)
    xi: float = 0.6

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        require(self.tau >= 1, f"SW-UCB's window must have at least one round, found tau = {self.tau}.")
        require(0 <= self.xi < inf, f"SW-UCB's xi must not be negative, found {self.xi:g}.")
        return as_arrays(Params, k=problem.cohort_size, xi=float(self.xi))

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""

        def init(key: PRNGKeyArray, params: Params) -> State:
            return State(jnp.zeros((self.tau, dims.num_clients), jnp.int8), ucb.start(dims.num_clients))

        def select(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
            spread = params.xi * ucb.log_rounds(view, self.tau)
            return state, ucb.highest(key, ucb.index(*state.seen, spread), params.k, view)

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            row = (view.round - 1) % self.tau
            old = lax.dynamic_index_in_dim(state.window, row, keepdims=False)
            new = feedback.selected.astype(jnp.int8) + feedback.succeeded
            window = lax.dynamic_update_index_in_dim(state.window, new, row, 0)
            wins, times = ucb.learn(state.seen, feedback)
            return State(window, ucb.State(wins - (old == 2), times - (old > 0)))

        return Selector(init, select, update)
