"""Tiny data sets in the official files, and their counts and md5 sums as the published ones."""

import dataclasses
import gzip
import hashlib
import struct

import numpy as np

from jfed.data import sources

MNIST = ("train", "t10k")
LETTERS = ("emnist-letters-train", "emnist-letters-test")
CIFAR10_FILES = [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]


def expect(monkeypatch, name, counts, md5=None):
    """Make these the published numbers of images and md5 sums (by default no sums, so that none is compared)."""
    monkeypatch.setitem(sources.SOURCES, name, dataclasses.replace(sources.SOURCES[name], counts=counts, md5=md5 or {}))


def md5_of(folder):
    """Return the md5 sums of the files' decompressed contents, by their names without `.gz`."""
    sums = {}
    for path in folder.iterdir():
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix == ".gz" else content
        sums[path.name.removesuffix(".gz")] = hashlib.md5(content, usedforsecurity=False).hexdigest()
    return sums


def write_idx(path, array):
    path.parent.mkdir(parents=True, exist_ok=True)
    header = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    content = header + array.tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def write_idx_set(folder, prefixes, num=(4, 3), first_label=0, suffix="", side=28, seed=0):
    """Write training and test pairs of random images; return the arrays as written."""
    rng = np.random.default_rng(seed)
    written = []
    for prefix, n in zip(prefixes, num, strict=True):
        images = rng.integers(256, size=(n, side, side), dtype=np.uint8)
        labels = (np.arange(n) % 10 + first_label).astype(np.uint8)
        write_idx(folder / f"{prefix}-images-idx3-ubyte{suffix}", images)
        write_idx(folder / f"{prefix}-labels-idx1-ubyte{suffix}", labels)
        written += [images, labels]
    return written


def write_cifar10(folder, num=2, label=5):
    """Write six files of random images, all of one label."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for file in CIFAR10_FILES:
        pixels = rng.integers(256, size=(num, 3072), dtype=np.uint8)
        (folder / file).write_bytes(b"".join(bytes([label]) + image.tobytes() for image in pixels))


def assert_same(first, second):
    """Assert that two data sets have the same images and labels, in the same order."""
    for part in ("images", "labels", "test_images", "test_labels"):
        np.testing.assert_array_equal(getattr(first, part), getattr(second, part))
