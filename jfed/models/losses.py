"""Each example's loss and correctness from its logits, and the mean loss over a batch's real examples."""

import jax.numpy as jnp
import optax
from jax import Array
from jaxtyping import Bool, Float, Int, Num

from jfed.core.interfaces import Grades, Loss, Model
from jfed.core.types import Weights


def cross_entropy(logits: Float[Array, "batch classes"], labels: Int[Array, " batch"]) -> Grades:
    """Return cross-entropy in nats, and whether the argmax is right; never where logits are not finite."""
    each = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
    right = (jnp.argmax(logits, -1) == labels) & jnp.all(jnp.isfinite(logits), -1)
    return Grades(each, right)


def squared_hinge(margins: Float[Array, "batch 1"], labels: Int[Array, " batch"]) -> Grades:
    """Return half the squared hinge of Wang et al. (2019): even labels are +1, odd ones -1. The answer is the sign."""
    signed = jnp.where(labels % 2 == 0, 1.0, -1.0) * margins[:, 0]
    return Grades(0.5 * jnp.square(jnp.maximum(1 - signed, 0.0)), signed > 0)


def mean_loss(model: Model) -> Loss:
    """Return the loss of a batch: the mean over its real images (0 without any), plus the model's penalty."""

    def loss(
        weights: Weights, images: Num[Array, "batch ..."], labels: Int[Array, " batch"], real: Bool[Array, " batch"]
    ) -> Float[Array, ""]:
        each = model.grade(model.logits(weights, images), labels).loss
        return jnp.sum(jnp.where(real, each, 0.0)) / jnp.maximum(real.sum(), 1) + model.penalty(weights)

    return loss
