"""The shipped digits, and official files found, checked and refused; all files here are tiny."""

import dataclasses
import gzip
import hashlib
import os
import re
import struct

import numpy as np
import pytest

from jfed.data import load as load_module
from jfed.data import sources
from jfed.data.load import load, names
from jfed.errors import ConfigError

REAL = os.environ.get("JFED_DATA_DIR")
REAL_COUNTS = {"mnist": (60_000, 10_000), "fashion_mnist": (60_000, 10_000)}
REAL_COUNTS["cifar10"] = (50_000, 10_000)


@pytest.fixture(autouse=True)
def _no_real_files(monkeypatch):
    monkeypatch.delenv("JFED_DATA_DIR", raising=False)
    for name, source in sources.SOURCES.items():
        bare = dataclasses.replace(source, system_folders=())
        monkeypatch.setitem(sources.SOURCES, name, bare)


def expect_counts(monkeypatch, name, counts):
    tiny = dataclasses.replace(sources.SOURCES[name], counts=counts)
    monkeypatch.setitem(sources.SOURCES, name, tiny)


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


MNIST = ("train", "t10k")
LETTERS = ("emnist-letters-train", "emnist-letters-test")


def write_cifar10(folder, num=2, label=5):
    folder.mkdir(parents=True)
    files = [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]
    for i, file in enumerate(files):
        (folder / file).write_bytes((bytes([label]) + bytes([i] * 3072)) * num)


def test_digits_ship_with_the_package():
    data = load("digits")
    assert (data.name, data.title, data.num_classes, data.max_value) == ("digits", "digits", 10, 16)
    assert (data.mean, data.std) == (0, 1)
    assert data.images.shape == (1437, 8, 8, 1)
    assert data.test_images.shape == (360, 8, 8, 1)
    assert data.images.dtype == data.test_images.dtype == np.uint8
    assert data.labels.dtype == data.test_labels.dtype == np.int32
    assert data.images.max() == data.test_images.max() == 16
    counts = np.bincount(data.labels) + np.bincount(data.test_labels)
    assert counts.tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    assert set(np.bincount(data.test_labels)) == {35, 36, 37}


def test_the_digits_held_out_never_change():
    data = load("digits")
    parts = (data.images, data.labels, data.test_images, data.test_labels)
    digests = [hashlib.sha256(part.astype("<i4").tobytes()).hexdigest()[:8] for part in parts]
    assert digests == ["6515fa8e", "22833226", "0be72a81", "e35575ab"]


