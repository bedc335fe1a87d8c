"""The dense layer's product, local response normalisation and the compiler's options beside plain formulas."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from support import TRAINING, points

from jfed import catalog
from jfed.engine import compiler, simulate
from jfed.models import cnn, conv, dense, product
from jfed.runner import units


def both(f, *given):
    """Return a function's value, and its gradients for all arguments of a weighted sum."""
    y, pull = jax.vjp(f, *given)
    return y, *pull(jnp.asarray(np.random.default_rng(1).normal(size=y.shape), y.dtype))


@pytest.mark.parametrize("batch", [1, 8, 13])
def test_a_dense_layer_is_a_product(batch):
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        given = jnp.asarray(rng.normal(size=(batch, 7))), jnp.asarray(rng.normal(size=(7, 5)))
        for mine, plain in zip(both(product.dense, *given), both(jnp.matmul, *given), strict=True):
            assert mine.shape == plain.shape
            np.testing.assert_allclose(mine, plain, rtol=0, atol=1e-13)


def test_local_response_is_the_printed_formula():
    def plain(x):
        near = sum(shifted(x, k) ** 2 for k in range(-4, 5))
        return x / (1.0 + 0.001 / 9 * near) ** 0.75

    def shifted(x, k):
        """Return channel c + k in the place of channel c, 0 beyond the ends."""
        padded = jnp.pad(x, ((4, 4), (0, 0), (0, 0), (0, 0)))
        return padded[4 + k : 16 + k]

    with jax.enable_x64(True):
        x = jnp.asarray(30 * np.random.default_rng(0).normal(size=(12, 2, 3, 4)))
        for mine, printed in zip(both(cnn.local_response, x), both(plain, x), strict=True):
            np.testing.assert_allclose(mine, printed, rtol=1e-12)


def test_eigen_is_chosen_for_wide_products_only_and_only_if_xla_knows_it(monkeypatch):
    assert catalog.find("model", "e3cs-cifar").wide_products and dense.Options((64,)).wide_products
    assert not dense.Options().wide_products
    if jax.default_backend() != "cpu":
        pytest.skip("the options are for a CPU")
    always = compiler.ALWAYS["cpu"]
    assert compiler.options(False) == always
    if jax.__version_info__ < (0, 11):
        assert compiler.options(True) == always | compiler.EIGEN
    monkeypatch.setattr(compiler, "_knows_eigen", compiler._knows_eigen.__wrapped__)
    monkeypatch.setattr(compiler, "EIGEN", {"xla_cpu_no_such_option": ""})
    assert compiler.options(True) == always


def test_programs_are_compiled_as_their_models_ask(monkeypatch):
    """Here those of a network with a hidden layer, and of one without."""
    asked = []
    monkeypatch.setattr(compiler, "options", lambda wide_products: asked.append(wide_products))
    for model in (dense.Options((4,)), dense.Options()):
        unit = units.plan(points(TRAINING, "uniform", training__model=model), [0], units.Layout())[0]
        simulate.program.__wrapped__(unit.spec)
    assert [max(asked[:3]), max(asked[3:])] == [True, False]


@pytest.mark.check
def test_dense_layers_are_mapped_over_clients_and_pools_differentiated_twice():
    rng = np.random.default_rng(0)
    with jax.enable_x64(True):
        x, kernel = jnp.asarray(rng.normal(size=(3, 5, 7))), jnp.asarray(rng.normal(size=(3, 7, 4)))
        mapped = jax.vmap(jax.grad(lambda x, k: (product.dense(x, k) ** 2).sum()))(x, kernel)
        np.testing.assert_allclose(mapped, 2 * (x @ kernel) @ kernel.swapaxes(1, 2), atol=1e-12)

        def norm(pool):
            return jax.grad(lambda x: (jax.grad(lambda x: (pool(x) ** 3).sum())(x) ** 2).sum())

        images = jnp.asarray(rng.normal(size=(2, 4, 4, 3)))
        np.testing.assert_allclose(norm(conv.max_pool)(images), norm(lambda x: conv._pooled(x, 2, 2))(images))
        assert np.abs(norm(conv.max_pool)(images)).max() > 1
