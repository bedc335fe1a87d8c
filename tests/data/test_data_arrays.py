"""The user's own arrays and npz files: the data sets made of them, their identity, and what is refused."""

import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as extra

import jfed
from jfed.config import canonical
from jfed.core.errors import ConfigError, DataError
from jfed.data.arrays import Arrays, from_file

LABELS = np.arange(6) % 3
IMAGES = np.random.default_rng(0).integers(0, 256, (6, 4, 5, 3), dtype=np.uint8)
FEATURES = np.random.default_rng(1).normal(size=(6, 4))


def scaled(data):
    return (data.images.astype(float) / data.max_value - np.asarray(data.mean)) / np.asarray(data.std)


def test_images():
    data = jfed.arrays(IMAGES, LABELS, IMAGES[:2], [2, 2], name="photos").load()
    assert (data.name, data.title, data.num_classes, data.max_value) == ("photos", "photos", 3, 255.0)
    assert data.images.dtype == np.uint8 and data.labels.dtype == data.test_labels.dtype == np.int32
    np.testing.assert_array_equal(data.images, IMAGES)
    np.testing.assert_array_equal(data.test_images, IMAGES[:2])
    assert data.test_labels.tolist() == [2, 2] and data.owners is None
    np.testing.assert_allclose(data.mean, (IMAGES / 255).mean((0, 1, 2)))  # of each channel
    np.testing.assert_allclose(data.std, (IMAGES / 255).std((0, 1, 2)))


def test_grey_images_get_a_channel_and_one_mean():
    data = jfed.arrays(IMAGES[..., 0], LABELS).load()
    assert data.images.shape == (6, 4, 5, 1) and data.test_images.shape == (0, 4, 5, 1)
    assert data.mean == pytest.approx((IMAGES[..., 0] / 255).mean()) and isinstance(data.mean, float)


def test_features_are_scaled_each_by_its_own():
    x = FEATURES * [1, 1e-3, 1e4, 0] + [0, 5, 0, 7]
    data = jfed.arrays(x, LABELS.astype(np.uint8)).load()
    assert data.images.dtype == np.float32 and data.max_value == np.abs(x).max().astype(np.float32)
    z = scaled(data)
    np.testing.assert_allclose(z.mean(0), 0, atol=1e-3)
    np.testing.assert_allclose(z.std(0), [1, 1, 1, 0], atol=1e-3)  # the constant feature is divided by 1
    assert jfed.arrays(FEATURES[:, 0], LABELS).load().images.shape == (6, 1)
    nothing = jfed.arrays(np.zeros((6, 2)), LABELS).load()
    assert (nothing.max_value, nothing.mean, nothing.std) == (1.0, (0.0, 0.0), (1.0, 1.0))


def test_owners_by_any_name():
    for clients in (
        ["b", "a", "b", "c", "a", "b"],
        [5, -2, 5, 70, -2, 5],
        np.array([b"b", b"a", b"b", b"c", b"a", b"b"]),
    ):
        source = jfed.arrays(FEATURES, LABELS, clients=clients)
        assert source.has_owners() and source.load().owners.tolist() == [1, 0, 1, 2, 0, 1]
    assert not jfed.arrays(FEATURES, LABELS).has_owners()


def test_a_data_set_is_known_by_its_content():
    first, again = jfed.arrays(FEATURES, LABELS), jfed.arrays(FEATURES.astype(np.float32), LABELS.tolist())
    assert first == again and hash(first) == hash(again) and first.digest == again.digest
    changed = FEATURES.copy()
    changed[3, 2] += 1e-3
    others = [
        jfed.arrays(changed, LABELS),
        jfed.arrays(FEATURES.reshape(6, 2, 2), LABELS),
        jfed.arrays(FEATURES, LABELS[::-1]),
        jfed.arrays(FEATURES, LABELS, clients=LABELS),
        jfed.arrays(FEATURES, LABELS, FEATURES, LABELS),
    ]
    assert len({first, *others}) == 6 and len({o.digest for o in others}) == 5
    renamed = jfed.arrays(FEATURES, LABELS, name="other")
    assert renamed != first and renamed.digest == first.digest
    assert canonical(first) == {"": "jfed.data.arrays.Arrays", "name": "mine", "digest": first.digest}
    training = jfed.Training(dataset=first)
    assert training == jfed.Training(dataset=again) and hash(training) == hash(jfed.Training(dataset=again))
    assert first.digest in repr(training) and "array(" not in repr(training)


def test_what_was_given_may_change_afterwards():
    images, labels = FEATURES.astype(np.float32), LABELS.astype(np.int32)
    source = jfed.arrays(images, labels)
    before = source.load().images.copy()
    images[:], labels[:] = 0, 0
    np.testing.assert_array_equal(source.load().images, before)
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        source.load().images[0] = 1


