"""Agnostic federated learning: all available clients take part, and those with larger losses gain weight over time.

M. Mohri, G. Sivek, A. T. Suresh, "Agnostic Federated Learning", ICML 2019, as in the public code of q-FFL.

*Notation.* lambda: weights of the clients, in the simplex; gamma_l: learning rate of the weights; F: losses of the
received model.

    w <- w - eta sum_k lambda_k grad F_k        lambda <- Proj(lambda + gamma_l F)

*Departures.* A client's weight is its share in the average: with one local step (`controllers/fixed`) this is the
published method, with more its federated form. F is the loss that clients report; nothing is added to the weight of a
client that does not return. The method's result is the mean of all models: set `Training.final_model` to "mean".
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
    """Dynamic half of the options.

    Attributes:
        rate: gamma_l.
    """

    rate: Float[Array, ""]


class State(NamedTuple):
    """The selector's state.

    Attributes:
        weight: lambda.
    """

    weight: Float[Array, " clients"]


def projected(values: Float[Array, " clients"]) -> Float[Array, " clients"]:
    """Return the point of the simplex that is nearest to the values."""
    values = values - jnp.max(values)  # the projection stays the same, and small differences are not lost
    falling = jnp.sort(values)[::-1]
    shift = (jnp.cumsum(falling) - 1) / jnp.arange(1, len(values) + 1)
    last = jnp.sum(falling > shift) - 1  # index of the smallest value that stays above zero
    return jnp.maximum(values - shift[last], 0.0)


@dataclass(frozen=True)
class Options(EveryoneOptions):
    """Settings of agnostic federated learning.

    Attributes:
        rate: gamma_l.
    """

    names = (Name("agnostic"),)

    rate: float = 0.1

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        require(0 <= self.rate < inf, f"The rate of agnostic weights must not be negative, found {self.rate:g}.")
        return as_arrays(Params, rate=float(self.rate))

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""

        def init(key: PRNGKeyArray, params: Params) -> State:
            return State(jnp.full(dims.num_clients, 1 / dims.num_clients, jnp.result_type(float)))

        def select(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
            importance = state.weight / jnp.maximum(view.num_samples, 1)  # the average multiplies it by the images
            return state, Cohort(view.available, view.available.astype(state.weight.dtype), importance)

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            loss = feedback.heard(jnp.full_like(state.weight, jnp.nan))
            told = jnp.isfinite(loss)  # the loss of a model that broke is not used
            moved = projected(state.weight + params.rate * jnp.where(told, loss, 0.0))
            return State(jnp.where(jnp.any(told), moved, state.weight))

        return Selector(init, select, update)
