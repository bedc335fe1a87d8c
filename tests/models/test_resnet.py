"""The residual network beside plain convolutions and flax's group normalisation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen
from jax import lax

from jfed.core.errors import ConfigError
from jfed.models import classifier, resnet
from jfed.models.classifier import Inputs

INPUTS = Inputs((8, 8, 3), 5, 255.0, 0.4, 0.2)


def plain(options, weights, images):
    """Return the logits by lax's convolutions and flax's norms, images last in channels."""

    def conv(x, name):
        return lax.conv_general_dilated(x, weights[name], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def norm(x, name):
        own = {"scale": weights[f"{name}_scale"], "bias": weights[f"{name}_bias"]}
        return linen.GroupNorm(options.groups, epsilon=1e-5, use_fast_variance=False).apply({"params": own}, x)

    x = jax.nn.relu(norm(conv(images, "conv"), "norm"))
    for stage in range(len(options.channels)):
        if stage:
            x = linen.avg_pool(x, (2, 2), (2, 2))
        for block in range(options.blocks):
            name = f"{stage}_{block}"
            y = jax.nn.relu(norm(conv(x, f"conv_{name}_a"), f"norm_{name}_a"))
            y = norm(conv(y, f"conv_{name}_b"), f"norm_{name}_b")
            short = f"conv_{name}_c"
            x = jax.nn.relu(y + (conv(x, short) if short in weights else x))
    return x.mean((1, 2)) @ weights["dense_kernel"] + weights["dense_bias"]


@pytest.mark.check
@pytest.mark.parametrize(("channels", "blocks"), [((4, 8), 2), ((8,), 1)])
def test_logits_and_gradients_are_those_of_plain_layers(channels, blocks):
    options = resnet.Options(channels=channels, blocks=blocks, groups=2)
    with jax.enable_x64(True):
        model = classifier.make(options, INPUTS)
        weights = model.init(jax.random.key(0))
        rng = np.random.default_rng(0)
        weights = jax.tree.map(lambda w: w + 0.1 * rng.normal(size=w.shape), weights)  # scales and biases, too
        images = jnp.asarray(rng.integers(0, 256, (3, 8, 8, 3)), jnp.uint8)
        scaled = classifier.scaled(images, INPUTS, "dataset")
        np.testing.assert_allclose(model.logits(weights, images), plain(options, weights, scaled), atol=1e-10)
        mine, theirs = (
            jax.grad(lambda w, f=f: jnp.sum(jnp.sin(f(w))))(weights)
            for f in (lambda w: model.logits(w, images), lambda w: plain(options, w, scaled))
        )
        for name, own in mine.items():
            np.testing.assert_allclose(own, theirs[name], atol=1e-9, err_msg=name)


def test_an_example_does_not_depend_on_the_others():
    model = classifier.make(resnet.Options(channels=(4,)), INPUTS)
    weights = model.init(jax.random.key(0))
    images = jnp.asarray(np.random.default_rng(0).integers(0, 256, (4, 8, 8, 3)), jnp.uint8)
    np.testing.assert_allclose(model.logits(weights, images)[1:2], model.logits(weights, images[1:2]), atol=1e-5)


@pytest.mark.parametrize(
    ("options", "shape", "sentence"),
    [
        (resnet.Options(channels=(6,)), (8, 8, 1), r"needs a multiple of 4 channels .groups., found \[6\]"),
        (resnet.Options(blocks=0), (8, 8, 1), "needs sizes of at least 1, found"),
        (resnet.Options(), (64,), r"needs images .height, width, channels., found examples of shape"),
        (resnet.Options(), (6, 8, 1), "sides must be multiples of 4, found 6 x 8"),
    ],
)
def test_what_cannot_be_built(options, shape, sentence):
    with pytest.raises(ConfigError, match=sentence):
        options.module(INPUTS._replace(shape=shape))
