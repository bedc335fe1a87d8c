"""Uniform random selection without replacement: the "Random" of the papers.

H. B. McMahan, E. Moore, D. Ramage, S. Hampson, B. Aguera y Arcas, "Communication-Efficient Learning of Deep
Networks from Decentralized Data", AISTATS 2017.

*Departures.* None. If fewer than k clients are available, all of them are selected.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array
from jaxtyping import Int, PRNGKeyArray

from jfed.core import ops
from jfed.core.interfaces import Selector
from jfed.core.members import Name, SelectorOptions
from jfed.core.options import as_arrays
from jfed.core.types import Cohort, Dims, Feedback, Problem, View


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        k: cohort size.
    """

    k: Int[Array, ""]


@dataclass(frozen=True)
class Options(SelectorOptions):
    """A scheme without settings."""

    names = (Name("uniform", aliases=("random",)),)

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays."""
        return as_arrays(Params, k=problem.cohort_size)

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""

        def init(key: PRNGKeyArray, params: Params) -> tuple[()]:
            return ()

        def select(key: PRNGKeyArray, state: tuple[()], params: Params, view: View) -> tuple[tuple[()], Cohort]:
            selected = ops.race(key, jnp.zeros(dims.num_clients), params.k, among=view.available)
            share = jnp.minimum(params.k / jnp.maximum(ops.count(view.available), 1), 1.0)
            return (), Cohort(selected, jnp.where(view.available, share, 0.0))

        def update(state: tuple[()], params: Params, view: View, cohort: Cohort, feedback: Feedback) -> tuple[()]:
            return ()

        return Selector(init, select, update)
