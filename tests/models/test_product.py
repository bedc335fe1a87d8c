"""The dense layer's product, local response normalisation and the compiler's options beside plain formulas."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jfed import catalog
from jfed.engine import compiler
from jfed.models import cnn, dense, product


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
    assert set(compiler.options(False)) == set(compiler.ALWAYS["cpu"])
    assert set(compiler.options(True)) - set(compiler.EIGEN) == set(compiler.ALWAYS["cpu"])
    compiler._knows_eigen.cache_clear()
    monkeypatch.setattr(compiler, "EIGEN", {"xla_cpu_no_such_option": ""})
    assert compiler.options(True) == compiler.ALWAYS["cpu"]
    compiler._knows_eigen.cache_clear()
