"""Means over all of a client's images, evaluated a slice at a time so that memory stays small."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from jfed.core.learning import ClientData

MANY = 500  # images evaluated at a time

Evaluate = Callable[[Array, Array, Array], Any]


def mean_over(data: ClientData, evaluate: Evaluate, many: int = MANY) -> Any:
    """Return the mean of `evaluate` over all images of a client; 0 for a client without any.

    Args:
        data: of the client.
        evaluate: (images, labels, which of them are real) -> means over the real ones, any pytree of floats.
        many: images evaluated at a time.
    """
    length = data.positions.shape[0]
    many = min(many, length)

    def of(part: Array) -> tuple[Any, Array]:
        place = part * many + jnp.arange(many)
        chosen = data.positions[jnp.minimum(place, length - 1)]
        real = place < data.num_samples
        return evaluate(data.images[chosen], data.labels[chosen], real), jnp.sum(real)

    def add(part: Array, total: Any) -> Any:
        means, count = of(part)
        return jax.tree.map(lambda sum_, mean: sum_ + mean * count, total, means)

    parts = -(-data.num_samples // many)
    nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(of, jnp.int32(0))[0])
    total = lax.fori_loop(0, parts, add, nothing)
    return jax.tree.map(lambda sum_: sum_ / jnp.maximum(data.num_samples, 1), total)
