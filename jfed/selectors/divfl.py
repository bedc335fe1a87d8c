"""DivFL: k clients whose updates stand for those of all clients, by greedy facility location.

R. Balakrishnan, T. Li, T. Zhou, N. Himayat, V. Smith, J. Bilmes, "Diverse Client Selection for Federated Learning via
Submodular Maximization", ICLR 2022.

*Notation.* S: cohort, |S| = k; g_i: gradient of client i; G(S) = sum_i min_{j in S} ||g_i - g_j||, over all clients i,
which is to be small; its complement is submodular, and the greedy choice has at least 1 - 1/e of the best.

*Forms.* `search="greedy"`: in each of k steps the client that makes G smallest. `"stochastic"`: each step looks at
max(k, `share` of the candidates) of the remaining candidates, drawn at random.

*Departures.*
- The paper compares full-batch gradients of the received model, sent before the training. Here a client counts with its
  update when it last returned, as in the variant without overhead, in which only the rows of the cohort are renewed. An
  update is a sum of gradients along the local steps, and clients with more images make more steps.
- Updates are compared by their sketches, random projections to `dimensions` numbers, which keep a squared distance up
  to a relative error of about sqrt(2 / `dimensions`). An update that is not finite is not used.
- In the variant without overhead all clients train in the first round. Here those that have not returned yet come
  first, in a random order, until each has (a client that never returns is tried again and again). G counts the known
  clients with images, and candidates are the available ones of these.
- Clients without images have no part in G, and are selected last.
- Ties are broken at random.

*Reading of the average.* Models are averaged as `Training.average_over` says. The public code takes the mean over S by
numbers of images, which is `"selected"` where all return; the theory weighs a client of S by the number of clients that
it stands for.

*Costs.* Each round computes the distances of all pairs and k times a sum over them: K^2 (dimensions + k) operations and
a table of K^2 numbers for each run: 0.1 ms of one core at K = 100 and k = 20; in proportion, 1 s and 400 MB at
K = 10,000.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from jfed.core import ops, prng
from jfed.core.errors import require
from jfed.core.interfaces import Selector
from jfed.core.members import Name, SelectorOptions
from jfed.core.once import once
from jfed.core.options import as_arrays, static
from jfed.core.total import fold
from jfed.core.types import Cohort, Dims, Feedback, Problem, View


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        k: cohort size.
        share: share of the candidates that a step of the stochastic search looks at, at least k of them.
    """

    k: Int[Array, ""]
    share: Float[Array, ""]


class State(NamedTuple):
    """The selector's state.

    Attributes:
        sketch: update of each client when it last returned; 0 before.
        known: whether a client has returned.
    """

    sketch: Float[Array, "clients dimensions"]
    known: Bool[Array, " clients"]

    @classmethod
    def first(cls, num_clients: int, dimensions: int) -> "State":
        """Return the state in which no update is known."""
        return cls(jnp.zeros((num_clients, dimensions), jnp.result_type(float)), jnp.zeros(num_clients, bool))

    def heard(self, feedback: Feedback) -> "State":
        """Return the state with the updates of the clients that returned."""
        new = feedback.facts.sketch
        if new is None:
            return self
        told = feedback.succeeded & jnp.all(jnp.isfinite(new), 1)
        return State(jnp.where(told[:, None], new, self.sketch), self.known | told)


def over_pairs(f: Callable[[Array, Array], Array], points: Float[Array, "n dimensions"]) -> Float[Array, "n n"]:
    """Return for all pairs of points the sum of f over the dimensions.

    A point is laid beside all others at full width: XLA does not vectorise what it repeats along the last axis.
    """
    columns = points.T

    def row(point: Array) -> Array:
        return ops.total(f(once(jnp.broadcast_to(point[:, None], columns.shape)), columns))

    return lax.map(row, points)


