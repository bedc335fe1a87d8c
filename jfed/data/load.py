"""Data sets as uint8 arrays with the facts that tables, figures and input scaling need."""

import hashlib
import os
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jfed.data.sources import SOURCES, Raw, Source, find
from jfed.errors import DataError, unknown

_DIGITS = Path(__file__).parent / "digits" / "digits.npz"

# MNIST and Fashion-MNIST have the same file names and sizes; their test labels tell them apart.
# md5 of the published t10k-labels-idx1-ubyte.
_TEST_LABELS_MD5 = {
    "27ae3e4e09519cfbb04c329615203637": "mnist",
    "15d484375f8d13e6eb1aabb0c3f46965": "fashion_mnist",
}


@dataclass(frozen=True, eq=False)
class Dataset:
    """Training and test images with labels 0 .. num_classes - 1.

    ``name`` is what ``load`` was asked for, ``title`` is for tables and figures. The input of a
    model is ``(image / max_value - mean) / std``; mean and std are without unit.
    """

    name: str
    title: str
    images: NDArray[np.uint8]  # (N, H, W, C)
    labels: NDArray[np.int32]  # (N,)
    test_images: NDArray[np.uint8]  # (M, H, W, C)
    test_labels: NDArray[np.int32]  # (M,)
    num_classes: int
    max_value: int
    mean: float
    std: float


def names() -> tuple[str, ...]:
    """Return the names that ``load`` knows."""
    return ("digits", *SOURCES)


def load(name: str, data_dir: str | os.PathLike[str] | None = None) -> Dataset:
    """Return the data set ``name``, one of ``names()``.

    "digits" ships with jfed: 1,437 training and 360 test images of 8 x 8 pixels (see
    ``digits/README.md``). The others are read from their official files, plain or gzipped, below
    ``data_dir``, then below ``$JFED_DATA_DIR``, then in the system's folder if there is one;
    below means DIR/<name>/ or DIR/ itself, for "cifar10" also ``cifar-10-batches-bin`` in either.

    Raises ``DataError`` if the name is unknown, if the files are not found, and if they are
    truncated, malformed or not what the data set's authors published. "emnist_letters" alone may
    have other numbers of images than the official one; its title then says how many.
    """
    if name == "digits":
        return _load_digits()
    if name not in SOURCES:
        raise unknown("data set", name, names())
    source = SOURCES[name]
    raw = find(name, source, Path(data_dir) if data_dir is not None else None)
    _check_images(source, raw)
    counts = (len(raw.images), len(raw.test_images))
    as_published = counts == source.counts
    dataset = Dataset(
        name=name,
        title=source.title if as_published else f"{source.title} ({sum(counts):,} images)",
        images=raw.images,
        labels=_labels(source, raw.labels, f"training labels in {raw.folder}"),
        test_images=raw.test_images,
        test_labels=_labels(source, raw.test_labels, f"test labels in {raw.folder}"),
        num_classes=source.num_classes,
        max_value=255,
        mean=source.mean,
        std=source.std,
    )
    _check_not_the_other_mnist(name, raw)
    return dataset


def _load_digits() -> Dataset:
    with np.load(_DIGITS) as archive:
        images, labels = archive["images"][..., np.newaxis], archive["labels"].astype(np.int32)
        held_out = np.isin(np.arange(len(labels)), archive["test"])
    return Dataset(
        name="digits",
        title="digits",
        images=images[~held_out],
        labels=labels[~held_out],
        test_images=images[held_out],
        test_labels=labels[held_out],
        num_classes=10,
        max_value=16,
        mean=0.0,
        std=1.0,
    )


def _check_images(source: Source, raw: Raw) -> None:
    parts = (
        ("training", raw.images, raw.labels, source.counts[0]),
        ("test", raw.test_images, raw.test_labels, source.counts[1]),
    )
    for part, images, labels, official in parts:
        if images.shape[1:] != source.image_shape:
            raise DataError(
                f"the {part} images in {raw.folder} have shape {images.shape[1:]}, but those of "
                f"{source.title} have shape {source.image_shape}"
            )
        if len(images) != len(labels):
            raise DataError(
                f"the {part} files in {raw.folder} do not belong together: "
                f"{len(images):,} images but {len(labels):,} labels"
            )
        if len(images) == 0 or (len(images) != official and not source.other_counts):
            raise DataError(f"{raw.folder} holds {len(images):,} {part} images, but {source.title} has {official:,}")


def _labels(source: Source, stored: NDArray[np.uint8], what: str) -> NDArray[np.int32]:
    labels = stored.astype(np.int32) - source.first_label
    outside = np.flatnonzero((labels < 0) | (labels >= source.num_classes))
    if outside.size:
        last = source.first_label + source.num_classes - 1
        raise DataError(
            f"the {what} are out of range: number {outside[0]} is {stored[outside[0]]}, "
            f"but {source.title} has labels {source.first_label} to {last}"
        )
    return labels


def _check_not_the_other_mnist(name: str, raw: Raw) -> None:
    header = struct.pack(">II", 0x801, len(raw.test_labels))
    digest = hashlib.md5(header + raw.test_labels.tobytes(), usedforsecurity=False).hexdigest()
    found = _TEST_LABELS_MD5.get(digest, name)
    if found != name:
        raise DataError(
            f"{raw.folder} holds {SOURCES[found].title}, not {SOURCES[name].title}: "
            f"put the files of each into a folder of its own name"
        )
