"""Tests of the reference's selection: values worked out by hand, identities, sampling laws."""

import math

import numpy as np
import pytest

from . import e3cs, e3cs_regret, selectors


def mask(*flags: int) -> e3cs.BoolArray:
    return np.array(flags, bool)


# w, k, sigma, p, S. In words (R = k - K sigma):
#   R = 1.6, shares 0.1 .. 0.4, none above 1
#   R = 2, 2 * 0.7 > 1; one capped, the other three share 2 - 1 = 1
#   R = 1.2, 0.2 + 1.2 * 0.8 > 1; one capped, the others share 1.2 - 0.8 = 0.4 as 1 : 1 : 2
#   R = 3; one capped leaves 2 * 20 / 24 > 1; two capped leave 1, shared as 1 : 3
#   R = 0: the quota is everything
#   k = K: all clients must be taken; the smallest weight is at the cap, not above it
GOLDEN = [
    ([1, 2, 3, 4], 2, 0.1, [0.26, 0.42, 0.58, 0.74], [0, 0, 0, 0]),
    ([1, 1, 1, 7], 2, 0.0, [1 / 3, 1 / 3, 1 / 3, 1], [0, 0, 0, 1]),
    ([1, 1, 2, 16], 2, 0.2, [0.3, 0.3, 0.4, 1], [0, 0, 0, 1]),
    ([40, 1, 3, 20], 3, 0.0, [1, 0.25, 0.75, 1], [1, 0, 0, 1]),
    ([1, 2, 3, 4], 2, 0.5, [0.5, 0.5, 0.5, 0.5], [0, 0, 0, 0]),
    ([3, 1, 2], 3, 0.4, [1, 1, 1], [1, 0, 1]),
]


@pytest.mark.parametrize(("w", "k", "sigma", "p", "overflow"), GOLDEN)
def test_prob_alloc_golden(w, k, sigma, p, overflow):
    weights = np.array(w, float)
    for got_p, got_s in (
        e3cs.prob_alloc_literal(weights, k, sigma),
        e3cs.prob_alloc(np.log(weights), k, sigma),
    ):
        np.testing.assert_allclose(got_p, p, atol=1e-12)
        np.testing.assert_array_equal(got_s, np.array(overflow, bool))


def test_printed_line_2_would_break_the_cap():
    # Third golden case with line 2 as printed: alpha = 20 / 1.2, cap = 0.8 alpha = 13.33,
    # so p_4 = 0.2 + 1.2 * 13.33 / 17.33 = 1.123.
    w = np.array([1.0, 1.0, 2.0, 16.0])
    capped = np.minimum(w, 0.8 * w.sum() / 1.2)
    assert 0.2 + 1.2 * capped[3] / capped.sum() == pytest.approx(1.123, abs=1e-3)


def test_printed_case_sets_would_break_the_cap():
    # K = 4, k = 3, sigma = 0.3, R = 1.8, Psi = w / 0.7. As printed, case 3 takes all w_j <=
    # Psi_3 = 1.43, that is all four: alpha = 3.31 / 1.8 = 1.839 is in [Psi_3, Psi_4) and is
    # accepted, though p_4 is then 1.0027. Correct: one capped, the others share 1.8 - 0.7 = 1.1.
    w = np.array([0.01, 1.0, 1.0, 1.3])
    capped = np.minimum(w, 0.7 * w.sum() / 1.8)
    assert 1 / 0.7 <= w.sum() / 1.8 < 1.3 / 0.7
    assert 0.3 + 1.8 * capped[3] / capped.sum() == pytest.approx(1.0027, abs=1e-4)
    p, overflow = e3cs.prob_alloc_literal(w, 3, 0.3)
    np.testing.assert_allclose(p, [0.3 + 1.1 * share / 2.01 for share in w[:3]] + [1.0])
    np.testing.assert_array_equal(overflow, mask(0, 0, 0, 1))


def test_prob_alloc_forms_agree_and_are_feasible():
    rng = np.random.default_rng(1)
    overflows = 0
    for _ in range(300):
        num = int(rng.integers(2, 30))
        k = int(rng.integers(1, num))
        sigma = float(rng.choice([0.0, 0.5, 0.8, rng.uniform()])) * k / num
        log_w = rng.normal(size=num) * rng.choice([0.3, 2.0, 5.0])
        p, overflow = e3cs.prob_alloc(log_w, k, sigma)
        literal_p, literal_overflow = e3cs.prob_alloc_literal(np.exp(log_w), k, sigma)
        np.testing.assert_allclose(p, literal_p, atol=1e-10, rtol=0)
        np.testing.assert_array_equal(overflow, literal_overflow)
        assert p.sum() == pytest.approx(k, abs=1e-10)
        assert p.min() >= sigma - 1e-12
        assert p.max() <= 1 + 1e-12
        np.testing.assert_array_equal(p[overflow], 1.0)
        shifted, _ = e3cs.prob_alloc(log_w + 123.0, k, sigma)  # scale of w is irrelevant
        np.testing.assert_allclose(shifted, p, atol=1e-10)
        overflows += int(overflow.any())
    assert 50 < overflows < 280


