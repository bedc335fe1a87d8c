"""Losses over a batch of which only some examples are real."""

from typing import NamedTuple

import jax.numpy as jnp
import optax
from jax import Array
from jaxtyping import Bool, Float, Int


def cross_entropy(
    logits: Float[Array, "batch classes"], labels: Int[Array, " batch"], real: Bool[Array, " batch"]
) -> Float[Array, ""]:
    """Mean cross-entropy of the real examples, in nats; 0 if there is none."""
    each = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
    return jnp.sum(jnp.where(real, each, 0.0)) / jnp.maximum(real.sum(), 1)


class Score(NamedTuple):
    """Sums over real examples, so that scores of batches add up.

    Attributes:
        loss: sum of cross-entropies in nats.
        correct: number of right answers.
    """

    loss: Float[Array, ""]
    correct: Int[Array, ""]


def score(logits: Float[Array, "batch classes"], labels: Int[Array, " batch"], real: Bool[Array, " batch"]) -> Score:
    """The score of a batch. A model whose logits are not finite answers nothing right."""
    each = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
    right = (jnp.argmax(logits, -1) == labels) & jnp.all(jnp.isfinite(logits), -1)
    return Score(jnp.sum(jnp.where(real, each, 0.0)), jnp.sum(real & right))
