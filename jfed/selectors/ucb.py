"""UCB1: the clients with the highest upper confidence bounds on their success rates.

P. Auer, N. Cesa-Bianchi, P. Fischer, "Finite-time Analysis of the Multiarmed Bandit Problem", Machine Learning 47,
2002. UCB1 plays the arm that maximises

    s_i / n_i + sqrt(2 ln t / n_i)

*Notation.* t: rounds so far; n_i: times that client i was selected; s_i: times that it then returned; xi: constant of
the exploration, 2 in the paper.

*Departures.*
- The paper plays one arm a round; here the k largest indices are played, and each shows its own reward. t counts
  rounds, not plays. With xi = 3/2 this is CUCB (W. Chen, Y. Wang, Y. Yuan, "Combinatorial Multi-Armed Bandit: General
  Framework and Applications", ICML 2013) for a reward that is the number of returned clients.
- A client that was never selected comes first. Ties are broken at random; the paper does not say how.
- Only available clients are selected; all of them, if they are fewer than k. t also counts rounds in which a client is
  away.
- `cs_ucb` is another scheme: its reward is the speed of a client, it has k + 1 in place of 2 and fixed initial rounds.
"""

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Num, PRNGKeyArray

from jfed.core import ops, prng
from jfed.core.errors import require
from jfed.core.interfaces import Selector
from jfed.core.members import Name, SelectorOptions
from jfed.core.options import as_arrays
from jfed.core.types import Cohort, Dims, Feedback, Problem, View


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        k: cohort size.
        xi: constant of the exploration.
    """

    k: Int[Array, ""]
    xi: Float[Array, ""]


class State(NamedTuple):
    """The success bits of each client so far.

    Attributes:
        wins: s.
        times: n.
    """

    wins: Int[Array, " clients"]
    times: Int[Array, " clients"]


def start(num_clients: int) -> State:
    """Return the state before any client has been selected."""
    return State(jnp.zeros(num_clients, jnp.int32), jnp.zeros(num_clients, jnp.int32))


def learn(state: State, feedback: Feedback) -> State:
    """Return the counts after this round."""
    return State(state.wins + feedback.succeeded, state.times + feedback.selected)


def index(
    wins: Num[Array, " clients"], times: Num[Array, " clients"], spread: Float[Array, ""]
) -> Float[Array, " clients"]:
    """Return s / n + sqrt(spread / n); infinite for a client that was never selected."""
    n = jnp.where(times > 0, times, 1)
    return jnp.where(times > 0, wins / n + jnp.sqrt(spread / n), jnp.inf)


def log_rounds(view: View, most: int | None = None) -> Float[Array, ""]:
    """Return the logarithm of the number of rounds so far, or of `most` if that is smaller; 0 in the first round."""
    rounds = jnp.maximum(view.round - 1, 1)
    return jnp.log((rounds if most is None else jnp.minimum(rounds, most)).astype(jnp.result_type(float)))


def highest(key: PRNGKeyArray, score: Float[Array, " clients"], k: Int[Array, ""], view: View) -> Cohort:
    """Return the k available clients with the largest scores, with ties in random order."""
    tie = prng.uniform(key, score.shape[0])
    return Cohort(ops.smallest(-score, k, among=view.available, tie_break=tie), jnp.full(score.shape, jnp.nan))


@dataclass(frozen=True)
class Options(SelectorOptions):
    """Settings of UCB1.

    Attributes:
        xi: constant of the exploration; 0 is greedy.
    """

    names = (Name("ucb1"),)

    xi: float = 2.0

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        require(0 <= self.xi < inf, f"UCB1's xi must not be negative, found {self.xi:g}.")
        return as_arrays(Params, k=problem.cohort_size, xi=float(self.xi))

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""

        def init(key: PRNGKeyArray, params: Params) -> State:
            return start(dims.num_clients)

        def select(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
            score = index(state.wins, state.times, params.xi * log_rounds(view))
            return state, highest(key, score, params.k, view)

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            return learn(state, feedback)

        return Selector(init, select, update)
