"""Tests of the reference of adaptive tau: estimates, h, G, the search and the stop rule."""

import itertools
import math
from fractions import Fraction

import numpy as np

from reference import adaptive_tau as at
from reference.tau_cases import NONE, ONE, printed_G, search_with


def test_svm_by_hand_and_by_differences() -> None:
    w, x, y = np.array([1.0, 2.0]), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]]), np.array([1.0, -1.0, 1.0])
    # Margins 1, -2, -1; shortfalls 0, 3, 2; loss 0.05 * 5 + (9 + 4) / 6.
    assert math.isclose(at.svm_loss(w, x, y), 0.25 + 13 / 6)
    np.testing.assert_allclose(at.svm_gradient(w, x, y), [0.1 - 2 / 3, 0.2 + 5 / 3])
    rng = np.random.default_rng(0)
    w, x, y = rng.normal(size=4), rng.normal(size=(30, 4)), rng.choice([-1.0, 1.0], 30)
    for lam in (0.0, 0.1, 3.0):
        for p, unit in enumerate(np.eye(4)):
            slope = (at.svm_loss(w + 1e-5 * unit, x, y, lam) - at.svm_loss(w - 1e-5 * unit, x, y, lam)) / 2e-5
            assert math.isclose(at.svm_gradient(w, x, y, lam)[p], slope, rel_tol=1e-6, abs_tol=1e-9)


def test_local_estimates_on_a_quadratic_and_at_the_limits() -> None:
    # F(w) = 2 |w|^2: losses 2 and 50, gradients 4 w, distance |(3, 4) - (0, 1)| = sqrt(18).
    end, start = np.array([3.0, 4.0]), np.array([0.0, 1.0])
    assert math.isclose(at.local_rho(50.0, 2.0, end, start), 48 / math.sqrt(18))
    assert math.isclose(at.local_rho(2.0, 50.0, end, start), 48 / math.sqrt(18))
    assert math.isclose(at.local_beta(4 * end, 4 * start, end, start), 4)
    assert at.local_rho(9.0, 1.0, np.array([1e-10]), NONE) == 0
    assert at.local_beta(9 * ONE, ONE, np.array([1e-10]), NONE) == 1e-5
    assert math.isclose(at.local_rho(9.0, 1.0, np.array([1.01e-10]), NONE), 8 / 1.01e-10)
    assert math.isclose(at.local_beta(9 * ONE, ONE, np.array([1.01e-10]), NONE), 8 / 1.01e-10)
    assert at.local_beta(0.9e-5 * ONE, NONE, ONE, NONE) == 1e-5
    assert at.local_beta(1.1e-5 * ONE, NONE, ONE, NONE) == 1.1e-5
    assert at.local_rho(math.nan, 0.0, ONE, NONE) == 0
    assert at.local_beta(np.array([math.nan]), NONE, ONE, NONE) == 1e-5
    assert at.local_rho(1.0, 0.0, np.array([math.nan]), NONE) == 0
    assert at.local_beta(ONE, NONE, np.array([math.nan]), NONE) == 1e-5


def test_divergence_by_hand() -> None:
    D = np.array([1.0, 3.0])
    g, delta_i, delta = at.divergence([np.array([1.0, 0.0]), np.array([0.0, 1.0])], D)
    np.testing.assert_allclose(g, [0.25, 0.75])
    np.testing.assert_allclose(delta_i, [0.75 * math.sqrt(2), 0.25 * math.sqrt(2)])
    assert math.isclose(delta, 0.375 * math.sqrt(2))
    assert at.weighted_mean([2.0, 6.0], D) == 5
    assert at.weighted_vector([np.array([2.0]), np.array([6.0])], D).tolist() == [5]


def test_smoothing_never_takes_nan_for_a_number() -> None:
    nan = math.nan
    assert at.smooth(nan, 3.0, 0.5) == 3
    assert at.smooth(2.0, nan, 0.5) == 2
    assert at.smooth(2.0, 4.0, 0.25) == 3.5
    assert at.smooth(2.0, 4.0) == 4
    assert at.smooth(math.inf, 4.0) == 4
    assert math.isnan(at.smooth(nan, nan))


# Adaptive tau: h, G and the search


def _h_exact(x: int, eta: float, beta: float, delta: float) -> Fraction:
    """Return h as delta / beta times the binomial terms of order 2 and more, exactly."""
    z = Fraction(eta) * Fraction(beta)
    return Fraction(delta) / Fraction(beta) * sum(math.comb(x, k) * z**k for k in range(2, x + 1))