def squared_distances(points: Float[Array, "n dimensions"]) -> Float[Array, "n n"]:
    """Return the squared Euclidean distances of all pairs, exactly symmetric and 0 for equal points."""
    return over_pairs(lambda x, y: (x - y) ** 2, points)


def greedy(
    key: PRNGKeyArray,
    distance: Float[Array, " clients clients"],
    rows: Bool[Array, " clients"],
    candidates: Bool[Array, " clients"],
    many: Int[Array, ""],
    steps: int,
    looks: Int[Array, ""] | None = None,
) -> Bool[Array, " clients"]:
    """Return the mask of `many` candidates that the greedy search adds to an empty set.

    Args:
        key: key of ties and of the stochastic search.
        distance: distances of all pairs.
        rows: clients that G counts.
        candidates: clients to choose from.
        many: number of clients to choose, at most `steps`.
        steps: static bound on it.
        looks: number of random candidates that a step looks at; None: all.
    """
    n = rows.shape[0]
    tie_break = prng.uniform(prng.at(key, 0), n)
    counted = jnp.where(rows[:, None], distance, 0.0)  # other clients add nothing to G

    def step(i: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        chosen, nearest = carry
        left = candidates & ~chosen
        if looks is not None:
            left = ops.smallest(prng.uniform(prng.at(key, 1, i), n), looks, left)
        cost = jnp.where(left, ops.total(jnp.minimum(nearest[:, None], counted)), jnp.inf)  # G(S + j) for each j
        # Two clients that are nearest to each other tie; their costs are added up in different orders.
        tied = left & (cost <= fold(jnp.minimum, cost) * (1 + 16 * jnp.finfo(cost.dtype).eps))
        best = jnp.argmin(jnp.where(tied, tie_break, 2.0))
        takes = jnp.any(left)
        chosen = chosen | (takes & (jnp.arange(n) == best))
        return chosen, jnp.where(takes, jnp.minimum(nearest, distance[best]), nearest)

    start = jnp.zeros(n, bool), jnp.full(n, jnp.inf, distance.dtype)
    return lax.fori_loop(0, jnp.minimum(many, steps), step, start)[0]


@dataclass(frozen=True)
class Options(SelectorOptions):
    """Settings of DivFL.

    Attributes:
        share: share of the candidates that a step of the stochastic search looks at, in (0, 1].
        search: greedy or stochastic.
        dimensions: size of the sketches.
    """

    names = (Name("divfl"), Name("divfl-stochastic", {"search": "stochastic"}))

    share: float = 0.1
    search: Literal["greedy", "stochastic"] = static("greedy")
    dimensions: int = static(32)

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays, after checking them."""
        require(0 < self.share <= 1, f"DivFL's share of candidates must lie in (0, 1], found {self.share:g}.")
        return as_arrays(Params, k=problem.cohort_size, share=float(self.share))

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""

        def init(key: PRNGKeyArray, params: Params) -> State:
            return State.first(dims.num_clients, self.dimensions)

        def select(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
            search, first, last = prng.at(key, 0), prng.at(key, 1), prng.at(key, 2)
            able = view.num_samples > 0
            unseen = view.available & able & ~state.known
            selected = ops.smallest(prng.uniform(first, dims.num_clients), params.k, unseen)
            rows = able & state.known
            candidates = rows & view.available
            looks = None
            if self.search == "stochastic":
                looks = jnp.maximum(params.k, (params.share * ops.count(candidates)).astype(jnp.int32))
            distance = jnp.sqrt(squared_distances(state.sketch))
            many = params.k - ops.count(selected)
            selected |= greedy(search, distance, rows, candidates, many, dims.slots, looks)
            rest = view.available & ~able
            selected |= ops.smallest(prng.uniform(last, dims.num_clients), params.k - ops.count(selected), rest)
            return state, Cohort(selected, jnp.full(dims.num_clients, jnp.nan))

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            return state.heard(feedback)

        return Selector(init, select, update, wants=("sketch",), sketch_size=self.dimensions)
