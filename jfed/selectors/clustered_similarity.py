"""Clustered sampling by similarity: one draw from each of k distributions, which hold clients of similar updates.

Y. Fraboni, R. Vidal, L. Kameni, M. Lorenzi, "Clustered Sampling: Low-Variance and Improved Representativity for Clients
Selection in Federated Learning", ICML 2021. Algorithm 2.

*Notation.* As in `clustered_size`, with the same reading of the average. D_i: last known update of client i. In each
round the clients are joined in a tree (Ward's method). The groups are the largest subtrees with a mass of at most one
distribution; the k heaviest ones each begin a distribution, the lighter one first, and the clients of the other groups,
the lightest group first and in a random order inside it, fill the distributions up one after another.

*Forms.* `measure="angle"`: the angle between two updates; `"distance"`: their squared Euclidean distance.
`tree="released"` is the authors' code: the rows of the table of these numbers are passed to Ward's method as points.
`tree="pairs"` passes the angles, or the Euclidean distances, themselves.

*Departures.*
- Updates are compared by their sketches, random projections to `dimensions` numbers. The public code's third measure,
  the sum of absolute differences, is not kept by such projections and not offered. An update that is not finite is not
  used.
- The angle to a client that has not returned yet, or whose update is 0, is 0 in the public code, as if it were similar
  to all others (`released`). With `pairs` it is a right angle, and 0 between two such clients. `"distance"` takes an
  unknown update as 0.
- A client of k n_i >= n gets the whole part of k n_i / n distributions for itself, and the rest of its images take part
  in the clustering. Such a client fits into no group, and the public code has no rule for it.
- The tree joins available clients with images only; if none of these has images, each counts like one image.
- Equal distances and masses are ordered at random. The public code adds up rounded masses of 10^-10.
- Mode `faithful` is `released`, `corrected` is `pairs`.

*Costs.* Each round makes a tree in K - 1 steps over a table of all pairs: K^3 operations, under 1 ms of one core at
K = 100 and, in proportion, a second at K = 1000; it is not meant for K = 10,000.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Bool, Float, Int, PRNGKeyArray, UInt32

from jfed.core import ops, prng
from jfed.core.interfaces import Selector
from jfed.core.members import Modes, Name, SelectorOptions
from jfed.core.once import once
from jfed.core.options import as_arrays, static
from jfed.core.total import fold
from jfed.core.types import Cohort, Dims, Feedback, Problem, View
from jfed.selectors.clustered_size import Params, Table, drawn, laid, masses, overlaps
from jfed.selectors.divfl import State, over_pairs, squared_distances


class Tree(NamedTuple):
    """A tree that is being joined; an entry for each node, of which clients are the first.

    Attributes:
        square: squared distances of the nodes that are left; infinite on the diagonal and for others.
        least: smallest of each node.
        size: number of clients of each node.
        mass: its mass.
        group: the group of each client, named by one of its members.
    """

    square: Float[Array, "clients clients"]
    least: Float[Array, " clients"]
    size: Float[Array, " clients"]
    mass: Int[Array, " clients"]
    group: Int[Array, " clients"]


def groups(
    square: Float[Array, "clients clients"], mass: Int[Array, " clients"], whole: Int[Array, ""]
) -> Int[Array, " clients"]:
    """Return the groups of clients: the largest subtrees of Ward's tree of a mass of at most `whole`.

    Args:
        square: squared distances, symmetric; infinite on the diagonal and for clients that take no part.
        mass: masses, each at most `whole`.
        whole: mass of a distribution.
    """
    index = jnp.arange(mass.shape[0])

    def join(tree: Tree) -> Tree:
        a = jnp.argmin(tree.least)
        b = jnp.argmin(tree.square[a])
        size_a, size_b, apart = tree.size[a], tree.size[b], tree.square[a, b]
        sum_ = (size_a + tree.size) * tree.square[a] + (size_b + tree.size) * tree.square[b] - tree.size * apart
        joined = once(sum_ / (size_a + size_b + tree.size))  # Ward's method by the formula of Lance and Williams
        square = jnp.where((index == a)[:, None], joined[None, :], tree.square)
        square = jnp.where((index == a)[None, :], joined[:, None], square)
        square = jnp.where((index == b)[:, None] | (index == b)[None, :], jnp.inf, square)
        mass = tree.mass[a] + tree.mass[b]
        return Tree(
            square,
            fold(jnp.minimum, square),
            jnp.where(index == a, size_a + size_b, tree.size),
            jnp.where(index == a, mass, tree.mass),
            jnp.where((mass <= whole) & (tree.group == b), a, tree.group),
        )

    start = Tree(square, fold(jnp.minimum, square), jnp.ones(mass.shape, square.dtype), mass, index)
    return lax.while_loop(lambda tree: fold(jnp.minimum, tree.least) < jnp.inf, join, start).group


def by_groups(
    words: UInt32[Array, " clients"],
    group: Int[Array, " clients"],
    mass: Int[Array, " clients"],
    whole: Int[Array, ""],
    used: Bool[Array, " slots"],
) -> Table:
    """Return distributions of which each holds one of the heaviest groups, and parts of others.

    Args:
        words: random order of clients inside a group.
        group: group of each client, named by one of its members.
        mass: masses of the clients; their sum is that of the used distributions.
        whole: mass of a distribution.
        used: the distributions to fill, the first ones.
    """
    many, slot = ops.count(used), jnp.arange(used.shape[0])
    heavy = jnp.argsort(-jnp.zeros_like(mass).at[group].add(mass))  # names of groups, the heaviest first
    place = jnp.zeros_like(mass).at[heavy].set(jnp.arange(mass.shape[0], dtype=mass.dtype))[group]
    kept = place < many
    seeds = jnp.where(kept & (slot[:, None] == many - 1 - place), mass, 0)
    free = jnp.where(used, whole - jnp.sum(seeds, 1), 0)
    high = jnp.cumsum(free)
    rest = jnp.where(kept, 0, mass)
    return seeds + overlaps(rest, laid(rest, place, words), high - free, high)


@dataclass(frozen=True)
class Options(SelectorOptions):
    """Settings of clustered sampling by similarity.

    Attributes:
        tree: released or pairs.
        measure: angle or distance.
        dimensions: size of the sketches.
    """

    names = (Name("clustered-similarity"),)
    modes = Modes(faithful={"tree": "released"}, corrected={"tree": "pairs"})

    tree: Literal["released", "pairs"] = static("released")
    measure: Literal["angle", "distance"] = static("angle")
    dimensions: int = static(32)

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays."""
        return as_arrays(Params, k=problem.cohort_size)

    def average_over(self) -> str:
        """Return unscaled, with which updates are unbiased."""
        return "unscaled"

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""

        def numbers(sketch: Float[Array, "clients dimensions"]) -> Float[Array, "clients clients"]:
            """Return the table of the measure, symmetric and 0 on the diagonal."""
            if self.measure == "distance":
                return squared_distances(sketch)
            largest = jnp.max(jnp.abs(sketch), 1, keepdims=True)
            scaled = sketch / jnp.where(largest > 0, largest, 1.0)
            unit = scaled / jnp.sqrt(jnp.maximum(ops.total(scaled.T**2), 1.0))[:, None]
            angle = jnp.arccos(jnp.clip(over_pairs(jnp.multiply, unit), -1.0, 1.0))
            some = largest[:, 0] > 0
            missing = 0.0 if self.tree == "released" else jnp.where(some[:, None] | some[None, :], jnp.pi / 2, 0.0)
            angle = jnp.where(some[:, None] & some[None, :], angle, missing)
            return jnp.where(jnp.eye(dims.num_clients, dtype=bool), 0.0, angle)

        def squares(sketch: Float[Array, "clients dimensions"], some: Bool[Array, " clients"]) -> Array:
            """Return the squared distances for Ward's method, of the clients that take part."""
            table = numbers(sketch)
            if self.tree == "released":
                square = squared_distances(jnp.where(some[:, None] & some[None, :], table, 0.0))
            else:
                square = table if self.measure == "distance" else table**2
            apart = some[:, None] & some[None, :] & ~jnp.eye(dims.num_clients, dtype=bool)
            return jnp.where(apart, square, jnp.inf)

        def init(key: PRNGKeyArray, params: Params) -> State:
            return State.first(dims.num_clients, self.dimensions)

        def select(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
            ties, inside, draw = (prng.at(key, i) for i in range(3))
            own = masses(view, params.k)
            order = ops.order_of(prng.words(ties, dims.num_clients))  # from here on: clients in a random order
            whole, mass = ops.total(own), params.k * own[order]
            alone = mass // jnp.maximum(whole, 1)  # distributions for a client alone
            mass -= alone * whole
            left = params.k - ops.total(alone)
            slot = jnp.arange(dims.slots)
            group = groups(squares(state.sketch[order], mass > 0), mass, whole)
            table = by_groups(prng.words(inside, dims.num_clients), group, mass, whole, slot < left)
            end = jnp.cumsum(alone)
            since = (slot - left)[:, None]
            table += jnp.where((since >= end - alone) & (since < end) & (slot < params.k)[:, None], whole, 0)
            table = jnp.zeros_like(table).at[:, order].set(table)
            return state, drawn(prng.words(draw, dims.slots), table, whole)

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            return state.heard(feedback)

        return Selector(init, select, update, wants=("sketch",), sketch_size=self.dimensions)
