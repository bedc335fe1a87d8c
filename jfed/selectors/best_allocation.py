"""The best fixed allocation under a fairness quota: the optimum that the regret of E3CS is measured against.

Definition 1 of E3CS (Huang et al. 2022): every client has probability sigma_t, and the residual R_t = k - K sigma_t is
given to the clients with the highest success rates, up to probability 1. The scheme knows the true rates, so it is an
oracle; it runs on the same draws as the scheme that it is compared with, so that the regret is a paired difference.

*Departures.* The paper does not spell out q*; filling the highest rates up to 1 is what Eq. (38) allows. Equal
rates are filled in an order drawn once per run. Where some clients are unavailable, the round is one of the available
clients, as in `e3cs`.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from jfed.core import ops, prng
from jfed.core.interfaces import Selector
from jfed.core.members import Name, SelectorOptions
from jfed.core.options import as_arrays
from jfed.core.types import Cohort, Dims, Feedback, Problem, View
from jfed.selectors import e3cs


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        k: cohort size.
        quota: sigma_t K / k per round.
    """

    k: Int[Array, ""]
    quota: Float[Array, " rounds"]


class State(NamedTuple):
    """The selector's state.

    Attributes:
        tie_break: order among equal rates, fixed for the run.
    """

    tie_break: Float[Array, " clients"]


def allocation(
    rates: Float[Array, " clients"],
    tie_break: Float[Array, " clients"],
    k: Int[Array, ""],
    sigma: Float[Array, ""],
    available: Bool[Array, " clients"],
) -> Float[Array, " clients"]:
    """Return p* of Eq. (25): sigma for all available clients, raised to 1 at the highest rates until sum p = k."""
    residual = jnp.maximum(k - ops.count(available) * sigma, 0.0)
    room = jnp.maximum(1.0 - sigma, jnp.finfo(rates.dtype).tiny)
    order = jnp.lexsort((tie_break, -rates, ~available))
    rank = jnp.zeros(rates.shape).at[order].set(jnp.arange(rates.shape[0], dtype=rates.dtype))
    return jnp.where(available, jnp.minimum(sigma + jnp.clip(residual - rank * room, 0.0, room), 1.0), 0.0)


@dataclass(frozen=True)
class Options(SelectorOptions):
    """Settings of the best fixed allocation.

    Attributes:
        quota: as in `e3cs.Options`.
    """

    names = (Name("best", {}, "quota", "quota, a share of k/K, or inc", words=("inc",), examples=("0", "0.5", "inc")),)

    quota: float | str | tuple[float, ...] = 0.0

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        quota = e3cs.quota_schedule(self.quota, problem.num_rounds)
        return as_arrays(Params, k=problem.cohort_size, quota=quota)

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""

        def init(key: PRNGKeyArray, params: Params) -> State:
            return State(tie_break=prng.uniform(key, dims.num_clients))

        def select(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
            assert view.oracle is not None
            here = ops.count(view.available)
            k = jnp.minimum(params.k, here)
            sigma = params.quota[view.round - 1] * k / jnp.maximum(here, 1)
            p = allocation(view.oracle.success_rate, state.tie_break, k, sigma, view.available)
            return state, Cohort(ops.exact_inclusion(key, p, k), p)

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            return state

        return Selector(init, select, update, needs_oracle=True)
