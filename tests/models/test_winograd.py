"""Winograd's convolution beside a direct one: the same in float64, close in float32, chosen for wide layers only."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jfed.models import conv, winograd

SIZES = [(6, 6), (9, 13), (14, 14)]  # one tile or less, and sizes that whole tiles do not fill


def test_tiles_are_chosen_by_their_products(monkeypatch):
    assert winograd.Form(8, 5).products(10, 10) == 9 * 64 and winograd.Form(6, 5).products(10, 10) == 25 * 36
    chosen = []
    monkeypatch.setattr(winograd, "_tiled", lambda form, x, kernel: chosen.append(form) or x)
    for side, size in ((5, 14), (3, 10), (5, 7)):  # outputs of 10, 8 and 3
        winograd.conv2d(jnp.zeros((1, size, size, 1)), jnp.zeros((side, side, 1, 1)))
    assert chosen == [(8, 5), (6, 3), (8, 5)]


@pytest.mark.parametrize("side", winograd.SIDES)
@pytest.mark.parametrize("tile", winograd.TILES)
def test_matrices_filter_exactly_along_one_axis(side, tile):
    """A^T ((G g) * (B^T d)) is the correlation of d with g."""
    output, kernel, inputs = winograd._matrices(winograd.Form(tile, side))
    rng = np.random.default_rng(tile)
    g, d = rng.normal(size=side), rng.normal(size=tile)
    np.testing.assert_allclose(output @ ((kernel @ g) * (inputs @ d)), np.correlate(d, g, "valid"), atol=1e-12)


def case(side, size, inputs=3, outputs=4, batch=2):
    rng = np.random.default_rng(side)
    x = rng.normal(size=(inputs, *size, batch))
    kernel = rng.normal(size=(side, side, inputs, outputs))
    weight = rng.normal(size=(outputs, size[0] - side + 1, size[1] - side + 1, batch))
    return jnp.asarray(x), jnp.asarray(kernel), jnp.asarray(weight)


@functools.partial(jax.jit, static_argnums=0)  # one program in place of a hundred
def with_gradients(convolve, x, kernel, weight):
    """Return the convolution and the gradients of its weighted sum for the images and the kernel."""
    y, pull = jax.vjp(convolve, x, kernel)
    return y, *pull(weight.astype(y.dtype))


@pytest.mark.parametrize("side", winograd.SIDES)
@pytest.mark.parametrize("size", SIZES)
def test_it_is_the_direct_convolution_in_float64(side, size):
    with jax.enable_x64(True):
        given = case(side, size)
        for mine, plain in zip(
            with_gradients(winograd.conv2d, *given), with_gradients(conv.direct, *given), strict=True
        ):
            np.testing.assert_allclose(mine, plain, rtol=0, atol=1e-11)


@pytest.mark.parametrize("side", winograd.SIDES)
def test_it_is_close_in_float32(side):
    """Errors relative to the largest value, at the size of E3CS's second layer on CIFAR-10."""
    with jax.enable_x64(True):
        given = case(side, (14, 14), 64, 64, 40)
        exact = [np.asarray(x) for x in with_gradients(conv.direct, *given)]
        small = [x.astype(jnp.float32) for x in given]
        found = with_gradients(winograd.conv2d, *small)
    for mine, plain, bound in zip(found, exact, (1e-5, 1e-5, 1e-4), strict=True):
        assert np.abs(np.asarray(mine, np.float64) - plain).max() < bound * np.abs(plain).max()


def test_it_can_be_batched_over_clients():
    with jax.enable_x64(True):
        x, kernel, _ = case(5, (9, 9))
        many = jax.jit(jax.vmap(winograd.conv2d))(jnp.stack([x, 2 * x]), jnp.stack([kernel, kernel]))
        np.testing.assert_allclose(many[1], 2 * jax.jit(winograd.conv2d)(x, kernel), rtol=0, atol=1e-11)


def test_wide_square_kernels_are_chosen():
    assert winograd.suits(jnp.zeros((5, 5, 64, 64))) and winograd.suits(jnp.zeros((3, 3, 32, 32)))
    for shape in ((5, 5, 10, 10), (5, 5, 3, 64), (1, 1, 64, 64), (7, 7, 64, 64), (3, 5, 64, 64)):
        assert not winograd.suits(jnp.zeros(shape))
    for channels, method in ((32, winograd.conv2d), (3, conv.direct)):
        x, kernel, _ = case(5, (9, 9), channels, channels)
        np.testing.assert_array_equal(jax.jit(conv.conv2d)(x, kernel), jax.jit(method)(x, kernel))
