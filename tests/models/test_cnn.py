"""Tests of convolutional networks against PyTorch (golden values), of initial weights and of invalid options."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch_cases as cases
from flax import linen
from jax import lax
from scipy import stats

from jfed import catalog
from jfed.core.errors import ConfigError
from jfed.models import classifier, cnn
from jfed.models.losses import cross_entropy

pytestmark = pytest.mark.check

EMNIST = catalog.find("model", "e3cs-emnist")
OPTIONS = {
    **{
        name: catalog.find("model", name)
        for name in ("cnn", "e3cs-emnist", "e3cs-cifar", "rbcs-f-fashion", "wang", "wang-cifar")
    },
    "e3cs-emnist, pools=last": cnn.Options((10, 10), hidden=(1280, 256), pools="last"),
    "e3cs-emnist, padding=same": cnn.Options((10, 10), hidden=(1280, 256), padding="same"),
    "e3cs-cifar, pool=3": cnn.Options(pool=3, pool_stride=2),
}
QUICK = ("e3cs-emnist", "wang-cifar")


def make(options, image, classes=10, mean_std=(0.1, 0.5)):
    return classifier.make(options, classifier.Inputs(image, classes, 255.0, *mean_std))


def layer_names(case):
    dense = [len(kernel) for kernel in case.kernels].count(2)
    return [f"conv_{i}" for i in range(len(case.kernels) - dense)] + [f"dense_{i}" for i in range(dense)]


def to_ours(case, values):
    """Return PyTorch's parameters in jfed's layout: inputs before outputs, channels last in the flattened image."""
    found = {}
    for name, kernel, bias in zip(layer_names(case), values[::2], values[1::2], strict=True):
        if name == "dense_0":
            kernel = kernel.reshape(-1, *case.flat).transpose(0, 2, 3, 1).reshape(kernel.shape)
        found[f"{name}_kernel"] = kernel.transpose(2, 3, 1, 0) if kernel.ndim == 4 else kernel.T
        found[f"{name}_bias"] = bias
    return found


def to_theirs(case, values):
    """Return jfed's parameters in PyTorch's layout."""
    found = []
    channels, height, width = case.flat
    for name in layer_names(case):
        kernel = np.asarray(values[f"{name}_kernel"])
        kernel = kernel.transpose(3, 2, 0, 1) if kernel.ndim == 4 else kernel.T
        if name == "dense_0":
            kernel = kernel.reshape(-1, height, width, channels).transpose(0, 3, 1, 2).reshape(kernel.shape)
        found += [kernel, np.asarray(values[f"{name}_bias"])]
    return found


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.proof) for n in cases.CASES])
def test_a_network_is_pytorchs(name):
    case = cases.CASES[name]
    mean_std = (0.0, 1.0) if isinstance(case.scaling, str) else case.scaling
    with np.load(cases.GOLDEN) as file, jax.enable_x64(True):
        golden = {key.removeprefix(f"{name}: "): file[key] for key in file.files if key.startswith(f"{name}: ")}
        model = make(OPTIONS[name], case.image, case.kernels[-1][0], mean_std)
        weights, labels = to_ours(case, cases.weights(name)), jnp.asarray(cases.labels(name))
        shapes = jax.tree.map(lambda w: (w.shape, w.dtype), jax.eval_shape(model.init, jax.random.key(0)))
        assert shapes == jax.tree.map(lambda w: (w.shape, w.dtype), weights)

        @jax.jit
        def everything(weights, images):
            def objective(w):
                logits = model.logits(w, images)
                return cross_entropy(logits, labels).loss.mean(), logits

            return jax.value_and_grad(objective, has_aux=True)(weights)

        (loss, logits), gradient = everything(weights, jnp.asarray(cases.images(name)))
        found = cases.digest(to_theirs(case, gradient))
    np.testing.assert_allclose(logits, golden["logits"], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(loss, golden["loss"], rtol=1e-8)
    np.testing.assert_allclose(found["squares"], golden["squares"], rtol=1e-8)
    start = 0
    for i, weight in enumerate(cases.weights(name)):
        norm = math.sqrt(golden["squares"][i])
        assert found["sums"][i] == pytest.approx(golden["sums"][i], rel=1e-8, abs=1e-8 * norm)
        part = slice(start, start + min(weight.size, cases.ENTRIES))
        largest = abs(golden["entries"][part]).max()
        np.testing.assert_allclose(found["entries"][part], golden["entries"][part], rtol=1e-8, atol=1e-8 * largest)
        start = part.stop
    assert start == len(golden["entries"])


def test_oblong_images_and_even_kernels():
    options = cnn.Options((2, 3), kernel=4, padding="same", pool=3, pool_stride=2, pools="last", hidden=())
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (2, 9, 6, 2)).astype(np.uint8)
    with jax.enable_x64(True):
        model = make(options, images.shape[1:], 4)
        weights = jax.tree.map(lambda w: rng.normal(size=w.shape), jax.eval_shape(model.init, jax.random.key(0)))

        @jax.jit
        def expected(w):
            x = jnp.asarray((images / 255.0 - 0.1) / 0.5)
            for i in range(2):
                x = lax.conv_general_dilated(
                    x, w[f"conv_{i}_kernel"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
                )
                x = linen.relu(x + w[f"conv_{i}_bias"])
            x = linen.max_pool(x, (3, 3), (2, 2))
            return x.reshape(2, -1) @ w["dense_0_kernel"] + w["dense_0_bias"]

        np.testing.assert_allclose(jax.jit(model.logits)(weights, images), expected(weights), rtol=1e-10, atol=1e-10)


# ------------------------------------------------------------------------------------------- initial weights


def fan_in_uniform(shape):
    bound = 1 / math.sqrt(math.prod(shape[:-1]))
    return stats.uniform(-bound, 2 * bound)


@pytest.mark.parametrize("name", ["e3cs-emnist", "wang"])
def test_initial_weights(name):
    weights = jax.device_get(jax.jit(make(catalog.find("model", name), (28, 28, 1)).init)(jax.random.key(3)))
    for layer in {key.rpartition("_")[0] for key in weights}:
        kernel, bias = (weights[f"{layer}_{part}"].astype(np.float64) for part in ("kernel", "bias"))
        law = stats.truncnorm(-2, 2, scale=0.1) if name == "wang" else fan_in_uniform(kernel.shape)
        drawn = [kernel] if name == "wang" else [kernel, bias]
        if name == "wang":
            np.testing.assert_array_equal(bias, np.float32(0.1))
        for values in drawn:
            low, high = law.support()
            assert low <= values.min() and values.max() <= high
            error = math.sqrt((law.moment(4) - law.var() ** 2) / values.size)
            assert abs(np.mean(values**2) - law.var()) < 4 * error
            assert abs(values.mean()) < 4 * law.std() / math.sqrt(values.size)
            assert stats.kstest(values.reshape(-1)[:20_000], law.cdf).pvalue > 1e-3
    firsts = [float(w.reshape(-1)[0]) for key, w in weights.items() if name != "wang" or "kernel" in key]
    assert len(set(firsts)) == len(firsts)  # no two layers share their draws


# --------------------------------------------------------------------------------------------------- options


SIZES = "A convolutional network needs sizes of at least 1, found"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (cnn.Options(channels=()), "A convolutional network needs at least one convolution."),
        (cnn.Options(channels=(4, 0)), SIZES + r".*channels=\(4, 0\)"),
        (cnn.Options(hidden=(0,)), SIZES + r".*hidden=\(0,\)"),
        (cnn.Options(pool_stride=0), SIZES + ".*pool_stride=0"),
        (cnn.Options(channels=(4, 4, 4)), "too small for 3 convolutions of 5 x 5"),
        (cnn.Options(channels=(4,), kernel=25, pool=5), "Images of 28 x 28 pixels are too small for 1 convolution"),
    ],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(ConfigError, match=message):
        make(options, (28, 28, 1))


def test_the_smallest_images_that_will_do():
    for options, side in (
        (cnn.Options(), 16),
        (cnn.Options((1,), pools="last"), 6),
        (catalog.find("model", "wang"), 4),
    ):
        model = make(options, (side, side, 1))
        images = jax.ShapeDtypeStruct((2, side, side, 1), jnp.uint8)
        logits = jax.eval_shape(model.logits, jax.eval_shape(model.init, jax.random.key(0)), images)
        assert logits.shape == (2, 10)
        with pytest.raises(ConfigError, match=f"Images of {side + 9} x {side - 1} pixels are too small for"):
            make(options, (side + 9, side - 1, 1))
