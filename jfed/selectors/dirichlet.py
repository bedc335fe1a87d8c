"""Unfair sampling of controlled strength: selection probabilities drawn once per run from a Dirichlet distribution.

T. Huang, W. Lin, W. Wu, L. He, K. Li, A. Y. Zomaya, "An Efficiency-Boosting Client Selection Scheme for Federated
Learning With Fairness Guarantee", IEEE Transactions on Parallel and Distributed Systems, 2021. Sec. 6.2.2, Fig. 5.

*Notation.* gamma_2: concentration; q' ~ Dir(gamma_2 1): probabilities, less even the smaller gamma_2 is.

*Departures.* Probabilities are kept as logarithms: at gamma_2 = 0.1 most would be 0 in floating point. The k clients of
a round are drawn one after another without replacement, from the available ones.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray

from jfed.core import ops
from jfed.core.errors import require
from jfed.core.interfaces import Selector
from jfed.core.members import Name, SelectorOptions
from jfed.core.options import as_arrays
from jfed.core.types import Cohort, Dims, Feedback, Problem, View


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        k: cohort size.
        gamma2: concentration.
    """

    k: Int[Array, ""]
    gamma2: Float[Array, ""]


class State(NamedTuple):
    """The selector's state.

    Attributes:
        log_q: logarithms of the probabilities, up to a constant.
    """

    log_q: Float[Array, " clients"]


@dataclass(frozen=True)
class Options(SelectorOptions):
    """Settings of unfair sampling.

    Attributes:
        gamma2: concentration; inf would be uniform.
    """

    names = (Name("dirichlet", {}, "gamma2", "gamma2, the concentration", examples=("1",)),)

    gamma2: float = 1.0

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        require(0 < self.gamma2 < math.inf, f"gamma2 must be positive, found {self.gamma2:g}.")
        return as_arrays(Params, k=problem.cohort_size, gamma2=float(self.gamma2))

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""

        def init(key: PRNGKeyArray, params: Params) -> State:
            log_q = jax.random.loggamma(key, params.gamma2, (dims.num_clients,))
            return State(log_q - jnp.max(log_q))

        def select(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
            selected = ops.race(key, state.log_q, params.k, among=view.available)
            return state, Cohort(selected, jnp.full(dims.num_clients, jnp.nan))

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            return state

        return Selector(init, select, update)
