"""Loss-proportional sampling: clients are drawn with chances proportional to their share of the global loss.

The loss in place of the norm of importance sampling for federated averaging; see A. Katharopoulos, F. Fleuret, "Biased
Importance Sampling for Deep Neural Network Training", arXiv 1706.00043, 2017, for losses as chances.

*Notation.* p_i: images of client i over those of all clients; F_i: loss of the global model on client i; D_i: its
update; k: cohort size; q_i = p_i F_i / sum_j p_j F_j: chances of one draw; u: share of each draw that is uniform.

*Forms.* `weights="mean"`: k different clients are drawn one after another, with chances q_i among those left, and their
models count alike. The update is biased towards large losses, on purpose. `weights="unbiased"`: k draws with
replacement; a client that is drawn c_i times has the weight c_i p_i / (k q_i), so that the expected update is
sum_i p_i D_i, the update of all clients. A cohort then has fewer than k members if clients are drawn more than once.

`loss="fresh"`: in each round all available clients report their loss of the global model on all their images; these
polls are counted. `loss="last"`: no client is polled; a client counts with the training loss that it last reported.

*Departures.*
- The weights of `unbiased` are right only with `Training.average_over="unscaled"`; other readings scale them to add up
  to 1, which is biased. Where clients are away or fail, their part of the sum is missing.
- u mixes q_i with equal chances, and so bounds the weights; by default it is 0 for `mean` and 0.1 for `unbiased`.
- A client whose loss is unknown or not finite counts with the largest finite loss known, or with 1 where there is none.
- Clients without images are not drawn, or last by `mean`. If all losses are 0, all chances are equal.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray

from jfed.core import ops, prng
from jfed.core.errors import require
from jfed.core.interfaces import Selector
from jfed.core.members import Name, SelectorOptions
from jfed.core.options import as_arrays, static
from jfed.core.total import fold
from jfed.core.types import Cohort, Dims, Feedback, Probe, Problem, View

UNIFORM = {"mean": 0.0, "unbiased": 0.1}  # u by default


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        k: cohort size.
        uniform: u.
    """

    k: Int[Array, ""]
    uniform: Float[Array, ""]


class State(NamedTuple):
    """The selector's state.

    Attributes:
        last_loss: as reported at the last return; inf before the first.
    """

    last_loss: Float[Array, " clients"]


def chances(loss: Float[Array, " clients"], uniform: Float[Array, ""], view: View) -> Float[Array, " clients"]:
    """Return q_i, 0 for clients that are away or have no images; all are 0 if there are no others."""
    open_ = view.available & (view.num_samples > 0)
    known = open_ & jnp.isfinite(loss)
    most = jnp.where(jnp.any(known), fold(jnp.maximum, jnp.where(known, loss, 0.0)), 1.0)
    # Divided by the largest, so that the sum is finite.
    part = jnp.where(known, jnp.maximum(loss, 0.0), most) / jnp.where(most > 0, most, 1.0)
    part = jnp.where(open_, view.num_samples * part, 0.0)
    total, many = ops.total(part), ops.count(open_)
    even = jnp.where(open_, 1.0, 0.0) / jnp.maximum(many, 1)
    return jnp.where(total > 0, (1 - uniform) * part / jnp.where(total > 0, total, 1.0) + uniform * even, even)


def times_drawn(
    key: PRNGKeyArray, q: Float[Array, " clients"], k: Int[Array, ""], slots: int
) -> Int[Array, " clients"]:
    """Return how often each client is drawn in k draws with replacement; 0 for all if all chances are 0."""
    ends = jnp.cumsum(q)
    places = jnp.searchsorted(ends, prng.uniform(key, slots) * ends[-1], side="right")  # never at a client of q = 0
    drawn = (jnp.arange(slots) < k) & (ends[-1] > 0)
    return jnp.zeros(q.shape[0], jnp.int32).at[jnp.minimum(places, q.shape[0] - 1)].add(drawn.astype(jnp.int32))


@dataclass(frozen=True)
class Options(SelectorOptions):
    """Settings of loss-proportional sampling.

    Attributes:
        uniform: u, in [0, 1]; None: 0 for `mean` and 0.1 for `unbiased`.
        weights: mean of k different models, or unbiased weights of k draws with replacement.
        loss: fresh, from polls of all available clients, or last known.
    """

    names = (
        Name("loss-proportional"),
        Name("loss-proportional-last", {"loss": "last"}),
        Name("loss-proportional-unbiased", {"weights": "unbiased"}),
        Name("loss-proportional-unbiased-last", {"weights": "unbiased", "loss": "last"}),
    )

    uniform: float | None = None
    weights: Literal["mean", "unbiased"] = static("mean")
    loss: Literal["fresh", "last"] = static("fresh")

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        uniform = UNIFORM[self.weights] if self.uniform is None else self.uniform
        require(0 <= uniform <= 1, f"The uniform share of a draw must lie in [0, 1], found {uniform:g}.")
        return as_arrays(Params, k=problem.cohort_size, uniform=float(uniform))

    def average_over(self) -> str | None:
        """Return unscaled for the unbiased weights."""
        return "unscaled" if self.weights == "unbiased" else None

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""

        def init(key: PRNGKeyArray, params: Params) -> State:
            return State(last_loss=jnp.full(dims.num_clients, jnp.inf, jnp.result_type(float)))

        def probe(key: PRNGKeyArray, state: State, params: Params, view: View) -> Probe:
            return Probe(asked=view.available, num_images=jnp.int32(np.iinfo(np.int32).max))

        def select(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
            q = chances(view.probed if self.loss == "fresh" else state.last_loss, params.uniform, view)
            if self.weights == "mean":
                selected = ops.race(key, jnp.log(jnp.maximum(q, jnp.finfo(q.dtype).tiny)), params.k, view.available)
                sizes = view.num_samples.astype(q.dtype)
                mean = ops.total(sizes) / dims.num_clients  # with which "unscaled" has shares of 1 / K
                alike = mean / jnp.maximum(sizes, 1.0)  # the average multiplies it by n_i
                return state, Cohort(selected, jnp.full(q.shape, jnp.nan), alike)
            drawn = times_drawn(key, q, params.k, dims.slots)
            expected = params.k * q
            weight = jnp.where(drawn > 0, drawn / jnp.where(expected > 0, expected, 1.0), 0.0)  # c_i / (k q_i)
            return state, Cohort(drawn > 0, 1.0 - (1.0 - q) ** params.k, weight)

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            return State(last_loss=feedback.heard(state.last_loss))

        return Selector(init, select, update, probe=probe if self.loss == "fresh" else None)