def test_prob_alloc_survives_huge_log_weights():
    # One is capped; of the remaining mass 1 the second takes all but exp(-1700), which is 0 in float64.
    p, overflow = e3cs.prob_alloc(np.array([0.0, 0.0, 1700.0, 3400.0]), 2, 0.0)
    np.testing.assert_array_equal(p, [0, 0, 1, 1])
    np.testing.assert_array_equal(overflow, mask(0, 0, 0, 1))


def test_quota():
    assert e3cs.quota(0.5, 7, 100, 20, 100) == pytest.approx(0.1)
    assert [e3cs.quota("inc", t, 100, 20, 100) for t in (1, 25, 26, 100)] == [0, 0, 0.2, 0.2]


def test_update_golden():
    # K = 4, k = 2, sigma = 0.1: R / K = 0.4. Client 0: 0.4 * 0.5 / 0.5 = 0.4. Client 1:
    # 0.4 * 0.5 / 0.1 = 2, clipped to 1. Client 2 failed, client 3 overflowed.
    p = np.array([0.5, 0.1, 0.4, 1.0])
    start = np.array([1.0, 0.0, 0.0, 3.0])
    args = (start, p, mask(0, 0, 0, 1), mask(1, 1, 1, 1), mask(1, 1, 0, 1), 2, 0.1, 0.5)
    np.testing.assert_allclose(e3cs.update(*args), [1.4, 2, 0, 3])
    np.testing.assert_allclose(e3cs.update(*args, clip_exponent=True), [1.4, 1, 0, 3])
    assert start[0] == 1.0


def test_race_golden():
    # Arrivals 1 / 0.5 = 2, 0.2 / 0.5 = 0.4, 0.9 / 1 = 0.9.
    got = e3cs.select_by_race(np.array([0.5, 0.5, 1.0]), np.array([1.0, 0.2, 0.9]), 2)
    np.testing.assert_array_equal(got, mask(0, 1, 1))
    np.testing.assert_array_equal(e3cs.select_by_race(np.ones(3), np.ones(3), 2), mask(1, 1, 0))
    got = e3cs.select_by_race(np.array([0.0, 1e-300, 1.0]), np.array([0.0, 50.0, 50.0]), 2)
    np.testing.assert_array_equal(got, mask(0, 1, 1))


def test_successive_inclusion_golden():
    # p = (1/2, 1/4, 1/4), k = 2. First client: 1/2 + 2 * 1/4 * (1/2) / (3/4) = 5/6. Second:
    # 1/4 + 1/2 * (1/4) / (1/2) + 1/4 * (1/4) / (3/4) = 7/12.
    got = e3cs.successive_inclusion(np.array([0.5, 0.25, 0.25]), 2)
    np.testing.assert_allclose(got, [5 / 6, 7 / 12, 7 / 12])
    np.testing.assert_allclose(e3cs.successive_inclusion(np.ones(4), 3), 0.75)


def test_race_and_sequential_follow_the_successive_law():
    p = np.array([1.0, 0.9, 0.5, 0.4, 0.15, 0.05])  # sums to 3
    exact = e3cs.successive_inclusion(p, 3)
    assert abs(exact - p).max() > 0.05  # it is not p itself
    assert exact.sum() == pytest.approx(3)
    rng = np.random.default_rng(2)
    n = 6000
    raced = sum(e3cs.select_by_race(p, rng.exponential(size=6), 3).astype(int) for _ in range(n))
    drawn = sum(e3cs.select_sequential(p, 3, rng).astype(int) for _ in range(n))
    slack = 4 * np.sqrt(exact * (1 - exact) / n)
    assert np.all(abs(raced / n - exact) < slack)
    assert np.all(abs(drawn / n - exact) < slack)


def test_systematic_includes_exactly_p():
    # Ends in this order: 0.5, 0.75, 1.25, 2.0. 0.6 falls on client 0, 1.6 on client 1.
    p, order = np.array([0.25, 0.75, 0.5, 0.5]), np.array([2, 0, 3, 1])
    np.testing.assert_array_equal(e3cs.select_systematic(p, order, 0.6, 2), mask(1, 1, 0, 0))
    rng = np.random.default_rng(3)
    p, _ = e3cs.prob_alloc(rng.normal(size=8) * 2, 3, 0.1)
    n, count = 4000, np.zeros(8)
    for _ in range(n):
        chosen = e3cs.select_systematic(p, rng.permutation(8), rng.uniform(), 3)
        assert np.count_nonzero(chosen) == 3
        assert chosen[p == 1].all()
        count += chosen
    assert np.all(abs(count / n - p) < 4 * np.sqrt(p * (1 - p) / n) + 1e-9)
    grid = [e3cs.select_systematic(p, np.arange(8), (m + 0.5) / 1000, 3) for m in range(1000)]
    assert np.all(abs(np.mean(grid, axis=0) - p) <= 0.001 + 1e-9)


