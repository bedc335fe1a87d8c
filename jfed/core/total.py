"""Sums and extremes over clients in an order of their own, so that bits do not depend on who else is in the block."""

import operator
from collections.abc import Callable

import jax.numpy as jnp
from jax import Array

LANES = 16  # numbers in a vector register
ROWS = 8  # vectors that are combined in one step


def total(values: Array) -> Array:
    """Return the sum over the first axis, added in an order that depends on its length alone.

    XLA orders a `jnp.sum` of floats by the shape of the whole block of runs: last bits would change with the block.
    """
    return fold(operator.add, values) if values.shape[0] else jnp.zeros(values.shape[1:], values.dtype)


def fold(op: Callable[[Array, Array], Array], values: Array) -> Array:
    """Return the values of a first axis that is not empty, combined in pairs by an associative operation.

    Slices of whole vectors are combined, then the halves of the last one. On a CPU this is faster than a reduction:
    XLA fuses it with the arithmetic that makes the values, and adds vectors, not single numbers.
    """
    n = values.shape[0]
    if n == 1:
        return values[0]
    width = n // 2 if n <= LANES else max(LANES, n // (ROWS * LANES) * LANES)
    slices = [values[start : start + width] for start in range(0, n - width + 1, width)]
    rest = values[len(slices) * width :]
    while len(slices) > 1:
        odd = slices[len(slices) // 2 * 2 :]
        slices = [op(a, b) for a, b in zip(slices[::2], slices[1::2], strict=False)] + odd
    return op(fold(op, slices[0]), fold(op, rest)) if rest.shape[0] else fold(op, slices[0])
