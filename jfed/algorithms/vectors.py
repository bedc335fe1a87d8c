"""Trees of weights as vectors: norms, averages and shares."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float

from jfed.core.types import Weights


def norm(tree: Weights) -> Float[Array, ""]:
    """Return the Euclidean norm of all leaves together."""
    squares = [jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(tree)]
    return jnp.sqrt(jnp.sum(jnp.stack(squares)))


def average(moves: Weights, share: Float[Array, " slots"], returned: Bool[Array, " slots"]) -> Weights:
    """Return sum_i share_i move_i over the clients that returned; leading axis slots on every leaf of the moves."""

    def one(move: Array) -> Array:
        mask = returned.reshape(-1, *([1] * (move.ndim - 1)))
        return jnp.where(mask, move * share.reshape(mask.shape), 0.0).sum(0)  # never NaN * 0

    return jax.tree.map(one, moves)


def normalised(share: Float[Array, " slots"], returned: Bool[Array, " slots"]) -> Float[Array, " slots"]:
    """Return shares that add up to 1 over the clients that returned, so that the global model stands in for none."""
    total = jnp.sum(jnp.where(returned, share, 0.0))
    return share / jnp.where(total > 0, total, 1.0)


def zeros(tree: Any) -> Any:
    """Return zeros in the shape of a tree."""
    return jax.tree.map(jnp.zeros_like, tree)
