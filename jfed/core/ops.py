"""Array operations that selectors share: exact top-m masks, the exponential race, exact-inclusion draws.

All are written for one run, have static shapes and take the number m as a dynamic value. Counts are exact: a
mask of m entries has exactly m, whatever the ties and the rounding.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Bool, Float, Int, PRNGKeyArray, UInt32

from jfed.core import prng

Mask = Bool[Array, " n"]


def where(mask: Bool[Array, "..."], new: Any, old: Any) -> Any:
    """Return `new` where a mask over the leading axes holds and `old` elsewhere, for every leaf of two trees."""
    return jax.tree.map(lambda x, y: jnp.where(mask.reshape(*mask.shape, *[1] * (x.ndim - mask.ndim)), x, y), new, old)


def sortable(values: Float[Array, " n"]) -> Int[Array, " n"]:
    """Return integers in the order of the floats (-0.0 below 0.0; NaN is not allowed)."""
    width = jnp.int32 if values.dtype == jnp.float32 else jnp.int64
    bits = lax.bitcast_convert_type(values, width)
    return jnp.where(bits < 0, bits ^ jnp.iinfo(width).max, bits)


def smallest(
    values: Float[Array, " n"],
    m: Int[Array, ""],
    among: Mask | None = None,
    tie_break: Float[Array, " n"] | None = None,
) -> Mask:
    """Return the mask of the m smallest values.

    It bisects over the bit patterns: on a CPU this is several times faster than a sort, and m can be dynamic.

    Args:
        values: compared by value; NaN is not allowed where `among` holds.
        m: number of entries to take, 0 <= m <= number of entries of `among`.
        among: the only entries to choose from; all by default.
        tie_break: order of equal values, smallest first; remaining ties go to the lowest index.

    Returns:
        A mask with exactly m entries (all of `among` if it has fewer).
    """
    index = jnp.arange(values.shape[0], dtype=jnp.int32)
    keys = [sortable(values), index] if tie_break is None else [sortable(values), sortable(tie_break), index]
    taken = jnp.zeros(values.shape, bool)
    open_ = jnp.ones(values.shape, bool) if among is None else among
    for key in keys:  # each key decides among entries that the keys before it left tied at the cut
        below, open_ = _cut(key, m - count(taken), open_)
        taken = taken | below
    return taken  # the index is never tied


def count(mask: Mask) -> Int[Array, ""]:
    """Return the number of true entries, summed as floats (exact up to 2^24), which XLA does faster on a CPU."""
    return jnp.sum(mask.astype(jnp.float32)).astype(jnp.int32)


def _cut(key: Int[Array, " n"], m: Int[Array, ""], open_: Mask) -> tuple[Mask, Mask]:
    """Return two masks of the smallest keys of `open_`: entries surely among the m, and those tied for the rest.

    The cut, the largest integer with at most m keys below it, is built bit by bit, until exactly m keys are below it.
    """
    info = jnp.iinfo(key.dtype)

    def step(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        bit, cut = carry
        higher = cut + jnp.left_shift(jnp.ones((), key.dtype), bit)  # from the smallest integer, bit 31 wraps to 0
        many = count(open_ & (key < higher))
        return jnp.where(many == m, -1, bit - 1), jnp.where(many <= m, higher, cut)

    start = (jnp.where(m > 0, jnp.array(info.bits - 1, key.dtype), -1), jnp.array(info.min, key.dtype))
    _, cut = lax.while_loop(lambda carry: carry[0] >= 0, step, start)
    below = open_ & (key < cut)
    return below, open_ & (key == cut) & (count(below) < m)


def log_exponential(key: PRNGKeyArray, n: int) -> Float[Array, " n"]:
    """Return logarithms of n independent Exp(1) variables.

    Each uses one 32-bit word, read as (word + 1/2) / 2^32: the smallest variable is 1.2e-10, so that in a race a
    client of probability 1e-9 is not favoured. `jax.random.exponential` returns an exact 0 once in 2^23 draws, which
    would win every race.
    """
    dtype = jnp.result_type(float)
    uniform = (prng.words(key, n).astype(dtype) + 0.5) * 2.0**-32
    return jnp.log(-jnp.log1p(-jnp.minimum(uniform, 1 - jnp.finfo(dtype).epsneg)))


def race(key: PRNGKeyArray, log_p: Float[Array, " n"], m: Int[Array, ""], among: Mask | None = None) -> Mask:
    """Draw m distinct entries one after another, with probabilities proportional to p among those left.

    This is the successive design of `torch.multinomial(p, m, replacement=False)`, drawn as an exponential race
    (the same law as Gumbel top-m). The inclusion probabilities are NOT proportional to p: those of large
    entries come out too small.

    Args:
        key: key of the draw.
        log_p: logarithms of non-negative weights, not normalised.
        m: number of entries to draw.
        among: the only entries to draw from.
    """
    return smallest(log_exponential(key, log_p.shape[0]) - log_p, m, among)


def exact_inclusion(key: PRNGKeyArray, p: Float[Array, " n"], m: Int[Array, ""]) -> Mask:
    """Draw m distinct entries, entry i with probability p_i, by systematic sampling in a random order.

    Intervals of length p_i are laid end to end in a random order, and those that contain u, u + 1, u + 2, ... are
    taken. Lengths are integers, in units of 2^-20 for n < 1024, so that the count is exact: entries with p > 1 - 2^-16
    are taken for sure, the others are scaled to fill the rest, and the error of rounding (at most half a unit an entry)
    is handed out by index. A probability is off by at most 2^-16 times the number of nearly sure entries, plus 1.5
    units.

    Args:
        key: key of the draw.
        p: inclusion probabilities in [0, 1], of sum m.
        m: number of entries to draw.

    Source: W. G. Madow, On the theory of systematic sampling II, Ann. Math. Stat. 20, 1949. The random
    order is the usual remedy against pairs that can never be drawn together.
    """
    n = p.shape[0]
    unit = 1 << min(20, 30 - n.bit_length())
    order_key, start_key = jax.random.split(key)
    sure = p > 1 - 2.0**-16
    part = jnp.where(sure, 0, p)
    room = m - sure.sum()
    scale = room / jnp.maximum(part.sum(), jnp.finfo(p.dtype).tiny)
    parts = jnp.round(part * scale * unit).astype(jnp.int32)
    left_over = room * unit - parts.sum()
    movable = ~sure & (part > 0) & ((left_over > 0) | (parts > 0))
    parts += jnp.where(movable & (jnp.cumsum(movable) <= jnp.abs(left_over)), jnp.sign(left_over), 0)
    lengths = jnp.where(sure, unit, parts)
    ends = _totals_in_random_order(order_key, lengths) + jax.random.randint(start_key, (), 0, unit)
    return ends // unit > (ends - lengths) // unit


def _totals_in_random_order(key: PRNGKeyArray, values: Int[Array, " n"]) -> Int[Array, " n"]:
    """Return the running total at each entry, itself included, when entries are summed in a random order."""
    n = values.shape[0]
    width = max(1, (n - 1).bit_length())
    index = jnp.arange(n, dtype=jnp.uint32)
    place = (prng.words(key, n) >> width << width) | index  # distinct
    if n <= 512:  # all pairs: on a CPU three times as fast as a sort at n = 100
        return jnp.where(place[None, :] <= place[:, None], values[None, :], 0).sum(1)
    order = jnp.argsort(place)
    return jnp.zeros_like(values).at[order].set(jnp.cumsum(values[order]))


def first_slots(mask: Mask, slots: int) -> Int[Array, " slots"]:
    """Return the positions of a mask's entries in a fixed number of slots; an unused slot holds n."""
    return jnp.nonzero(mask, size=slots, fill_value=mask.shape[0])[0].astype(jnp.int32)


