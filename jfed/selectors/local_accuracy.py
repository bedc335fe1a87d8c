"""Lowest local accuracy first: the k clients on whose own data the global model is least accurate.

The "local accuracy based" baseline of Sec. V-B of CS-UCB (Xia et al. 2020), Figs. 2 and 6.

*Departures.* Accuracy is measured on a client's training images, since the images that clients set aside for
testing are pooled. Ties are broken at random.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Int, PRNGKeyArray

from jfed.core import ops, prng
from jfed.core.interfaces import Selector
from jfed.core.members import Name, SelectorOptions
from jfed.core.options import as_arrays
from jfed.core.types import Cohort, Dims, Feedback, Probe, Problem, View


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        k: cohort size.
    """

    k: Int[Array, ""]


@dataclass(frozen=True)
class Options(SelectorOptions):
    """A scheme without settings."""

    names = (Name("local-accuracy"),)

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays."""
        return as_arrays(Params, k=problem.cohort_size)

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""

        def init(key: PRNGKeyArray, params: Params) -> tuple[()]:
            return ()

        def probe(key: PRNGKeyArray, state: tuple[()], params: Params, view: View) -> Probe:
            return Probe(asked=view.available, num_images=jnp.int32(np.iinfo(np.int32).max))

        def select(key: PRNGKeyArray, state: tuple[()], params: Params, view: View) -> tuple[tuple[()], Cohort]:
            among = view.available & ~jnp.isnan(view.probed_accuracy)
            accuracy = jnp.where(among, view.probed_accuracy, 0.0)
            tie = prng.uniform(key, accuracy.shape[0])
            selected = ops.smallest(accuracy, params.k, among=among, tie_break=tie)
            return (), Cohort(selected, jnp.full(accuracy.shape, jnp.nan))

        def update(state: tuple[()], params: Params, view: View, cohort: Cohort, feedback: Feedback) -> tuple[()]:
            return ()

        return Selector(init, select, update, probe=probe)
