"""Random orders without a sort: each is a permutation, all pairs come in both orders, and totals follow the order."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jfed.core import mixing

Z = 4.5  # standard errors; the seeds are fixed


@functools.cache
def drawn(n, width, draws):
    keys = jax.random.split(jax.random.key(0), draws)
    return np.asarray(jax.jit(jax.vmap(lambda key: mixing.places(key, n, width)))(keys)).astype(int)


@pytest.mark.parametrize(("n", "width"), [(1, 5), (17, 5), (32, 5), (200, 8), (1000, 10)])
def test_places_are_distinct(n, width):
    found = drawn(n, width, 300)
    assert all(len(set(row)) == n for row in found) and found.min() >= 0 and found.max() < 1 << width


@pytest.mark.parametrize(("n", "width"), [(200, 8), (1000, 10)])
def test_orders_have_the_law_of_random_ones(n, width):
    draws, rng = 4000, np.random.default_rng(0)
    found = drawn(n, width, draws)
    for size, chance in ((2, 1 / 2), (3, 1 / 6)):
        for some in [rng.choice(n, size, replace=False) for _ in range(30)]:
            ascending = (np.diff(found[:, some], axis=1) > 0).all(1).mean()
            assert abs(ascending - chance) < Z * np.sqrt(chance * (1 - chance) / draws)
    for values in (found[:, 0], found[:, -1], (found[:, 1] - found[:, 0]) % (1 << width)):
        counts = np.bincount(values * 8 >> width, minlength=8)
        assert ((counts - draws / 8) ** 2).sum() / (draws / 8) < 7 + Z * np.sqrt(14)


@pytest.mark.parametrize("n", [1, 31, 150, 1000])
def test_totals_are_those_of_one_order(n):
    values = np.random.default_rng(n).integers(0, 5, n).astype(np.int32) + 1  # positive: totals tell the order
    before = np.asarray(jax.jit(mixing.totals_before)(jax.random.key(3), jnp.asarray(values)))
    order = np.argsort(before)
    np.testing.assert_array_equal(before[order], np.cumsum(values[order]) - values[order])
    assert n < 31 or (order != np.arange(n)).any()