def test_a_file_is_the_same_as_its_arrays(tmp_path):
    path = tmp_path / "walks 1.npz"
    parts = {"images": FEATURES, "labels": LABELS, "test_images": FEATURES[:1], "test_labels": LABELS[:1]}
    np.savez(path, **parts, clients=["x", "y"] * 3)
    found = jfed.Training(dataset=str(path)).dataset
    assert found == jfed.arrays(**parts, clients=["x", "y"] * 3, name="walks-1")
    assert jfed.Training(dataset=path).dataset is found  # read once
    config = jfed.Config(training=jfed.Training())
    assert jfed.replace(config, {"training.dataset": str(path)}).training.dataset is found
    np.savez(path, images=FEATURES, labels=LABELS, name="walks")
    again = from_file(path)
    assert again != found and again.name == "walks" and not again.has_owners()
    np.savez_compressed(tmp_path / "small.npz", **parts, clients=["x", "y"] * 3, name="walks-1")
    assert from_file(tmp_path / "small.npz") == found


def objects(values):
    array = np.empty(len(values), object)
    array[:] = values
    return array


def changed(array, place, value):
    array = np.array(array, np.result_type(array, type(value)))
    array[place] = value
    return array


UNIQUE = r"numpy\.unique\(labels, return_inverse=True\)\[1\] gives the classes numbers"
BAD = {
    "no examples": ((FEATURES[:0], []), "images must hold at least one example"),
    "examples of nothing": ((FEATURES[:, :0], LABELS), r"at least one number, found shape \(6, 0\)"),
    "one number": ((3.0, LABELS), r"found shape \(\)"),
    "whole numbers": (
        (IMAGES.astype(int), LABELS),
        r"images must be uint8 .* or float32 .*, found int64: use \.astype",
    ),
    "truth values": ((IMAGES > 9, LABELS), "images must be uint8 .*, found bool"),
    "complex numbers": ((FEATURES * 1j, LABELS), "found complex128"),
    "words": ((["a"] * 6, LABELS), "images must be uint8"),
    "objects": ((objects([[1.0]] * 6), LABELS), "images hold Python objects: make them one array of numbers, by"),
    "rows of several lengths": (([[1.0], [1.0, 2.0]], [0, 1]), "images must be one array of equally long rows"),
    "NaN": ((changed(FEATURES, (2, 1), np.nan), LABELS), "images must be finite as float32: example 2 is NaN"),
    "infinite": ((changed(FEATURES, (5, 0), -np.inf), LABELS), "example 5 is NaN, infinite"),
    "too large": ((changed(FEATURES, (1, 0), 1e39), LABELS), "example 1 is .*too large"),
    "lengths": ((FEATURES, LABELS[:5]), "there are 5 labels for 6 images"),
    "no labels": ((FEATURES, []), "labels must be a vector of whole numbers|there are 0 labels"),
    "labels of two axes": ((FEATURES, LABELS[:, None]), r"found int64 of shape \(6, 1\)"),
    "labels of two axes and text": ((FEATURES, LABELS[:, None]), "give one number for each example"),
    "float labels": (
        (FEATURES, LABELS.astype(float)),
        r"labels must be a vector of whole numbers, found float64 .*: \.astype\(int\) makes them whole",
    ),
    "names for labels": ((FEATURES, ["a", "b"] * 3), f"found <U1 of shape .*: {UNIQUE}"),
    "names for labels of tests": (
        (FEATURES, LABELS, FEATURES, ["a", "b"] * 3),
        "test_labels must be .*: give the classes numbers, in labels and test_labels the same",
    ),
    "object labels": ((FEATURES, objects(["a"] * 6)), f"labels hold Python objects: {UNIQUE}"),
    "negative label": ((FEATURES, changed(LABELS, 4, -1)), "labels must be classes counted from 0, found -1 at 4"),
    "huge label": ((FEATURES, changed(LABELS, 1, 2**40)), "found 1099511627776 at 1"),
    "gap": ((FEATURES, [0, 1, 3, 0, 1, 3]), "without gaps: no example has label 2, though the largest is 3"),
    "labels from 1": ((FEATURES, LABELS + 1), "no example has label 0"),
    "tests without labels": ((FEATURES, LABELS, FEATURES), "there are test_images without test_labels"),
    "labels without tests": ((FEATURES, LABELS, None, LABELS), "there are test_labels without test_images"),
    "no tests": ((FEATURES, LABELS, FEATURES[:0], []), "test_images must hold at least one example"),
    "tests of another length": ((FEATURES, LABELS, FEATURES, [0]), "there are 1 test_labels for 6 test_images"),
    "tests of another type": ((FEATURES, LABELS, IMAGES, LABELS), r"test_images must be like images: float32 of shape"),
    "tests of another shape": (
        (FEATURES, LABELS, FEATURES[:, :3], LABELS),
        r"shape \(4,\), found float32 of shape \(3,\)",
    ),
    "NaN in a test": ((FEATURES, LABELS, FEATURES * np.nan, LABELS), "test_images must be finite"),
    "label of tests alone": ((FEATURES, LABELS, FEATURES[:1], [3]), "among the training labels 0 to 2, found 3"),
    "owners of others": ((FEATURES, LABELS, None, None, [1, 2]), "there are 2 clients for 6 images"),
    "float owners": (
        (FEATURES, LABELS, None, None, [0.5] * 6),
        r"clients must be a vector of whole numbers or strings, .*\.astype\(str\)",
    ),
    "object owners": (
        (FEATURES, LABELS, None, None, objects(["a"] * 6)),
        r"clients hold Python objects.*\.astype\(str\)",
    ),
    "owners of two axes": (
        (FEATURES, LABELS, None, None, [LABELS]),
        r"clients must be .*, found int64 of shape \(1, 6\)",
    ),
    "no name": ((FEATURES, LABELS, None, None, None, ""), "a data set's name has 1 to 100 letters"),
    "a name with a slash": ((FEATURES, LABELS, None, None, None, "a/b"), "found 'a/b'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arrays_get_one_sentence(case):
    arguments, match = BAD[case]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataError, match=match) as caught:
            jfed.arrays(*arguments)
    assert "\n" not in str(caught.value)


def refused_file(path, match):
    for ask in (lambda: from_file(path), lambda: jfed.Training(dataset=str(path))):
        with pytest.raises(DataError, match=match) as caught:
            ask()
        assert "\n" not in str(caught.value) and str(path) in str(caught.value)


def test_bad_files_get_one_sentence(tmp_path):
    path = tmp_path / "mine.npz"
    refused_file(path, "cannot be read .No such file")
    path.mkdir()
    refused_file(path, "cannot be read as an npz file")
    path.rmdir()
    for content in (b"", b"hello", b"PK\x03\x04 and no more"):
        path.write_bytes(content)
        refused_file(path, "is no npz file|cannot be read as an npz file")
    with path.open("wb") as file:
        np.save(file, FEATURES)
    refused_file(path, "holds one array without a name")
    np.savez(path, images=FEATURES)
    refused_file(path, "lacks labels: it must hold images and labels, .*; it holds images$")
    np.savez(path, images=FEATURES, labels=LABELS, client=LABELS)
    refused_file(path, "holds client, which no data set has")
    np.savez(path, images=objects([[1.0]] * 6), labels=LABELS)
    refused_file(path, "holds Python objects.*: write it with numpy.savez")
    np.savez(path, images=FEATURES, labels=LABELS + 1)
    refused_file(path, re.escape(f"{path}: labels must be"))
    np.savez(path, images=FEATURES, labels=LABELS)
    whole = path.read_bytes()
    path.write_bytes(whole[:200] + bytes([whole[200] ^ 1]) + whole[201:])
    refused_file(path, "cannot be read as an npz file")
    path.write_bytes(whole[: len(whole) // 2])
    refused_file(path, "cannot be read as an npz file|is no npz file")
    with pytest.raises(ConfigError, match=r"unknown data set 'mine\.npy'"):
        jfed.Training(dataset="mine.npy")


ANY = st.sampled_from([np.uint8, np.float16, np.float32, np.float64, np.int64])
SHAPES = extra.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4)
SMALL = st.floats(-1e30, 1e30, width=32)


@st.composite
def anything(draw):
    """Draw examples, labels and owners, many of which do not fit together."""
    images = draw(extra.arrays(draw(ANY), draw(SHAPES)))
    many = draw(st.sampled_from([len(images), len(images) + 1]))
    labels = draw(extra.arrays(np.int8, many, elements=st.integers(-1, 2) if draw(st.booleans()) else st.just(0)))
    clients = draw(st.none() | extra.arrays(np.int8, len(images), elements=st.integers(-3, 3)))
    return images, labels, clients


@settings(max_examples=150)
@given(case=anything())
def test_whatever_is_accepted_is_sound(case):
    images, labels, clients = case
    try:
        source = jfed.arrays(images, labels, clients=clients)
    except DataError:
        return
    assert isinstance(source, Arrays)
    data = source.load()
    assert data.images.dtype in (np.uint8, np.float32) and data.images.ndim >= 2 and data.images.size > 0
    assert len(data.images) == len(data.labels) and set(data.labels.tolist()) == set(range(data.num_classes))
    assert data.images.flags.c_contiguous and len(data.test_labels) == len(data.test_images) == 0
    np.testing.assert_array_equal(data.images.ravel(), np.asarray(images).astype(data.images.dtype).ravel())
    assert data.owners is None or len(data.owners) == len(images)
    assert np.isfinite(scaled(data)).all() and np.abs(scaled(data)).max() <= max(2, np.sqrt(data.images.size)) * 1.01
