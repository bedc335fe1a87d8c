"""Published data sets at half size."""

import numpy as np
import pytest
from tiny import MNIST, expect, write_idx_set

from jfed import catalog
from jfed.core.errors import ConfigError
from jfed.data.official import Options, halved


def test_a_pixel_is_the_rounded_mean_of_a_square_of_four():
    image = np.array([[0, 1, 255, 255], [1, 0, 255, 255], [0, 3, 10, 20], [0, 3, 30, 41]], np.uint8)
    two = np.stack([image, 255 - image], -1)[np.newaxis]
    expected = [[1, 255], [2, 25]]  # 0.5 and 1.5 are rounded up, 25.25 down
    assert halved(two)[0, :, :, 0].tolist() == expected
    assert halved(two)[0, :, :, 1].tolist() == [[255, 0], [254, 230]]
    assert halved(two).dtype == np.uint8


def test_a_data_set_at_half_size_differs_in_its_images_alone(tmp_path, monkeypatch):
    expect(monkeypatch, "mnist", (4, 3))
    write_idx_set(tmp_path / "mnist", MNIST)
    whole, half = (catalog.find("dataset", name).load(tmp_path) for name in ("mnist", "mnist-14x14"))
    assert (half.name, half.title) == ("mnist_14x14", "MNIST of 14 x 14 pixels")
    assert half.images.shape == (4, 14, 14, 1) and half.test_images.shape == (3, 14, 14, 1)
    corner = whole.images[2, 4:6, 8:10, 0].astype(int)
    assert half.images[2, 2, 4, 0] == np.floor(corner.mean() + 0.5)
    assert np.array_equal(half.labels, whole.labels) and np.array_equal(half.test_labels, whole.test_labels)
    assert (half.mean, half.std, half.max_value) == (whole.mean, whole.std, whole.max_value)
    assert half.digest != whole.digest


def test_the_digits_are_not_halved():
    with pytest.raises(ConfigError, match="The images of digits are small as they are"):
        Options(half=True).load()
