"""F3AST: the available clients that took part least for their share of the images, weighted by 1 over their rate.

M. Ribero, H. Vikalo, G. de Veciana, "Federated Learning Under Intermittent Client Availability and Time-Varying
Communication Constraints", IEEE JSTSP 2023 (arXiv 2205.06730), and its public code.

*Notation.* p_i: share of a client's images; A_t: available clients; k: cohort size; r_i: rate at which a client takes
part; beta: weight of the present round in it; S: cohort; D_i: update.

    S = the k of A_t with the largest p_i^2 / r_i^2        r_i <- (1 - beta) r_i + beta 1{i in S}
    w <- w + sum over S of (p_i / r_i) D_i, with the new r_i

S makes sum_i p_i^2 / r_i, the variance of the update, fall fastest. A cohort states 1 / r_i as the importance of a
client: `Training.average_over="unscaled"` gives the printed average. "returned" divides it by the sum of p_i / r_i over
the clients that return, which is steadier and no longer unbiased.

*Departures.*
- `form="published"` (mode `faithful`) is the public code: r_i is p_i at first, and the update is divided by k as well,
  so that steps become k times smaller while the sum of r drifts from 1 to k. `form="corrected"` starts at k p_i (at
  most 1) and does not divide.
- Where fewer than k clients are available, the code takes some that are not; here all that are available are taken.
- The rate of a client that is never there falls without end. In the corrected form its importance is at most `cap`
  times K / k, that of uniform selection.
- In the paper nobody fails. S is ranked by the rate of selections; in the corrected form clients are weighted by the
  rate at which they return instead, so that those that often fail are made up for. Ranked by it, a client that
  never returns would be selected whenever it is available.
- Ties are broken at random. Clients without images come last.
"""

from dataclasses import dataclass
from math import inf
from typing import Literal, NamedTuple

import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from jfed.core import ops, prng
from jfed.core.errors import require
from jfed.core.interfaces import Selector
from jfed.core.members import Modes, Name, SelectorOptions
from jfed.core.options import as_arrays, static
from jfed.core.types import Cohort, Dims, Feedback, Problem, View

TINY = 1e-30  # least rate that a client is weighted by


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        k: cohort size.
        beta: weight of the present round in the rates.
        cap: largest importance, in units of K / k.
    """

    k: Int[Array, ""]
    beta: Float[Array, ""]
    cap: Float[Array, ""]


class State(NamedTuple):
    """The selector's state.

    Attributes:
        chosen: r_i / p_i, where r_i is the rate of selections; it starts the same for all, so that ties are exact.
        returned: r_i, the rate of returns.
        begun: whether the rates have begun, which need the clients' numbers of images.
    """

    chosen: Float[Array, " clients"]
    returned: Float[Array, " clients"]
    begun: Bool[Array, ""]


@dataclass(frozen=True)
class Options(SelectorOptions):
    """Settings of F3AST.

    Attributes:
        beta: weight of the present round in the rates, in (0, 1).
        cap: largest importance of a client, in units of K / k; corrected form only.
        form: published or corrected.
    """

    names = (Name("f3ast"),)
    modes = Modes(faithful={"form": "published"}, corrected={"form": "corrected"})

    beta: float = 0.001
    cap: float = 10.0
    form: Literal["published", "corrected"] = static("published")

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        beta, cap = float(self.beta), float(self.cap)
        require(0 < beta < 1, f"F3AST's beta must lie in (0, 1), found {beta:g}.")
        require(0 < cap < inf, f"F3AST's cap must be positive and finite, found {cap:g}.")
        return as_arrays(Params, k=problem.cohort_size, beta=beta, cap=cap)

    def average_over(self) -> str:
        """Return unscaled: the sum over the cohort of p_i / r_i D_i."""
        return "unscaled"

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""
        corrected = self.form == "corrected"

        def init(key: PRNGKeyArray, params: Params) -> State:
            zero = jnp.zeros(dims.num_clients, jnp.result_type(float))
            return State(zero, zero, jnp.bool_(False))

        def share(view: View) -> Float[Array, " clients"]:
            return view.num_samples / jnp.maximum(ops.total(view.num_samples), 1).astype(jnp.result_type(float))

        def averaged(rate: Array, now: Array, one: Array | float, params: Params) -> Float[Array, " clients"]:
            return (1 - params.beta) * rate + jnp.where(now, params.beta * one, 0.0)  # r_i, or its quotient by p_i

        def select(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
            p, k = share(view), params.k
            here = jnp.where(p > 0, p, 1.0)
            begin = (jnp.minimum(k, 1 / here), jnp.minimum(k * p, 1.0)) if corrected else (jnp.ones_like(p), p)
            chosen, returned = (
                jnp.where(state.begun, rate, first) for rate, first in zip(state[:2], begin, strict=True)
            )
            need = jnp.where(p > 0, chosen, jnp.inf)  # r_i / p_i: the smallest have the largest p_i^2 / r_i^2
            selected = ops.smallest(need, k, view.available, prng.uniform(key, dims.num_clients))
            chosen = averaged(chosen, selected, 1 / here, params)
            if corrected:
                rate = averaged(returned, selected, 1.0, params)  # if all of the cohort return
                importance = jnp.minimum(1 / jnp.maximum(rate, TINY), params.cap * dims.num_clients / k)
            else:
                importance = 1 / jnp.maximum(k * here * chosen, TINY)
            nothing = jnp.full(dims.num_clients, jnp.nan, p.dtype)
            return State(chosen, returned, jnp.bool_(True)), Cohort(selected, nothing, importance)

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            return state._replace(returned=averaged(state.returned, feedback.succeeded, 1.0, params))

        return Selector(init, select, update)
