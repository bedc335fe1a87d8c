"""Reading and writing the official file formats: IDX (MNIST and its relatives) and the CIFAR-10 binary version.

Sources: the IDX layout on Y. LeCun's MNIST page; the binary layout on A. Krizhevsky's CIFAR page.
"""

import gzip
import math
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jfed.core.errors import DataError, reason

MOST_BYTES = 1 << 28  # the largest file, of images of EMNIST letters, has a third of it
_IDX_UINT8 = 8
_CIFAR_SIDE = 32
_CIFAR_RECORD = 1 + 3 * _CIFAR_SIDE**2


def read_bytes(path: Path) -> bytes:
    """Return the content of a file, decompressed if its name ends in `.gz`.

    Raises:
        DataError: the file cannot be read, is larger than any file of a known data set, or is named `.gz` and is not a
            complete gzip file.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)  # a small gzip file may hold more than the memory does
        if len(content) > MOST_BYTES:
            raise DataError(f"{path} holds more than {MOST_BYTES:,} bytes, which no file of a known data set does")
        return content
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path} is truncated or not a gzip file ({reason(error)})") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror})") from error


def read_idx(path: Path, ndim: int) -> NDArray[np.uint8]:
    """Return the array of an IDX file of unsigned bytes with `ndim` dimensions.

    Raises:
        DataError: the file cannot be read, has another type or number of dimensions, or does not have the length that
            its header says.
    """
    content = read_bytes(path)
    magic = struct.pack(">HBB", 0, _IDX_UINT8, ndim)
    head = len(magic) + 4 * ndim
    if len(content) < head:
        raise DataError(f"{path} is truncated: expected a header of {head} bytes, found {len(content)} bytes")
    if content[:4] != magic:
        raise DataError(
            f"{path} is not an IDX file of bytes in {ndim} dimensions: expected it to begin with "
            f"the bytes {magic.hex(' ')}, found {content[:4].hex(' ')}"
        )
    shape = struct.unpack(f">{ndim}I", content[4:head])
    expected = head + math.prod(shape)
    if len(content) != expected:
        fault = "is truncated" if len(content) < expected else "is too long"
        raise DataError(f"{path} {fault}: expected {expected:,} bytes for shape {shape}, found {len(content):,} bytes")
    return np.frombuffer(content, np.uint8, offset=head).reshape(shape)


def idx_content(array: NDArray[np.uint8]) -> Iterator[bytes | memoryview]:
    """Yield the content of the IDX file that holds `array`, piece by piece."""
    yield struct.pack(f">HBB{array.ndim}I", 0, _IDX_UINT8, array.ndim, *array.shape)
    yield np.ascontiguousarray(array).reshape(-1).data


def read_cifar10(path: Path) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return the images (N, 32, 32, 3) and labels (N,) of one CIFAR-10 binary file.

    A record is a label byte, then the red, green and blue planes, row by row.

    Raises:
        DataError: the file cannot be read, or its length is not a whole number of records.
    """
    content = read_bytes(path)
    if len(content) % _CIFAR_RECORD or not content:
        raise DataError(
            f"{path} is truncated or malformed: expected a multiple of {_CIFAR_RECORD:,} bytes, "
            f"found {len(content):,} bytes"
        )
    records = np.frombuffer(content, np.uint8).reshape(-1, _CIFAR_RECORD)
    images = np.empty((len(records), _CIFAR_SIDE**2, 3), np.uint8)
    for channel, plane in enumerate(_planes(records)):  # three times as fast as one transposed copy
        images[:, :, channel] = plane
    return images.reshape(-1, _CIFAR_SIDE, _CIFAR_SIDE, 3), records[:, 0]


def cifar10_content(images: NDArray[np.uint8], labels: NDArray[np.uint8]) -> Iterator[bytes | memoryview]:
    """Yield the content of the CIFAR-10 binary file that holds these images (N, 32, 32, 3) and labels (N,)."""
    records = np.empty((len(images), _CIFAR_RECORD), np.uint8)
    records[:, 0] = labels
    pixels = images.reshape(len(images), _CIFAR_SIDE**2, 3)
    for channel, plane in enumerate(_planes(records)):
        plane[:] = pixels[:, :, channel]
    yield records.reshape(-1).data


def _planes(records: NDArray[np.uint8]) -> list[NDArray[np.uint8]]:
    """Return the red, green and blue parts of CIFAR-10 records, as views (N, 1024)."""
    return np.split(records[:, 1:], 3, axis=1)
