"""The shipped digits, and official files found, checked and refused; all files here are tiny."""

import dataclasses
import gzip
import hashlib
import os
import re

import numpy as np
import pytest
from tiny import (
    CIFAR10_FILES,
    LETTERS,
    MNIST,
    assert_same,
    expect,
    md5_of,
    write_cifar10,
    write_idx,
    write_idx_set,
)

from jfed.core.errors import ConfigError
from jfed.data import sources
from jfed.data.load import load, names, where

REAL = os.environ.get("JFED_DATA_DIR")
REAL_COUNTS = {"mnist": (60_000, 10_000), "fashion_mnist": (60_000, 10_000)}
REAL_COUNTS["cifar10"] = (50_000, 10_000)


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
    expect(monkeypatch, name, (4, 3))
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
    expect(monkeypatch, "emnist_letters", (4, 3))
    write_idx_set(tmp_path, LETTERS, first_label=1)
    assert load("emnist_letters", tmp_path).title == "EMNIST letters"


@pytest.mark.parametrize("below", ["cifar10/cifar-10-batches-bin", "cifar-10-batches-bin", "cifar10", "."])
def test_cifar10_folders(tmp_path, monkeypatch, below):
    expect(monkeypatch, "cifar10", (10, 2))
    write_cifar10(tmp_path / "dir" / below)
    data = load("cifar10", tmp_path / "dir")
    assert data.images.shape == (10, 32, 32, 3)
    records = [(tmp_path / "dir" / below / file).read_bytes() for file in CIFAR10_FILES]
    # After the label come the red pixels row by row, then the green and the blue ones.
    assert data.images[8, 0, :2, 0].tolist() == list(records[4][1:3])
    assert data.images[9, 1, 0, 2] == records[4][3073 + 1 + 2048 + 32]
    assert data.test_images[1, 31, 31, 1] == records[5][3073 + 2048]
    assert (data.title, data.mean, data.std) == ("CIFAR-10", 0.5, 0.5)


def test_the_order_of_the_places(tmp_path, monkeypatch):
    expect(monkeypatch, "fashion_mnist", (4, 3))
    parts = ("argument", "environment", "system", "cache/jfed/data/fashion_mnist")
    folders = [tmp_path / part for part in parts]
    first_pixels = [write_idx_set(folder, MNIST, seed=seed)[0][0, 0, 0] for seed, folder in enumerate(folders)]
    assert len(set(first_pixels)) == 4

    def found(argument=None):
        return first_pixels.index(load("fashion_mnist", argument).images[0, 0, 0, 0])

    assert where("fashion_mnist") is None
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert found() == 3
    with_system = dataclasses.replace(sources.SOURCES["fashion_mnist"], system_folders=(str(folders[2]),))
    monkeypatch.setitem(sources.SOURCES, "fashion_mnist", with_system)
    assert found() == 2
    monkeypatch.setenv("JFED_DATA_DIR", str(folders[1]))
    assert found() == 1
    assert found(str(folders[0])) == 0
    assert found(tmp_path / "absent") == 1
    assert where("fashion_mnist", folders[0]) == folders[0]


def test_the_cache_is_in_the_home_unless_it_is_set(tmp_path, monkeypatch):
    expect(monkeypatch, "mnist", (4, 3))
    monkeypatch.setenv("HOME", str(tmp_path))
    write_idx_set(tmp_path / ".cache/jfed/data/mnist", MNIST)
    assert len(load("mnist").images) == 4


def refuse(name, folder, message):
    with pytest.raises(ConfigError, match=re.escape(message)) as caught:
        load(name, folder)
    assert "\n" not in str(caught.value)


def test_unknown():
    refuse("fashion-mnist", None, "unknown data set 'fashion-mnist' (did you mean 'fashion_mnist'")
    refuse("imagenet", None, "unknown data set 'imagenet'; the choices are: cifar10, digits, emnist")
    assert names() == ("digits", "mnist", "fashion_mnist", "emnist_letters", "cifar10")


