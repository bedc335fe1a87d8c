"""Tests of the optimum under quotas: linear program, dual and closed form against the reference."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import cs_ucb as ref

from jfed.measures.optimum import best_under_quotas, mean_of_smallest, smallest_mean, upper_bound

pytestmark = pytest.mark.check

MU, QUOTAS = np.array([0.90, 0.95, 0.97]), np.array([0.6, 0.5, 0.4])


def everybody(availability, copies):
    """Return the availability masks of `copies` rounds, each set of clients as often as expected."""
    masks = np.array(list(itertools.product([False, True], repeat=len(availability))))
    chances = np.where(masks, availability, 1 - np.asarray(availability)).prod(1)
    return np.repeat(masks, np.round(chances * copies).astype(int), axis=0)


@given(st.permutations([0.5, 0.8, 0.93]), st.permutations([0.6, 0.5, 0.4]), st.sampled_from([0.8, 0.9, 0.99]))
@settings(deadline=None, max_examples=25)
def test_the_program_is_the_closed_form_of_three_clients(mu, quotas, availability):
    found = best_under_quotas(smallest_mean(mu), [availability] * 3, quotas, 2)
    assert np.isclose(found, ref.closed_form(np.array(mu), availability, np.array(quotas)), atol=1e-9)


def test_by_hand_with_everybody_always_available():
    """The first client takes part in 0.6 of the rounds, which earn 0.90; the other rounds earn 0.95."""
    assert np.isclose(best_under_quotas(smallest_mean(MU), np.ones(3), QUOTAS, 2), 0.6 * 0.90 + 0.4 * 0.95)
    assert np.isclose(best_under_quotas(smallest_mean(MU), np.ones(3), np.zeros(3), 2), 0.95)  # no quotas
    assert np.isclose(best_under_quotas(smallest_mean(MU), [1, 0, 0.5], np.zeros(3), 1), 0.5 * 0.97 + 0.5 * 0.9)


@pytest.mark.parametrize(("num", "most"), [(3, 2), (4, 2), (5, 3)])
def test_program_dual_and_reference_agree(num, most):
    rng = np.random.default_rng(num)
    mu, availability = rng.uniform(0.5, 1, num), rng.uniform(0.7, 0.95, num)
    quotas = rng.uniform(0.1, 0.9, num) * most / num * 0.8
    value = best_under_quotas(smallest_mean(mu), availability, quotas, most)
    assert np.isclose(value, ref.lp_value(ref.min_reward(mu), availability, quotas, most), atol=1e-8)
    bound = upper_bound(mu, everybody(availability, 4_000_000 if num == 3 else 400_000), quotas, most, 1e-6)
    assert abs(bound - value) < 1e-4  # the sample rounds probabilities to whole numbers of rounds


def test_prices_of_the_reference_bound_the_value_from_above():
    availability = np.full(3, 0.9)
    value = best_under_quotas(smallest_mean(MU), availability, QUOTAS, 2)
    for prices in np.random.default_rng(0).uniform(0, 0.2, (20, 3)):
        assert ref.dual_value(prices, ref.min_reward(MU), availability, QUOTAS, 2) >= value - 1e-9


def test_honest_rewards_are_below_the_papers():
    rewards = np.random.default_rng(0).uniform(MU - 0.15, MU + 0.03, (4000, 3))
    assert np.isclose(mean_of_smallest(rewards)((0, 2)), rewards[:, [0, 2]].min(1).mean())
    honest, paper = (
        best_under_quotas(reward, np.full(3, 0.9), QUOTAS, 2)
        for reward in (mean_of_smallest(rewards), smallest_mean(rewards.mean(0)))
    )
    assert paper - 0.06 < honest < paper - 0.01


def test_twenty_clients():
    rng = np.random.default_rng(1)
    mu, here = np.sort(rng.uniform(0.5, 1, 20)), rng.random((300, 20)) < 0.9
    free = upper_bound(mu, here, np.zeros(20), 5)
    best = np.array([np.sort(mu[there])[::-1][4] for there in here]).mean()  # the five best of the available clients
    assert abs(free - best) < 2e-4
    held = upper_bound(mu, here, np.full(20, 0.2), 5)  # a fifth of the rounds each, the slow clients too
    assert mu.min() < held < free - 0.05
    assert upper_bound(mu, here, np.full(20, 0.1), 5) > held


def test_what_no_policy_keeps_is_refused():
    with pytest.raises(ValueError, match="no policy keeps these quotas"):
        best_under_quotas(smallest_mean(MU), np.full(3, 0.9), [0.95, 0.1, 0.1], 2)
    with pytest.raises(ValueError, match="no policy keeps these quotas"):
        upper_bound(MU, np.ones((10, 3), bool), [0.9, 0.9, 0.9], 2)
    always = np.ones((5, 3), bool)
    assert np.isclose(upper_bound([0.9, 0.8, 0.7], always, [0, 1, 1], 2), 0.7, atol=1e-3)  # the only feasible policy
    with pytest.raises(ValueError, match="at most 10, found 11"):
        best_under_quotas(smallest_mean(np.ones(11)), np.ones(11), np.zeros(11), 2)
