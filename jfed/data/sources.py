"""The official data sets: names and contents of their files, and how a folder of these is read."""

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jfed.core.errors import DataError
from jfed.data.formats import cifar10_content, idx_content, read_cifar10, read_idx

Content = Iterator[bytes | memoryview]  # of one file, piece by piece


class Raw(NamedTuple):
    """The content of a data set's files, all uint8.

    Attributes:
        images: (N, H, W, C).
        labels: (N,), as in the files.
        test_images: (M, H, W, C).
        test_labels: (M,), as in the files.
        folder: folder of the files, for messages.
    """

    images: NDArray[np.uint8]
    labels: NDArray[np.uint8]
    test_images: NDArray[np.uint8]
    test_labels: NDArray[np.uint8]
    folder: Path


class Held(NamedTuple):
    """A folder that holds a data set, complete or not.

    Attributes:
        folder: the folder.
        read: reads the data set, or raises `DataError`.
    """

    folder: Path
    read: Callable[[], Raw]


@dataclass(frozen=True)
class Format:
    """A way in which some files hold one set of images (N, H, W, C) and labels (N,).

    Attributes:
        read: paths -> images and labels.
        contents: images and labels -> content of each file, in the order of the paths.
    """

    read: Callable[[list[Path]], tuple[NDArray[np.uint8], NDArray[np.uint8]]]
    contents: Callable[[NDArray[np.uint8], NDArray[np.uint8]], Iterator[Content]]


