"""Selection by the norms of clients' updates: the k largest, or random draws in proportion to them.

`norm-topk` selects the k clients with the largest ||U_i||, a common rival of schemes based on losses.
`norm-importance` draws k clients with replacement with the probabilities that minimise the variance of the averaged
update, q_i in proportion to p_i ||U_i||: P. Zhao, T. Zhang, "Stochastic Optimization with Importance Sampling for
Regularized Loss Minimization", ICML 2015, with clients in place of examples.

*Notation.* U_i: update of client i, its own model minus the received one; p_i: its share of all images; q_i: its
probability in each draw.

*Reading of the average.* `norm-topk` averages as `Training.average_over` says; publications take the plain mean, and
the average is biased in any reading. The weight of a draw of `norm-importance` is p_i / (k q_i): the importance of a
client is its number of draws over the expected number, k q_i. With `Training.average_over="unscaled"` the expected
update is the sum of p_i U_i over the available clients; other readings divide by the sum of the weights, which is
biased.

*Departures.*
- The norm of an update is known after the training only. The published forms train all clients in each round and
  drop most of the updates; here a client counts with the norm of its update when it last returned. The norms become
  smaller during training, and so a client that was not selected for long has rather too large a norm.
- A client that has not returned yet comes first in `norm-topk`, again and again if it never returns, and counts with
  the largest known norm in `norm-importance`. A norm that is not finite is not used.
- A share `uniform` of the draws of `norm-importance` is uniform among the available clients with images: so q_i > 0
  also where the last norm was 0, and the update stays unbiased though the norms are old.
- Clients without images come last in `norm-topk` and are not drawn by `norm-importance`, unless no available client has
  any. Ties are broken at random.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray

from jfed.core import ops, prng
from jfed.core.errors import require
from jfed.core.interfaces import Selector
from jfed.core.members import Name, SelectorOptions
from jfed.core.options import as_arrays, static
from jfed.core.total import fold
from jfed.core.types import Cohort, Dims, Feedback, Problem, View
from jfed.selectors.clustered_size import below, images, settled

UNIT = 1 << 30  # the sum of the q_i as whole numbers, up to rounding


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        k: cohort size, or number of draws.
        uniform: share of the draws that is uniform.
    """

    k: Int[Array, ""]
    uniform: Float[Array, ""]


class State(NamedTuple):
    """The selector's state.

    Attributes:
        norm: norm of each client's update when it last returned; -1 before.
    """

    norm: Float[Array, " clients"]

    @classmethod
    def first(cls, num_clients: int) -> "State":
        """Return the state in which no norm is known."""
        return cls(jnp.full(num_clients, -1.0, jnp.result_type(float)))

    def heard(self, feedback: Feedback) -> "State":
        """Return the state with the norms of the clients that returned."""
        new = feedback.facts.update_norm
        return self if new is None else State(jnp.where(feedback.succeeded & jnp.isfinite(new), new, self.norm))

    def relative(self) -> Float[Array, " clients"]:
        """Return the norms relative to the largest known one; 1 where a client's norm is not known."""
        known = self.norm >= 0
        top = fold(jnp.maximum, self.norm)
        return jnp.where(known, self.norm / jnp.where(top > 0, top, 1.0), 1.0)


def in_proportion(
    weight: Float[Array, " clients"], own: Int[Array, " clients"], uniform: Float[Array, ""]
) -> Float[Array, " clients"]:
    """Return q_i in proportion to the weights, a share of it uniform among clients with images.

    Args:
        weight: weights, 0 for clients that cannot be drawn; if all are 0, all of q is uniform.
        own: images of the clients that can be drawn; 0 for others.
        uniform: share that is uniform.
    """
    sum_ = ops.total(weight)
    even = (own > 0) / jnp.maximum(ops.count(own > 0), 1).astype(weight.dtype)
    return jnp.where(sum_ > 0, (1 - uniform) * weight / jnp.where(sum_ > 0, sum_, 1.0) + uniform * even, even)


@dataclass(frozen=True)
class Options(SelectorOptions):
    """Settings of selection by norms.

    Attributes:
        uniform: share of the draws of norm-importance that is uniform, in [0, 1].
        form: topk or importance.
    """

    names = (Name("norm-topk"), Name("norm-importance", {"form": "importance"}))

    uniform: float = 0.1
    form: Literal["topk", "importance"] = static("topk")

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        require(0 <= self.uniform <= 1, f"The uniform share of draws must lie in [0, 1], found {self.uniform:g}.")
        return as_arrays(Params, k=problem.cohort_size, uniform=float(self.uniform))

    def average_over(self) -> str | None:
        """Return unscaled for norm-importance, which is unbiased with it."""
        return "unscaled" if self.form == "importance" else None

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""

        def init(key: PRNGKeyArray, params: Params) -> State:
            return State.first(dims.num_clients)

        def largest(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
            norm = jnp.where(state.norm < 0, jnp.inf, state.norm)
            norm = jnp.where(view.num_samples > 0, norm, -1.0)
            selected = ops.smallest(-norm, params.k, view.available, prng.uniform(key, dims.num_clients))
            return state, Cohort(selected, jnp.full(dims.num_clients, jnp.nan))

        def draws(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
            own = images(view)
            q = in_proportion(own * state.relative(), own, params.uniform)
            row = settled(jnp.round(q * UNIT).astype(jnp.int32))
            end, whole = settled(jnp.cumsum(row)), ops.total(row)
            point = below(prng.words(key, dims.slots), whole)[:, None]
            hit = (point >= end - row) & (point < end) & (jnp.arange(dims.slots) < params.k)[:, None]
            chance = row / jnp.maximum(whole, 1).astype(q.dtype)  # q_i as drawn
            times, expected = ops.total(hit.astype(jnp.int32)), params.k * chance
            inclusion = -jnp.expm1(params.k * jnp.log1p(-chance))  # 1 - (1 - q_i)^k
            return state, Cohort(times > 0, inclusion, times / jnp.where(expected > 0, expected, 1.0))

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            return state.heard(feedback)

        select = largest if self.form == "topk" else draws
        return Selector(init, select, update, wants=("update_norm",))
