"""Tests of the bandits' references by hand."""

import math

import numpy as np
import pytest

from . import bandits, e3cs


def mask(*flags: int) -> e3cs.BoolArray:
    return np.array(flags, bool)


def test_the_highest_scores_of_those_who_are_there() -> None:
    score, tie = np.array([1.0, 3.0, math.inf, 1.0]), np.array([0.9, 0.1, 0.2, 0.3])
    assert bandits.highest(score, 2, mask(1, 1, 1, 1), tie).tolist() == [False, True, True, False]
    assert bandits.highest(score, 2, mask(1, 1, 0, 1), tie).tolist() == [False, True, False, True]
    assert bandits.highest(score, 3, mask(1, 0, 0, 0), tie).tolist() == [True, False, False, False]


def test_three_rounds_of_the_bounds() -> None:
    # Two clients, k = 1; client 0 returns always, client 1 never. Ties by index: rounds 1 and 2 try 0, then 1. After
    # them UCB1 has 1 + sqrt(2 ln 2) against sqrt(2 ln 2): 0 is next.
    here, back, ties = np.ones((4, 2), bool), np.tile(mask(1, 0), (4, 1)), np.zeros((4, 2))
    assert bandits.ucb(here, back, 1, 2.0, ties).argmax(1).tolist() == [0, 1, 0, 0]
    # A window of one round forgets client 1 after round 3: it is unknown, and comes first.
    assert bandits.ucb(here, back, 1, 0.6, ties, "window", tau=1).argmax(1).tolist() == [0, 1, 0, 1]
    # gamma = 1/2, round 4: N = 1/4 + 1 and 1/2, n = 7/4; 1 + 2 sqrt(xi ln(7/4) / 1.25) against 2 sqrt(xi ln(7/4) / 0.5)
    # are 2.3382 and 2.1159 for xi = 1, and 3.1159 and 3.3455 for xi = 2.5.
    for xi, last in ((1.0, 0), (2.5, 1)):
        assert bandits.ucb(here, back, 1, xi, ties, "discounted", gamma=0.5).argmax(1).tolist()[3] == last


def test_a_beta_variable_of_the_uniform_prior_is_the_number_itself() -> None:
    # a = b = 1: beta = 1 and gamma = 2; the test is 2 ln(2 (1 - u)) + 2 ln(u / (1 - u)) - ln 4 = ln u^2 >= ln(u^2 u').
    assert bandits.beta_variable(1, 1, np.array([0.3]), np.array([0.999])) == pytest.approx(0.3)
    # a = 3, b = 2 and u = 1/2: v = 0, w = 3, and 5 ln(5/5) - ln 4 = ln(1/4) >= ln(1/4 u'): the mean, 3/5.
    assert bandits.beta_variable(3, 2, np.array([0.5]), np.array([0.9])) == pytest.approx(0.6)


def test_probabilities_of_exp3_m_by_hand() -> None:
    # K = 4, k = 2, gamma = 0.2: p = 2 (0.8 w / 8 + 0.05) = 0.3, 0.3, 0.5 and 0.9 for w = 1, 1, 2, 4.
    p, cut, size = bandits.exp3_m(np.array([1.0, 1.0, 2.0, 4.0]), 2, 0.2, mask(1, 1, 1, 1))
    np.testing.assert_allclose(p, [0.3, 0.3, 0.5, 0.9])
    assert not cut.any() and size == 2
    # Of w = 1, 1, 1, 7 the last is cut: its p is 1, and the others share the rest in equal parts.
    p, cut, _ = bandits.exp3_m(np.array([1.0, 1.0, 1.0, 7.0]), 2, 0.2, mask(1, 1, 1, 1))
    np.testing.assert_allclose(p, [1 / 3, 1 / 3, 1 / 3, 1])
    assert cut.tolist() == [False, False, False, True]
    p, _, size = bandits.exp3_m(np.ones(4), 2, 0.2, mask(0, 1, 0, 0))
    assert p.tolist() == [0, 1, 0, 0] and size == 1


def test_a_share_and_a_restart_by_hand() -> None:
    # Two clients, k = 1, gamma = 1/2, alpha = 0.1. p = 1/2; client 0 returns: w = exp(1/2 x 2 / 2) = e^(1/2), plus
    # e 0.1 / 2 x 2 for both.
    here, back, chosen = np.ones((2, 2), bool), np.ones((2, 2), bool), np.tile(mask(1, 0), (2, 1))
    _, w = bandits.exp3_changing(here, back, chosen, 1, 0.5, alpha=0.1)
    extra = 0.1 * math.e
    assert w[0, 1] == pytest.approx((1 + extra) / (math.exp(0.5) + extra))
    p, w = bandits.exp3_changing(here, back, chosen, 1, 0.5, batch=1)
    assert p.tolist() == [[0.5, 0.5]] * 2 and w[1, 1] == pytest.approx(math.exp(-0.5))
    none = np.zeros((2, 2), bool)
    # E3CS, quota 0, eta = 1, k = 1: the exponent is 1 x 1 x 2 / 2 = 1; then half of the total is shared.
    p, log_w = bandits.e3cs_changing(here, back, chosen, none, 1, np.zeros(2), 1.0, False, share=0.5)
    one = math.exp(-1)
    np.testing.assert_allclose(np.exp(log_w[0]), [0.5 + (1 + one) / 4, one / 2 + (1 + one) / 4])
    p, _ = bandits.e3cs_changing(here, back, chosen, none, 1, np.zeros(2), 1.0, False, restart=1)
    assert p.tolist() == [[0.5, 0.5]] * 2
