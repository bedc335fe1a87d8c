"""The squared support vector machine that tells even labels from odd ones, on which adaptive tau was first tried.

S. Wang et al., "Adaptive Federated Learning in Resource Constrained Edge Computing Systems", IEEE JSAC 2019, and its
public code: (lambda / 2) |w|^2 + (1 / 2) max(0, 1 - y w.x)^2 with lambda = 0.1, no bias, w = 0 at first, pixels in
[0, 1].

*Departures.* Accuracy counts every image; the public code leaves the first one out.
"""

import dataclasses
from dataclasses import dataclass
from math import inf

import jax
import jax.numpy as jnp
from flax import linen
from jax import Array
from jaxtyping import Float, Int

from jfed.core.errors import require
from jfed.core.interfaces import Grades
from jfed.core.members import Name
from jfed.core.options import STATIC, static
from jfed.core.types import Weights
from jfed.models.classifier import Inputs, ModelOptions, Scaling
from jfed.models.losses import squared_hinge


@dataclass(frozen=True)
class Options(ModelOptions):
    """Settings of the squared SVM; all of them shape the program.

    Attributes:
        regularization: lambda.
        scaling: unit by default: pixels in [0, 1].
    """

    names = (Name("svm"),)  # even labels against odd ones

    regularization: float = static(0.1)
    scaling: Scaling = dataclasses.field(default="unit", kw_only=True, metadata=STATIC)

    def module(self, inputs: Inputs) -> linen.Module:
        """Return the flax module."""
        require(0 <= self.regularization < inf, f"regularization must not be negative, found {self.regularization:g}.")
        return Margin()

    def grade(self, logits: Float[Array, "batch 1"], labels: Int[Array, " batch"]) -> Grades:
        """Return the squared hinge, and whether the margin has the label's sign."""
        return squared_hinge(logits, labels)

    def penalty(self, weights: Weights) -> Float[Array, ""]:
        """Return (lambda / 2) |w|^2."""
        squares = sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(weights))
        return self.regularization / 2 * jnp.asarray(squares)


class Margin(linen.Module):
    """A linear map without bias: w.x of each image."""

    @linen.compact
    def __call__(self, images: Float[Array, "batch ..."]) -> Float[Array, "batch 1"]:
        """Return the margins of scaled examples."""
        x = images.reshape(images.shape[0], -1)
        zero = linen.initializers.zeros_init()
        return linen.Dense(1, use_bias=False, name="out", kernel_init=zero, param_dtype=x.dtype)(x)
