"""Tests of the exact choices of FedCS by true rates and by true times, in rounds whose truths change."""

import numpy as np
import pytest
from reference import rbcs_f, selectors
from stepping import Rounds, walk

from jfed.core.errors import ConfigError
from jfed.core.types import Dims, Problem
from jfed.selectors import fedcs

K, ROUNDS, DEADLINE = 8, 40, 2.0
BY_RATE = fedcs.Options().make(Dims(K, K))
BY_TIME = fedcs.Options(rule="deadline").make(Dims(K, K))  # `limited` does not shape the program


def chosen(options, k, rounds, seed=0):
    """Return the selected clients of each round, and the tie-break numbers of the run."""
    selector = BY_RATE if options.rule == "success" else BY_TIME
    states, cohort = walk(selector, options.params(Problem(K, k, ROUNDS)), rounds, seed)
    np.testing.assert_array_equal(cohort.inclusion, cohort.selected)
    assert (states.tie_break == states.tie_break[0]).all()
    return cohort.selected, states.tie_break[0]


def made_up(seed):
    """Return rounds with tied rates and times, times at the deadline, and no client in time or none available."""
    rng = np.random.default_rng(seed)
    rate, time = rng.choice([0.1, 0.3, 0.6, 0.9], (ROUNDS, K)), rng.choice([0.5, 1.0, 1.5, 2.0, 2.5, 3.0], (ROUNDS, K))
    available = rng.uniform(size=(ROUNDS, K)) < 0.7
    time[3], available[4], time[6], available[6] = DEADLINE, False, 1.0, True
    return Rounds(available, success_rate=rate, latency_s=time)


@pytest.mark.parametrize("seed", range(3))
def test_the_deadline_takes_everybody_strictly_below_it(seed):
    rounds = made_up(seed)
    selected, _ = chosen(fedcs.Options(rule="deadline", deadline_s=DEADLINE), 3, rounds, seed)
    for t in range(ROUNDS):
        expected = rbcs_f.fedcs_deadline(rounds.latency_s[t], rounds.available[t], DEADLINE)
        np.testing.assert_array_equal(selected[t], expected)
    assert not selected[3].any() and selected[6].sum() > 3  # none at the deadline itself, and more than k


@pytest.mark.parametrize("k", [1, 3, K])
@pytest.mark.parametrize("seed", range(3))
def test_limited_takes_the_fastest_k_of_these(k, seed):
    rounds = made_up(seed)
    selected, tie = chosen(fedcs.Options(rule="deadline", deadline_s=DEADLINE, limited=True), k, rounds, seed)
    for t in range(ROUNDS):
        time, below = rounds.latency_s[t], rbcs_f.fedcs_deadline(rounds.latency_s[t], rounds.available[t], DEADLINE)
        expected = selectors.largest(-time, below, min(k, int(below.sum())), tie)
        np.testing.assert_array_equal(selected[t], expected)
    assert (selected.sum(1) == k).any() and (selected.sum(1) < k).any()


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("seed", range(3))
def test_the_highest_rates_of_those_who_are_there(k, seed):
    rounds = made_up(seed)
    selected, tie = chosen(fedcs.Options(), k, rounds, seed)
    for t in range(ROUNDS):
        here = rounds.available[t]
        expected = selectors.largest(rounds.success_rate[t], here, min(k, int(here.sum())), tie)
        np.testing.assert_array_equal(selected[t], expected)


def test_equal_clients_are_the_same_ones_all_run_long_and_others_in_another_run():
    same = Rounds(np.ones((ROUNDS, K), bool), success_rate=np.full((ROUNDS, K), 0.5), latency_s=np.ones((ROUNDS, K)))
    for options in (fedcs.Options(), fedcs.Options(rule="deadline", limited=True)):
        runs = [chosen(options, 2, same, seed)[0] for seed in range(30)]
        assert all((run == run[0]).all() and run[0].sum() == 2 for run in runs)
        assert np.sum([run[0] for run in runs], axis=0).all()  # each client in some run; a miss has chance 1 in 700


def test_a_cohort_is_as_large_as_the_rule_lets_it_be():
    problem = Problem(K, 3, ROUNDS)
    unlimited, limited = fedcs.Options(rule="deadline"), fedcs.Options(rule="deadline", limited=True)
    assert [x.slots(problem) for x in (fedcs.Options(), unlimited, limited)] == [3, K, 3]
    assert fedcs.Options(limited=True).slots(problem) == 3


@pytest.mark.parametrize("deadline", [0.0, -1.0, float("inf"), float("nan")])
def test_a_deadline_must_be_positive(deadline):
    with pytest.raises(ConfigError, match="deadline_s must be positive, found"):
        fedcs.Options(rule="deadline", deadline_s=deadline).params(Problem(K, 3, ROUNDS))
