"""Convolutional classifiers of the papers: blocks of convolution and pool, dense ReLU layers, logits.

- T. Huang et al., "Stochastic Client Selection for Federated Learning With Volatile Clients" (E3CS), 2022, Sec. VI-A:
  two 5x5 convolutions of 10 (EMNIST letters) or 64 channels (CIFAR-10), 2x2 pools, dense 1280-256 or 384-192.
- T. Huang et al., "An Efficiency-Boosting Client Selection Scheme ..." (RBCS-F), 2021, Sec. 6: 20 and 50 channels,
  dense 500 (Fashion-MNIST); for CIFAR-10 the network of E3CS.
- S. Wang et al., "Adaptive Federated Learning in Resource Constrained Edge Computing Systems", 2019, as in its public
  code: two 5x5 convolutions of 32 channels that keep the size, local response normalisation, dense 256.

*Departures and readings.*
- E3CS does not say whether both convolutions are pooled; here they are (`pools="each"`; "last" pools once). Nor does it
  say how images are padded: they are not (`padding="valid"`).
- Weights start as in PyTorch, in which E3CS and RBCS-F were written: uniform within 1 / sqrt(fan-in), biases too.
- The bias and the ReLU follow the pool, where they cost a quarter, unless normalisation comes between them: both are
  monotone, so the values are the same.
"""

import math
from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp
from flax import linen
from jax import Array, lax
from jaxtyping import Float, PRNGKeyArray

from jfed.core.errors import require
from jfed.core.members import Name
from jfed.core.options import static
from jfed.models.classifier import Inputs, ModelOptions
from jfed.models.conv import Images, conv2d, max_pool
from jfed.models.product import dense

LRN_RADIUS, LRN_BIAS, LRN_ALPHA = 4, 1.0, 0.001 / 9  # the public code of Wang et al.; the power is 3/4
WANG_STD = WANG_BIAS = 0.1  # the same
WANG = {"channels": (32, 32), "padding": "same", "hidden": (256,), "normalize": True, "start": "wang"}


@dataclass(frozen=True)
class Options(ModelOptions):
    """Settings of convolutional networks; all of them shape the program.

    Attributes:
        channels: of each convolution.
        kernel: side of the kernels.
        padding: valid: no padding; same: zeros around, so that a convolution keeps the size.
        pool: side of the pooled windows.
        pool_stride: step between windows.
        pools: each: pool after each convolution; last: after the last one only.
        hidden: widths of the dense ReLU layers.
        normalize: whether there is local response normalisation, where Wang et al. have it: after the first pool and
            before the second.
        start: initial weights: pytorch, uniform by fan-in; wang, normal (truncated, 0.1) with biases of 0.1.
    """

    names = (
        Name("e3cs-cifar", aliases=("rbcs-f-cifar",)),  # the two papers use the same network
        Name("e3cs-emnist", {"channels": (10, 10), "hidden": (1280, 256)}),
        Name("rbcs-f-fashion", {"channels": (20, 50), "hidden": (500,)}),
        Name("wang", {**WANG, "scaling": "unit"}),
        Name("wang-cifar", {**WANG, "scaling": "image"}),
        # for images as small as the digits
        Name("cnn", {"channels": (8, 16), "kernel": 3, "padding": "same", "hidden": (32,)}),
    )

    channels: tuple[int, ...] = static((64, 64))
    kernel: int = static(5)
    padding: Literal["valid", "same"] = static("valid")
    pool: int = static(2)
    pool_stride: int = static(2)
    pools: Literal["each", "last"] = static("each")
    hidden: tuple[int, ...] = static((384, 192))
    normalize: bool = static(False)
    start: Literal["pytorch", "wang"] = static("pytorch")

    @property
    def wide_products(self) -> bool:
        """Return True: most products are wide, and measured rounds of narrow networks lose nothing."""
        return True

    def module(self, inputs: Inputs) -> linen.Module:
        """Return the flax module."""
        sizes = (*self.channels, *self.hidden, self.kernel, self.pool, self.pool_stride)
        require(min(sizes) >= 1, f"A convolutional network needs sizes of at least 1, found {self}.")
        require(len(self.channels) >= 1, "A convolutional network needs at least one convolution.")
        require(
            len(inputs.shape) == 3,
            f"A convolutional network needs images (height, width, channels), found examples of shape {inputs.shape}:"
            " choose another model, such as linear or mlp, or give images a last axis of channels.",
        )
        side = min(inputs.shape[:2])
        for i in range(len(self.channels)):
            side -= self.kernel - 1 if self.padding == "valid" else 0
            if self.pools == "each" or i == len(self.channels) - 1:
                side = (side - self.pool) // self.pool_stride + 1 if side >= self.pool else 0
            require(
                side >= 1,
                f"Images of {inputs.shape[0]} x {inputs.shape[1]} pixels are too small for {len(self.channels)}"
                f" convolutions of {self.kernel} x {self.kernel} and their pools.",
            )
        return Cnn(self, inputs.num_classes)


