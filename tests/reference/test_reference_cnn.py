"""Tests of the reference's convolutional classifier: hand-computed values, loops, finite differences."""

import numpy as np
import pytest

from . import cnn, training


def toy_model(rng: np.random.Generator) -> training.Params:
    """Return a model for 11 x 10 images of 2 channels, with 3 x 3 kernels: 9 x 8, pooled 4 x 4, 2 x 2, pooled 1 x 1."""
    kernels = {"conv_0": (3, 3, 2, 3), "conv_1": (3, 3, 3, 4), "dense_0": (4, 5), "dense_1": (5, 3)}
    return {n: {"kernel": rng.normal(size=s) / 2, "bias": rng.uniform(size=s[-1])} for n, s in kernels.items()}


def test_convolution_is_a_loop():
    rng = np.random.default_rng(0)
    x, kernel = rng.normal(size=(2, 4, 5, 3)), rng.normal(size=(3, 2, 3, 2))
    got = cnn.convolve(x, kernel)
    assert got.shape == (2, 2, 4, 2)
    for i in range(2):
        for j in range(4):
            for o in range(2):
                expected = (x[:, i : i + 3, j : j + 2] * kernel[..., o]).sum(axis=(1, 2, 3))
                np.testing.assert_allclose(got[:, i, j, o], expected, atol=1e-12)


def test_pool_golden():
    # The last column is in no window; of the four threes the first takes the gradient.
    x = np.array([[3.0, 3, 1, 0, 9], [3, 3, 2, -1, 9]])[None, :, :, None]
    assert cnn.pool(x)[0, :, :, 0].tolist() == [[3, 2]]
    slope = cnn.pool_backward(x, np.array([[[[5.0], [7.0]]]]))
    assert slope[0, :, :, 0].tolist() == [[5, 0, 0, 0, 0], [0, 0, 7, 0, 0]]


def test_scores_golden():
    # One pixel of 2 under a 1 x 1 kernel of 3 and a bias of -1 is 5 in a 2 x 2 image of that pixel and zeros (-1, cut
    # to 0); the pool leaves 5. With a pixel of 0 nothing passes the ReLU, and the scores are the last bias.
    conv = {"kernel": np.full((1, 1, 1, 1), 3.0), "bias": np.array([-1.0])}
    model = {"conv_0": conv, "dense_0": {"kernel": np.array([[1.0, -2.0]]), "bias": np.array([0.5, 0.0])}}
    x = np.zeros((2, 2, 2, 1))
    x[0, 1, 0] = 2
    np.testing.assert_allclose(cnn.forward(model, x)[0], [[5.5, -10], [0.5, 0]])


def test_gradient_by_finite_differences():
    rng = np.random.default_rng(8)
    params = toy_model(rng)
    x, y = rng.normal(size=(6, 11, 10, 2)), rng.integers(0, 3, size=6)
    loss, gradient = training.loss_and_grad(params, x, y)
    assert loss == pytest.approx(training.evaluate(params, x, y)[1])
    assert list(gradient) == list(params)
    checked = 0
    for name, layer in params.items():
        for part, leaf in layer.items():
            for position in np.ndindex(leaf.shape):
                value, step = leaf[position], 1e-6
                around = []
                for moved in (value + step, value - step):
                    leaf[position] = moved
                    around.append(training.evaluate(params, x, y)[1])
                leaf[position] = value
                slope = (around[0] - around[1]) / (2 * step)
                assert gradient[name][part][position] == pytest.approx(slope, abs=1e-7), (name, part, position)
                checked += abs(slope) > 1e-6
    assert checked > 200  # of 212: hardly any unit is dead
