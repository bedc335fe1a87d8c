"""Tests of round robin against a pointer that moves around a circle of clients."""

import numpy as np
import pytest
from reference import cs_ucb as reference
from stepping import Rounds, walk

from jfed.core.types import Dims, Problem
from jfed.selectors import round_robin

K, ROUNDS = 6, 30
SELECTOR = round_robin.Options().make(Dims(K, K))
EVERYBODY = np.ones((ROUNDS, K), bool)


def stepped(k, available, seed=0):
    """Return each client's place in the order, and the selected clients of each round."""
    params = round_robin.Options().params(Problem(K, k, len(available)))
    states, cohort = walk(SELECTOR, params, Rounds(available), seed)
    assert (states.place == states.place[0]).all()
    np.testing.assert_array_equal(cohort.inclusion, cohort.selected)
    return states.place[0], cohort.selected


def by_finger(order, k, available):
    """Return the next k available clients from the pointer on, which then moves behind the last of them."""
    chosen, finger = np.zeros(available.shape, bool), 0
    for t, here in enumerate(available):
        row = [order[(finger + i) % K] for i in range(K)]
        taken = [client for client in row if here[client]][:k]
        chosen[t, taken] = True
        finger = (finger + row.index(taken[-1]) + 1) % K if taken else finger
    return chosen


@pytest.mark.parametrize("k", range(1, K + 1))
def test_the_turn_goes_around(k):
    place, selected = stepped(k, EVERYBODY)
    np.testing.assert_array_equal(selected, by_finger(np.argsort(place), k, EVERYBODY))
    for end in range(1, ROUNDS):  # no client is ever more than one turn ahead
        assert np.ptp(selected[:end].sum(0)) <= 1


def test_groups_stay_the_same_where_k_divides_the_clients():
    for k in (1, 2, 3, K):
        place, selected = stepped(k, EVERYBODY)
        np.testing.assert_array_equal(selected, reference.round_robin(np.argsort(place), k, ROUNDS))


@pytest.mark.parametrize("k", [1, 4, K])
@pytest.mark.parametrize("seed", range(5))
def test_who_is_away_loses_the_turn_and_the_next_one_takes_it(k, seed):
    available = np.random.default_rng(seed).uniform(size=(ROUNDS, K)) < 0.6
    available[[4, 9]] = False  # a round without clients moves nothing
    place, selected = stepped(k, available, seed)
    np.testing.assert_array_equal(selected, by_finger(np.argsort(place), k, available))
    assert (selected.sum(1) == np.minimum(k, available.sum(1))).all()


def test_the_order_is_a_permutation_drawn_for_the_run():
    places = [tuple(stepped(1, EVERYBODY, seed)[0].tolist()) for seed in range(20)]
    assert all(sorted(place) == list(range(K)) for place in places)
    assert len(set(places)) >= 18  # of 720 permutations
    assert places[3] == tuple(stepped(1, EVERYBODY, 3)[0].tolist())