def test_not_found_names_the_folders_and_all_ways_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("JFED_DATA_DIR", str(tmp_path / "env"))
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path / "tfds"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    refuse("mnist", tmp_path, f"(searched {tmp_path}/mnist, {tmp_path}, {tmp_path}/env/mnist, {tmp_path}/env, ")
    refuse("mnist", tmp_path, f"{tmp_path}/tfds, {tmp_path}/home/tensorflow_datasets, ")
    refuse("mnist", tmp_path, f"{tmp_path}/home/.cache/jfed/data/mnist, {tmp_path}/home/.cache/jfed/data): run `jfed")
    with pytest.raises(ConfigError) as caught:
        load("fashion_mnist")
    ways = [
        "run `jfed data get fashion-mnist`",
        "put train-images-idx3-ubyte, ",
        "data_dir (--data-dir) or $JFED_DATA_DIR",
        "$TFDS_DATA_DIR a folder where tensorflow-datasets prepared 'fashion_mnist'",
        "install Debian's package dataset-fashion-mnist",
        "download them from https://github.com/zalandoresearch/fashion-mnist",
    ]
    at = [str(caught.value).find(way) for way in ways]
    assert at[0] > 0
    assert at == sorted(at)


def test_a_folder_that_cannot_be_looked_into(tmp_path):
    # Some Pythons say that there is nothing in a folder whose name is too long for the disk.
    with pytest.raises(ConfigError, match=r"xxx/mnist cannot be looked into \(File name too long\)|was not found"):
        load("mnist", tmp_path / ("x" * 300))


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
    expect(monkeypatch, "cifar10", (10, 2))
    write_cifar10(tmp_path / "cifar10", label=10)
    refuse("cifar10", tmp_path, "number 0 is 10, but CIFAR-10 has labels 0 to 9")


def test_fashion_mnist_is_not_taken_for_mnist(tmp_path, monkeypatch):
    write_idx_set(tmp_path / "mnist", MNIST, seed=0)
    write_idx_set(tmp_path / "fashion_mnist", MNIST, seed=1)
    for name in ("mnist", "fashion_mnist"):
        expect(monkeypatch, name, (4, 3), md5_of(tmp_path / name))
    assert load("fashion_mnist", tmp_path).title == "Fashion-MNIST"
    (tmp_path / "mnist").rename(tmp_path / "lost")
    (tmp_path / "fashion_mnist").rename(tmp_path / "mnist")
    refuse("mnist", tmp_path, f"{tmp_path}/mnist holds Fashion-MNIST, not MNIST: put the files of each")


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("stem", ["train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"])
def test_each_idx_file_is_compared_with_its_sum(tmp_path, monkeypatch, stem, suffix):
    write_idx_set(tmp_path, MNIST, suffix=suffix)
    sums = md5_of(tmp_path)
    expect(monkeypatch, "mnist", (4, 3), sums)
    assert load("mnist", tmp_path).title == "MNIST"
    path = tmp_path / f"{stem}-ubyte{suffix}"
    content = bytearray(gzip.decompress(path.read_bytes()) if suffix else path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(gzip.compress(content) if suffix else content)
    found = md5_of(tmp_path)[f"{stem}-ubyte"]
    sentence = f"is not the published one: expected the md5 sum {sums[stem + '-ubyte']} of its content, found {found}"
    refuse("mnist", tmp_path, f"{stem}-ubyte of MNIST in {tmp_path} {sentence}")


@pytest.mark.parametrize("file", CIFAR10_FILES)
def test_each_cifar10_file_is_compared_with_its_sum(tmp_path, monkeypatch, file):
    monkeypatch.setattr(sources, "_CIFAR10_BATCH", 2)
    write_cifar10(tmp_path / "cifar10")
    expect(monkeypatch, "cifar10", (10, 2), md5_of(tmp_path / "cifar10"))
    assert load("cifar10", tmp_path).title == "CIFAR-10"
    path = tmp_path / "cifar10" / file
    content = bytearray(path.read_bytes())
    content[3073] ^= 1  # a label
    path.write_bytes(content)
    refuse("cifar10", tmp_path, f"{file} of CIFAR-10 in {tmp_path}/cifar10 is not the published one")


def test_recompressed_files_are_the_published_ones(tmp_path, monkeypatch):
    write_idx_set(tmp_path / "a", MNIST)
    expect(monkeypatch, "mnist", (4, 3), md5_of(tmp_path / "a"))
    (tmp_path / "b").mkdir()
    for path in (tmp_path / "a").iterdir():
        (tmp_path / "b" / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), compresslevel=1))
    assert_same(load("mnist", tmp_path / "a"), load("mnist", tmp_path / "b"))


def test_the_published_sums_are_of_all_files():
    for name, source in sources.SOURCES.items():
        assert set(source.md5) == (set() if source.other_counts else {*source.train_files, *source.test_files}), name


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