def fan_in_uniform(fan_in: int) -> linen.initializers.Initializer:
    """Return the initial values of PyTorch: uniform within 1 / sqrt(fan-in)."""
    bound = 1 / math.sqrt(fan_in)

    def init(key: PRNGKeyArray, shape: tuple[int, ...], dtype: jnp.dtype = jnp.float32) -> Array:  # type: ignore[assignment]
        return jax.random.uniform(key, shape, dtype, -bound, bound)

    return init


class Cnn(linen.Module):
    """Convolutions and pools in the layout (channels, height, width, batch), then dense layers."""

    options: Options
    num_classes: int

    def _weights(self, name: str, shape: tuple[int, ...], dtype: jnp.dtype) -> tuple[Array, Array]:
        if self.options.start == "wang":
            kernel = linen.initializers.truncated_normal(WANG_STD)
            bias = linen.initializers.constant(WANG_BIAS)
        else:
            kernel = bias = fan_in_uniform(math.prod(shape[:-1]))
        return (
            self.param(f"{name}_kernel", kernel, shape, dtype),
            self.param(f"{name}_bias", bias, shape[-1:], dtype),
        )

    @linen.compact
    def __call__(self, images: Float[Array, "batch height width channels"]) -> Float[Array, "batch classes"]:
        """Return the logits of scaled images."""
        o, x = self.options, images.transpose(3, 1, 2, 0)
        for i, channels in enumerate(o.channels):
            kernel, bias = self._weights(f"conv_{i}", (o.kernel, o.kernel, x.shape[0], channels), x.dtype)
            if o.padding == "same":
                before = (o.kernel - 1) // 2
                around = (before, o.kernel - 1 - before)
                x = jnp.pad(x, ((0, 0), around, around, (0, 0)))
            x, bias = conv2d(x, kernel), bias[:, None, None, None]
            pools = o.pools == "each" or i == len(o.channels) - 1
            if o.normalize and i > 0:
                x = local_response(linen.relu(x + bias))
                x = max_pool(x, o.pool, o.pool_stride) if pools else x
            else:
                x = max_pool(x, o.pool, o.pool_stride) if pools else x
                x = linen.relu(x + bias)
                x = local_response(x) if o.normalize else x
        x = x.transpose(3, 1, 2, 0).reshape(images.shape[0], -1)
        for i, width in enumerate((*o.hidden, self.num_classes)):
            kernel, bias = self._weights(f"dense_{i}", (x.shape[1], width), x.dtype)
            x = dense(x, kernel) + bias
            x = linen.relu(x) if i < len(o.hidden) else x
        return x


@jax.custom_vjp
def local_response(x: Images) -> Images:
    """Return AlexNet's normalisation: each value over a power of the sum of squares in neighbouring channels."""
    return _normalized(x)[0]


def _nearby(x: Images) -> Images:
    """Return the sum over neighbouring channels."""
    place = jnp.arange(x.shape[0])
    near = (jnp.abs(place[:, None] - place) <= LRN_RADIUS).astype(x.dtype)
    return jnp.tensordot(near, x, 1)


def _normalized(x: Images) -> tuple[Images, tuple[Images, Images]]:
    root = lax.rsqrt(LRN_BIAS + LRN_ALPHA * _nearby(x * x))
    return x * root * jnp.sqrt(root), (x, root)  # to the power of -3/4 by roots, which take a tenth of a power's time


def _normalized_gradient(residual: tuple[Images, Images], g: Images) -> tuple[Images]:
    x, root = residual
    power = root * jnp.sqrt(root)
    return (g * power - 1.5 * LRN_ALPHA * x * _nearby(g * x * power * root * root),)


local_response.defvjp(_normalized, _normalized_gradient)