def test_run_selection_golden():
    # Round 1: p = 1/3 each, client 1 arrives first and succeeds: exponent (1/3) 0.5 * 3 = 0.5.
    # Round 2: p = (1, e^0.5, 1) / (2 + e^0.5); client 2 is selected and fails.
    # Round 3: fraction 1, so sigma = 1/3: p even again, no learning.
    succeeded = np.array([[1, 1, 0], [1, 1, 0], [1, 1, 1]], bool)
    race = np.array([[3.0, 0.1, 2.0], [9.0, 9.0, 0.1], [0.1, 9.0, 9.0]])
    run = e3cs.run_selection(succeeded, race, 1, np.array([0.0, 0.0, 1.0]), 0.5)
    r = math.exp(0.5)
    second = np.array([1, r, 1]) / (2 + r)
    np.testing.assert_allclose(run["p"], np.array([[1 / 3] * 3, second, [1 / 3] * 3]))
    np.testing.assert_allclose(run["log_w"], [[0, 0, 0]] + [[0, 0.5, 0]] * 3)
    np.testing.assert_array_equal(run["selected"], [mask(0, 1, 0), mask(0, 0, 1), mask(1, 0, 0)])
    np.testing.assert_array_equal(run["cep"], [1, 1, 2])
    np.testing.assert_allclose(run["expected"], [2 / 3, (1 + r) / (2 + r), 1])


def test_run_selection_learns_within_the_bound():
    rng = np.random.default_rng(4)
    rounds, num, k = 400, 8, 2
    rates = np.array([0.1, 0.1, 0.3, 0.3, 0.6, 0.6, 0.9, 0.9])
    succeeded = rng.uniform(size=(rounds, num)) < rates
    sigmas = np.zeros(rounds)
    eta = e3cs_regret.theorem_eta(k, num, sigmas)
    run = e3cs.run_selection(succeeded, rng.exponential(size=(rounds, num)), k, sigmas, eta)
    best = e3cs.optimal_allocation(succeeded.mean(axis=0), k, 0.0)
    regret = float((succeeded @ best).sum() - run["expected"].sum())
    assert 0 < regret < e3cs_regret.regret_bound_tuned(k, num, sigmas)
    assert run["p"][-1, 6:].min() > run["p"][-1, :6].max()


def test_optimal_allocation_and_bounds():
    # R = 1.2: client 0 takes 0.8, client 2 (same rate) the remaining 0.4.
    best = e3cs.optimal_allocation(np.array([0.9, 0.1, 0.9, 0.6]), 2, 0.2)
    np.testing.assert_allclose(best, [1, 0.2, 0.6, 0.2])
    sigmas = np.zeros(2500)
    tuned = e3cs_regret.regret_bound_tuned(20, 100, sigmas)
    assert tuned == pytest.approx(2 * math.sqrt(2500 * 100 * 20 * math.log(100)))
    assert tuned == pytest.approx(9597, abs=0.5)
    eta = e3cs_regret.theorem_eta(20, 100, sigmas)
    assert eta == pytest.approx(0.096, abs=5e-4)
    assert e3cs_regret.regret_bound(20, 100, sigmas, eta) == pytest.approx(tuned)
    assert e3cs_regret.regret_bound(20, 100, sigmas, 0.5) > tuned


def test_baseline_selectors():
    race = np.array([0.3, 0.1, 0.2, 0.1])
    np.testing.assert_array_equal(selectors.uniform_by_race(race, 1), mask(0, 1, 0, 0))
    np.testing.assert_array_equal(selectors.uniform_by_race(race, 3), mask(0, 1, 1, 1))
    ties = np.array([2, 1, 0, 3])
    rates = np.array([0.9, 0.9, 0.6, 0.9])
    np.testing.assert_array_equal(selectors.fedcs(rates, 2, ties), mask(1, 1, 0, 0))
    # Arrivals in units of n = 10: 3/6, 1/1, 0.4/3, client 3 has no data.
    got = selectors.pow_d_candidates(np.array([6, 1, 3, 0]), np.array([3.0, 1.0, 0.4, 0.0]), 2)
    np.testing.assert_array_equal(got, mask(1, 0, 1, 0))
    losses, candidates = np.array([1.0, 9.0, 2.0, 2.0]), mask(1, 0, 1, 1)
    np.testing.assert_array_equal(selectors.pow_d(losses, candidates, 1, ties), mask(0, 0, 1, 0))
    last = np.array([np.inf, np.inf, 2.0, np.inf])  # unseen first, smaller tie number first
    np.testing.assert_array_equal(selectors.rpow_d(last, candidates, 1, ties), mask(1, 0, 0, 0))
    with pytest.raises(ValueError, match="fewer eligible clients than k"):
        selectors.pow_d(losses, candidates, 4, ties)
