"""Agnostic federated learning: everybody takes part, and who has a larger loss weighs more and more.

M. Mohri, G. Sivek, A. T. Suresh, "Agnostic Federated Learning", ICML 2019, as in the public code of q-FFL.

*Notation.* lambda weights of the clients, in the simplex; gamma_l learning rate of the weights; F losses of the
received model.

    w <- w - eta sum_k lambda_k grad F_k        lambda <- Proj(lambda + gamma_l F)

*Departures.* The weights are what a client's model counts in the average: with one local step (`controllers/fixed`)
that is the method; with more it is its federated form. F is what clients tell of themselves; to the weight of one that
does not return nothing is added. The method's result is the mean of all models: set `Training.returns` to "mean".
"""

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, PRNGKeyArray

from jfed.core.errors import require
from jfed.core.interfaces import Selector
from jfed.core.members import EveryoneOptions, Name
from jfed.core.options import as_arrays
from jfed.core.types import Cohort, Dims, Feedback, Problem, View


class Params(NamedTuple):
    """Dynamic half."""

    rate: Float[Array, ""]


class State(NamedTuple):
    """Attributes: weight: lambda."""

    weight: Float[Array, " clients"]


def projected(values: Float[Array, " clients"]) -> Float[Array, " clients"]:
    """Return the nearest point of the simplex."""
    values = values - jnp.max(values)  # moving all alike changes nothing, and large numbers hide small ones
    falling = jnp.sort(values)[::-1]
    shift = (jnp.cumsum(falling) - 1) / jnp.arange(1, len(values) + 1)
    last = jnp.sum(falling > shift) - 1  # these stay above zero
    return jnp.maximum(values - shift[last], 0.0)


@dataclass(frozen=True)
class Options(EveryoneOptions):
    """Settings of agnostic federated learning."""

    names = (Name("agnostic"),)

    rate: float = 0.1
    """gamma_l."""

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        require(0 <= self.rate < inf, f"The rate of agnostic weights must not be negative, found {self.rate:g}.")
        return as_arrays(Params, rate=float(self.rate))

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""

        def init(key: PRNGKeyArray, params: Params) -> State:
            return State(jnp.full(dims.num_clients, 1 / dims.num_clients, jnp.result_type(float)))

        def select(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
            importance = state.weight / jnp.maximum(view.num_samples, 1)  # which the average multiplies by the images
            return state, Cohort(view.available, view.available.astype(state.weight.dtype), importance)

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            loss = feedback.heard(jnp.full_like(state.weight, jnp.nan))
            told = jnp.isfinite(loss)  # a model that broke tells nothing
            moved = projected(state.weight + params.rate * jnp.where(told, loss, 0.0))
            return State(jnp.where(jnp.any(told), moved, state.weight))

        return Selector(init, select, update)
