"""Any bytes in place of a data set: the right arrays, or one sentence."""

import gzip
import io
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jfed.data.arrays import from_file
from jfed.data.formats import read_cifar10, read_idx
from tests.fuzz.damage import answered, damaged, fuzz

pytestmark = pytest.mark.proof

DRAWN = np.random.default_rng(0)
IMAGES, LABELS = DRAWN.integers(256, size=(5, 3, 4), dtype=np.uint8), np.array([0, 1, 2, 1, 0])
IDX = [
    struct.pack(">HBB3I", 0, 8, 3, *IMAGES.shape) + IMAGES.tobytes(),
    struct.pack(">HBBI", 0, 8, 1, 5) + b"\0\1\2\1\0",
]
CIFAR = [DRAWN.integers(256, size=(2, 3073), dtype=np.uint8).tobytes()]


def npz(save=np.savez, **arrays):
    buffer = io.BytesIO()
    save(buffer, **arrays)
    return buffer.getvalue()


OWN = [
    npz(images=IMAGES, labels=LABELS),
    npz(images=IMAGES.astype(np.float32), labels=LABELS, clients=np.array(list("ababa")), name=np.array("mine")),
    npz(np.savez_compressed, images=IMAGES, labels=LABELS, test_images=IMAGES, test_labels=LABELS),
    npz(images=np.array([{"a": 1}], dtype=object), labels=LABELS),
    npz(images=np.zeros(5, [("a", "f4")]), labels=LABELS),
]


@fuzz()
@given(content=damaged(IDX) | damaged([gzip.compress(one) for one in IDX]), ndim=st.sampled_from([1, 3]))
def test_idx(tmp_path_factory, content, ndim):
    for name in ("a", "a.gz"):
        path = tmp_path_factory.getbasetemp() / name
        path.write_bytes(content)
        array = answered(read_idx, path, ndim)
        if array is not None:
            plain = gzip.decompress(content) if name == "a.gz" else content
            assert plain == struct.pack(f">HBB{ndim}I", 0, 8, ndim, *array.shape) + array.tobytes()


@fuzz()
@given(content=damaged(CIFAR))
def test_cifar10(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "batch.bin"
    path.write_bytes(content)
    found = answered(read_cifar10, path)
    if found is not None:
        images, labels = found
        rows = np.concatenate([labels[:, None], images.transpose(0, 3, 1, 2).reshape(len(images), -1)], axis=1)
        assert rows.astype(np.uint8).tobytes() == content


@fuzz(2)
@given(content=damaged(OWN))
def test_own_arrays(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "own.npz"
    path.write_bytes(content)
    found = answered(from_file, path)
    if found is not None:
        with np.load(path) as held:
            labels = held["labels"]
            np.testing.assert_array_equal(found.content.labels, labels)
            np.testing.assert_array_equal(found.content.images.ravel(), held["images"].ravel().astype(np.float32))
