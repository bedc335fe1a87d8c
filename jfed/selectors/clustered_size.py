"""Clustered sampling by size: one draw from each of k distributions, which hold clients of similar numbers of images.

Y. Fraboni, R. Vidal, L. Kameni, M. Lorenzi, "Clustered Sampling: Low-Variance and Improved Representativity for Clients
Selection in Federated Learning", ICML 2021. Algorithm 1.

*Notation.* m: number of draws (here k); n_i: images of client i, p_i its share of all n; W_l: the l-th distribution,
which draws client i with probability r_li. The r_li sum to 1 over the clients, and to k p_i over the distributions, so
that the expected number of draws of a client is k p_i.

*Reading of the average.* The paper's update is the sum of the drawn D_i over k, where a client that is drawn twice
counts twice: importance is the number of draws over its expectation. `Training.average_over="selected"` is that sum; so
is `"unscaled"` where all clients are available. With `"unscaled"` the expected update is the sum of p_i D_i over the
available clients, whatever the number of them.

*Departures.*
- Masses are whole numbers: k n_i for a client and n for a distribution, which is exact. The public code rounds shares
  to 10^-10. Where k n is above 2^30, images are counted in units of 2, 4, 8, ..., rounded down, but at least one: that
  changes the r_li a little, and updates are unbiased all the same.
- Clients of equal size stand in a random order, drawn once per run, so that the distributions are the same in all
  rounds in which the same clients are available.
- Where some clients are away, the distributions are those of the available ones, with n their images. If none of these
  has images, each counts like one image. There are k draws, whatever the number of available clients.
"""

from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Bool, Float, Int, Num, PRNGKeyArray, UInt32

from jfed.core import ops, prng
from jfed.core.interfaces import Selector
from jfed.core.members import Name, SelectorOptions
from jfed.core.once import once
from jfed.core.options import as_arrays
from jfed.core.pairs import PAIRS, beside_all
from jfed.core.types import Cohort, Dims, Feedback, Problem, View

Table = Int[Array, "slots clients"]
"""Masses r_li n as whole numbers: a row for each distribution, of sum n; 0 in rows from k on."""


class Params(NamedTuple):
    """Dynamic half of the options.

    Attributes:
        k: number of draws.
    """

    k: Int[Array, ""]


class State(NamedTuple):
    """The selector's state.

    Attributes:
        tie_break: order of clients of equal size.
    """

    tie_break: Float[Array, " clients"]


def images(view: View) -> Int[Array, " clients"]:
    """Return the images of each available client, 1 each if none of these has any; 0 for clients that are away."""
    own = jnp.where(view.available, view.num_samples, 0)
    return jnp.where(ops.total(own) > 0, own, view.available.astype(own.dtype))


def settled(values: Int[Array, "..."]) -> Int[Array, "..."]:
    """Return the numbers, computed once, not for each entry of the tables that they are compared with."""
    return once(values.astype(jnp.uint32)).astype(values.dtype)


def masses(view: View, k: Int[Array, ""]) -> Int[Array, " clients"]:
    """Return `images` in units in which k times their sum is at most 2^30 and a client with images has at least one."""
    own = images(view)
    product = k * ops.total(own.astype(jnp.result_type(float)))
    shift = jnp.maximum(jnp.ceil(jnp.log2(jnp.maximum(product, 1.0))).astype(own.dtype) - 30, 0)
    return settled(jnp.where(own > 0, jnp.maximum(own >> shift, 1), 0))


def laid(
    lengths: Int[Array, " clients"], rank: Int[Array, " clients"], tie_break: Num[Array, " clients"]
) -> Int[Array, " clients"]:
    """Return the end of each client on the line where clients are laid end to end.

    Args:
        lengths: lengths of the clients.
        rank: clients of larger ranks come first.
        tie_break: of equal ranks those with smaller numbers come first.
    """
    n, index = lengths.shape[0], jnp.arange(lengths.shape[0])
    if n > PAIRS:
        order = jnp.lexsort((tie_break, -rank))
        return jnp.zeros_like(lengths).at[order].set(jnp.cumsum(lengths[order]))

    def add(sums: Array, length: Array, other: Array, tie: Array, place: Array) -> Array:
        sooner = (tie < tie_break) | ((tie == tie_break) & (place < index))
        return sums + jnp.where((other > rank) | ((other == rank) & sooner), length, 0)

    return lengths + beside_all(add, jnp.zeros_like(lengths), (lengths, 0), (rank, 0), (tie_break, 0), (index, n))


