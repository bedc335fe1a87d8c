"""The published data sets: digits ships with jfed, the others are read from files (see `jfed data get`).

At half size a pixel is the mean of a square of four, rounded: images that a network a quarter as large can learn, for
studies that would else take days. Mean and deviation for the scaling stay those of the published images.
"""

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jfed.core.errors import require
from jfed.core.members import Name
from jfed.core.options import static
from jfed.data import load as files
from jfed.data.dataset import Dataset, Examples
from jfed.data.options import DataOptions, Folder
from jfed.data.sources import SOURCES


def halved(images: Examples) -> NDArray[np.uint8]:
    """Return images of half the height and width, each pixel the rounded mean of four; a half is rounded up.

    Args:
        images: (N, height, width, channels), uint8, of even height and width.
    """
    n, height, width, channels = images.shape
    squares = images.reshape(n, height // 2, 2, width // 2, 2, channels)
    return ((squares.sum((2, 4), dtype=np.uint16) + 2) // 4).astype(np.uint8)


def _half(name: str) -> str:
    height, width, _ = SOURCES[name].image_shape
    return f"{height // 2}x{width // 2}"


@dataclass(frozen=True)
class Options(DataOptions):
    """A published data set, with its own test images and scaling.

    Attributes:
        source: digits, mnist, fashion_mnist, emnist_letters or cifar10.
        half: whether the images have half their height and width.
    """

    names = (
        *(Name(name.replace("_", "-"), {"source": name}) for name in files.names()),
        *(Name(f"{name.replace('_', '-')}-{_half(name)}", {"source": name, "half": True}) for name in SOURCES),
    )

    source: str = static("digits")
    half: bool = static(False)

    def load(self, data_dir: Folder = None) -> Dataset:
        """Return the data set; see `jfed.data.load.load`."""
        require(not self.half or self.source in SOURCES, f"The images of {self.source} are small as they are.")
        whole = files.load(self.source, data_dir)
        if not self.half:
            return whole
        return dataclasses.replace(
            whole,
            name=f"{whole.name}_{_half(self.source)}",
            title=f"{whole.title} of {_half(self.source).replace('x', ' x ')} pixels",
            images=halved(whole.images),
            test_images=halved(whole.test_images),
        )

    def where(self, data_dir: Folder = None) -> str:
        """Return the folder that the data set would be read from, or the command that downloads it."""
        return str(files.where(self.source, data_dir) or f"not here: jfed data get {self.source.replace('_', '-')}")