def shuffled(key: PRNGKeyArray, values: Int[Array, " n"], count: Int[Array, ""]) -> Int[Array, " n"]:
    """Return the values with the first `count` in a random order; the padding stays behind them."""
    bits = prng.words(key, values.shape[0])
    real = jnp.arange(values.shape[0]) < count
    return values[order_of(jnp.where(real, bits, jnp.uint32(0xFFFFFFFF)))]


def order_of(words: UInt32[Array, " n"]) -> Int[Array, " n"]:
    """Return the order of a stable sort, as `jnp.argsort` does.

    It sorts by halves, the lower first: a half and its index make one word, and on a CPU XLA sorts single words without
    a comparator, several times faster than words with their indices beside them.
    """
    n = words.shape[0]
    if n > 1 << 16:
        return jnp.argsort(words)
    place = jnp.arange(n, dtype=jnp.uint32)
    by_low = lax.sort(words << 16 | place, is_stable=False) & 0xFFFF
    rank = lax.sort((words[by_low] >> 16) << 16 | place, is_stable=False) & 0xFFFF
    return by_low[rank].astype(jnp.int32)


def cholesky(matrix: Float[Array, "f f n"]) -> list[list[Float[Array, " n"]]]:
    """Return lower Cholesky factors of n small positive definite matrices, as rows of (n,) entries.

    The few rows are unrolled, so that each operation covers all n; `jnp.linalg` would call LAPACK n times.
    """
    factor: list[list[Array]] = []
    for i in range(matrix.shape[0]):
        row: list[Array] = []
        for j in range(i + 1):
            left = matrix[i, j] - sum((row[p] * (factor[j][p] if j < i else row[p]) for p in range(j)), start=0.0)
            row.append(jnp.sqrt(left) if i == j else left / factor[j][j])
        factor.append(row)
    return factor


def forward(factor: list[list[Float[Array, " n"]]], right: Float[Array, "f n"]) -> Float[Array, "f n"]:
    """Return L^-1 `right` for the factors L of `cholesky`."""
    solved: list[Array] = []
    for i, row in enumerate(factor):
        left = right[i] - sum((row[p] * solved[p] for p in range(i)), start=0.0)
        solved.append(left / row[i])
    return jnp.stack(solved)
