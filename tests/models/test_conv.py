"""Tests of convolution and pool against XLA's own and their automatic gradients, in float64."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from jax import lax

from jfed.models.conv import conv2d, max_pool

pytestmark = pytest.mark.check

# inputs, height, width, batch; rows, columns, outputs of the kernel
FEW = [((1, 7, 6, 2), (3, 3, 4)), ((2, 5, 9, 1), (4, 2, 5)), ((2, 3, 2, 3), (1, 1, 3))]  # columns * inputs < outputs
MANY = [((4, 6, 7, 2), (3, 3, 2)), ((3, 5, 5, 1), (5, 5, 15)), ((2, 4, 9, 3), (2, 3, 1))]
# channels, height, width, batch; window, stride. The third has overlapping windows, the fourth gaps between them.
POOLS = [((2, 7, 6, 1), 2, 2), ((1, 9, 7, 2), 3, 3), ((2, 8, 7, 1), 3, 2), ((1, 9, 8, 1), 2, 3)]


def numbers(shape):
    """Return a strategy for arrays that often hold equal entries."""
    few = st.sampled_from([-1.5, 0.0, 0.25, 1.0])
    return hnp.arrays(np.float64, shape, elements=few) | hnp.arrays(np.float64, shape, elements=st.floats(-4, 4))


def xla_conv(x, kernel):
    return lax.conv_general_dilated(x, kernel, (1, 1), "VALID", dimension_numbers=("CHWN", "HWIO", "CHWN"))


def xla_pool(x, window, stride):
    pooled = linen.max_pool(x.transpose(3, 1, 2, 0), (window, window), (stride, stride), "VALID")
    return pooled.transpose(3, 1, 2, 0)


def with_gradients(function, inputs, slope):
    """Return the value, and the gradients for the output gradient slope(value)."""
    value, backward = jax.vjp(function, *inputs)
    return value, backward(slope(value))


def assert_same(pair, atol=1e-10):
    ours, theirs = pair
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=atol)


@jax.jit
def both_convolutions(x, kernel, g):
    return [with_gradients(f, (x, kernel), lambda _: g) for f in (conv2d, xla_conv)]


@functools.partial(jax.jit, static_argnums=(2, 3))
def both_pools(x, g, window, stride):
    sides = [lambda v, pool=pool: pool(v, window, stride) for pool in (max_pool, xla_pool)]
    return [with_gradients(f, (x,), lambda _: g) for f in sides]


@settings(max_examples=60)
@given(st.data())
def test_convolution_and_its_gradients(data):
    image, (rows, columns, outputs) = data.draw(st.sampled_from(FEW + MANY))
    inputs, height, width, batch = image
    x, kernel = data.draw(numbers(image)), data.draw(numbers((rows, columns, inputs, outputs)))
    g = data.draw(numbers((outputs, height - rows + 1, width - columns + 1, batch)))
    with jax.enable_x64(True):
        pair = both_convolutions(x, kernel, g)
        assert pair[0][0].dtype == np.float64 and pair[0][0].shape == g.shape
        assert_same(pair)


@settings(max_examples=80)
@given(st.data())
def test_pool_and_its_gradient(data):
    image, window, stride = data.draw(st.sampled_from(POOLS))
    channels, height, width, batch = image
    x = data.draw(numbers(image))
    g = data.draw(numbers((channels, (height - window) // stride + 1, (width - window) // stride + 1, batch)))
    with jax.enable_x64(True):
        pair = both_pools(x, g, window, stride)
        np.testing.assert_array_equal(pair[0][0], pair[1][0])
        assert_same(pair)


def pool_gradient(rows, g, window, stride):
    x, slope = (jnp.array(values, jnp.float32)[None, :, :, None] for values in (rows, g))
    ours, theirs = both_pools(x, slope, window, stride)
    assert_same((ours, theirs), atol=0)
    value, (d_x,) = ours
    return value[0, :, :, 0].tolist(), d_x[0, :, :, 0].tolist()


def test_the_first_of_equal_values_takes_the_gradient():
    value, slope = pool_gradient(
        [[3, 3, 1, 1, 9], [3, 3, 1, 1, 9], [0, 2, -1, -1, 9], [2, 2, -1, -1, 9], [9] * 5], [[1, 2], [4, 8]], 2, 2
    )
    assert value == [[3, 1], [2, -1]]
    assert slope == [[1, 0, 2, 0, 0], [0] * 5, [0, 4, 8, 0, 0], [0] * 5, [0] * 5]  # no window reaches the nines


def test_overlapping_windows_add_their_gradients():
    rows = [[0, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 5, 5, 0], [0, 0, 0, 0, 0], [7, 0, 0, 0, 7]]
    value, slope = pool_gradient(rows, [[1, 2], [4, 8]], 3, 2)
    assert value == [[5, 5], [7, 7]]
    assert slope == [[0] * 5, [0] * 5, [0, 0, 3, 0, 0], [0] * 5, [4, 0, 0, 0, 8]]


@pytest.mark.parametrize(("image", "sides"), [FEW[0], MANY[0]], ids=["few inputs", "many inputs"])
def test_many_kernels_at_once_are_a_loop_over_them(image, sides):
    rng = np.random.default_rng(0)
    rows, columns, outputs = sides
    kernels = rng.normal(size=(3, rows, columns, image[0], outputs))
    images = rng.normal(size=(3, *image))

    def layer(x, kernel):
        return with_gradients(lambda x, kernel: max_pool(conv2d(x, kernel), 2, 2), (x, kernel), jnp.sin)

    with jax.enable_x64(True):
        together, one = jax.jit(jax.vmap(layer))(images, kernels), jax.jit(layer)
        alone = [one(x, kernel) for x, kernel in zip(images, kernels, strict=True)]
        assert_same((together, jax.tree.map(lambda *parts: np.stack(parts), *alone)))
