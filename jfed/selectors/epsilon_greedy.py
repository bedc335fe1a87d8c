"""Epsilon-greedy: the clients with the highest success rates so far, and now and then a random one.

The textbook policy (R. S. Sutton, A. G. Barto, "Reinforcement Learning: An Introduction", MIT Press, 2nd edition 2018,
Sec. 2.2), for a cohort of k clients and rewards of 0 and 1.

*Notation.* K: number of clients; k: cohort size; n_i: times that client i was selected; s_i: times that it then
returned; epsilon: probability that a slot of the cohort explores.

*Departures.*
- Each of the k slots explores with probability epsilon, independently of the others. The slots that do not explore take
  the clients with the largest s_i / n_i; then those that do take clients at random from the rest, without replacement.
- A client that was never selected comes before all others, so that none waits for a slot that explores. Ties are broken
  at random.
- If fewer than k clients are available, all of them are selected.
- The inclusion probabilities are not given: they depend on how many clients tie.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray

from jfed.core import ops, prng
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
        epsilon: probability that a slot explores.
    """

    k: Int[Array, ""]
    epsilon: Float[Array, ""]


@dataclass(frozen=True)
class Options(SelectorOptions):
    """Settings of epsilon-greedy.

    Attributes:
        epsilon: probability that a slot of the cohort explores, in [0, 1]; 1 is uniform selection.
    """

    names = (Name("eps-greedy", {}, "epsilon", "epsilon, the share of slots that explore", examples=("0.1",)),)

    epsilon: float = 0.1

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        require(0 <= self.epsilon <= 1, f"Epsilon-greedy's epsilon must lie in [0, 1], found {self.epsilon:g}.")
        return as_arrays(Params, k=problem.cohort_size, epsilon=float(self.epsilon))

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""
        num_clients = dims.num_clients

        def init(key: PRNGKeyArray, params: Params) -> ucb.State:
            return ucb.start(num_clients)

        def select(key: PRNGKeyArray, state: ucb.State, params: Params, view: View) -> tuple[ucb.State, Cohort]:
            coin, tie, draw = (prng.at(key, i) for i in range(3))
            explores = (prng.uniform(coin, dims.slots) < params.epsilon) & (jnp.arange(dims.slots) < params.k)
            many = ops.count(explores)
            rate = ucb.index(state.wins, state.times, jnp.zeros(()))
            noise = prng.uniform(tie, num_clients)
            best = ops.smallest(-rate, params.k - many, among=view.available, tie_break=noise)
            others = ops.race(draw, jnp.zeros(num_clients), many, among=view.available & ~best)
            return state, Cohort(best | others, jnp.full(num_clients, jnp.nan))

        def update(state: ucb.State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> ucb.State:
            return ucb.learn(state, feedback)

        return Selector(init, select, update)
