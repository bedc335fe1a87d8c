"""Array operations that selectors share: exact top-m masks, the exponential race, exact-inclusion draws.

All are written for one run, have static shapes and take the number m as a dynamic value. Counts are exact: a
mask of m entries has exactly m, whatever the ties and the rounding.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int, PRNGKeyArray

from jfed.core import mixing, prng
from jfed.core.cut import count as count
from jfed.core.cut import first as first
from jfed.core.cut import smallest as smallest
from jfed.core.pairs import PAIRS, sums_below
from jfed.core.pairs import order_of as order_of
from jfed.core.total import total as total

Mask = Bool[Array, " n"]


def where(mask: Bool[Array, "..."], new: Any, old: Any) -> Any:
    """Return `new` where a mask over the leading axes holds and `old` elsewhere, for every leaf of two trees."""
    return jax.tree.map(lambda x, y: jnp.where(mask.reshape(*mask.shape, *[1] * (x.ndim - mask.ndim)), x, y), new, old)


def exponential(key: PRNGKeyArray, n: int) -> Float[Array, " n"]:
    """Return n independent Exp(1) variables.

    Each uses one 32-bit word, read as u = (word + 1/2) / 2^32: the smallest variable is 1.2e-10, so that in a race a
    client of probability 1e-9 is not favoured. `jax.random.exponential` returns an exact 0 once in 2^23 draws, which
    would win every race.
    """
    word, dtype = prng.words(key, n), jnp.result_type(float)
    u, rest = ((x.astype(dtype) + 0.5) * 2.0**-32 for x in (word, ~word))  # rest = 1 - u, exact at both ends
    if dtype != jnp.float32:
        return -jnp.log1p(-u)
    # To float32's precision and in half the time of jnp.log1p: the series of -log(1 - u) where u is small.
    series = u * (1 + u * (1 / 2 + u * (1 / 3 + u * (1 / 4 + u * (1 / 5 + u / 6)))))
    return jnp.where(u < 1 / 16, series, -jnp.log(rest))


def log_exponential(key: PRNGKeyArray, n: int) -> Float[Array, " n"]:
    """Return logarithms of n independent Exp(1) variables; see `exponential`."""
    return jnp.log(exponential(key, n))


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
    order is the usual remedy against pairs that can never be drawn together; that of many entries is pseudo-random
    (`mixing`).
    """
    n = p.shape[0]
    unit = 1 << min(20, 30 - n.bit_length())
    order_key, start_key = prng.at(key, 0), prng.at(key, 1)
    sure = p > 1 - 2.0**-16
    part = jnp.where(sure, 0, p)
    room = m - count(sure)
    scale = room / jnp.maximum(total(part), jnp.finfo(p.dtype).tiny)
    parts = jnp.round(part * scale * unit).astype(jnp.int32)
    left_over = room * unit - total(parts)
    movable = ~sure & (part > 0) & ((left_over > 0) | (parts > 0))
    parts += jnp.where(first(movable, jnp.abs(left_over)), jnp.sign(left_over), 0)
    lengths = jnp.where(sure, unit, parts)
    before = _totals_in_random_order(order_key, lengths) + (prng.words(start_key, 1)[0] & (unit - 1)).astype(jnp.int32)
    return (before + lengths) // unit > before // unit


def _totals_in_random_order(key: PRNGKeyArray, values: Int[Array, " n"]) -> Int[Array, " n"]:
    """Return the total of the values before each entry, when entries are summed in a random order."""
    n = values.shape[0]
    if n > PAIRS:
        return mixing.totals_before(key, values)
    width = max(1, (n - 1).bit_length())
    place = (prng.words(key, n) >> width << width) | jnp.arange(n, dtype=jnp.uint32)  # distinct
    return sums_below(place, values)


def first_slots(mask: Mask, slots: int) -> Int[Array, " slots"]:
    """Return the positions of a mask's entries in a fixed number of slots; an unused slot holds n."""
    return jnp.nonzero(mask, size=slots, fill_value=mask.shape[0])[0].astype(jnp.int32)


def shuffled(key: PRNGKeyArray, values: Int[Array, " n"], count: Int[Array, ""]) -> Int[Array, " n"]:
    """Return the values with the first `count` in a random order; the padding stays behind them."""
    bits = prng.words(key, values.shape[0])
    real = jnp.arange(values.shape[0]) < count
    return values[order_of(jnp.where(real, bits, jnp.uint32(0xFFFFFFFF)))]


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
