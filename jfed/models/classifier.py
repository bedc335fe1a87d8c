"""The code that all families of models share: from options to a classifier of uint8 images or float features."""

import abc
import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax.numpy as jnp
from flax import linen
from jax import Array
from jaxtyping import Float, Int, Num, PRNGKeyArray

from jfed.core.errors import require, shown
from jfed.core.interfaces import Grades, Model
from jfed.core.members import MemberOptions
from jfed.core.options import STATIC
from jfed.core.types import Weights
from jfed.models.losses import cross_entropy

Scaling = Literal["dataset", "unit", "image"]
Scaled = Float[Array, "batch ..."]


class Inputs(NamedTuple):
    """A data set's properties that a model depends on (static).

    Attributes:
        shape: of an example, such as (height, width, channels) or (features,).
        num_classes: number of labels.
        scale: the largest value of a pixel, or the largest absolute value of a feature.
        mean: of value / scale: one number, or one for each entry of the last axis.
        std: standard deviation of value / scale, likewise.
        step: the least difference of two values, divided by scale; None: 1 / scale, as for pixels.
    """

    shape: tuple[int, ...]
    num_classes: int
    scale: float
    mean: float | tuple[float, ...]
    std: float | tuple[float, ...]
    step: float | None = None


@dataclass(frozen=True)
class ModelOptions(MemberOptions):
    """Base class of the options of a family of models; all fields are static.

    Attributes:
        scaling: dataset, unit or image; see `scaled`.
    """

    scaling: Scaling = dataclasses.field(default="dataset", kw_only=True, metadata=STATIC)

    @property
    def wide_products(self) -> bool:
        """Return whether most of the network's time goes into products that are wide in all directions.

        On a CPU XLA then multiplies matrices by Eigen, which is faster for such products and slower for those with a
        few columns. The choice changes speed and rounding only.
        """
        return False

    @abc.abstractmethod
    def module(self, inputs: Inputs) -> linen.Module:
        """Return the flax module, scaled images to logits; raise `ConfigError` if the options do not fit the inputs."""

    def grade(self, logits: Float[Array, "batch classes"], labels: Int[Array, " batch"]) -> Grades:
        """Return each example's loss, and whether the answer is right; by default cross-entropy and the argmax."""
        return cross_entropy(logits, labels)

    def penalty(self, weights: Weights) -> Float[Array, ""] | float:
        """Return the term that is added once to the mean loss of any number of examples."""
        return 0.0


def scaled(images: Num[Array, "batch ..."], inputs: Inputs, scaling: Scaling) -> Scaled:
    """Return examples scaled for a model.

    "dataset": by the data set's mean and standard deviation, which for a user's own arrays are those of the training
    examples, for each feature of a vector or each channel of an image; "unit": pixels to [0, 1], features to [-1, 1];
    "image": each example to mean 0 and standard deviation 1, or less if it is nearly flat (as S. Wang et al. 2019 do
    with CIFAR-10).
    """
    x = images.astype(jnp.result_type(float)) / inputs.scale
    if scaling == "dataset":
        return (x - _spread(inputs.mean)) / _spread(inputs.std)
    if scaling == "image":
        # The least standard deviation is 1 / sqrt(pixels) of a pixel's step.
        root = x[0].size ** -0.5
        floor = root / inputs.scale if inputs.step is None else root * inputs.step
        axes = tuple(range(1, x.ndim))
        mean, std = x.mean(axes, keepdims=True), x.std(axes, keepdims=True)
        return (x - mean) / jnp.maximum(std, floor)
    return x


def _spread(value: float | tuple[float, ...]) -> Any:
    """Return a value to broadcast over the last axis of examples; a Python number stays one, for its weak type."""
    return jnp.asarray(value, jnp.result_type(float)) if isinstance(value, tuple) else value


def make(options: ModelOptions, inputs: Inputs) -> Model:
    """Return the classifier.

    Raises:
        ConfigError: the options do not fit the inputs, or `module` returns no flax module.
    """
    module = options.module(inputs)
    require(
        isinstance(module, linen.Module),
        f"{type(options).__qualname__}.module must return a flax.linen.Module, found {shown(module)}.",
    )

    def init(key: PRNGKeyArray) -> Weights:
        blank = jnp.zeros((1, *inputs.shape), jnp.uint8)
        return module.init(key, scaled(blank, inputs, options.scaling))["params"]

    def logits(weights: Weights, images: Num[Array, "batch ..."]) -> Float[Array, "batch classes"]:
        return module.apply({"params": weights}, scaled(images, inputs, options.scaling))  # type: ignore[return-value]

    return Model(init, logits, options.grade, options.penalty)
