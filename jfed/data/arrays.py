"""Data sources made of the user's own arrays, or of an npz file of them, checked once and identified by their content.

`jfed.arrays(images, labels, ...)` makes a data source for `Training(dataset=...)`; `Training(dataset="file.npz")` reads
the same arrays, under the same names, from a file that `numpy.savez` wrote.
"""

import functools
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import MAGIC_PREFIX
from numpy.typing import ArrayLike, NDArray

from jfed.core.errors import DataError, reason, shown
from jfed.core.members import Name
from jfed.data.dataset import Dataset, Examples
from jfed.data.moments import moments
from jfed.data.options import DataOptions, Folder

PARTS = ("images", "labels", "test_images", "test_labels", "clients", "name")
PIXEL = 255.0  # the largest value of a uint8


@dataclass(frozen=True)
class Arrays(DataOptions):
    """A data source made by `arrays`; two are equal if their names and digests are.

    Attributes:
        name: name of the data set in results.
        digest: digest of the content.
        content: the data set itself.
    """

    name: str = ""
    digest: str = ""
    content: Any = field(default=None, repr=False, compare=False)

    @classmethod
    def called(cls) -> tuple[Name, ...]:
        """Return no names for the catalogue, since each data set has its own."""
        return ()

    def load(self, data_dir: Folder = None) -> Dataset:
        """Return the data set."""
        return self.content

    def has_owners(self) -> bool:
        """Return whether `clients` were given."""
        return self.content.owners is not None


def arrays(
    images: ArrayLike,
    labels: ArrayLike,
    test_images: ArrayLike | None = None,
    test_labels: ArrayLike | None = None,
    clients: ArrayLike | None = None,
    name: str = "mine",
) -> Arrays:
    """Return a data source of the given arrays, which are copied and hashed once, for `Training(dataset=...)`.

    Args:
        images: (N, ...); uint8 images (N, height, width) or (N, height, width, channels), or float features of any
            shape, which are stored as float32.
        labels: (N,), whole numbers 0 .. L - 1, each of which must occur.
        test_images: (M, ...), of the same shape and type; needed for `Training(test_set="official")` only.
        test_labels: (M,), labels of the test images.
        clients: (N,), owner of each training example, as whole numbers or strings. In the partition "natural", which is
            then the default, each client is one owner and holds that owner's examples only.
        name: name of the data set in results.

    Raises:
        DataError: the arrays do not form a data set; the message says what is wrong and what to do.
    """
    if not isinstance(name, str) or not re.fullmatch(r"[\w.-]{1,100}", name):
        raise DataError(f"a data set's name has 1 to 100 letters, digits, '.', '-' and '_', found {shown(name)}")
    examples, classes = _examples("images", images), _labels("labels", labels)
    _require_as_many("labels", classes, "images", examples)
    _require_no_gaps(classes)
    if (test_images is None) != (test_labels is None):
        given, lacking = ("test_images", "test_labels")[:: -1 if test_images is None else 1]
        raise DataError(f"there are {given} without {lacking}: give both, or neither")
    if test_images is None or test_labels is None:
        tests, test_classes = examples[:0], classes[:0]
    else:
        tests, test_classes = _examples("test_images", test_images), _labels("test_labels", test_labels)
        _require_as_many("test_labels", test_classes, "test_images", tests)
        _require_alike(tests, examples)
        _require_known(test_classes, int(classes.max()))
    scale = PIXEL if examples.dtype == np.uint8 else float(np.abs(examples).max()) or 1.0
    mean, std = moments(examples, scale)
    owners = None if clients is None else _owners(clients, examples)
    for array in (examples, classes, tests, test_classes, owners):
        if array is not None:
            array.flags.writeable = False
    last = int(classes.max()) + 1
    made = Dataset(name, name, examples, classes, tests, test_classes, last, scale, mean, std, owners)
    return Arrays(name, made.digest, made)


def from_file(path: str | Path) -> Arrays:
    """Return the data source in an npz file whose arrays are named like the arguments of `arrays`.

    The last four files are cached and read again only if they have changed. A data set without a `name` in its file is
    named after the file.

    Raises:
        DataError: the file cannot be read, is no npz file, holds pickled objects, lacks an array or holds an unknown
            one, or `arrays` refuses its arrays.
    """
    path = Path(path)
    try:
        stat = path.stat()
    except OSError as error:
        raise DataError(f"the data set {path} cannot be read ({error.strerror})") from error
    return _from_file(path, stat.st_mtime_ns, stat.st_size)


@functools.lru_cache(maxsize=4)
def _from_file(path: Path, *_: int) -> Arrays:
    parts = _parts(path)
    for name in ("images", "labels"):
        if name not in parts:
            found = ", ".join(parts) or "nothing"
            raise DataError(
                f"{path} lacks {name}: it must hold images and labels, and may hold test_images with test_labels,"
                f" clients and name; it holds {found}"
            )
    stray = [name for name in parts if name not in PARTS]
    if stray:
        raise DataError(
            f"{path} holds {', '.join(stray)}, which no data set has: the known names are {', '.join(PARTS)}"
        )
    name = str(parts.pop("name", re.sub(r"[^\w.-]", "-", path.stem)))
    try:
        return arrays(**parts, name=name)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def _parts(path: Path) -> dict[str, NDArray[Any]]:
    advice = "write it with numpy.savez(file, images=..., labels=...)"
    try:
        with path.open("rb") as file:
            found = np.load(file, allow_pickle=False)
            if isinstance(found, np.ndarray):
                raise DataError(f"{path} holds one array without a name: {advice}")
            _require_held(found)
            return {name: found[name] for name in found.files}
    except DataError:
        raise
    except Exception as error:  # whatever the readers of zip files and arrays raise
        if "allow_pickle" in str(error):
            why = "holds Python objects, or is no npz file"
        else:
            why = f"cannot be read as an npz file ({reason(error)})"
        raise DataError(f"{path} {why}: {advice}, with arrays of numbers and strings only") from error


