import jax
import numpy as np
import pytest

from jfed.core import prng


@pytest.mark.parametrize("n", [1, 2, 3, 8, 101, 1000])
@pytest.mark.parametrize("bits", [32, 64])
def test_words_are_those_of_jax(n, bits):
    with jax.enable_x64(bits == 64):
        keys = jax.vmap(jax.random.key)(np.arange(3, dtype=np.uint32) * 123456789)
        mine = jax.vmap(lambda key: prng.words(prng.at(key, 7), n))(keys)
        theirs = jax.vmap(lambda key: jax.random.bits(prng.at(key, 7), (n,), np.uint32))(keys)
    np.testing.assert_array_equal(mine, theirs)


def test_uniform_is_that_of_jax():
    key = jax.random.key(5)
    np.testing.assert_array_equal(prng.uniform(key, 1001), jax.random.uniform(key, (1001,)))


def test_a_path_is_folded_in_as_by_jax():
    key = jax.random.key(5)
    for step in (0, 1, 77, 2**31 - 1):
        wanted = jax.random.fold_in(jax.random.fold_in(key, step), 3)
        np.testing.assert_array_equal(jax.random.key_data(prng.at(key, step, 3)), jax.random.key_data(wanted))
