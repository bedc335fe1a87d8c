"""Ranks, sums and orders: those of few values by comparing all pairs, on a CPU several times as fast as a sort."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jaxtyping import Float, Int, UInt

from jfed.core.once import once

PAIRS = 128  # more values are cut faster by a search, and sorted faster by a sort
# Entries that are set beside all others in one pass, few or many: so sums stay in registers, or are read less often.
TOGETHER = 10, 64


def sortable(values: Float[Array, "..."]) -> UInt[Array, "..."]:
    """Return unsigned integers in the order of the floats (-0.0 below 0.0; NaN is not allowed)."""
    word: Any = jnp.uint32 if values.dtype == jnp.float32 else jnp.uint64
    bits = lax.bitcast_convert_type(values, word)
    sign = jnp.array(1 << (jnp.iinfo(word).bits - 1), word)
    return jnp.where(bits >= sign, ~bits, bits | sign)


def sums_below(key: UInt[Array, " n"], values: Int[Array, " n"] | None = None) -> Int[Array, " n"]:
    """Return for each key the sum of the values of all smaller keys; without values, their number."""
    key = once(key)

    def add(sums: Array, other: Array, value: Array | int = 1) -> Array:
        return sums + jnp.where(other < key, value, 0)

    columns = [(key, largest(key.dtype))] if values is None else [(key, largest(key.dtype)), (values, 0)]
    return beside_all(add, jnp.zeros(key.shape[0], jnp.int32), *columns)


def in_order(key: UInt[Array, " n"], *arrays: Array) -> tuple[Array, ...]:
    """Return the arrays in ascending order of a key; entries with equal keys keep their order."""
    n = key.shape[0]
    if n > PAIRS:
        order = order_of(key)
        return tuple(x[order] for x in arrays)
    key, index = once(key), jnp.arange(n, dtype=jnp.int32)

    def count_before(rank: Array, other: Array, place: Array) -> Array:
        return rank + ((other < key) | ((other == key) & (place < index)))

    def put(sorted_: tuple[Array, ...], place: Array, *entries: Array) -> tuple[Array, ...]:
        return tuple(jnp.where(place == index, x, old) for x, old in zip(entries, sorted_, strict=True))

    rank = beside_all(count_before, jnp.zeros(n, jnp.int32), (key, largest(key.dtype)), (index, n))
    return beside_all(put, tuple(jnp.zeros_like(x) for x in arrays), (rank, n), *((x, 0) for x in arrays))


def order_of(words: UInt[Array, " n"]) -> Int[Array, " n"]:
    """Return the order of a stable sort, as `jnp.argsort` does.

    It sorts by halves, the lower first: a half and its index make one word, and on a CPU XLA sorts single words without
    a comparator, several times faster than words with their indices beside them.
    """
    n = words.shape[0]
    if n > 1 << 16 or words.dtype != jnp.uint32:
        return jnp.argsort(words)
    place = jnp.arange(n, dtype=jnp.uint32)
    by_low = lax.sort(words << 16 | place, is_stable=False) & 0xFFFF
    rank = lax.sort((words[by_low] >> 16) << 16 | place, is_stable=False) & 0xFFFF
    return by_low[rank].astype(jnp.int32)


def beside_all(add: Callable[..., Any], start: Any, *columns: tuple[Array, Any]) -> Any:
    """Return what `add(so_far, *entries)` makes of `start` by all rows of entries, one after another.

    It is for the comparison of all pairs: each entry is set beside a whole array.

    Args:
        add: function of the value so far and one entry of each column.
        start: value before the first row; arrays of one shape.
        columns: (n,) arrays, and for each the entry of a row that changes nothing.
    """
    n = columns[0][0].shape[0]
    together = TOGETHER[n > PAIRS]
    steps = -(-n // together)
    blanks = [jnp.full(steps * together - n, blank, column.dtype) for column, blank in columns]
    rows = [
        jnp.concatenate([column, blank]).reshape(steps, together)
        for (column, _), blank in zip(columns, blanks, strict=True)
    ]

    def some(step: Array, so_far: Any) -> Any:
        now = [lax.dynamic_index_in_dim(row, step, keepdims=False) for row in rows]
        for entries in zip(*map(tuple, now), strict=True):
            so_far = add(so_far, *entries)
        return so_far

    return lax.fori_loop(0, steps, some, start)


def largest(word: Any) -> Array:
    """Return the largest integer of a type; no float that is a number has it as its key."""
    return jnp.array(np.iinfo(word).max, word)
