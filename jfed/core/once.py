"""Arrays that XLA computes once, whoever uses them."""

import jax
import jax.numpy as jnp
from jax import Array, lax


@jax.custom_jvp
def once(values: Array) -> Array:
    """Return an array of floats or unsigned integers, computed once and read by all of its users.

    XLA may compute an array again in each of its users: that costs time, and floats may be rounded in other ways, so
    that an entry is not equal to itself. On a CPU XLA looks through an optimization barrier, but not through a loop
    whose number of passes (none) it cannot know; elsewhere such a loop would stop for the host.
    """
    if jax.default_backend() != "cpu":
        return lax.optimization_barrier(values)
    word = jnp.dtype(f"uint{8 * values.dtype.itemsize}")
    none = lax.optimization_barrier(jnp.int32(0))
    words = lax.bitcast_convert_type(values, word)
    words = lax.fori_loop(0, none, lambda i, x: x ^ i.astype(word), words)
    return lax.bitcast_convert_type(words, values.dtype)


@once.defjvp
def _derivative(values: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    return once(*values), tangents[0]