def _read_idx_pair(paths: list[Path]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    return read_idx(paths[0], 3)[..., np.newaxis], read_idx(paths[1], 1)


def _idx_pair(images: NDArray[np.uint8], labels: NDArray[np.uint8]) -> Iterator[Content]:
    yield idx_content(images[..., 0])
    yield idx_content(labels)


def _read_cifar10_batches(paths: list[Path]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    images, labels = zip(*map(read_cifar10, paths), strict=True)
    return np.concatenate(images), np.concatenate(labels)


def _cifar10_batches(images: NDArray[np.uint8], labels: NDArray[np.uint8]) -> Iterator[Content]:
    for start in range(0, len(images), _CIFAR10_BATCH):
        batch = slice(start, start + _CIFAR10_BATCH)
        yield cifar10_content(images[batch], labels[batch])


_CIFAR10_BATCH = 10_000  # images per file
_IDX = Format(_read_idx_pair, _idx_pair)
_CIFAR10 = Format(_read_cifar10_batches, _cifar10_batches)


@dataclass(frozen=True, kw_only=True)
class Source:
    """One official data set: its files, shape, counts and input scaling.

    Attributes:
        title: name in tables and figures.
        train_files: names of the files with training images or labels.
        test_files: names of the files with test images or labels.
        format: format of both groups of files.
        image_shape: (height, width, channels).
        transposed: whether rows and columns are swapped in the files.
        num_classes: L.
        first_label: label of class 0 in the files.
        counts: official numbers of training and test images.
        other_counts: whether other numbers of images are accepted, which the title then gives.
        md5: md5 sum of each file's decompressed content, by its name; empty if they are not known.
        mean: see `Dataset`.
        std: see `Dataset`.
        subfolders: folders to try below each given folder, before that itself.
        system_folders: folders where packages of the operating system put the files.
        prepared: folder of the data set in tensorflow-datasets.
        obtain: how to get the files without jfed; completes "to get the files by hand, ".
    """

    title: str
    train_files: tuple[str, ...]
    test_files: tuple[str, ...]
    format: Format
    image_shape: tuple[int, int, int] = (28, 28, 1)
    transposed: bool = False
    num_classes: int = 10
    first_label: int = 0
    counts: tuple[int, int]
    other_counts: bool = False
    md5: Mapping[str, str] = field(default_factory=dict)
    mean: float = 0.1307
    std: float = 0.3081
    subfolders: tuple[str, ...]
    system_folders: tuple[str, ...] = ()
    prepared: str
    obtain: str


def _idx_names(stem: str) -> tuple[str, str]:
    return f"{stem}-images-idx3-ubyte", f"{stem}-labels-idx1-ubyte"


# The input scalings are those of the E3CS authors' lab (github.com/oneenooo/Client-selection-of-Federated-Learning).
SOURCES = {
    "mnist": Source(
        title="MNIST",
        train_files=_idx_names("train"),
        test_files=_idx_names("t10k"),
        format=_IDX,
        counts=(60_000, 10_000),
        md5={
            "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
            "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
            "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
            "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
        },
        subfolders=("mnist",),
        prepared="mnist",
        obtain="download them from a mirror of http://yann.lecun.com/exdb/mnist/",
    ),
    "fashion_mnist": Source(
        title="Fashion-MNIST",
        train_files=_idx_names("train"),
        test_files=_idx_names("t10k"),
        format=_IDX,
        counts=(60_000, 10_000),
        md5={
            "train-images-idx3-ubyte": "f4a8712d7a061bf5bd6d2ca38dc4d50a",
            "train-labels-idx1-ubyte": "9018921c3c673c538a1fc5bad174d6f9",
            "t10k-images-idx3-ubyte": "8181f5470baa50b63fa0f6fddb340f0a",
            "t10k-labels-idx1-ubyte": "15d484375f8d13e6eb1aabb0c3f46965",
        },
        subfolders=("fashion_mnist",),
        system_folders=("/usr/share/datasets/fashion-mnist",),
        prepared="fashion_mnist",
        obtain="install Debian's package dataset-fashion-mnist, or download them from "
        "https://github.com/zalandoresearch/fashion-mnist",
    ),
    "emnist_letters": Source(
        title="EMNIST letters",
        train_files=_idx_names("emnist-letters-train"),
        test_files=_idx_names("emnist-letters-test"),
        format=_IDX,
        transposed=True,  # as NIST's files are
        num_classes=26,
        first_label=1,
        counts=(124_800, 20_800),
        other_counts=True,
        subfolders=("emnist_letters",),
        prepared="emnist/letters",  # only the first 88,800 and 14,800 of the official images
        obtain="unpack them from gzip.zip of https://www.nist.gov/itl/products-and-services/emnist-dataset",
    ),
    "cifar10": Source(
        title="CIFAR-10",
        train_files=tuple(f"data_batch_{i}.bin" for i in range(1, 6)),
        test_files=("test_batch.bin",),
        format=_CIFAR10,
        image_shape=(32, 32, 3),
        counts=(50_000, 10_000),
        md5={
            "data_batch_1.bin": "5dd7e06a14cb22eb9f671a540d1b7c25",
            "data_batch_2.bin": "5ea93a67294ea407fff1d09f752e9692",
            "data_batch_3.bin": "942cd6a4bcdd0dd3c604fbe906cb4421",
            "data_batch_4.bin": "ae636b3ba5c66a11e91e8cb52e771fcb",
            "data_batch_5.bin": "53f37980c15c3d472c316c40844f3f0d",
            "test_batch.bin": "803d5f7f4d78ea53de84dbe85f74fb6d",
        },
        mean=0.5,
        std=0.5,
        subfolders=("cifar10/cifar-10-batches-bin", "cifar-10-batches-bin", "cifar10"),
        prepared="cifar10",
        obtain="download the binary version from https://www.cs.toronto.edu/~kriz/cifar.html",
    ),
}


def official_files(source: Source, folder: Path) -> Held | None:
    """Return the official files in `folder`, plain or `.gz`; None if none of them is there.

    Reading them raises `DataError` if only some are there, or if one is malformed.
    """
    found = {name: plain_or_gz(folder / name) for name in source.train_files + source.test_files}
    return Held(folder, functools.partial(_read, source, folder, found)) if any(found.values()) else None


def _read(source: Source, folder: Path, found: Mapping[str, Path | None]) -> Raw:
    missing = [name for name, path in found.items() if path is None]
    if missing:
        raise DataError(f"{folder} holds only part of {source.title}: {', '.join(missing)} missing")
    paths = [path for path in found.values() if path is not None]
    num_train = len(source.train_files)
    return Raw(*source.format.read(paths[:num_train]), *source.format.read(paths[num_train:]), folder)


def plain_or_gz(path: Path) -> Path | None:
    """Return `path` if it is a file, else the same with `.gz` if that is; otherwise None."""
    candidates = (path, path.with_name(path.name + ".gz"))
    return next((candidate for candidate in candidates if candidate.is_file()), None)
