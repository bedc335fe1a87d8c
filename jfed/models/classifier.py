"""From a model's options to a classifier of uint8 images: what all families share."""

import abc
import dataclasses
from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax.numpy as jnp
from flax import linen
from jax import Array
from jaxtyping import Float, Int, PRNGKeyArray, UInt8

from jfed.core.interfaces import Grades, Model
from jfed.core.members import MemberOptions
from jfed.core.options import STATIC
from jfed.core.types import Weights
from jfed.models.losses import cross_entropy

Scaling = Literal["dataset", "unit", "image"]
Scaled = Float[Array, "batch height width channels"]


class Inputs(NamedTuple):
    """What a model is told of a data set (static).

    Attributes:
        shape: height, width, channels.
        num_classes: labels.
        scale: a pixel's largest value.
        mean: of pixel / scale.
        std: of pixel / scale.
    """

    shape: tuple[int, int, int]
    num_classes: int
    scale: float
    mean: float
    std: float


@dataclass(frozen=True)
class ModelOptions(MemberOptions):
    """What the options of a family of models offer; all of their fields are static."""

    scaling: Scaling = dataclasses.field(default="dataset", kw_only=True, metadata=STATIC)
    """Of pixels: by the data set's mean and deviation, to the unit interval, or each image by its own."""

    @abc.abstractmethod
    def module(self, inputs: Inputs) -> linen.Module:
        """Return the flax module, scaled images to logits; raise `ConfigError` for options that do not fit them."""

    def grade(self, logits: Float[Array, "batch classes"], labels: Int[Array, " batch"]) -> Grades:
        """Return each example's loss, and whether the answer is right; by default cross-entropy and the argmax."""
        return cross_entropy(logits, labels)

    def penalty(self, weights: Weights) -> Float[Array, ""] | float:
        """Return what is added once to the mean loss of any number of examples."""
        return 0.0


def scaled(images: UInt8[Array, "batch height width channels"], inputs: Inputs, scaling: Scaling) -> Scaled:
    """Return pixels as a model sees them.

    "dataset": by the data set's mean and standard deviation; "unit": to [0, 1]; "image": each image to mean 0 and
    standard deviation 1, or less if it is nearly flat (S. Wang et al. 2019 do so with CIFAR-10).
    """
    x = images.astype(jnp.result_type(float)) / inputs.scale
    if scaling == "dataset":
        return (x - inputs.mean) / inputs.std
    if scaling == "image":
        floor = x[0].size ** -0.5 / inputs.scale  # the least standard deviation, 1 / sqrt(pixels) of a pixel's step
        mean, std = x.mean((1, 2, 3), keepdims=True), x.std((1, 2, 3), keepdims=True)
        return (x - mean) / jnp.maximum(std, floor)
    return x


def make(options: ModelOptions, inputs: Inputs) -> Model:
    """Return the classifier."""
    module = options.module(inputs)

    def init(key: PRNGKeyArray) -> Weights:
        blank = jnp.zeros((1, *inputs.shape), jnp.uint8)
        return module.init(key, scaled(blank, inputs, options.scaling))["params"]

    def logits(weights: Weights, images: UInt8[Array, "batch height width channels"]) -> Float[Array, "batch classes"]:
        return module.apply({"params": weights}, scaled(images, inputs, options.scaling))  # type: ignore[return-value]

    return Model(init, logits, options.grade, options.penalty)
