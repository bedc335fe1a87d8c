"""The m smallest of n values as a mask, without a sort; m can be dynamic.

Few values are ranked by comparing all pairs, many are cut by a search in a few passes: on a CPU both are several times
as fast as a sort. The mask does not depend on the path of the search.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Bool, Float, Int, UInt

from jfed.core.once import once
from jfed.core.pairs import PAIRS, largest, sortable, sums_below
from jfed.core.total import fold, total

Mask = Bool[Array, " n"]

# Places of 1 to 4 pivots around the expected cut, in standard deviations of the number of keys below it.
AROUND = ((0.0,), (-0.8, 0.8), (-1.0, 0.0, 1.0), (-2.0, -0.6, 0.6, 2.0))


def smallest(
    values: Float[Array, " n"],
    m: Int[Array, ""],
    among: Mask | None = None,
    tie_break: Float[Array, " n"] | None = None,
    near: tuple[float, ...] = (),
) -> Mask:
    """Return the mask of the m smallest values.

    Args:
        values: compared by value; NaN is not allowed where `among` holds.
        m: number of entries to take, 0 <= m <= number of entries of `among`.
        among: the only entries to choose from; all by default.
        tie_break: order of equal values, smallest first; remaining ties go to the lowest index.
        near: values near which the m-th smallest is expected; four, in ascending order, save time.

    Returns:
        A mask with exactly m entries (all of `among` if it has fewer).
    """
    open_ = jnp.ones(values.shape[0], bool) if among is None else among
    here = jnp.int32(values.shape[0]) if among is None else count(among)
    keys = [once(sortable(x)) for x in (values, tie_break) if x is not None]
    return _cut(keys, jnp.minimum(m, here), open_, here, tuple(near))


def _cut(
    keys: list[UInt[Array, " n"]], m: Int[Array, ""], open_: Mask, here: Int[Array, ""], near: tuple[float, ...] = ()
) -> Mask:
    """Return the mask of the first m of the `here` entries of `open_`, in the order of the keys, then of the index."""
    if not keys:
        return first(open_, m)
    key, *others = keys

    def settled(carry: tuple[Mask, Array]) -> tuple[Mask, Array]:
        sure, tied = _split(key, carry[0])
        return sure | _cut(others, m - count(sure), tied, count(tied)), m

    # Of runs side by side, it is done for all if one has a tie at its cut, and else for none.
    return lax.while_loop(lambda carry: carry[1] > m, settled, _up_to(key, m, open_, here, near))[0]


def value_at(values: Float[Array, " n"], place: Int[Array, ""]) -> Float[Array, ""]:
    """Return the value at a place of the ascending order, from 0; NaN is not allowed."""
    if values.shape[0] > PAIRS:
        return jnp.sort(values)[place]
    # The largest value of which no more than that many are smaller.
    return fold(jnp.maximum, jnp.where(sums_below(sortable(values)) <= place, values, -jnp.inf))


def count(mask: Mask) -> Int[Array, ""]:
    """Return the number of true entries."""
    return total(mask.astype(jnp.int32))


def first(mask: Mask, m: Int[Array, ""]) -> Mask:
    """Return the mask of the first m true entries."""
    n = mask.shape[0]
    index = jnp.arange(n, dtype=jnp.uint32)
    if n <= PAIRS:
        return mask & (sums_below(jnp.where(mask, index, largest(index.dtype))) < m)
    here = count(mask)
    m = jnp.minimum(m, here)
    ends = _Bracket(jnp.uint32(0), jnp.uint32(n), jnp.int32(0), here, jnp.array(False))
    bracket = _search(index, m, mask, ends)
    return mask & (index < jnp.where(bracket.below_low == m, bracket.low, bracket.high))


def _split(key: UInt[Array, " n"], taken: Mask) -> tuple[Mask, Mask]:
    """Return the entries of a mask whose keys are below its largest key, and those that have it."""
    most = fold(jnp.maximum, jnp.where(taken, key, 0))
    return taken & (key < most), taken & (key == most)


def _up_to(
    key: UInt[Array, " n"], m: Int[Array, ""], open_: Mask, here: Int[Array, ""], near: tuple[float, ...] = ()
) -> tuple[Mask, Int[Array, ""]]:
    """Return the keys that are not above the m-th smallest of the `here` ones of `open_`, and their number."""
    if key.shape[0] <= PAIRS:
        taken = open_ & (sums_below(jnp.where(open_, key, largest(key.dtype))) < m)
        return taken, count(taken)
    guesses = None
    if near:
        low, high = jnp.zeros((), key.dtype), largest(key.dtype)
        guesses = sortable(jnp.asarray(near, jnp.result_type(float)))
    else:
        low = fold(jnp.minimum, jnp.where(open_, key, largest(key.dtype)))
        high = fold(jnp.maximum, jnp.where(open_, key, 0)) + 1
    bracket = _search(key, m, open_, _Bracket(low, high, jnp.int32(0), here, jnp.array(False)), guesses)
    low = bracket.below_low == m
    return open_ & (key < jnp.where(low, bracket.low, bracket.high)), jnp.where(low, m, bracket.below_high)


# --------------------------------------------------------------------------------------------------- search


class _Bracket(NamedTuple):
    """A range of keys in which the cut lies.

    Attributes:
        low, high: its ends: at most m keys are below `low`, at least m below `high`.
        below_low, below_high: how many they are.
        evenly: whether the next pivots divide it evenly, and not by the keys expected below them.
    """

    low: Array
    high: Array
    below_low: Int[Array, ""]
    below_high: Int[Array, ""]
    evenly: Bool[Array, ""]


def _search(
    key: UInt[Array, " n"], m: Int[Array, ""], open_: Mask, ends: _Bracket, guesses: Array | None = None
) -> _Bracket:
    """Return the part of a bracket with exactly m keys of `open_` below one end, or whose keys are all equal.

    A pass counts the keys below several pivots at once, as digits of one integer. Pivots are set around the place where
    the cut would be if the keys were evenly dense; where that left more than half of the keys, the next ones divide the
    range evenly, so that the number of passes is bounded for any values.
    """
    digit = key.shape[0].bit_length()
    number = max(1, min(4, 31 // digit))
    real = jnp.result_type(float)
    around = jnp.array(AROUND[number - 1], real)
    even = jnp.arange(1, number + 1, dtype=real) / (number + 1)

    def pivots(bracket: _Bracket) -> Array:
        inside = (bracket.below_high - bracket.below_low).astype(real)
        share = (m - bracket.below_low + 0.5) / inside
        share = jnp.where(bracket.evenly, even, share + around * jnp.sqrt(share * (1 - share) / inside))
        width = bracket.high - bracket.low
        offset = (jnp.clip(share, 0, 0.9999) * width.astype(real)).astype(key.dtype)
        return bracket.low + jnp.clip(offset, 1, jnp.maximum(width, 2) - 1)

    def step(carry: tuple[_Bracket, Array]) -> tuple[_Bracket, Array]:
        bracket, pivot = carry
        code = sum((jnp.where(key < pivot[i], 1 << (digit * i), 0) for i in range(number)), start=jnp.int32(0))
        code = total(jnp.where(open_, code, 0))
        low, high, below_low, below_high, _ = bracket
        counts = [(code >> (digit * i)) & ((1 << digit) - 1) for i in range(number)]
        for i, many in enumerate(counts):
            low, below_low = jnp.where(many <= m, pivot[i], low), jnp.where(many <= m, many, below_low)
        for i, many in reversed(list(enumerate(counts))):
            high, below_high = jnp.where(many > m, pivot[i], high), jnp.where(many > m, many, below_high)
        slow = 2 * (below_high - below_low) > bracket.below_high - bracket.below_low
        bracket = _Bracket(low, high, below_low, below_high, slow)
        return bracket, pivots(bracket)  # carried to the next pass: fused with it, they would be computed for each key

    def unfinished(carry: tuple[_Bracket, Array]) -> Bool[Array, ""]:
        bracket, _ = carry
        exact = (bracket.below_low == m) | (bracket.below_high == m)
        return ~exact & (bracket.high - bracket.low > 1)

    start = pivots(ends) if guesses is None else jnp.resize(guesses, (number,))
    return lax.while_loop(unfinished, step, (ends, start))[0]
