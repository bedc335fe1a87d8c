"""Exp3.S: exponential weights that keep a share of the total, for rewards that change, with k clients a round.

P. Auer, N. Cesa-Bianchi, Y. Freund, R. E. Schapire, "The Nonstochastic Multiarmed Bandit Problem", SIAM Journal on
Computing 32, 2002: Exp3.S, for one play a round. T. Uchiya, A. Nakamura, M. Kudo, "Algorithms for Adversarial Bandit
Problems with Multiple Plays", ALT 2010: Exp3.M, for k plays.

    p_i = k ((1 - gamma) w'_i / sum_j w'_j + gamma / K)
    w_i <- w_i exp(k gamma x_i / (p_i K)) + (e alpha / K) sum_j w_j

*Notation.* K: number of clients; k: cohort size; T: rounds; w': weights cut at the cap that keeps p at most 1; gamma:
share of uniform selection, and learning rate; alpha: share of the total; x_i: whether a selected client returns.

*Departures.*
- Exp3.S is extended to k plays by the cap and the estimates of Exp3.M; k = 1 is the published algorithm. As in Exp3.M,
  a client whose weight is cut does not learn. The total is that of the uncut weights.
- Exp3.M draws by DepRound, here by systematic sampling in random order; both have inclusion probabilities p.
- Weights are kept as logarithms and divided by the cap each round, which changes no p.
- By default alpha = 1 / T and gamma = min(1, sqrt(K (S ln(K T / k) + e) / ((e - 1) k T))), where S - 1 is the number of
  changes. For k = 1 this is the paper's tuning; for k plays K / k takes the place of K, as in the bound of Exp3.M.
- Where some clients are away, the round is one of the available clients A, as in `e3cs`: k is min(k, |A|), gamma is
  shared by A, and p = 0 for the others. The K of the exponent counts all clients, so that it stays at most 1. In a
  round in which all of A are selected, p = 1 tells nothing of their weights, and none learns.
- With alpha = 0 and gamma < 1 this is Exp3.M, and E3CS of quota gamma and learning rate gamma / (1 - gamma).
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray

from jfed.core import ops
from jfed.core.errors import require
from jfed.core.interfaces import Selector
from jfed.core.members import Name, SelectorOptions
from jfed.core.once import once
from jfed.core.options import as_arrays
from jfed.core.total import fold
from jfed.core.types import Cohort, Dims, Feedback, Problem, View
from jfed.selectors import e3cs


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        k: cohort size.
        gamma: share of uniform selection, and learning rate.
        alpha: share of the total.
    """

    k: Int[Array, ""]
    gamma: Float[Array, ""]
    alpha: Float[Array, ""]


def start(num_clients: int) -> e3cs.State:
    """Return the state of equal weights."""
    zero = jnp.zeros(num_clients)
    return e3cs.State(log_w=zero, p=zero + 1, overflow=jnp.zeros(num_clients, bool))


def draw(
    key: PRNGKeyArray, state: e3cs.State, k: Int[Array, ""], gamma: Float[Array, ""], view: View
) -> tuple[e3cs.State, Cohort]:
    """Return the cohort of Exp3.M, and the state with its probabilities; the cap is that of ProbAlloc in `e3cs`."""
    here = ops.count(view.available)
    k = jnp.minimum(k, here)
    sigma = gamma * k / jnp.maximum(here, 1)
    p, over, cap = e3cs.prob_alloc(state.log_w, k, sigma, state.overflow, view.available)
    log_w = jnp.where(jnp.isfinite(cap.rest), cap.relative(state.log_w), state.log_w)
    state = e3cs.State(log_w, jnp.where(view.available, p, 1.0), over | (k == here))
    return state, Cohort(ops.exact_inclusion(key, p, k), p)


def learn(
    state: e3cs.State, k: Int[Array, ""], gamma: Float[Array, ""], view: View, feedback: Feedback
) -> Float[Array, " clients"]:
    """Return the logarithms of the weights of Exp3.M after this round."""
    exponent = once(jnp.minimum(k, ops.count(view.available)) * gamma) / (state.p * state.p.shape[0])
    return state.log_w + jnp.where(feedback.succeeded & ~state.overflow, exponent, 0.0)


def shared(
    before: Float[Array, " clients"], grown: Float[Array, " clients"], share: Float[Array, ""]
) -> Float[Array, " clients"]:
    """Return the logarithms of the grown weights, to each of which a share of the former total is added.

    Args:
        before: logarithms of the former weights.
        grown: those of the weights now; a weight may be 0.
        share: part of the former total that each weight gets.
    """
    grown, top = once(grown), once(fold(jnp.maximum, before))
    part = once(share * ops.total(jnp.exp(before - top)))
    # A weight that is too small for exp is then the share alone.
    return jnp.where(share > 0, top + jnp.log(jnp.exp(grown - top) + part), grown)


@dataclass(frozen=True)
class Options(SelectorOptions):
    """Settings of Exp3.S.

    Attributes:
        changes: number of changes of the best clients that the default gamma expects, S - 1.
        gamma: share of uniform selection, and learning rate, in (0, 1]; None: by the number of changes.
        alpha: share of the total, in [0, 1]; None: 1 / T.
    """

    names = (Name("exp3s", aliases=("exp3-s",)),)

    changes: int = 1
    gamma: float | None = None
    alpha: float | None = None

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        num_clients, k, rounds = problem.num_clients, problem.cohort_size, problem.num_rounds
        require(self.changes >= 0, f"The number of changes must not be negative, found {self.changes}.")
        gamma, alpha = self.gamma, 1 / rounds if self.alpha is None else self.alpha
        if gamma is None:
            known = (self.changes + 1) * math.log(num_clients * rounds / k) + math.e
            gamma = min(1.0, math.sqrt(num_clients * known / ((math.e - 1) * k * rounds)))
        require(0 < gamma <= 1, f"Exp3.S's gamma must lie in (0, 1], found {gamma:g}.")
        require(0 <= alpha <= 1, f"Exp3.S's alpha must lie in [0, 1], found {alpha:g}.")
        return as_arrays(Params, k=k, gamma=float(gamma), alpha=float(alpha))

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""

        def init(key: PRNGKeyArray, params: Params) -> e3cs.State:
            return start(dims.num_clients)

        def select(key: PRNGKeyArray, state: e3cs.State, params: Params, view: View) -> tuple[e3cs.State, Cohort]:
            return draw(key, state, params.k, params.gamma, view)

        def update(state: e3cs.State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> e3cs.State:
            grown = learn(state, params.k, params.gamma, view, feedback)
            share = math.e * params.alpha / dims.num_clients
            return state._replace(log_w=shared(state.log_w, grown, share))

        return Selector(init, select, update)
