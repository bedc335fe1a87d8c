"""Dense classifiers: softmax regression (no hidden layer) and a multilayer perceptron, as flax modules."""

from dataclasses import dataclass

import jax.numpy as jnp
from flax import linen
from jax import Array
from jaxtyping import Float, PRNGKeyArray, UInt8

from jfed.errors import require
from jfed.options import static
from jfed.types import Model, Weights


@dataclass(frozen=True)
class Options:
    """What a user may set. Attributes: hidden: widths of the ReLU layers; () is softmax regression."""

    hidden: tuple[int, ...] = static(())


class Dense(linen.Module):
    """Flatten, ReLU layers, logits."""

    hidden: tuple[int, ...]
    num_classes: int

    @linen.compact
    def __call__(self, images: Float[Array, "batch height width channels"]) -> Float[Array, "batch classes"]:
        """Logits of scaled images."""
        x = images.reshape(images.shape[0], -1)
        for i, width in enumerate(self.hidden):
            x = linen.relu(linen.Dense(width, name=f"hidden_{i}", param_dtype=x.dtype)(x))
        return linen.Dense(self.num_classes, name="out", param_dtype=x.dtype)(x)


def make(
    options: Options,
    image_shape: tuple[int, int, int],
    num_classes: int,
    scale: float,
    mean: float,
    std: float,
) -> Model:
    """The model.

    Args:
        options: widths.
        image_shape: height, width, channels.
        num_classes: outputs.
        scale: a pixel's largest value.
        mean: of pixel / scale.
        std: of pixel / scale.
    """
    require(all(w >= 1 for w in options.hidden), f"Hidden layers need at least one unit, found {options.hidden}.")
    module = Dense(options.hidden, num_classes)

    def scaled(
        images: UInt8[Array, "batch height width channels"],
    ) -> Float[Array, "batch height width channels"]:
        return (images.astype(jnp.result_type(float)) / scale - mean) / std

    def init(key: PRNGKeyArray) -> Weights:
        return module.init(key, scaled(jnp.zeros((1, *image_shape), jnp.uint8)))["params"]

    def logits(weights: Weights, images: UInt8[Array, "batch height width channels"]) -> Float[Array, "batch classes"]:
        return module.apply({"params": weights}, scaled(images))  # type: ignore[return-value]

    return Model(init, logits)