def overlaps(
    lengths: Int[Array, " clients"], end: Int[Array, " clients"], low: Int[Array, " slots"], high: Int[Array, " slots"]
) -> Table:
    """Return how much of each client lies in each bin, when clients are laid end to end.

    Args:
        lengths: lengths of the clients.
        end: end of each client; see `laid`.
        low: start of each bin on the same line.
        high: its end.
    """
    return jnp.maximum(jnp.minimum(end, high[:, None]) - jnp.maximum(end - lengths, low[:, None]), 0)


def below(words: UInt32[Array, " n"], top: Int[Array, ""]) -> Int[Array, " n"]:
    """Return whole numbers from 0 to top - 1, each for the same number of words up to one: words top / 2^32.

    The product has 64 bits and is put together from halves of 16 bits.
    """
    half, low = jnp.uint32(16), jnp.uint32(0xFFFF)
    a, b = words >> half, words & low
    c, d = (x.astype(jnp.uint32) for x in (top >> 16, top & 0xFFFF))
    middle = a * d + (b * d >> half)
    return once(a * c + (middle >> half) + ((middle & low) + b * c >> half)).astype(jnp.int32)


def drawn(words: UInt32[Array, " slots"], table: Table, whole: Int[Array, ""]) -> Cohort:
    """Return the cohort of one independent draw from each row of masses of sum `whole`.

    The importance of a client is the number of its draws over the expected number, so that updates of this importance
    are unbiased for any table.
    """
    point, columns = below(words, whole), table.T

    def passed(i: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        sums, many = carry
        sums = sums + columns[i]
        return sums, many + (point >= sums)

    # The client that a point lies in has as many clients before it as end at or before the point.
    start, n = (jnp.zeros(point.shape, table.dtype), jnp.zeros_like(point)), columns.shape[0]
    place = lax.fori_loop(0, n, passed, start, unroll=min(10, n))[1]
    hit = place[:, None] == jnp.arange(n)
    chance = table / jnp.maximum(whole, 1).astype(jnp.result_type(float))  # r_li
    times, expected = ops.total(hit.astype(jnp.int32)), ops.total(chance)
    inclusion = -jnp.expm1(ops.total(jnp.log1p(-chance)))  # 1 - prod_l (1 - r_li)
    return Cohort(times > 0, inclusion, times / jnp.where(expected > 0, expected, 1.0))


def by_size(
    lengths: Int[Array, " clients"],
    tie_break: Float[Array, " clients"],
    whole: Int[Array, ""],
    used: Bool[Array, " slots"],
) -> Table:
    """Return the distributions of Algorithm 1: masses, the largest first, poured into bins one after another.

    Args:
        lengths: masses k n_i of the clients.
        tie_break: order of equal masses.
        whole: size n of a bin.
        used: the bins to fill.
    """
    low = jnp.where(used, jnp.arange(used.shape[0]) * whole, 0)
    return overlaps(lengths, laid(lengths, lengths, tie_break), low, jnp.where(used, low + whole, 0))


@dataclass(frozen=True)
class Options(SelectorOptions):
    """A scheme without settings."""

    names = (Name("clustered-size"),)

    def params(self, problem: Problem) -> Params:
        """Return the options as arrays."""
        return as_arrays(Params, k=problem.cohort_size)

    def average_over(self) -> str:
        """Return unscaled, with which updates are unbiased."""
        return "unscaled"

    def make(self, dims: Dims) -> Selector:
        """Return the selector."""

        def init(key: PRNGKeyArray, params: Params) -> State:
            return State(prng.uniform(key, dims.num_clients))

        def select(key: PRNGKeyArray, state: State, params: Params, view: View) -> tuple[State, Cohort]:
            own = masses(view, params.k)
            whole, used = settled(ops.total(own)), jnp.arange(dims.slots) < params.k
            table = by_size(params.k * own, state.tie_break, whole, used)  # Algorithm 1
            return state, drawn(prng.words(key, dims.slots), table, whole)

        def update(state: State, params: Params, view: View, cohort: Cohort, feedback: Feedback) -> State:
            return state

        return Selector(init, select, update)
