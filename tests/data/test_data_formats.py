"""IDX and CIFAR-10 files: arrays are read as they were written, and each fault has its sentence."""

import gzip
import re
import struct

import numpy as np
import pytest

from jfed.core.errors import ConfigError
from jfed.data.formats import read_cifar10, read_idx


def idx_bytes(array):
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


@pytest.fixture
def images():
    return np.random.default_rng(0).integers(256, size=(5, 3, 4), dtype=np.uint8)


def test_idx_plain_and_gz(tmp_path, images):
    plain, packed = tmp_path / "a-idx3-ubyte", tmp_path / "a-idx3-ubyte.gz"
    plain.write_bytes(idx_bytes(images))
    packed.write_bytes(gzip.compress(idx_bytes(images)))
    np.testing.assert_array_equal(read_idx(plain, 3), images)
    np.testing.assert_array_equal(read_idx(packed, 3), images)


def test_cifar10_planes_become_channels(tmp_path):
    pixels = np.random.default_rng(0).integers(256, size=(4, 32, 32, 3), dtype=np.uint8)
    labels = np.array([3, 0, 9, 1], np.uint8)
    records = [
        bytes([label]) + b"".join(image[:, :, channel].tobytes() for channel in range(3))
        for label, image in zip(labels, pixels, strict=True)
    ]
    path = tmp_path / "batch.bin.gz"
    path.write_bytes(gzip.compress(b"".join(records)))
    read_images, read_labels = read_cifar10(path)
    np.testing.assert_array_equal(read_images, pixels)
    np.testing.assert_array_equal(read_labels, labels)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda b: b[:7], "is truncated: expected a header of 16 bytes, found 7 bytes"),
        (lambda b: b"", "is truncated: expected a header of 16 bytes, found 0 bytes"),
        (lambda b: b[:-1], "is truncated: expected 76 bytes for shape (5, 3, 4), found 75 bytes"),
        (lambda b: b + b"x", "is too long: expected 76 bytes for shape (5, 3, 4), found 77 bytes"),
        (lambda b: b"\0\0\x0d\3" + b[4:], "expected it to begin with the bytes 00 00 08 03, found 00 00 0d 03"),
        (lambda b: b"\0\0\x08\1" + b[4:], "expected it to begin with the bytes 00 00 08 03, found 00 00 08 01"),
    ],
)
def test_malformed_idx(tmp_path, images, change, message):
    path = tmp_path / "a-idx3-ubyte"
    path.write_bytes(change(idx_bytes(images)))
    with pytest.raises(ConfigError, match=f"^{re.escape(str(path))} .*{re.escape(message)}"):
        read_idx(path, 3)


@pytest.mark.parametrize("length", [0, 3072, 3074])
def test_malformed_cifar10(tmp_path, length):
    path = tmp_path / "batch.bin"
    path.write_bytes(bytes(length))
    with pytest.raises(ConfigError, match=f"expected a multiple of 3,073 bytes, found {length:,} by"):
        read_cifar10(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda b: b[:-9],
        lambda b: b[:20] + b"\xff" * 10 + b[30:],
        lambda b: b"not gzip at all",
        lambda b: b + b"rest",
    ],
)
def test_broken_gzip(tmp_path, images, change):
    path = tmp_path / "a.gz"
    path.write_bytes(change(gzip.compress(idx_bytes(images))))
    with pytest.raises(ConfigError, match="is truncated or not a gzip file"):
        read_idx(path, 3)


def test_unreadable_file(tmp_path):
    with pytest.raises(ConfigError, match=r"cannot be read \(Is a directory\)"):
        read_idx(tmp_path, 3)