def test_h_against_exact_arithmetic() -> None:
    for eta, beta, delta in itertools.product((0.01, 0.5), (1e-5, 0.3, 40.0), (1e-3, 2.0)):
        assert at.h(0, eta, beta, delta) == 0
        assert at.h(1, eta, beta, delta) <= 1e-15 * eta * delta
        for x in (2, 3, 17, 100):
            exact = float(_h_exact(x, eta, beta, delta))
            assert math.isclose(at.h(x, eta, beta, delta), exact, rel_tol=1e-6)
    assert math.isclose(at.h(3, 0.1, 1.0, 1.0), 0.031)
    # Eiffel's factor: h(1) = eta delta (alpha - 1), clamped at 0 below alpha = 1.
    assert math.isclose(at.h(1, 0.1, 2.0, 3.0, alpha=1.5), 0.15)
    assert at.h(1, 0.1, 2.0, 3.0, alpha=0.5) == 0
    assert math.isclose(at.h(3, 0.1, 1.0, 1.0, alpha=2.0), 2 * 0.331 - 0.3)


def test_h_at_its_limits() -> None:
    assert at.h(5, 0.1, 1e300, 0.0) == 0
    assert at.h(100, 1.0, 1e5, 1.0) == math.inf
    assert 0 < at.h(100, 0.01, 1000.0, 1.0) < math.inf  # beta eta > 1 is no special case
    assert math.isnan(at.h(2, 0.1, math.nan, 1.0))
    assert math.isnan(at.h(2, 0.1, 1.0, math.nan))
    assert math.isnan(at.h(2, 0.1, math.inf, 1.0))


def test_G_by_hand_and_in_its_other_form() -> None:
    # h(2) = 0.01, T' = 12 * 2 / 3 = 8: (1 + sqrt(1 + 4 * 64 * 0.1 * 0.01 / 2)) / 1.6 + 0.01.
    value = at.G(2, 1.0, 1.0, 1.0, ONE, ONE, 12 * ONE, 0.1, 1.0)
    assert math.isclose(value, (1 + math.sqrt(1.128)) / 1.6 + 0.01, rel_tol=1e-12)
    assert math.isclose(value, 1.2987959, rel_tol=1e-7)
    rng = np.random.default_rng(1)
    for _ in range(200):
        rho, beta, delta, c, b, room = (float(v) for v in np.exp(rng.normal(0, 1.5, 6)))
        x, eta, phi = int(rng.integers(1, 60)), float(rng.choice([0.01, 0.1])), float(rng.choice([0.025, 1.0]))
        mine = at.G(x, rho, beta, delta, c * ONE, b * ONE, room * ONE, eta, phi)
        assert math.isclose(mine, printed_G(x, rho, beta, delta, c, b, room, eta, phi), rel_tol=1e-9)


def test_G_with_several_types_is_that_of_the_scarcest() -> None:
    rng = np.random.default_rng(2)
    winners = set()
    for x in range(1, 40):
        c, b, room = rng.exponential(size=(3, 3))
        value = at.G(x, 0.7, 0.4, 0.3, c, b, room, 0.01, 0.025)
        single = [at.G(x, 0.7, 0.4, 0.3, c[m : m + 1], b[m : m + 1], room[m : m + 1], 0.01, 0.025) for m in range(3)]
        assert value == max(single)
        winners.add(int(np.argmax(single)))
    assert winners == {0, 1, 2}


def test_search_limits() -> None:
    assert [search_with(tau, delta=0.0) for tau in (1, 3, 10, 11, 100)] == [10, 30, 100, 100, 100]
    assert [search_with(tau, rho=0.0) for tau in (1, 3, 11)] == [10, 30, 100]
    assert [search_with(tau, rho=0.0, beta=1e9) for tau in (1, 3, 11)] == [10, 30, 100]  # h overflows
    assert search_with(7, delta=0.0, tau_max=50, gamma=3) == 21
    assert search_with(20, delta=0.0, tau_max=50, gamma=3) == 50
    taus = [search_with(10, R=R * ONE) for R in (1.0, 1e2, 1e4, 1e6, 1e8, 1e12)]
    assert taus == sorted(taus, reverse=True)
    assert taus[0] > 20
    assert taus[-1] == 1


def test_search_takes_the_first_of_equal_minima() -> None:
    # No aggregation cost and no divergence: G is the same for every x (the numbers are powers of two).
    assert search_with(5, delta=0.0, c=0.5 * ONE, b=NONE, R=8.5 * ONE, eta=0.25, phi=0.5) == 1
    assert search_with(5, delta=0.0, R=math.inf * ONE) == 1


