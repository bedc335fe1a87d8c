"""The data sets of a pack: compact npz files at home, and there the files that jfed reads.

MNIST and EMNIST are carried without loss and become official files again. CIFAR-10 is too large for that; it becomes an
npz file of its own (see `rounded`). Without its official test images, since the tables measure accuracy on images
that clients keep.
"""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jfed.core.errors import DataError, require
from jfed.data.load import load
from jfed.data.sources import SOURCES
from tools.gpu.coding import decode, encode

KINDS = {"emnist": "emnist_letters", "cifar": "cifar10", "mnist": "mnist", "fashion": "fashion_mnist"}
HALF = 25_000, 5_000  # training and test images of half of CIFAR-10
COLOURS = {(8, False): "cifar10-rounded", (16, False): "cifar10-rounded-16", (1, True): "cifar10-half"}


def pack(kind: str, folder: Path, data_dir: str | None, step: int, halves: bool, tests: bool) -> Path:
    """Write a data set into a pack, and return its file.

    Args:
        kind: one of `KINDS`.
        folder: the pack.
        data_dir: folder of the official files.
        step: bytes per level of CIFAR-10's colours.
        halves: whether to take half of CIFAR-10 without loss.
        tests: whether to take CIFAR-10's official test images, too.
    """
    require(kind in KINDS, f"There is no data set {kind!r} to pack: choose from {', '.join(KINDS)}.")
    data = load(KINDS[kind], data_dir)
    parts = {"": (data.images, data.labels), "test_": (data.test_images, data.test_labels)}
    if kind != "cifar":
        arrays = {f"{part}images": images for part, (images, _) in parts.items()}
        arrays |= {f"{part}labels": labels.astype(np.uint8) for part, (_, labels) in parts.items()}
        return _write(folder / f"{data.name}.npz", zipfile.ZIP_BZIP2, arrays)
    step = 1 if halves else step
    require((step, halves) in COLOURS, f"Colours are rounded to steps of 8 or 16, found {step}; half of them to none.")
    arrays = {"step": np.array(step)}
    for (part, (images, labels)), most in zip(parts.items(), HALF, strict=True):
        if part == "" or tests or halves:
            kept = slice(most if halves else None)
            arrays |= {
                f"{part}codes": encode(images[kept].astype(np.uint8, copy=False), step),
                f"{part}labels": labels[kept].astype(np.uint8),
            }
    return _write(folder / f"{COLOURS[step, halves]}.npz", zipfile.ZIP_LZMA, arrays)


def _write(path: Path, method: int, arrays: dict[str, NDArray[Any]]) -> Path:
    """Write an npz file in a stronger compression than NumPy's own; `numpy.load` reads it all the same."""
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asarray(array, order="C"), allow_pickle=False)
    return path


def unpack(folder: Path, data_dir: Path) -> Iterator[str]:
    """Write the data sets of a pack as files that jfed reads, and yield their names, each when it is there."""
    for path in sorted(folder.glob("*.npz")):
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
        except Exception as error:  # whatever the readers of zip files raise
            raise DataError(f"{path} cannot be read: pack it again ({error}).") from error
        if path.stem in SOURCES:
            _official(path.stem, arrays, data_dir / path.stem)
        else:
            _own(path.stem, arrays, data_dir)
        yield path.stem


def _official(name: str, arrays: dict[str, NDArray[Any]], folder: Path) -> None:
    source = SOURCES[name]
    folder.mkdir(parents=True, exist_ok=True)
    for part, files in (("", source.train_files), ("test_", source.test_files)):
        images, labels = arrays[f"{part}images"], arrays[f"{part}labels"] + np.uint8(source.first_label)
        stored = images.transpose(0, 2, 1, 3) if source.transposed else images
        for file, content in zip(files, source.format.contents(stored, labels), strict=True):
            with (folder / file).open("wb") as target:
                for piece in content:
                    target.write(piece)


def _own(name: str, arrays: dict[str, NDArray[Any]], folder: Path) -> None:
    step = arrays["step"].item()
    whole: dict[str, Any] = {
        key.replace("codes", "images"): decode(x, step) for key, x in arrays.items() if key.endswith("codes")
    }
    whole |= {key: x for key, x in arrays.items() if key.endswith("labels")}
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / f"{name}.npz", name=np.array(name), **whole)


def tables(data_dir: Path) -> dict[str, str]:
    """Return the data set of each table for which there is one, the least changed first."""
    found = {"emnist": ("emnist_letters",), "cifar": ("cifar10", *COLOURS.values())}
    here = {name for name in SOURCES if (data_dir / name).is_dir()} | {p.stem for p in data_dir.glob("*.npz")}
    return {table: next(n for n in names if n in here) for table, names in found.items() if here & set(names)}
