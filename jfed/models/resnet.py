"""A small residual network with group normalisation, for images.

K. He, X. Zhang, S. Ren, J. Sun, "Deep Residual Learning for Image Recognition", CVPR 2016, Sec. 4.2 (networks for
CIFAR-10); Y. Wu, K. He, "Group Normalization", ECCV 2018. Batch normalisation depends on the other examples of a batch
and fails where clients have data of few labels (K. Hsieh et al., "The Non-IID Data Quagmire of Decentralized Machine
Learning", ICML 2020), so federated learning takes groups.

*Structure.* A 3 x 3 convolution, then stages of residual blocks: convolution, normalisation, ReLU, convolution,
normalisation, and the block's input added before the last ReLU. After the first stage each one halves the image. Then
the mean over the image, and a dense layer.

*Departures.*
- A stage halves the image by the mean of 2 x 2 pixels before its first block, in place of convolutions with a stride
  of 2, so sides must be even there. Where the number of channels changes, the shortcut is a 1 x 1 convolution.
- Convolutions start as in He et al. 2015: normal with variance 2 / fan-in. Norms start with a scale of 1 and a bias of
  0, and the dense layer within 1 / sqrt(fan-in).
"""

from dataclasses import dataclass

import jax.numpy as jnp
from flax import linen
from jax import Array, lax
from jaxtyping import Float

from jfed.core.errors import require
from jfed.core.members import Name
from jfed.core.options import static
from jfed.models.classifier import Inputs, ModelOptions
from jfed.models.cnn import fan_in_uniform
from jfed.models.conv import Images, conv2d
from jfed.models.product import dense

EPSILON = 1e-5  # added to the variance


@dataclass(frozen=True)
class Options(ModelOptions):
    """Settings of residual networks; all of them shape the program.

    Attributes:
        channels: of each stage.
        blocks: number of residual blocks in a stage.
        groups: number of groups of channels that are normalised together.
    """

    names = (Name("resnet"),)

    channels: tuple[int, ...] = static((16, 32, 64))
    blocks: int = static(1)
    groups: int = static(4)

    @property
    def wide_products(self) -> bool:
        """Return True: most products are wide, as in `cnn`."""
        return True

    def module(self, inputs: Inputs) -> linen.Module:
        """Return the flax module."""
        require(
            len(self.channels) >= 1 and min(*self.channels, self.blocks, self.groups) >= 1,
            f"A residual network needs sizes of at least 1, found {self}.",
        )
        uneven = [many for many in self.channels if many % self.groups]
        require(not uneven, f"Each stage needs a multiple of {self.groups} channels (groups), found {uneven}.")
        require(
            len(inputs.shape) == 3,
            f"A residual network needs images (height, width, channels), found examples of shape {inputs.shape}: choose"
            " another model, such as linear or mlp, or give images a last axis of channels.",
        )
        parts = 2 ** (len(self.channels) - 1)
        require(
            all(side % parts == 0 for side in inputs.shape[:2]),
            f"{len(self.channels)} stages halve images {len(self.channels) - 1} times, so their sides must be multiples"
            f" of {parts}, found {inputs.shape[0]} x {inputs.shape[1]}.",
        )
        return ResNet(self, inputs.num_classes)


class ResNet(linen.Module):
    """Residual blocks in the layout (channels, height, width, batch)."""

    options: Options
    num_classes: int

    def _conv(self, x: Images, channels: int, side: int, name: str) -> Images:
        """Return a convolution that keeps the size, without a bias."""
        he = linen.initializers.variance_scaling(2.0, "fan_in", "normal")
        kernel = self.param(name, he, (side, side, x.shape[0], channels), x.dtype)
        if side == 1:
            return jnp.tensordot(kernel[0, 0].T, x, 1)
        around = (side // 2, side // 2)
        return conv2d(jnp.pad(x, ((0, 0), around, around, (0, 0))), kernel)

    def _norm(self, x: Images, name: str) -> Images:
        """Return x normalised in groups of channels, example by example."""
        scale, bias = (
            self.param(f"{name}_{what}", start, x.shape[:1], x.dtype)
            for what, start in (("scale", linen.initializers.ones), ("bias", linen.initializers.zeros))
        )
        return normalised(x, self.options.groups) * scale[:, None, None, None] + bias[:, None, None, None]

    @linen.compact
    def __call__(self, images: Float[Array, "batch height width channels"]) -> Float[Array, "batch classes"]:
        """Return the logits of scaled images."""
        o = self.options
        x = linen.relu(self._norm(self._conv(images.transpose(3, 1, 2, 0), o.channels[0], 3, "conv"), "norm"))
        for stage, channels in enumerate(o.channels):
            x = halved(x) if stage > 0 else x
            for block in range(o.blocks):
                name = f"{stage}_{block}"
                y = linen.relu(self._norm(self._conv(x, channels, 3, f"conv_{name}_a"), f"norm_{name}_a"))
                y = self._norm(self._conv(y, channels, 3, f"conv_{name}_b"), f"norm_{name}_b")
                same = x.shape[0] == channels
                x = linen.relu(y + (x if same else self._conv(x, channels, 1, f"conv_{name}_c")))
        pooled = x.mean((1, 2)).T
        start = fan_in_uniform(pooled.shape[1])
        kernel = self.param("dense_kernel", start, (pooled.shape[1], self.num_classes), x.dtype)
        return dense(pooled, kernel) + self.param("dense_bias", start, (self.num_classes,), x.dtype)


def normalised(x: Images, groups: int) -> Images:
    """Return x less its mean and over its standard deviation, over each group of channels of each example."""
    parts = x.reshape(groups, -1, *x.shape[1:])
    parts = parts - parts.mean((1, 2, 3), keepdims=True)
    variance = jnp.square(parts).mean((1, 2, 3), keepdims=True)
    return (parts * lax.rsqrt(variance + EPSILON)).reshape(x.shape)


def halved(x: Images) -> Images:
    """Return the means of 2 x 2 pixels."""
    channels, height, width, batch = x.shape
    return x.reshape(channels, height // 2, 2, width // 2, 2, batch).mean((2, 4))
