"""Thompson sampling: the clients whose success rates are highest in a draw from the Beta posteriors.

W. R. Thompson, "On the Likelihood that One Unknown Probability Exceeds Another in View of the Evidence of Two Samples",
Biometrika 25, 1933; for k clients a round J. Komiyama, J. Honda, H. Nakagawa, "Optimal Regret Analysis of Thompson
Sampling in Stochastic Multi-armed Bandit Problem with Multiple Plays", ICML 2015. With a discount gamma < 1 it is
discounted Thompson sampling: V. Raj, S. Kalyani, "Taming Non-stationary Bandits: A Bayesian Approach", 2017.

    theta_i ~ Beta(1 + s_i, 1 + f_i);    the k largest theta are selected;    s <- gamma s + x,   f <- gamma f + (1 - x)

*Notation.* s_i, f_i: times that client i was selected and returned, or did not; x_i: whether it returns; gamma:
discount of a round.

*Departures.*
- The prior Beta(1, 1) is not discounted: a client of which nothing has been heard for long is as good as unknown. All
  clients are discounted in each round, also those that are away or not selected; only those that are selected learn.
- Beta variables are drawn by rejection, R. C. H. Cheng, "Generating Beta Variates with Nonintegral Shape Parameters",
  Communications of the ACM 21, 1978, algorithm BA. Its constants are written in s and f, so that they stay exact where
  a discounted count is tiny.
- Clients are ranked by the log odds of theta, which has the same order and does not round to 1.
- If fewer than k clients are available, all of them are selected.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from jfed.core import prng
from jfed.core.errors import require
from jfed.core.interfaces import Selector
from jfed.core.members import Name, SelectorOptions
from jfed.core.options import as_arrays
from jfed.core.total import fold
from jfed.core.types import Cohort, Dims, Feedback, Problem, View
from jfed.selectors import ucb

PASSES = 100  # a proposal is accepted with a probability of at least e / 4, so that one in 10^49 is still rejected
LOG_4 = 1.3862943611198906


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        k: cohort size.
        gamma: discount.
    """

    k: Int[Array, ""]
    gamma: Float[Array, ""]


class State(NamedTuple):
    """The discounted counts.

    Attributes:
        wins: s.
        losses: f.
    """

    wins: Float[Array, " clients"]
    losses: Float[Array, " clients"]


class Draw(NamedTuple):
    """The draws so far.

    Attributes:
        log_odds: log(theta / (1 - theta)); of clients without an accepted proposal, that of the mean.
        left: clients without an accepted proposal.
        tried: number of proposals.
    """

    log_odds: Float[Array, " clients"]
    left: Bool[Array, " clients"]
    tried: Int[Array, ""]


def log_odds(
    key: PRNGKeyArray, wins: Float[Array, " clients"], losses: Float[Array, " clients"]
) -> Float[Array, " clients"]:
    """Return log(theta / (1 - theta)) of independent theta ~ Beta(1 + wins, 1 + losses), by Cheng's algorithm BA.

    Args:
        key: key of the draws.
        wins: s; not negative.
        losses: f; not negative.
    """
    a, b, more, n = 1 + wins, 1 + losses, wins + losses, wins.shape[0]
    # (alpha - 2) / (2 a b - alpha), which at s = f = 0 is 0 / 0 and stands for 1
    beta = jnp.sqrt(jnp.where(more > 0, more, 1.0) / jnp.where(more > 0, more + 2 * wins * losses, 1.0))
    alpha, gamma, log_ratio = a + b, a + 1 / beta, jnp.log(a) - jnp.log(b)

    def propose(draw: Draw) -> Draw:
        word = prng.words(prng.at(key, draw.tried), 2 * n)
        u, rest = ((x.astype(beta.dtype) + 0.5) * 2.0**-32 for x in (word, ~word))  # rest = 1 - u, exact at both ends
        log_u1, log_u2 = jnp.log(u[:n]), jnp.log(u[n:])
        v = beta * (log_u1 - jnp.log(rest[:n]))
        w = a * jnp.exp(v)
        accepted = alpha * jnp.log(alpha / (b + w)) + gamma * v - LOG_4 >= 2 * log_u1 + log_u2
        return Draw(
            jnp.where(draw.left & accepted, log_ratio + v, draw.log_odds), draw.left & ~accepted, draw.tried + 1
        )

    def unfinished(draw: Draw) -> Bool[Array, ""]:
        return fold(jnp.logical_or, draw.left) & (draw.tried < PASSES)

    return lax.while_loop(unfinished, propose, Draw(log_ratio, jnp.ones(n, bool), jnp.int32(0))).log_odds


@dataclass(frozen=True)
class Options(SelectorOptions):
    """Settings of Thompson sampling.

    Attributes:
        gamma: discount of a round, in [0, 1]; 1 forgets nothing.
    """

    names = (
        Name("thompson", {"gamma": 1.0}),
        Name("discounted-thompson", {}, "gamma", "gamma, the discount", examples=("0.99",)),
    )

    gamma: float = 1.0

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        require(0 <= self.gamma <= 1, f"The discount of Thompson sampling must lie in [0, 1], found {self.gamma:g}.")
        return as_arrays(Params, k=problem.cohort_size, gamma=float(self.gamma))

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""

        def init(key: PRNGKeyArray, params: Params) -> State:
            return State(jnp.zeros(dims.num_clients), jnp.zeros(dims.num_clients))

        def select(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
            draw, tie = prng.at(key, 0), prng.at(key, 1)
            return state, ucb.highest(tie, log_odds(draw, state.wins, state.losses), params.k, view)

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            failed = feedback.selected & ~feedback.succeeded
            return State(params.gamma * state.wins + feedback.succeeded, params.gamma * state.losses + failed)

        return Selector(init, select, update)
