"""Tests of the scheme by local accuracy against a sort."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from stepping import Rounds, key_of, on_device, view, walk

from jfed.core.types import Dims, Problem
from jfed.selectors import local_accuracy

K, ROUNDS = 8, 25
SELECTOR = local_accuracy.Options().make(Dims(K, K))


def chosen(accuracy, k, available, seed=0):
    params = local_accuracy.Options().params(Problem(K, k, len(available)))
    return walk(SELECTOR, params, Rounds(available, accuracy=accuracy), seed)[1].selected


@pytest.mark.parametrize("k", [1, 3, K])
def test_the_lowest_accuracies_of_those_who_are_there(k):
    rng = np.random.default_rng(k)
    accuracy = rng.permuted(np.tile(np.linspace(0, 1, K, dtype=np.float32), (ROUNDS, 1)), axis=1)  # 0 and 1 among them
    available = rng.uniform(size=accuracy.shape) < 0.7
    available[0], available[1], available[2] = True, False, np.arange(K) == 5
    # Some clients that are not available have an accuracy; it must not count.
    told = np.where(available | (rng.uniform(size=accuracy.shape) < 0.5), accuracy, np.nan)
    selected = chosen(told, k, available)
    for t in range(ROUNDS):
        order = [i for i in np.argsort(accuracy[t]) if available[t, i]]
        assert set(np.flatnonzero(selected[t]).tolist()) == set(order[:k])


def test_whoever_did_not_answer_is_left_out():
    accuracy = np.array([[0.1, np.nan, 0.9, 0.5, np.nan, 0.3, 0.2, 0.8]] * ROUNDS)
    selected = chosen(accuracy, K, np.ones(accuracy.shape, bool))
    np.testing.assert_array_equal(selected, ~np.isnan(accuracy))


def test_ties_are_broken_evenly_and_anew_in_every_round():
    """Two places among five tied clients are split evenly; a correct engine fails for one seed in 10,000."""
    rounds = 2000
    accuracy = np.tile([0.5, 0.2, 0.5, 0.5, 0.9, 0.5, 0.5, 0.1], (rounds, 1))
    selected = chosen(accuracy, 4, np.ones(accuracy.shape, bool))
    tied = accuracy[0] == 0.5
    assert selected[:, [1, 7]].all() and not selected[:, 4].any()
    pairs = np.unique(selected[:, tied], axis=0, return_counts=True)[1]
    assert len(pairs) == 10 and stats.chisquare(pairs).pvalue > 1e-4
    again = (selected[1:, tied] == selected[:-1, tied]).all(1).mean()
    assert abs(again - 0.1) < 4 * np.sqrt(0.1 * 0.9 / rounds)


def test_all_who_are_there_are_asked_on_all_their_images():
    here = np.array([True, False, True, True, False, True, True, True])
    params = on_device(local_accuracy.Options().params(Problem(K, 2, ROUNDS)))
    assert SELECTOR.probe is not None
    asked = SELECTOR.probe(key_of(0, 1), (), params, view(jnp.int32(1), ROUNDS, Rounds(jnp.asarray(here))))
    np.testing.assert_array_equal(asked.asked, here)
    assert int(asked.num_images) > 10**9 and jax.tree.leaves(SELECTOR.init(key_of(0, 0), params)) == []
