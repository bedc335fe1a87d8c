"""What the official data sets look like, and where their files may lie on this machine."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from jfed.data.formats import read_cifar10, read_idx
from jfed.errors import DataError


class Raw(NamedTuple):
    """A data set as its files give it: images (N, H, W, C) and labels (N,), all uint8.

    ``folder`` is where the files were, for messages.
    """

    images: NDArray[np.uint8]
    labels: NDArray[np.uint8]
    test_images: NDArray[np.uint8]
    test_labels: NDArray[np.uint8]
    folder: Path


@dataclass(frozen=True)
class Source:
    """One official data set: its files, shape, counts and input scaling."""

    title: str
    train_files: tuple[str, ...]
    test_files: tuple[str, ...]
    read: Callable[[list[Path]], tuple[NDArray[np.uint8], NDArray[np.uint8]]]
    image_shape: tuple[int, int, int]
    num_classes: int
    first_label: int  # the label of class 0 in the files
    counts: tuple[int, int]  # official numbers of training and test images
    other_counts: bool  # accept other numbers of images, and say so in the title
    mean: float
    std: float
    subfolders: tuple[str, ...]  # tried below each folder, before the folder itself
    system_folders: tuple[str, ...]
    obtain: str  # completes "you can ..."


def _read_idx_pair(paths: list[Path]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    return read_idx(paths[0], 3)[..., np.newaxis], read_idx(paths[1], 1)


def _read_emnist_pair(paths: list[Path]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    # EMNIST's files keep NIST's column-major images: rows and columns are swapped.
    images, labels = _read_idx_pair(paths)
    return np.ascontiguousarray(images.transpose(0, 2, 1, 3)), labels


def _read_cifar10_batches(paths: list[Path]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    images, labels = zip(*map(read_cifar10, paths), strict=True)
    return np.concatenate(images), np.concatenate(labels)


def _idx_names(stem: str) -> tuple[str, str]:
    return f"{stem}-images-idx3-ubyte", f"{stem}-labels-idx1-ubyte"


# The input scalings are those of the E3CS authors' lab (github.com/oneenooo/Client-selection-of-Federated-Learning).
SOURCES = {
    "mnist": Source(
        title="MNIST",
        train_files=_idx_names("train"),
        test_files=_idx_names("t10k"),
        read=_read_idx_pair,
        image_shape=(28, 28, 1),
        num_classes=10,
        first_label=0,
        counts=(60_000, 10_000),
        other_counts=False,
        mean=0.1307,
        std=0.3081,
        subfolders=("mnist",),
        system_folders=(),
        obtain="download them from http://yann.lecun.com/exdb/mnist/ or one of its mirrors",
    ),
    "fashion_mnist": Source(
        title="Fashion-MNIST",
        train_files=_idx_names("train"),
        test_files=_idx_names("t10k"),
        read=_read_idx_pair,
        image_shape=(28, 28, 1),
        num_classes=10,
        first_label=0,
        counts=(60_000, 10_000),
        other_counts=False,
        mean=0.1307,
        std=0.3081,
        subfolders=("fashion_mnist",),
        system_folders=("/usr/share/datasets/fashion-mnist",),
        obtain="install Debian's package dataset-fashion-mnist, or download them from "
        "https://github.com/zalandoresearch/fashion-mnist",
    ),
    "emnist_letters": Source(
        title="EMNIST letters",
        train_files=_idx_names("emnist-letters-train"),
        test_files=_idx_names("emnist-letters-test"),
        read=_read_emnist_pair,
        image_shape=(28, 28, 1),
        num_classes=26,
        first_label=1,
        counts=(124_800, 20_800),
        other_counts=True,
        mean=0.1307,
        std=0.3081,
        subfolders=("emnist_letters",),
        system_folders=(),
        obtain="download gzip.zip from https://www.nist.gov/itl/products-and-services/emnist-dataset",
    ),
    "cifar10": Source(
        title="CIFAR-10",
        train_files=tuple(f"data_batch_{i}.bin" for i in range(1, 6)),
        test_files=("test_batch.bin",),
        read=_read_cifar10_batches,
        image_shape=(32, 32, 3),
        num_classes=10,
        first_label=0,
        counts=(50_000, 10_000),
        other_counts=False,
        mean=0.5,
        std=0.5,
        subfolders=("cifar10/cifar-10-batches-bin", "cifar-10-batches-bin", "cifar10"),
        system_folders=(),
        obtain="download the binary version from https://www.cs.toronto.edu/~kriz/cifar.html",
    ),
}


def _below(source: Source, folder: Path) -> list[Path]:
    return [*(folder / sub for sub in source.subfolders), folder]


def _argument_folders(source: Source, data_dir: Path | None) -> list[Path]:
    return _below(source, data_dir) if data_dir else []


def _environment_folders(source: Source, data_dir: Path | None) -> list[Path]:
    value = os.environ.get("JFED_DATA_DIR")
    return _below(source, Path(value)) if value else []


def _system_folders(source: Source, data_dir: Path | None) -> list[Path]:
    return [Path(folder) for folder in source.system_folders]


def official_files(source: Source, folder: Path) -> Raw | None:
    """Read the official files, plain or ``.gz``, in ``folder``; None if none of them is there.

    Raises ``DataError`` if only some are there, or if one is malformed.
    """
    names = source.train_files + source.test_files
    found = {name: _plain_or_gz(folder / name) for name in names}
    missing = [name for name, path in found.items() if path is None]
    if len(missing) == len(names):
        return None
    if missing:
        raise DataError(f"{folder} holds only part of {source.title}: {', '.join(missing)} missing")
    paths = [path for path in found.values() if path is not None]
    num_train = len(source.train_files)
    return Raw(*source.read(paths[:num_train]), *source.read(paths[num_train:]), folder)


def _plain_or_gz(path: Path) -> Path | None:
    candidates = (path, path.with_name(path.name + ".gz"))
    return next((candidate for candidate in candidates if candidate.is_file()), None)


@dataclass(frozen=True)
class Origin:
    """A kind of place to look: which folders, and how to read one (None: it is not there)."""

    folders: Callable[[Source, Path | None], list[Path]]
    read: Callable[[Source, Path], Raw | None]


# Tried in this order; a further kind of place (say, prepared tensorflow-datasets) is one more line.
ORIGINS: tuple[Origin, ...] = (
    Origin(_argument_folders, official_files),
    Origin(_environment_folders, official_files),
    Origin(_system_folders, official_files),
)


def find(name: str, source: Source, data_dir: Path | None) -> Raw:
    """Return the first reading of ``source`` that ``ORIGINS`` offers.

    Raises ``DataError`` with the folders that were searched and the ways to get the files.
    """
    searched = []
    for origin in ORIGINS:
        for folder in origin.folders(source, data_dir):
            raw = origin.read(source, folder)
            if raw is not None:
                return raw
            searched.append(str(folder))
    where = "neither data_dir nor $JFED_DATA_DIR is set"
    if searched:
        where = f"searched {', '.join(dict.fromkeys(searched))}"
    names = ", ".join(source.train_files + source.test_files)
    raise DataError(
        f"the data set {name!r} was not found ({where}): put {names} (plain or .gz) into a folder "
        f"and name it by data_dir (--data-dir) or $JFED_DATA_DIR; you can {source.obtain}"
    )