def test_search_guards() -> None:
    assert search_with(7, R=0.11 * ONE) == 7  # R - c - b <= 0
    assert search_with(7, delta=0.0, R=0.12 * ONE) == 70
    assert search_with(7, delta=0.0, R=0.11 * ONE, return_best=False) == 70
    assert search_with(7, R=0 * ONE, return_best=False) == 7
    assert search_with(130, R=-ONE) == 100
    both = {"c": np.array([0.01, 1.0]), "b": np.array([0.1, 0.0]), "R": np.array([15.0, 1.0])}
    assert search_with(7, delta=0.0, **both) == 7
    for name in ("rho", "beta", "delta"):
        assert search_with(7, **{name: math.nan}) == 7
    assert search_with(7, beta=math.inf) == 7  # h is 0 times infinity
    assert search_with(7, rho=math.inf) == 1
    # h overflows beyond x = 102, 44 and 1: such x are never chosen and raise no error.
    steep = [search_with(20, rho=1e-9, beta=beta, delta=1e-9, tau_max=200) for beta in (1e5, 1e9, 1e200)]
    assert steep[2] == 1
    assert 1 < steep[1] < steep[0] < 10


def test_search_equals_a_scan_of_the_printed_form() -> None:
    rng = np.random.default_rng(3)
    answers = []
    for case in range(120):
        rho, beta, delta, c, b = (float(v) for v in np.exp(rng.normal([-1, -1, -1, -4, -2], 1.5)))
        R, tau, best = float(rng.uniform(5, 50)), int(rng.integers(1, 40)), bool(case % 2)
        if R - c - b <= 0:
            continue
        room = R - c - b if best else R
        # As in the public program: search the whole range, then cut.
        values = [printed_G(x, rho, beta, delta, c, b, room, 0.01, 0.025) for x in range(1, 10 * tau + 1)]
        expected = min(1 + int(np.argmin(values)), 100)
        found = search_with(tau, rho=rho, beta=beta, delta=delta, c=c * ONE, b=b * ONE, R=R * ONE, return_best=best)
        # h cancels in the printed form, so the two may choose neighbours of (nearly) equal value.
        assert found == expected or math.isclose(values[found - 1], values[expected - 1], rel_tol=1e-9)
        answers.append(found)
    assert len(set(answers)) > 20
    assert max(answers) == 100


# Adaptive tau: resources


def test_stop_rule_by_hand() -> None:
    c, b, R = 0.5 * ONE, 2 * ONE, 20 * ONE
    # Best model: the next round and its evaluation cost 0.5 (tau + 1) + 4.
    assert at.stop_rule(10 * ONE, 10, c, b, R, True) == (10, False)  # 10 + 9.5 < 20
    assert at.stop_rule(10 * ONE, 11, c, b, R, True) == (11, True)  # 10 + 10 = 20: no longer below
    assert at.stop_rule(10 * ONE, 30, c, b, R, True) == (11, True)
    assert at.stop_rule(10.1 * ONE, 30, c, b, R, True) == (10, True)  # 5.4 / 0.5
    assert at.stop_rule(19 * ONE, 30, c, b, R, True) == (1, True)
    # Last model: 0.5 tau + 2.
    assert at.stop_rule(10 * ONE, 15, c, b, R, False) == (15, False)
    assert at.stop_rule(10 * ONE, 16, c, b, R, False) == (16, True)
    assert at.stop_rule(10 * ONE, 40, c, b, R, False) == (16, True)
    assert at.stop_rule(25 * ONE, 40, c, b, R, False) == (1, True)
    assert at.spend(10 * ONE, 6, c, b).tolist() == [15]


def test_stop_rule_with_several_types() -> None:
    c, b, R = np.array([1.0, 0.5]), np.array([1.0, 0.0]), np.array([100.0, 10.0])
    assert at.stop_rule(np.zeros(2), 12, c, b, R, False) == (12, False)
    assert at.stop_rule(np.array([0.0, 5.0]), 12, c, b, R, False) == (10, True)
    assert at.stop_rule(np.array([95.0, 5.0]), 12, c, b, R, False) == (4, True)
    only_sending = np.array([1.0, 0.0])
    assert at.stop_rule(np.array([0.0, 10.0]), 12, only_sending, b, R, False) == (12, True)


def test_average_tau() -> None:
    assert at.average_tau([1, 3]) == (2, 2.5)
    assert at.average_tau(np.array([4, 4, 4])) == (4, 4)
