"""The published data sets: where their files are searched for, and what they must contain."""

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jfed.core.errors import DataError, unknown
from jfed.data.dataset import Dataset
from jfed.data.prepared import prepared_folder
from jfed.data.sources import SOURCES, Held, Raw, Source, official_files

DIGITS = Path(__file__).parent / "digits" / "digits.npz"


def names() -> tuple[str, ...]:
    """Return the names that `load` knows."""
    return ("digits", *SOURCES)


def load(name: str, data_dir: str | os.PathLike[str] | None = None) -> Dataset:
    """Return the data set `name`, one of `names()`.

    "digits" ships with jfed: 1,437 training and 360 test images of 8 x 8 pixels (see `digits/README.md`). The others
    are searched for in this order: their official files, plain or gzipped, below `data_dir`, below `$JFED_DATA_DIR` and
    in the system's folder; a folder that tensorflow-datasets prepared below `data_dir`, `$JFED_DATA_DIR`,
    `$TFDS_DATA_DIR` or `~/tensorflow_datasets`; the files that `jfed data get` downloaded to the user's cache. "Below"
    means in DIR/<name>/ or in DIR/ itself, for "cifar10" also in `cifar-10-batches-bin` of either. All of these give
    the same images in the same order, except that tensorflow-datasets has fewer EMNIST letters.

    Raises:
        ConfigError: the name is unknown.
        DataError: the files are not found, truncated, malformed, or by number, shape or md5 sum not those that the data
            set's authors published. Only "emnist_letters" may have other numbers of images than the official ones,
            which its title then gives; its sums are not known.
    """
    if name == "digits":
        return _load_digits()
    held = _held(name, data_dir)
    if held is None:
        raise DataError(_not_found(name, data_dir))
    return dataset(name, held.read())


def where(name: str, data_dir: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the folder that `load` would read `name` from, without reading it; None if there is none."""
    if name == "digits":
        return DIGITS.parent
    held = _held(name, data_dir)
    return held and held.folder


def fetched_folder(data_dir: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder for downloads: `data_dir`, `$JFED_DATA_DIR`, or jfed's folder in the user's cache."""
    return Path(data_dir or os.environ.get("JFED_DATA_DIR") or _cache())


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jfed" / "data"


Look = Callable[[Source, Path], Held | None]


def _places(source: Source, data_dir: str | os.PathLike[str] | None) -> Iterator[tuple[Path, Look]]:
    """Yield the folders to search, in order, each with the function that looks into it."""
    given = [Path(folder) for folder in (data_dir, os.environ.get("JFED_DATA_DIR")) if folder]
    tfds = [os.environ.get("TFDS_DATA_DIR"), Path.home() / "tensorflow_datasets"]
    for folder in given:
        yield from _below(source, folder)
    for folder in source.system_folders:
        yield Path(folder), official_files
    for folder in [*given, *(Path(folder) for folder in tfds if folder)]:
        yield folder, prepared_folder
    yield from _below(source, _cache())


def _below(source: Source, folder: Path) -> Iterator[tuple[Path, Look]]:
    for below in (*(folder / sub for sub in source.subfolders), folder):
        yield below, official_files


def _held(name: str, data_dir: str | os.PathLike[str] | None) -> Held | None:
    """Return the first place that holds the data set; None if there is none."""
    if name not in SOURCES:
        raise unknown("data set", name, names())
    source = SOURCES[name]
    for folder, look in _places(source, data_dir):
        try:
            held = look(source, folder)
        except OSError as error:
            raise DataError(f"{folder} cannot be looked into ({error.strerror})") from error
        if held:
            return held
    return None


def _not_found(name: str, data_dir: str | os.PathLike[str] | None) -> str:
    source = SOURCES[name]
    searched = dict.fromkeys(str(folder) for folder, _ in _places(source, data_dir))
    return (
        f"the data set {name!r} was not found (searched {', '.join(searched)}): run"
        f" `jfed data get {name.replace('_', '-')}`, or put"
        f" {', '.join(source.train_files + source.test_files)} (plain or .gz) into a folder that is given by data_dir "
        f"(--data-dir) or $JFED_DATA_DIR, or give by one of these or $TFDS_DATA_DIR a folder where tensorflow-datasets "
        f"prepared {source.prepared!r}; to get the files by hand, {source.obtain}"
    )


def dataset(name: str, raw: Raw) -> Dataset:
    """Return the data set that some files contain, checked against what its authors published.

    Raises:
        DataError: the content is not the published one.
    """
    source = SOURCES[name]
    _check_images(source, raw)
    counts = (len(raw.images), len(raw.test_images))
    made = Dataset(
        name=name,
        title=source.title if counts == source.counts else f"{source.title} ({sum(counts):,} images)",
        images=_upright(source, raw.images),
        labels=_labels(source, raw.labels, f"training labels in {raw.folder}"),
        test_images=_upright(source, raw.test_images),
        test_labels=_labels(source, raw.test_labels, f"test labels in {raw.folder}"),
        num_classes=source.num_classes,
        max_value=255,
        mean=source.mean,
        std=source.std,
    )
    _check_published(source, raw)
    return made


def _load_digits() -> Dataset:
    with np.load(DIGITS) as archive:
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


def _upright(source: Source, images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(images.transpose(0, 2, 1, 3)) if source.transposed else images


def _check_published(source: Source, raw: Raw) -> None:
    """Compare the md5 sums of the files' contents with the published ones, where these are known."""
    parts = (
        (source.train_files, raw.images, raw.labels),
        (source.test_files, raw.test_images, raw.test_labels),
    )
    for files, images, labels in parts if source.md5 else ():
        for file, content in zip(files, source.format.contents(images, labels), strict=True):
            digest = hashlib.md5(usedforsecurity=False)
            for piece in content:
                digest.update(piece)
            found = digest.hexdigest()
            if found == source.md5[file]:
                continue
            for other in SOURCES.values():
                if other.md5.get(file) == found:
                    raise DataError(
                        f"{raw.folder} holds {other.title}, not {source.title}: "
                        f"put the files of each data set into a folder of that name"
                    )
            raise DataError(
                f"{file} of {source.title} in {raw.folder} is not the published one: "
                f"expected the md5 sum {source.md5[file]} of its content, found {found}"
            )
