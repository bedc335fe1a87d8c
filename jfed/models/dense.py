"""Dense classifiers: softmax regression (no hidden layer) and a multilayer perceptron, as flax modules."""

from dataclasses import dataclass
from typing import Literal

from flax import linen
from jax import Array
from jaxtyping import Float, Int

from jfed.errors import require
from jfed.interfaces import Grades
from jfed.models.classifier import Inputs
from jfed.models.losses import cross_entropy
from jfed.options import static
from jfed.types import Weights


@dataclass(frozen=True)
class Options:
    """What a user may set. Attributes: hidden: widths of the ReLU layers; () is softmax regression."""

    hidden: tuple[int, ...] = static(())
    scaling: Literal["dataset", "unit", "image"] = static("dataset")
    """Of pixels: by the data set's mean and deviation, to the unit interval, or each image by its own."""

    def grade(self, logits: Float[Array, "batch classes"], labels: Int[Array, " batch"]) -> Grades:
        """Cross-entropy, and whether the largest logit is the label's."""
        return cross_entropy(logits, labels)

    def penalty(self, weights: Weights) -> float:
        """None."""
        return 0.0

    def module(self, inputs: Inputs) -> linen.Module:
        """The flax module."""
        require(all(w >= 1 for w in self.hidden), f"Hidden layers need at least one unit, found {self.hidden}.")
        return Dense(self.hidden, inputs.num_classes)


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