def test_digits_are_digits():
    # The nearest class mean recognises most of them, so images, labels and split belong together.
    data = load("digits")
    means = np.stack([data.images[data.labels == c].mean(axis=0) for c in range(10)])
    distance = ((data.test_images[:, np.newaxis] - means) ** 2).sum(axis=(2, 3, 4))
    assert (distance.argmin(axis=1) == data.test_labels).mean() > 0.85


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("own_folder", [True, False])
def test_idx_sets(tmp_path, monkeypatch, name, suffix, own_folder):
    expect_counts(monkeypatch, name, (4, 3))
    folder = tmp_path / name if own_folder else tmp_path
    images, labels, test_images, test_labels = write_idx_set(folder, MNIST, suffix=suffix)
    data = load(name, tmp_path)
    np.testing.assert_array_equal(data.images, images[..., np.newaxis])
    np.testing.assert_array_equal(data.labels, labels)
    np.testing.assert_array_equal(data.test_images, test_images[..., np.newaxis])
    np.testing.assert_array_equal(data.test_labels, test_labels)
    assert data.title == {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST"}[name]
    assert (data.max_value, data.mean, data.std, data.num_classes) == (255, 0.1307, 0.3081, 10)
    assert data.labels.dtype == np.int32


def test_emnist_is_turned_upright_and_counts_from_zero(tmp_path):
    images, labels, test_images, _ = write_idx_set(tmp_path, LETTERS, first_label=1)
    data = load("emnist_letters", tmp_path)
    np.testing.assert_array_equal(data.images[..., 0], images.transpose(0, 2, 1))
    np.testing.assert_array_equal(data.test_images[..., 0], test_images.transpose(0, 2, 1))
    np.testing.assert_array_equal(data.labels, labels - 1)
    assert data.num_classes == 26
    assert data.title == "EMNIST letters (7 images)"


def test_emnist_of_official_size_has_the_official_title(tmp_path, monkeypatch):
    expect_counts(monkeypatch, "emnist_letters", (4, 3))
    write_idx_set(tmp_path, LETTERS, first_label=1)
    assert load("emnist_letters", tmp_path).title == "EMNIST letters"


@pytest.mark.parametrize("below", ["cifar10/cifar-10-batches-bin", "cifar-10-batches-bin", "cifar10", "."])
def test_cifar10_folders(tmp_path, monkeypatch, below):
    expect_counts(monkeypatch, "cifar10", (10, 2))
    write_cifar10(tmp_path / "dir" / below)
    data = load("cifar10", tmp_path / "dir")
    assert data.images.shape == (10, 32, 32, 3)
    assert data.images[:, 0, 0, 0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert data.test_images[:, 0, 0, 0].tolist() == [5, 5]
    assert (data.title, data.mean, data.std) == ("CIFAR-10", 0.5, 0.5)


def test_the_argument_comes_before_the_environment_and_the_system(tmp_path, monkeypatch):
    expect_counts(monkeypatch, "fashion_mnist", (4, 3))
    folders = [tmp_path / part for part in ("argument", "environment", "system")]
    first_pixels = [write_idx_set(folder, MNIST, seed=seed)[0][0, 0, 0] for seed, folder in enumerate(folders)]
    with_system = dataclasses.replace(sources.SOURCES["fashion_mnist"], system_folders=(str(folders[2]),))
    monkeypatch.setitem(sources.SOURCES, "fashion_mnist", with_system)

    assert load("fashion_mnist").images[0, 0, 0, 0] == first_pixels[2]
    monkeypatch.setenv("JFED_DATA_DIR", str(folders[1]))
    assert load("fashion_mnist").images[0, 0, 0, 0] == first_pixels[1]
    assert load("fashion_mnist", str(folders[0])).images[0, 0, 0, 0] == first_pixels[0]
    assert load("fashion_mnist", tmp_path / "absent").images[0, 0, 0, 0] == first_pixels[1]


def refuse(name, folder, message):
    with pytest.raises(ConfigError, match=re.escape(message)) as caught:
        load(name, folder)
    assert "\n" not in str(caught.value)


def test_unknown():
    refuse("fashion-mnist", None, "unknown data set 'fashion-mnist' (did you mean 'fashion_mnist'")
    refuse("imagenet", None, "unknown data set 'imagenet'; the choices are: cifar10, digits, emnist")
    assert names() == ("digits", "mnist", "fashion_mnist", "emnist_letters", "cifar10")


def test_not_found(tmp_path, monkeypatch):
    refuse("mnist", None, "'mnist' was not found (neither data_dir nor $JFED_DATA_DIR is set): put")
    monkeypatch.setenv("JFED_DATA_DIR", str(tmp_path / "env"))
    where = f"(searched {tmp_path}/mnist, {tmp_path}, {tmp_path}/env/mnist, {tmp_path}/env)"
    refuse("mnist", tmp_path, f"the data set 'mnist' was not found {where}: put train-images-idx3")
    refuse("mnist", tmp_path, "by data_dir (--data-dir) or $JFED_DATA_DIR; you can download them")


def test_fashion_mnist_names_the_debian_package():
    refuse("fashion_mnist", None, "you can install Debian's package dataset-fashion-mnist")


def test_incomplete_folder(tmp_path):
    write_idx_set(tmp_path, MNIST)
    (tmp_path / "t10k-labels-idx1-ubyte").unlink()
    refuse("mnist", tmp_path, f"{tmp_path} holds only part of MNIST: t10k-labels-idx1-ubyte missing")


def test_truncated_file(tmp_path):
    write_idx_set(tmp_path, MNIST)
    path = tmp_path / "train-images-idx3-ubyte"
    path.write_bytes(path.read_bytes()[:-1])
    refuse("mnist", tmp_path, f"{path} is truncated: expected 3,152 bytes")


def test_wrong_shape(tmp_path):
    write_idx_set(tmp_path, MNIST, side=8)
    message = "have shape (8, 8, 1), but those of MNIST have shape (28, 28, 1)"
    refuse("mnist", tmp_path, f"the training images in {tmp_path} {message}")


def test_images_and_labels_of_different_number(tmp_path):
    write_idx_set(tmp_path, LETTERS, first_label=1)
    write_idx(tmp_path / "emnist-letters-test-labels-idx1-ubyte", np.ones(2, np.uint8))
    message = "do not belong together: 3 images but 2 labels"
    refuse("emnist_letters", tmp_path, f"the test files in {tmp_path} {message}")


def test_unofficial_number_of_images(tmp_path):
    write_idx_set(tmp_path / "mnist", MNIST)
    message = "holds 4 training images, but MNIST has 60,000"
    refuse("mnist", tmp_path, f"{tmp_path}/mnist {message}")


def test_no_images(tmp_path):
    write_idx_set(tmp_path, LETTERS, first_label=1, num=(4, 0))
    refuse("emnist_letters", tmp_path, "holds 0 test images, but EMNIST letters has 20,800")


@pytest.mark.parametrize(("label", "found"), [(0, 0), (27, 27), (255, 255)])
def test_labels_out_of_range(tmp_path, label, found):
    write_idx_set(tmp_path, LETTERS, first_label=1)
    labels = np.array([1, 26, label, 5], np.uint8)
    write_idx(tmp_path / "emnist-letters-train-labels-idx1-ubyte", labels)
    message = f"number 2 is {found}, but EMNIST letters has labels 1 to 26"
    refuse("emnist_letters", tmp_path, f"training labels in {tmp_path} are out of range: {message}")


def test_cifar10_label_out_of_range(tmp_path, monkeypatch):
    expect_counts(monkeypatch, "cifar10", (10, 2))
    write_cifar10(tmp_path / "cifar10", label=10)
    refuse("cifar10", tmp_path, "number 0 is 10, but CIFAR-10 has labels 0 to 9")


def test_fashion_mnist_is_not_taken_for_mnist(tmp_path, monkeypatch):
    expect_counts(monkeypatch, "mnist", (4, 3))
    write_idx_set(tmp_path, MNIST)
    stream = (tmp_path / "t10k-labels-idx1-ubyte").read_bytes()
    digest = hashlib.md5(stream, usedforsecurity=False).hexdigest()
    monkeypatch.setitem(load_module._TEST_LABELS_MD5, digest, "fashion_mnist")
    refuse("mnist", tmp_path, f"{tmp_path} holds Fashion-MNIST, not MNIST: put the files of each")


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist", "emnist_letters", "cifar10"])
def test_real_files(name):
    if REAL is None:
        pytest.skip("needs the real files: $JFED_DATA_DIR is not set")
    try:
        data = load(name, REAL)
    except ConfigError as error:
        if "was not found" not in str(error):
            raise
        pytest.skip(f"needs the real files: no {name} in $JFED_DATA_DIR")
    counts = (len(data.images), len(data.test_images))
    assert counts == REAL_COUNTS.get(name, counts)
    assert np.unique(data.labels).tolist() == list(range(data.num_classes))
    assert data.images.max() == 255
