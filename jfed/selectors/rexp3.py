"""Rexp3: exponential weights that start afresh every L rounds, for rewards that change by a limited amount in all.

O. Besbes, Y. Gur, A. Zeevi, "Stochastic Multi-Armed-Bandit Problem with Non-stationary Rewards", NIPS 2014.

*Notation.* K: number of clients; k: cohort size; T: rounds; V: sum over rounds of the largest change of any client's
success rate; L: rounds of a batch (the paper's Delta); gamma: share of uniform selection, and learning rate.

*Departures.*
- The paper restarts Exp3, which plays one arm a round; here Exp3.M is restarted, its form for k plays (see `exp3s`).
  k = 1 is the published algorithm.
- The paper's L = (K ln K)^(1/3) (T / V)^(2/3), rounded up, and gamma = min(1, sqrt(K ln K / ((e - 1) L))) are for one
  play. For k plays they have (K / k) ln(K / k) in place of K ln K: this gamma is that of Exp3.M over L rounds, and this
  L balances the regret of the batches against the loss from changes within them, which is at most k L V.
- The last batch may be shorter. Where some clients are away, a round is as in `exp3s`; batches count all rounds.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray

from jfed.core.errors import require
from jfed.core.interfaces import Selector
from jfed.core.members import Name, SelectorOptions
from jfed.core.options import as_arrays
from jfed.core.types import Cohort, Dims, Feedback, Problem, View
from jfed.selectors import e3cs, exp3s


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        k: cohort size.
        batch: L.
        gamma: share of uniform selection, and learning rate.
    """

    k: Int[Array, ""]
    batch: Int[Array, ""]
    gamma: Float[Array, ""]


def restarted(state: e3cs.State, start: e3cs.State, every: Int[Array, ""], view: View) -> e3cs.State:
    """Return the first state in rounds 1, L + 1, 2 L + 1, ..., and the given state in others."""
    fresh = (view.round - 1) % every == 0
    return jax.tree.map(lambda new, old: jnp.where(fresh, new, old), start, state)


@dataclass(frozen=True)
class Options(SelectorOptions):
    """Settings of Rexp3.

    Attributes:
        variation: V, which the default batch expects.
        batch: L; None: by the variation.
        gamma: share of uniform selection, and learning rate, in (0, 1]; None: by the batch.
    """

    names = (Name("rexp3"),)

    variation: float = 1.0
    batch: int | None = None
    gamma: float | None = None

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        num_clients, k, rounds = problem.num_clients, problem.cohort_size, problem.num_rounds
        require(0 < self.variation < math.inf, f"Rexp3's variation must be positive, found {self.variation:g}.")
        hardness = num_clients / k * math.log(num_clients / k)
        batch, gamma = self.batch, self.gamma
        if batch is None:
            wanted = hardness ** (1 / 3) * (rounds / self.variation) ** (2 / 3)
            batch = max(1, math.ceil(min(wanted, rounds)))
        require(batch >= 1, f"A batch of Rexp3 must have at least one round, found {batch}.")
        if gamma is None:
            gamma = min(1.0, math.sqrt(hardness / ((math.e - 1) * batch))) or 1.0  # with k = K all are selected anyway
        require(0 < gamma <= 1, f"Rexp3's gamma must lie in (0, 1], found {gamma:g}.")
        return as_arrays(Params, k=k, batch=batch, gamma=float(gamma))

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""
        start = exp3s.start

        def init(key: PRNGKeyArray, params: Params) -> e3cs.State:
            return start(dims.num_clients)

        def select(key: PRNGKeyArray, state: e3cs.State, params: Params, view: View) -> tuple[e3cs.State, Cohort]:
            state = restarted(state, start(dims.num_clients), params.batch, view)
            return exp3s.draw(key, state, params.k, params.gamma, view)

        def update(state: e3cs.State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> e3cs.State:
            return state._replace(log_w=exp3s.learn(state, params.k, params.gamma, view, feedback))

        return Selector(init, select, update)
