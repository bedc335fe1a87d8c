"""Optimal client sampling: an independent coin for each client, with probabilities that fit the norms of updates.

W. Chen, S. Horváth, P. Richtárik, "Optimal Client Sampling for Federated Learning", 2020 (arXiv 2010.13723).

*Notation.* n: number of clients that take part; m: expected number of clients that send their updates (here k); w_i:
share of client i of all images; U_i: its update; u_i = w_i ||U_i||; p_i: probability that it sends its update. The p_i
minimise the variance of sum_i w_i U_i c_i / p_i with coins c_i, that is sum_i u_i^2 / p_i, among all p with
sum_i p_i <= m.

*Forms.* `form="exact"`: p_i = 1 for the n - l clients with the largest u, and (m + l - n) u_i over the sum of the l
smallest u for the others, where l is the largest integer with 0 < m + l - n <= (sum of the l smallest u) / u_(l).
`"approximate"`: p = min(1, m u / sum u), scaled up `iterations` times by what is left for the clients with p < 1, which
needs sums only and works with secure aggregation.

*Reading of the average.* The published one is `Training.average_over="unscaled"`: the sum of w_i U_i / p_i over the
cohort, where the w_i of all clients sum to 1; importance is 1 / p_i. Other readings divide by the sum of the weights,
and are biased.

*Departures.*
- In the paper all n clients train in each round and send the norms of their updates before the coins are thrown. Here
  only the cohort trains, and a client counts with the norm of its update when it last returned, or with the largest
  known norm before its first return; a norm that is not finite is not used. So p is optimal only if norms change
  slowly.
- A share `uniform` of m is spread evenly over the available clients with images. So p_i is positive also where the last
  norm was 0, and the update stays unbiased though the norms are old. 0 gives the published p of the norms at hand.
- Clients that are away or have no images have p = 0 (if no available client has images, all of them count as if they
  had one image); n counts the others, and m is at most n. If all u are 0, p is m / n.
- The size of a cohort is random, with mean m; it may be empty, or hold all available clients, and so a program has room
  for all.
- The public code stops its iterations when a factor is at most 1, as here, where it changes nothing.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from jfed.core import ops, prng
from jfed.core.errors import require
from jfed.core.interfaces import Selector
from jfed.core.members import EveryoneOptions, Name
from jfed.core.options import as_arrays, static
from jfed.core.pairs import in_order, sortable
from jfed.core.types import Cohort, Dims, Feedback, Problem, View
from jfed.selectors.clustered_size import images
from jfed.selectors.norms import State


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        k: m.
        uniform: share of m that is spread evenly.
        iterations: of the approximate form.
    """

    k: Int[Array, ""]
    uniform: Float[Array, ""]
    iterations: Int[Array, ""]


def exact(u: Float[Array, " clients"], among: Bool[Array, " clients"], m: Int[Array, ""]) -> Float[Array, " clients"]:
    """Return the optimal p, of sum m, for at least m clients of `among`.

    No client needs to be told whether it is among the largest: for these the ratio is above 1.
    """
    n, place = ops.count(among), jnp.arange(1, u.shape[0] + 1)
    values = jnp.where(among, u, jnp.inf)
    rising = jnp.where(place <= n, in_order(sortable(values), values)[0], 0.0)
    sums, room = jnp.cumsum(rising), m + place - n
    fits = (place <= n) & (room > 0) & (room * rising <= sums)
    l = jnp.max(jnp.where(fits, place, 0))  # noqa: E741 (the paper's name)
    sum_ = sums[jnp.maximum(l - 1, 0)]
    room = m + l - n
    some = jnp.minimum(room * u / jnp.where(sum_ > 0, sum_, 1.0), 1.0)
    none = jnp.where(u > 0, 1.0, room / jnp.maximum(l, 1))  # the l smallest are all 0
    return jnp.where(among, jnp.where(sum_ > 0, some, none), 0.0)


def approximate(
    u: Float[Array, " clients"], among: Bool[Array, " clients"], m: Int[Array, ""], iterations: Int[Array, ""]
) -> Float[Array, " clients"]:
    """Return the p of the approximate form, of sum m or less."""
    n, u = ops.count(among), jnp.where(among, u, 0.0)
    sum_ = ops.total(u)
    even = jnp.where(among, m / jnp.maximum(n, 1), 0.0).astype(u.dtype)

    def scale(_: Array, p: Array) -> Array:
        free = among & (p < 1)
        rest = ops.total(jnp.where(free, p, 0.0))
        factor = (m - n + ops.count(free)) / jnp.where(rest > 0, rest, 1.0)
        return jnp.minimum(p * jnp.where(rest > 0, jnp.maximum(factor, 1.0), 1.0), 1.0)

    start = jnp.where(sum_ > 0, jnp.minimum(m * u / jnp.where(sum_ > 0, sum_, 1.0), 1.0), even)
    return lax.fori_loop(0, iterations, scale, start)


@dataclass(frozen=True)
class Options(EveryoneOptions):
    """Settings of optimal client sampling.

    Attributes:
        uniform: share of m that is spread evenly over the clients, in [0, 1].
        iterations: of the approximate form (4 in the public code).
        form: exact or approximate.
    """

    names = (Name("optimal-sampling"), Name("optimal-sampling-approximate", {"form": "approximate"}))

    uniform: float = 0.1
    iterations: int = 4
    form: Literal["exact", "approximate"] = static("exact")

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        require(0 <= self.uniform <= 1, f"The uniform share of m must lie in [0, 1], found {self.uniform:g}.")
        require(self.iterations >= 0, f"The number of iterations must not be negative, found {self.iterations}.")
        return as_arrays(Params, k=problem.cohort_size, uniform=float(self.uniform), iterations=self.iterations)

    def first_cohort(self, problem: Problem) -> int:
        """Return k, the expected size."""
        return problem.cohort_size

    def average_over(self) -> str:
        """Return unscaled: the sum over the cohort of w_i U_i / p_i."""
        return "unscaled"

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""

        def init(key: PRNGKeyArray, params: Params) -> State:
            return State.first(dims.num_clients)

        def select(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
            own = images(view)
            among = own > 0
            n = ops.count(among)
            m = jnp.minimum(params.k, n)
            u = own * state.relative() / jnp.maximum(ops.total(own), 1)
            best = exact(u, among, m) if self.form == "exact" else approximate(u, among, m, params.iterations)
            p = (1 - params.uniform) * best + jnp.where(among, params.uniform * m / jnp.maximum(n, 1), 0.0)
            selected = prng.uniform(key, dims.num_clients) < p
            return state, Cohort(selected, p, jnp.where(selected, 1 / jnp.where(selected, p, 1.0), 0.0))

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            return state.heard(feedback)

        return Selector(init, select, update, wants=("update_norm",))
