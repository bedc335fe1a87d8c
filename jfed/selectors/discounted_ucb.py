"""Discounted UCB: upper confidence bounds on success rates, for which old rounds count less and less.

A. Garivier, E. Moulines, "On Upper-Confidence Bound Policies for Switching Bandit Problems", ALT 2011. The policy plays
the arm that maximises

    S_i / N_i + 2 sqrt(xi ln n / N_i),    N_i = sum_s gamma^(t - s) 1{i selected in s},    n = sum_s gamma^(t - s)

*Notation.* t: rounds so far; S_i: as N_i, over the rounds s in which client i returned; gamma: discount; xi: constant
of the exploration. The paper's bound B on the rewards is 1.

*Departures.*
- The paper plays one arm a round; here the k largest indices are played. n is the discounted number of rounds: for one
  arm a round this is the paper's sum of all N_i. With gamma = 1 and xi = 1/2 the scheme is UCB1.
- A client whose N_i is 0, also by underflow, comes first. Ties are broken at random.
- All counts are discounted in each round, also those of clients that are away. The code of
  SMPyBandits differs: it discounts a count only when its arm is played, and keeps it as a whole number.
- Only available clients are selected; all of them, if they are fewer than k.
- The paper's gamma for a horizon T with Y changes is 1 - sqrt(Y / T) / 4: 0.995 for T = 2500 and one change.
"""

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray

from jfed.core.errors import require
from jfed.core.interfaces import Selector
from jfed.core.members import Name, SelectorOptions
from jfed.core.options import as_arrays
from jfed.core.types import Cohort, Dims, Feedback, Problem, View
from jfed.selectors import ucb


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        k: cohort size.
        gamma: discount.
        xi: constant of the exploration.
    """

    k: Int[Array, ""]
    gamma: Float[Array, ""]
    xi: Float[Array, ""]


class State(NamedTuple):
    """The discounted counts.

    Attributes:
        wins: S.
        times: N.
        rounds: n.
    """

    wins: Float[Array, " clients"]
    times: Float[Array, " clients"]
    rounds: Float[Array, ""]


@dataclass(frozen=True)
class Options(SelectorOptions):
    """Settings of discounted UCB.

    Attributes:
        gamma: discount of a round, in (0, 1].
        xi: constant of the exploration; the paper's theorem needs more than 1/2.
    """

    names = (Name("d-ucb", {}, "gamma", "gamma, the discount", examples=("0.99",)),)

    gamma: float = 0.99
    xi: float = 0.6

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        require(0 < self.gamma <= 1, f"D-UCB's gamma must lie in (0, 1], found {self.gamma:g}.")
        require(0 <= self.xi < inf, f"D-UCB's xi must not be negative, found {self.xi:g}.")
        return as_arrays(Params, k=problem.cohort_size, gamma=float(self.gamma), xi=float(self.xi))

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""

        def init(key: PRNGKeyArray, params: Params) -> State:
            zero = jnp.zeros(dims.num_clients)
            return State(zero, zero, jnp.zeros(()))

        def select(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
            spread = 4 * params.xi * jnp.log(jnp.maximum(state.rounds, 1.0))
            return state, ucb.highest(key, ucb.index(state.wins, state.times, spread), params.k, view)

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            return State(
                params.gamma * state.wins + feedback.succeeded,
                params.gamma * state.times + feedback.selected,
                params.gamma * state.rounds + 1,
            )

        return Selector(init, select, update)
