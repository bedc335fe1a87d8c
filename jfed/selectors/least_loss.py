"""Least loss first: the k clients whose loss is the smallest.

The baseline "LLS" of A. Sultana et al., "Eiffel: Efficient and Fair Scheduling in Adaptive Federated Learning", IEEE
TPDS 2022, Sec. 6.1: in each round the clients whose local training loss is the smallest.

*Departures.* The paper does not say how the loss of a client is known that does not train. `loss="last"`: no client is
probed; a client counts with the loss that it reported when it last returned, and comes first before its first return.
The clients left out keep an old and larger loss, so that the first k to have trained may be selected for ever.
`loss="polled"`: in every round all available clients report the global model's loss on all their images, which takes no
time here. Ties are broken at random.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray

from jfed.core import ops, prng
from jfed.core.interfaces import Selector
from jfed.core.members import Name, SelectorOptions
from jfed.core.options import as_arrays, static
from jfed.core.types import Cohort, Dims, Feedback, Probe, Problem, View


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        k: cohort size.
    """

    k: Int[Array, ""]


class State(NamedTuple):
    """The selector's state.

    Attributes:
        last_loss: as reported at the last return; minus infinity before the first.
    """

    last_loss: Float[Array, " clients"]


@dataclass(frozen=True)
class Options(SelectorOptions):
    """Settings of least loss first.

    Attributes:
        loss: last reported, or polled in every round.
    """

    names = (Name("lls"), Name("lls-polled", {"loss": "polled"}))

    loss: Literal["last", "polled"] = static("last")

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays."""
        return as_arrays(Params, k=problem.cohort_size)

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""

        def init(key: PRNGKeyArray, params: Params) -> State:
            return State(last_loss=jnp.full(dims.num_clients, -jnp.inf, jnp.result_type(float)))

        def probe(key: PRNGKeyArray, state: State, params: Params, view: View) -> Probe:
            return Probe(asked=view.available, num_images=jnp.int32(np.iinfo(np.int32).max))

        def select(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
            known = state.last_loss if self.loss == "last" else view.probed
            # Clients without images come last.
            loss = jnp.where((view.num_samples > 0) & ~jnp.isnan(known), known, jnp.inf)
            selected = ops.smallest(loss, params.k, view.available, prng.uniform(key, loss.shape[0]))
            return state, Cohort(selected, jnp.full(selected.shape, jnp.nan))

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            return State(last_loss=feedback.heard(state.last_loss))

        return Selector(init, select, update, probe=probe if self.loss == "polled" else None)
