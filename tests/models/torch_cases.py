"""Shared inputs of `torch_golden.py` and `test_cnn.py`: the shapes of networks, and seeded numbers.

Shapes are PyTorch's: (outputs, inputs, rows, columns) of a convolution, (outputs, inputs) of a dense layer. Numbers
come from the raw words of PCG64, whose stream NumPy promises to keep; only the results of PyTorch are stored.
"""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

GOLDEN = Path(__file__).with_name("torch_golden.npz")
BATCH, ENTRIES = 4, 150
EMNIST, CIFAR = (28, 28, 1), (32, 32, 3)


class Case(NamedTuple):
    """A network and its images.

    Attributes:
        image: height, width, channels.
        kernels: shapes of the weights by layer; each layer also has a bias.
        flat: channels, height, width of the input of the dense layers.
        scaling: "unit", "image", or mean and standard deviation of pixel / 255.
    """

    image: tuple[int, int, int]
    kernels: tuple[tuple[int, ...], ...]
    flat: tuple[int, int, int]
    scaling: str | tuple[float, float]


_E3CS_CIFAR = (64, 3, 5, 5), (64, 64, 5, 5)
CASES = {
    "cnn": Case((8, 8, 1), ((8, 1, 3, 3), (16, 8, 3, 3), (32, 64), (10, 32)), (16, 2, 2), (0.0, 1.0)),
    "e3cs-emnist": Case(
        EMNIST, ((10, 1, 5, 5), (10, 10, 5, 5), (1280, 160), (256, 1280), (26, 256)), (10, 4, 4), (0.1307, 0.3081)
    ),
    "e3cs-cifar": Case(CIFAR, (*_E3CS_CIFAR, (384, 1600), (192, 384), (10, 192)), (64, 5, 5), (0.5, 0.5)),
    "rbcs-f-fashion": Case(
        EMNIST, ((20, 1, 5, 5), (50, 20, 5, 5), (500, 800), (10, 500)), (50, 4, 4), (0.1307, 0.3081)
    ),
    "wang": Case(EMNIST, ((32, 1, 5, 5), (32, 32, 5, 5), (256, 1568), (10, 256)), (32, 7, 7), "unit"),
    "wang-cifar": Case(CIFAR, ((32, 3, 5, 5), (32, 32, 5, 5), (256, 2048), (10, 256)), (32, 8, 8), "image"),
    "e3cs-emnist, pools=last": Case(
        EMNIST, ((10, 1, 5, 5), (10, 10, 5, 5), (1280, 1000), (256, 1280), (26, 256)), (10, 10, 10), (0.1307, 0.3081)
    ),
    "e3cs-emnist, padding=same": Case(
        EMNIST, ((10, 1, 5, 5), (10, 10, 5, 5), (1280, 490), (256, 1280), (26, 256)), (10, 7, 7), (0.1307, 0.3081)
    ),
    "e3cs-cifar, pool=3": Case(CIFAR, (*_E3CS_CIFAR, (384, 1024), (192, 384), (10, 192)), (64, 4, 4), (0.5, 0.5)),
}  # the pools of the last case overlap: 3x3 in steps of 2


def words(name: str, part: int, count: int) -> np.ndarray:
    """Return random 64-bit words for a part of a case."""
    return np.random.PCG64([part, *name.encode()]).random_raw(count)


def images(name: str) -> np.ndarray:
    """Return images (batch, height, width, channels) uint8: noise; the last image is flat but for one pixel."""
    shape = (BATCH, *CASES[name].image)
    pixels = (words(name, 0, math.prod(shape)) >> 56).astype(np.uint8).reshape(shape)
    pixels[0, :14, :5] = 0  # a black edge
    pixels[-1], pixels[-1, 5, 6, 0] = 77, 78
    return pixels


def labels(name: str) -> np.ndarray:
    """Return the labels (batch,) int32."""
    return (words(name, 1, BATCH) % CASES[name].kernels[-1][0]).astype(np.int32)


def weights(name: str) -> list[np.ndarray]:
    """Return kernel, bias, kernel, bias, ...: float64, uniform, large enough for the signal to keep its size."""
    found = []
    for i, kernel in enumerate(CASES[name].kernels):
        bound = math.sqrt(6 / math.prod(kernel[1:]))
        for j, shape in enumerate((kernel, kernel[:1])):
            unit = (words(name, 2 + 2 * i + j, math.prod(shape)) >> 11) * 2.0**-53
            found.append((bound * (2 * unit - 1)).reshape(shape))
    return found


def digest(gradient: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Return each parameter's sum, sum of squares and some evenly spread entries."""
    flat = [g.reshape(-1) for g in gradient]
    return {
        "sums": np.array([g.sum() for g in flat]),
        "squares": np.array([(g * g).sum() for g in flat]),
        "entries": np.concatenate([g[np.linspace(0, g.size - 1, min(g.size, ENTRIES)).astype(int)] for g in flat]),
    }
