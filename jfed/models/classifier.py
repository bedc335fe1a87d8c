"""From a model's options to a classifier of uint8 images or float features: what all families share."""

import abc
import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax.numpy as jnp
from flax import linen
from jax import Array
from jaxtyping import Float, Int, Num, PRNGKeyArray

from jfed.core.interfaces import Grades, Model
from jfed.core.members import MemberOptions
from jfed.core.options import STATIC
from jfed.core.types import Weights
from jfed.models.losses import cross_entropy

Scaling = Literal["dataset", "unit", "image"]
Scaled = Float[Array, "batch ..."]


class Inputs(NamedTuple):
    """What a model is told of a data set (static).

    Attributes:
        shape: of an example, such as (height, width, channels) or (features,).
        num_classes: labels.
        scale: the largest value: of a pixel, or of a feature without its sign.
        mean: of value / scale, one or one for each entry of the last axis.
        std: of the same.
        step: the least difference of two values / scale; None: 1 / scale, as of pixels.
    """

    shape: tuple[int, ...]
    num_classes: int
    scale: float
    mean: float | tuple[float, ...]
    std: float | tuple[float, ...]
    step: float | None = None


@dataclass(frozen=True)
class ModelOptions(MemberOptions):
    """What the options of a family of models offer; all of their fields are static."""

    scaling: Scaling = dataclasses.field(default="dataset", kw_only=True, metadata=STATIC)
    """By the data set's mean and deviation, by the largest value, or each example by its own mean and deviation."""

    @abc.abstractmethod
    def module(self, inputs: Inputs) -> linen.Module:
        """Return the flax module, scaled images to logits; raise `ConfigError` for options that do not fit them."""

    def grade(self, logits: Float[Array, "batch classes"], labels: Int[Array, " batch"]) -> Grades:
        """Return each example's loss, and whether the answer is right; by default cross-entropy and the argmax."""
        return cross_entropy(logits, labels)

    def penalty(self, weights: Weights) -> Float[Array, ""] | float:
        """Return what is added once to the mean loss of any number of examples."""
        return 0.0


def scaled(images: Num[Array, "batch ..."], inputs: Inputs, scaling: Scaling) -> Scaled:
    """Return examples as a model sees them.

    "dataset": by the data set's mean and standard deviation, which for arrays of a user's own are those of the training
    examples, for each feature of a vector or each channel of an image; "unit": pixels to [0, 1], features to [-1, 1];
    "image": each example to mean 0 and standard deviation 1, or less if it is nearly flat (S. Wang et al. 2019 do so
    with CIFAR-10).
    """
    x = images.astype(jnp.result_type(float)) / inputs.scale
    if scaling == "dataset":
        return (x - _spread(inputs.mean)) / _spread(inputs.std)
    if scaling == "image":
        # the least standard deviation, 1 / sqrt(pixels) of a pixel's step
        root = x[0].size ** -0.5
        floor = root / inputs.scale if inputs.step is None else root * inputs.step
        axes = tuple(range(1, x.ndim))
        mean, std = x.mean(axes, keepdims=True), x.std(axes, keepdims=True)
        return (x - mean) / jnp.maximum(std, floor)
    return x


def _spread(value: float | tuple[float, ...]) -> Any:
    """Return what is broadcast over the last axis of examples; a number stays one, whose type is weak."""
    return jnp.asarray(value, jnp.result_type(float)) if isinstance(value, tuple) else value


def make(options: ModelOptions, inputs: Inputs) -> Model:
    """Return the classifier."""
    module = options.module(inputs)

    def init(key: PRNGKeyArray) -> Weights:
        blank = jnp.zeros((1, *inputs.shape), jnp.uint8)
        return module.init(key, scaled(blank, inputs, options.scaling))["params"]

    def logits(weights: Weights, images: Num[Array, "batch ..."]) -> Float[Array, "batch classes"]:
        return module.apply({"params": weights}, scaled(images, inputs, options.scaling))  # type: ignore[return-value]

    return Model(init, logits, options.grade, options.penalty)
