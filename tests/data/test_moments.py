"""Mean and standard deviation of examples beside NumPy's in double precision."""

import numpy as np
import pytest

from jfed.data.moments import moments


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_moments_are_those_of_numpy(channels, kind):
    """The examples are more than one piece, so that pieces are added."""
    rng = np.random.default_rng(channels)
    examples = rng.integers(0, 256, (3000, 28, 28, channels)).astype(kind)
    examples[..., 0] //= 3
    mean, std = moments(examples, 255.0)
    rows = examples.reshape(-1, channels) / np.float64(255)
    np.testing.assert_allclose(mean, rows.mean(axis=0) if channels > 1 else rows.mean(), rtol=1e-11)
    np.testing.assert_allclose(std, rows.std(axis=0) if channels > 1 else rows.std(), rtol=1e-11)


def test_constant_pixels_have_a_deviation_of_1():
    constant = np.full((5, 4, 4, 2), 7, np.uint8)
    constant[..., 1] = np.arange(5)[:, None, None]
    mean, std = moments(constant, 255.0)
    np.testing.assert_allclose(mean, [7 / 255, 2 / 255])
    assert std[0] == 1.0 and std[1] == pytest.approx(np.sqrt(2) / 255)