def _require_held(found: Any) -> None:
    """Raise ValueError if an array of an opened npz file has not the size that its header says.

    NumPy takes the memory of the whole array before it reads the first of its numbers.
    """
    for entry in found.zip.infolist():
        with found.zip.open(entry) as member:
            if member.read(len(MAGIC_PREFIX)) != MAGIC_PREFIX:
                continue
        with found.zip.open(entry) as member:
            version = np.lib.format.read_magic(member)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, dtype = read(member)
            held = entry.file_size - member.tell()
        if not dtype.hasobject and math.prod(shape) * dtype.itemsize != held:
            raise ValueError(f"{entry.filename} holds {held:,} bytes, and its header says shape {shape} of {dtype}")


# ------------------------------------------------------------------------------------------------ checks


def _array(name: str, given: ArrayLike, advice: str) -> NDArray[Any]:
    try:
        array = np.asarray(given)
    except (ValueError, TypeError) as error:
        raise DataError(f"{name} must be one array of equally long rows ({reason(error)})") from error
    if array.dtype.kind == "O":
        raise DataError(f"{name} hold Python objects: {advice}")
    return array


def _examples(name: str, given: ArrayLike) -> Examples:
    array = _array(name, given, "make them one array of numbers, by numpy.stack for arrays or .astype(numpy.float32)")
    if array.ndim == 0 or array.size == 0:
        raise DataError(f"{name} must hold at least one example of at least one number, found shape {array.shape}")
    if array.dtype == np.uint8:
        images = array[..., np.newaxis] if array.ndim == 3 else array
        return np.array(images[:, np.newaxis] if array.ndim == 1 else images, order="C")
    if array.dtype.kind != "f":
        raise DataError(
            f"{name} must be uint8 (pixels from 0 to 255) or float32 (features), found {array.dtype}: use"
            " .astype(numpy.uint8) or .astype(numpy.float32)"
        )
    with np.errstate(over="ignore"):
        features = np.array(array[:, np.newaxis] if array.ndim == 1 else array, np.float32, order="C")
    bad = np.flatnonzero(~np.isfinite(features).reshape(len(features), -1).all(axis=1))
    if bad.size:
        raise DataError(f"{name} must be finite as float32: example {bad[0]} is NaN, infinite or too large")
    return features


def _labels(name: str, given: ArrayLike) -> NDArray[np.int32]:
    numbered = "give the classes numbers, in labels and test_labels the same"
    if name == "labels":
        numbered = "numpy.unique(labels, return_inverse=True)[1] gives the classes numbers"
    array = _array(name, given, numbered)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        whole = numbered if array.dtype.kind in "US" else ".astype(int) makes them whole"
        raise DataError(
            f"{name} must be a vector of whole numbers, found {array.dtype} of shape {array.shape}:"
            f" {whole if array.ndim == 1 else 'give one number for each example'}"
        )
    largest = np.iinfo(np.int32).max
    if array.size and (int(array.min()) < 0 or int(array.max()) > largest):
        place = int(np.flatnonzero((array < 0) | (array > largest))[0])
        raise DataError(f"{name} must be classes counted from 0, found {array[place]} at {place}")
    return array.astype(np.int32)


def _require_as_many(name: str, some: NDArray[Any], of: str, others: NDArray[Any]) -> None:
    if len(some) != len(others):
        raise DataError(f"there are {len(some):,} {name} for {len(others):,} {of}: give one for each")


def _require_no_gaps(labels: NDArray[np.int32]) -> None:
    values = np.unique(labels)
    missing = np.flatnonzero(values != np.arange(len(values)))
    if missing.size:
        raise DataError(
            f"labels must be 0, 1, 2, ... without gaps: no example has label {missing[0]}, though the largest is"
            f" {values[-1]}; numpy.unique(labels, return_inverse=True)[1] closes gaps"
        )


def _require_alike(tests: Examples, examples: Examples) -> None:
    if (tests.dtype, tests.shape[1:]) != (examples.dtype, examples.shape[1:]):
        raise DataError(
            f"test_images must be like images: {examples.dtype} of shape {examples.shape[1:]}, found {tests.dtype} of"
            f" shape {tests.shape[1:]}"
        )


def _require_known(labels: NDArray[np.int32], last: int) -> None:
    if labels.max() > last:
        raise DataError(f"test_labels must be among the training labels 0 to {last}, found {labels.max()}")


def _owners(given: ArrayLike, examples: Examples) -> NDArray[np.int32]:
    text = "make them one array of whole numbers, or of strings with .astype(str)"
    array = _array("clients", given, text)
    if array.ndim != 1 or array.dtype.kind not in "iuUS":
        found = f"{array.dtype} of shape {array.shape}"
        raise DataError(f"clients must be a vector of whole numbers or strings, found {found}: {text}")
    _require_as_many("clients", array, "images", examples)
    return np.unique(array, return_inverse=True)[1].astype(np.int32)
