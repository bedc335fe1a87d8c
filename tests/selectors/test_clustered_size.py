"""Clustered sampling by size: beside the reference, its distributions by hand, and what it guarantees."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from facts_steps import cohorts, is_unbiased, told, walk
from reference import sampling
from stepping import Rounds, drawn, view

from jfed.core import prng
from jfed.core.types import Dims, Problem
from jfed.selectors import clustered_size

pytestmark = pytest.mark.check

K, ROUNDS = 8, 30
OPTIONS = clustered_size.Options()
SELECTOR = OPTIONS.make(Dims(K, K))
SIZES = np.array([20, 3, 0, 8, 1, 0, 40, 11])


@jax.jit
def poured(own, k):
    tie = jnp.arange(own.shape[0]) / own.shape[0]
    return clustered_size.by_size(k * own, tie, jnp.sum(own), jnp.arange(13) < k)


def table(sizes, k):
    """Return the distributions, times the sum of the sizes; there are 12 clients, some without images."""
    made = np.asarray(poured(jnp.asarray([*sizes, *[0] * (12 - len(sizes))], jnp.int32), jnp.int32(k)))
    assert not made[k:].any() and not made[:, len(sizes) :].any()
    return made[:k, : len(sizes)]


@pytest.mark.parametrize(("seed", "k", "sizes"), [(0, 3, SIZES), (1, 5, SIZES), (2, 1, SIZES), (3, 3, 0 * SIZES)])
def test_a_run_beside_the_reference(seed, k, sizes):
    events = told(seed, ROUNDS, K)
    states, cohort = walk(SELECTOR, OPTIONS.params(Problem(K, k, ROUNDS)), sizes, events, seed)
    words = drawn(lambda key: prng.words(key, K), seed, 1, ROUNDS)
    assert (states.tie_break == states.tie_break[0]).all()
    for t in range(ROUNDS):
        own = sampling.own_images(sizes, events.available[t])
        if not any(own):
            assert not cohort.selected[t].any() and not cohort.importance[t].any()
            continue
        expected = np.array(sampling.clustered_size(own, k, states.tie_break[t]))
        times = np.array(sampling.draw(expected.tolist(), sum(own), words[t]))
        assert times.sum() == k
        np.testing.assert_array_equal(cohort.selected[t], times > 0)
        mean = expected.sum(0) / sum(own)
        np.testing.assert_allclose(cohort.importance[t], times / np.where(mean > 0, mean, 1), rtol=1e-5)
        np.testing.assert_allclose(cohort.inclusion[t], 1 - np.prod(1 - expected / sum(own), 0), atol=1e-6)


def test_distributions_by_hand():
    # n = 100, k = 3: masses 210, 30, 30, 30. Client 0 fills two bins, and the third holds 10 of it and all others.
    assert table([70, 10, 10, 10], 3).tolist() == [[100, 0, 0, 0], [100, 0, 0, 0], [10, 30, 30, 30]]
    # n = 10, k = 2: masses 4, 8, 2, 6, in the order 1, 3, 0, 2: client 3 is split, 2 and 4.
    assert table([2, 4, 1, 3], 2).tolist() == [[0, 8, 0, 2], [4, 0, 2, 4]]


def test_rows_are_distributions_and_columns_are_shares():
    rng = np.random.default_rng(0)
    for k in (1, 2, 5, 11):
        sizes = rng.integers(0, 50, 11)
        made, p = table(sizes, k), sizes / sizes.sum()
        assert (made.sum(1) == sizes.sum()).all() and (made.sum(0) == k * sizes).all() and (made >= 0).all()
        r = made / sizes.sum()
        assert ((r * (1 - r)).sum(0) / k**2 <= p * (1 - p) / k + 1e-12).all()  # no more than with multinomial draws


def test_equal_sizes_are_strata():
    made = table([7] * 12, 4)
    assert (np.count_nonzero(made, axis=1) == 3).all() and (np.count_nonzero(made, axis=0) == 1).all()
    selected = cohorts(SELECTOR, OPTIONS.params(Problem(K, 4, 1)), clustered_size.State(jnp.arange(K) / K), [5] * K)
    strata = selected.selected.reshape(-1, 4, 2).sum(-1)
    assert (strata == 1).all() and np.allclose(selected.inclusion, 0.5)


def test_all_clients_of_equal_size_are_selected_if_there_is_a_draw_for_each():
    one = cohorts(SELECTOR, OPTIONS.params(Problem(K, K, 1)), clustered_size.State(jnp.zeros(K)), [3] * K)
    assert one.selected.all() and (one.importance == 1).all()


def test_updates_are_unbiased():
    updates = np.random.default_rng(1).normal(size=(K, 4))
    many = cohorts(SELECTOR, OPTIONS.params(Problem(K, 3, 1)), clustered_size.State(jnp.zeros(K)), SIZES)
    assert is_unbiased(many, SIZES, updates)
    # As "selected" weighs them: the weights of the draws are equal, 1 / k each.
    weight = SIZES * many.importance
    times = 3 * weight / weight.sum(1, keepdims=True)
    np.testing.assert_allclose(times, np.round(times), atol=1e-5)


def test_whole_numbers_below_a_number():
    words = np.random.default_rng(2).integers(0, 1 << 32, 500, dtype=np.uint32)
    words[:3] = 0, (1 << 32) - 1, 1 << 31
    for top in (0, 1, 2, 3, 1000, 65_535, 65_536, 70_001, 1 << 30, (1 << 31) - 1):
        got = clustered_size.below(jnp.asarray(words), jnp.int32(top))
        assert np.asarray(got).tolist() == [int(word) * top >> 32 for word in words]


def test_more_images_than_whole_numbers_hold_are_counted_in_larger_units():
    huge = np.array([2**28, 2**29, 5, 0, 2**27, 1, 2**28, 3], np.int64)
    seen = view(jnp.int32(1), 10, Rounds(jnp.ones(K, bool), num_samples=jnp.asarray(huge, jnp.int32)))
    for k in (1, 3, 8):
        own = np.asarray(clustered_size.masses(seen, jnp.int32(k)), np.int64)
        unit = huge[1] // own[1]
        assert 2**29 - K < k * own.sum() <= 2**30 + k * K and unit & (unit - 1) == 0
        np.testing.assert_array_equal(own, np.where(huge > 0, np.maximum(huge // unit, 1), 0))
    params = OPTIONS.params(Problem(K, 3, 10))
    drawn_ones = cohorts(SELECTOR, params, clustered_size.State(jnp.arange(K) / K), huge.astype(np.int32))
    often = drawn_ones.selected.mean(0)
    np.testing.assert_allclose(often[[2, 3, 5, 7]], 0, atol=0.01)
    np.testing.assert_allclose((drawn_ones.importance > 0).mean(0), often)
    expected = 3 * huge / huge.sum()
    times = drawn_ones.importance * expected  # draws, since the tables keep the shares of large clients
    np.testing.assert_allclose(times.mean(0)[[0, 1, 4, 6]], expected[[0, 1, 4, 6]], rtol=0.06)


def test_few_images_are_counted_one_by_one():
    seen = view(jnp.int32(1), 10, Rounds(jnp.ones(K, bool), num_samples=jnp.asarray(SIZES, jnp.int32)))
    np.testing.assert_array_equal(clustered_size.masses(seen, jnp.int32(8)), SIZES)
