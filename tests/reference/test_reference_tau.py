"""Checks of the references for adaptive tau, Eiffel, q-FedAvg and fairness measures (small, CPU only)."""

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import skew

from reference import adaptive_tau as at
from reference import eiffel, q_fedavg

ONE, NONE = np.array([1.0]), np.array([0.0])


# Adaptive tau: the estimators


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
    """delta / beta times the binomial terms of order 2 and more: no cancellation, no rounding."""
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
    assert 0 < at.h(100, 0.01, 1000.0, 1.0) < math.inf  # beta eta > 1 is nothing special
    assert math.isnan(at.h(2, 0.1, math.nan, 1.0))
    assert math.isnan(at.h(2, 0.1, 1.0, math.nan))
    assert math.isnan(at.h(2, 0.1, math.inf, 1.0))


def _G_printed(
    x: float, rho: float, beta: float, delta: float, c: float, b: float, room: float, eta: float, phi: float
) -> float:
    """The other form of the bound, by T', for one resource type."""
    gap = max(0.0, delta / beta * ((eta * beta + 1) ** x - 1) - eta * delta * x)
    steps = room * x / (c * x + b)
    root = math.sqrt(max(0.0, 1 + 4 * steps**2 * phi * rho * eta * gap / x))
    return (1 + root) / (2 * steps * eta * phi) + rho * gap


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
        assert math.isclose(mine, _G_printed(x, rho, beta, delta, c, b, room, eta, phi), rel_tol=1e-9)


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


def _search(tau: int = 1, **other: Any) -> int:
    given: dict[str, Any] = {"rho": 1.0, "beta": 1.0, "delta": 1.0, "eta": 0.01, "phi": 0.025}
    given |= {"c": 0.01 * ONE, "b": 0.1 * ONE, "R": 15 * ONE}
    return at.search(tau, **{**given, **other})


def test_search_limits() -> None:
    assert [_search(tau, delta=0.0) for tau in (1, 3, 10, 11, 100)] == [10, 30, 100, 100, 100]
    assert [_search(tau, rho=0.0) for tau in (1, 3, 11)] == [10, 30, 100]
    assert [_search(tau, rho=0.0, beta=1e9) for tau in (1, 3, 11)] == [10, 30, 100]  # h overflows
    assert _search(7, delta=0.0, tau_max=50, gamma=3) == 21
    assert _search(20, delta=0.0, tau_max=50, gamma=3) == 50
    taus = [_search(10, R=R * ONE) for R in (1.0, 1e2, 1e4, 1e6, 1e8, 1e12)]
    assert taus == sorted(taus, reverse=True)
    assert taus[0] > 20
    assert taus[-1] == 1


def test_search_takes_the_first_of_equal_minima() -> None:
    # No aggregation cost and no divergence: G is the same for every x (the numbers are powers of two).
    assert _search(5, delta=0.0, c=0.5 * ONE, b=NONE, R=8.5 * ONE, eta=0.25, phi=0.5) == 1
    assert _search(5, delta=0.0, R=math.inf * ONE) == 1


def test_search_guards() -> None:
    assert _search(7, R=0.11 * ONE) == 7  # R - c - b <= 0
    assert _search(7, delta=0.0, R=0.12 * ONE) == 70
    assert _search(7, delta=0.0, R=0.11 * ONE, return_best=False) == 70
    assert _search(7, R=0 * ONE, return_best=False) == 7
    assert _search(130, R=-ONE) == 100
    both = {"c": np.array([0.01, 1.0]), "b": np.array([0.1, 0.0]), "R": np.array([15.0, 1.0])}
    assert _search(7, delta=0.0, **both) == 7
    for name in ("rho", "beta", "delta"):
        assert _search(7, **{name: math.nan}) == 7
    assert _search(7, beta=math.inf) == 7  # h is 0 times infinity
    assert _search(7, rho=math.inf) == 1
    # h overflows beyond x = 102, 44 and 1: never chosen, and no error either.
    steep = [_search(20, rho=1e-9, beta=beta, delta=1e-9, tau_max=200) for beta in (1e5, 1e9, 1e200)]
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
        # As the public program does it: search far, cut afterwards.
        values = [_G_printed(x, rho, beta, delta, c, b, room, 0.01, 0.025) for x in range(1, 10 * tau + 1)]
        expected = min(1 + int(np.argmin(values)), 100)
        found = _search(tau, rho=rho, beta=beta, delta=delta, c=c * ONE, b=b * ONE, R=R * ONE, return_best=best)
        # h cancels in the printed form, so the two may choose neighbours of (nearly) equal value.
        assert found == expected or math.isclose(values[found - 1], values[expected - 1], rel_tol=1e-9)
        answers.append(found)
    assert len(set(answers)) > 20
    assert max(answers) == 100


# Adaptive tau: resources


def test_stop_rule_by_hand() -> None:
    c, b, R = 0.5 * ONE, 2 * ONE, 20 * ONE
    # Best model: the next round and its valuation cost 0.5 (tau + 1) + 4.
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


# Adaptive tau: whole runs


def _run(given: dict[str, Any], **changes: Any) -> dict[str, np.ndarray]:
    return at.run(**{**given, **changes})


def _quadratics(a: np.ndarray, m: np.ndarray) -> dict[str, Any]:
    """F_i(w) = a_i |w - m_i|^2 / 2; the "data" of client i is the single row of its number."""

    def number(x: np.ndarray) -> int:
        return int(x[0, 0])

    return {
        "loss": lambda w, x, y: float(a[number(x)] / 2 * np.sum((w - m[number(x)]) ** 2)),
        "gradient": lambda w, x, y: a[number(x)] * (w - m[number(x)]),
        "batches": lambda t, i, step: np.array([i]),
    }


@pytest.mark.parametrize("return_best", [True, False])
def test_run_on_quadratics_against_closed_forms(return_best: bool) -> None:
    rng = np.random.default_rng(4)
    N, eta, phi, R = 3, 0.05, 0.1, 12.0
    a, m, D = np.array([0.5, 1.0, 2.0]), rng.normal(size=(N, 2)), np.array([1.0, 2.0, 5.0])
    share = D / D.sum()
    local_cost, global_cost = rng.uniform(0.01, 0.03, (200, 60, 1)), rng.uniform(0.1, 0.4, (200, 1))
    given = {"x": np.arange(float(N))[:, None], "y": np.zeros(N), "w0": np.array([3.0, -2.0]), "D": D, "R": R * ONE}
    given |= {"local_cost": local_cost, "global_cost": global_cost, "eta": eta, "phi": phi, "tau_max": 60}
    out = _run(given, return_best=return_best, **_quadratics(a, m))
    rounds = len(out["tau"])
    assert rounds > 12
    assert out["tau"][:2].tolist() == [1, 1]
    # Models: tau steps shrink the distance to m_i by (1 - eta a_i)^tau.
    w = [np.array([3.0, -2.0])]
    ends = []
    for tau in out["tau"]:
        ends.append(m + ((1 - eta * a) ** tau)[:, None] * (w[-1] - m))
        w.append(share @ ends[-1])
    np.testing.assert_allclose(out["w"], w[1:], rtol=1e-10)
    # Costs.
    c = np.array([local_cost[t, : out["tau"][t], 0].sum() / out["tau"][t] for t in range(rounds)])
    b = global_cost[:rounds, 0]
    np.testing.assert_allclose(out["spent"][:, 0], np.cumsum(c * out["tau"] + b))
    # Estimates of round t: the end points of round t - 1 against the model sent in round t.
    F = [0.5 * a * np.sum((v - m) ** 2, axis=1) for v in w]
    for t in range(1, rounds):
        here, gap = ends[t - 1], np.linalg.norm(ends[t - 1] - w[t], axis=1)
        rho_i = np.abs(0.5 * a * np.sum((here - m) ** 2, axis=1) - F[t]) / gap
        np.testing.assert_allclose(out["rho_i"][t], rho_i, rtol=1e-7)
        np.testing.assert_allclose(out["beta_i"][t], a, rtol=1e-7)
        slopes = a[:, None] * (w[t] - m)
        delta_i = np.linalg.norm(slopes - share @ slopes, axis=1)
        np.testing.assert_allclose(out["delta_i"][t], delta_i, rtol=1e-9)
        for name, value in (("rho", share @ rho_i), ("beta", share @ a), ("delta", share @ delta_i)):
            assert math.isclose(out[name][t], value, rel_tol=1e-7)
    for name in ("rho", "beta", "delta"):
        assert math.isnan(out[name][0])
    # The next tau: scan of the printed form, with the costs of the round before; then the budget.
    extra = c + b if return_best else np.zeros(rounds)
    last = rounds - 2 if return_best else rounds - 1  # the last round with a tau of its own
    for t in range(1, last):
        room = R - c[t - 1] - b[t - 1] if return_best else R
        scan = [
            _G_printed(x, out["rho"][t], out["beta"][t], out["delta"][t], c[t - 1], b[t - 1], room, eta, phi)
            for x in range(1, min(10 * out["tau"][t], 60) + 1)
        ]
        tau = 1 + int(np.argmin(scan))
        left = R - out["spent"][t, 0] - b[t] - extra[t]
        if t < last - 1:
            assert out["tau"][t + 1] == tau
            assert c[t] * tau < left
        else:
            assert c[t] * tau >= left
            assert out["tau"][t + 1] == max(1, min(tau, int(left / c[t])))
    assert len(set(out["tau"].tolist())) > 3
    if return_best:
        assert out["tau"][-1] == 1
    # The best of the models sent out; its losses do not change here, as the data does not.
    sent = np.array([share @ f for f in F[:-1]])
    np.testing.assert_allclose(out["loss"], sent)
    np.testing.assert_allclose(out["loss_best"], np.minimum.accumulate(sent))
    np.testing.assert_allclose(out["w_best"], w[int(np.argmin(sent))])
    np.testing.assert_allclose(out["w_out"], out["w_best"] if return_best else w[-1])


def _svm_setting(rng: np.random.Generator, rounds: int = 150) -> dict[str, Any]:
    y = rng.choice([-1.0, 1.0], 60)
    x = rng.normal(size=(60, 3)) + 0.7 * y[:, None]
    parts = np.array_split(np.argsort(y + rng.normal(0, 0.3, 60)), 3)  # uneven in y
    table = {
        (t, i, k): rng.choice(parts[i], 4, replace=False) for t in range(rounds) for i in range(3) for k in range(30)
    }
    setting: dict[str, Any] = {"x": x, "y": y, "w0": np.zeros(3), "D": np.array([1.0, 2.0, 3.0])}
    setting |= {"batches": lambda t, i, k: table[t, i, k], "eta": 0.05, "phi": 0.2, "tau_max": 30}
    setting |= {"local_cost": np.full((rounds, 30, 1), 0.02), "global_cost": np.full((rounds, 1), 0.3)}
    return setting | {"R": 14 * ONE}


@pytest.mark.parametrize(("sending", "phi", "R"), [(0.3, 0.2, 14.0), (0.002, 1.0, 2.0)])
def test_run_shares_a_minibatch_between_rounds(sending: float, phi: float, R: float) -> None:
    given = _svm_setting(np.random.default_rng(5))
    given |= {"global_cost": np.full((150, 1), sending), "phi": phi, "R": R * ONE}
    asked: dict[int, list[tuple[int, int]]] = {0: [], 1: [], 2: []}
    draw = given["batches"]

    def record(t: int, i: int, k: int) -> np.ndarray:
        asked[i].append((t, k))
        return draw(t, i, k)

    out = _run(given, batches=record)
    taus = out["tau"].tolist()
    assert sum(tau > 1 for tau in taus) > 5
    # A new batch at steps 2, 3, ... always; at step 1 only at the very start, and in rounds of one step after 3 uses.
    expected, uses = [], 0
    for t, tau in enumerate(taus):
        if t == 0 or (tau == 1 and uses == 3):
            expected.append((t, 0))
            uses = 0
        uses += 1
        if tau > 1:
            expected += [(t, k) for k in range(1, tau)]
            uses = 1
    assert asked == {0: expected, 1: expected, 2: expected}
    assert (sum(k == 0 for _, k in expected) > 3) == (phi == 1)
    # Replay with the batches in force: models, end points, estimates, losses of step 1.
    share = given["D"] / given["D"].sum()
    w, best = np.zeros(3), np.zeros(3)
    ends, rows = [np.zeros(3)] * 3, [np.zeros(0, int)] * 3
    stale = [np.zeros(0, int)] * 3  # the batch that the stored end point was valued on
    for t, tau in enumerate(taus):
        loss, loss_best, local = np.zeros(3), np.zeros(3), [w] * 3
        for i in range(3):
            stale[i] = rows[i]
            rows[i] = draw(t, i, 0) if (t, 0) in expected else rows[i]
            data = given["x"][rows[i]], given["y"][rows[i]]
            loss[i] = at.svm_loss(w, *data)
            loss_best[i] = at.svm_loss(best, *data) if t > 0 else math.inf
            if t > 0:
                old = given["x"][stale[i]], given["y"][stale[i]]
                gap = np.linalg.norm(ends[i] - w)
                rise = at.svm_loss(ends[i], *old) - loss[i]
                bend = at.svm_gradient(ends[i], *old) - at.svm_gradient(w, *data)
                assert math.isclose(out["rho_i"][t, i], abs(rise) / gap, rel_tol=1e-8)
                assert math.isclose(out["beta_i"][t, i], max(np.linalg.norm(bend) / gap, 1e-5), rel_tol=1e-8)
            for k in range(tau):
                rows[i] = rows[i] if k == 0 else draw(t, i, k)
                local[i] = local[i] - 0.05 * at.svm_gradient(local[i], given["x"][rows[i]], given["y"][rows[i]])
            ends[i] = local[i]
        if share @ loss < share @ loss_best:
            best, loss_best = w, loss
        assert math.isclose(out["loss"][t], share @ loss)
        assert math.isclose(out["loss_best"][t], share @ loss_best)
        w = share @ np.array(local)
        np.testing.assert_allclose(out["w"][t], w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(out["w_best"], best, atol=1e-12)


@pytest.mark.parametrize("return_best", [True, False])
def test_run_spends_the_budget_and_at_most_one_short_round_more(return_best: bool) -> None:
    given = _svm_setting(np.random.default_rng(6), 60)
    given["return_best"] = return_best
    over = 0
    for R in np.arange(3.01, 9.0, 0.173):
        out = _run(given, R=R * ONE)
        spent, last = out["spent"][-1, 0], out["tau"][-2 if return_best else -1]
        assert spent >= R - 0.02 - 1e-9  # constant costs: one step is 0.02, one aggregation 0.3
        if last > 1:
            assert spent <= R + 1e-9
        else:  # there was no room left, but a last round is played all the same
            assert spent <= R + 0.32 + 1e-9
            over += int(spent > R)
    assert 0 < over < 30
    assert _run(given, R=0.1 * ONE)["tau"].tolist() == ([1, 1, 1] if return_best else [1, 1])


def test_run_values_the_last_model_in_a_round_of_one_step_even_if_more_would_fit() -> None:
    given = _svm_setting(np.random.default_rng(6), 60) | {"R": 13.6 * ONE}
    plain = _run(given)
    cut = len(plain["tau"]) - 2
    assert plain["tau"][cut] > 1
    given["global_cost"][cut] = 1e-6
    out = _run(given)
    assert out["tau"].tolist() == plain["tau"].tolist()
    assert out["spent"][-1, 0] < 13.6 - 0.2


def test_run_stops_at_the_scarcest_budget() -> None:
    given = _svm_setting(np.random.default_rng(7), 100)
    assert np.any(_run(given)["tau"] > 1)
    # The scarce type costs nothing per aggregation, so there is no reason to wait.
    given["local_cost"] = np.concatenate([given["local_cost"], np.full((100, 30, 1), 0.1)], axis=2)
    given["global_cost"] = np.concatenate([given["global_cost"], np.zeros((100, 1))], axis=1)
    out = _run(given, R=np.array([1000.0, 7.05]))
    np.testing.assert_allclose(out["spent"][-1], [71 * 0.32, 7.1])
    assert np.all(out["tau"] == 1)
    with pytest.raises(ValueError, match="cost draws"):
        _run(given, R=np.array([1000.0, 1000.0]))


@pytest.mark.parametrize("after_nan", ["restore", "search"])
@pytest.mark.parametrize("at_the_end", [False, True])
def test_run_keeps_the_model_when_the_average_is_nan(after_nan: str, at_the_end: bool) -> None:
    given = _svm_setting(np.random.default_rng(8))
    given["after_nan"] = after_nan
    plain = _run(given)
    bad = next(t for t in range(3, 100) if plain["tau"][t] > 2)
    before = plain["tau"][bad]
    step = before - 1 if at_the_end else 1
    draw = given["batches"]
    given["x"], given["y"] = np.vstack([given["x"], np.full(3, math.nan)]), np.append(given["y"], 1.0)

    def poisoned(t: int, i: int, k: int) -> np.ndarray:
        return np.array([60]) if (t, i, k) == (bad, 1, step) else draw(t, i, k)

    out = _run(given, batches=poisoned)
    # A poisoned last batch is used three times: two more rounds of one step fail.
    again = 2 if at_the_end else 0
    np.testing.assert_array_equal(out["w"][:bad], plain["w"][:bad])
    assert out["tau"][: bad + 1].tolist() == plain["tau"][: bad + 1].tolist()
    for t in range(bad, bad + 1 + again):
        np.testing.assert_array_equal(out["w"][t], out["w"][bad - 1])
        assert out["tau"][t + 1] == 1
        for name in ("rho", "beta", "delta"):
            assert out[name][t] == out[name][bad - 1]
    resumed = out["tau"][bad + 2 + again]
    if after_nan == "restore":
        assert resumed == before
    else:
        t = bad + 1 + again
        seen = {name: out[name][t] for name in ("rho", "beta", "delta")}
        costs = {name: out[name][t - 1] for name in ("c", "b")}
        assert resumed == _search(1, **seen, **costs, R=14 * ONE, eta=0.05, phi=0.2, tau_max=30)
    assert np.all(np.isfinite(out["w"]))
    assert np.all(np.isfinite(out["w_out"]))


# Eiffel


def test_index_by_hand() -> None:
    f, d = np.array([0.5, 2.0, 1.0]), np.array([100.0, 300.0, 200.0])
    c, r, ages = np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.0, 2.0]), np.array([1.0, 1.0, 5.0])
    raw = eiffel.priority(f, d, c, r, ages, (1.0, 0.01, 2.0, 0.5), normalise=False)
    np.testing.assert_allclose(raw, [2 + 1 + 2 + 0.5, 0.5 + 3 + 4 + 0.5, 1 + 2 + 3 + 2.5])
    # Scaled: 1 / f to (1, 0, 1/3), d to (0, 1, 1/2), c / r to (0, 1, 1/2), ages to (0, 0, 1).
    np.testing.assert_allclose(eiffel.priority(f, d, c, r, ages), [0.25, 0.5, (1 / 3 + 2) / 4])
    # f itself scales to (0, 1, 1/3).
    np.testing.assert_allclose(eiffel.priority(f, d, c, r, ages, high_loss=True), [0, 0.75, (1 / 3 + 2) / 4])
    unheard = eiffel.priority(np.array([0.0, 1e-8, 1.0]), d, c, r, ages, (1.0, 0, 0, 0), normalise=False)
    np.testing.assert_allclose(unheard, [1e8, 1e8, 1])
    # One tenth over three tenths and one over three differ by rounding only.
    equal = eiffel.priority(f, np.ones(3), np.array([0.1, 1.0, 0.7]), np.array([0.3, 3.0, 2.1]), np.ones(3))
    np.testing.assert_allclose(equal, [0.25, 0, 0.25 / 3])


def _chosen(
    index: list[float], previous: list[int], cost: list[float], R: float, kappa: float, **options: Any
) -> list[int]:
    before = np.isin(np.arange(len(index)), previous)
    tie_break = options.pop("tie_break", np.zeros(len(index)))
    mask = eiffel.select(np.array(index), before, np.array(cost), R, kappa, tie_break, **options)
    return np.flatnonzero(mask).tolist()


def test_pools_by_hand_for_six_clients() -> None:
    index = [6.0, 5.0, 4.0, 3.0, 2.0, 1.0]
    cost = [2.0, 1.0, 3.0, 1.0, 2.0, 1.0]
    # Halves of 6. Previous 0, 1, 2: 0 and 1 take 3, 2 does not fit. Others 3, 4, 5: 3 and 4 take 3.
    assert _chosen(index, [0, 1, 2], cost, 6.0, 0.5) == [0, 1, 3, 4]
    # Previous 0, 2, 4 within 3: 0, then neither 2 (3) nor 4 (2). Others 1, 3, 5: all.
    assert _chosen(index, [0, 2, 4], cost, 6.0, 0.5) == [0, 1, 3, 5]
    # Previous 0, 2, 3 within 3: 0, not 2, then 3 in the gap; closed pool: only 0.
    assert _chosen(index, [0, 2, 3], cost, 6.0, 0.5) == [0, 1, 3, 4]
    assert _chosen(index, [0, 2, 3], cost, 6.0, 0.5, stop_at_first=True) == [0, 1, 4]
    # Everybody before: half the budget lies idle, unless the pools lend to each other.
    assert _chosen(index, [0, 1, 2, 3, 4, 5], cost, 6.0, 0.5) == [0, 1]
    assert _chosen(index, [0, 1, 2, 3, 4, 5], cost, 6.0, 0.5, work_conserving=True) == [0, 1, 2]
    # Nobody before: the share of the others, or all.
    assert _chosen(index, [], cost, 6.0, 0.5) == [0, 1]
    assert _chosen(index, [], cost, 6.0, 0.5, work_conserving=True) == [0, 1, 2]
    # Previous 5 uses 1 of 3; the others have 3, or with what is left over 5: 0, 1 and 3 (2 would make 6), then nothing.
    assert _chosen(index, [5], cost, 6.0, 0.5) == [0, 1, 5]
    assert _chosen(index, [5], cost, 6.0, 0.5, work_conserving=True) == [0, 1, 3, 5]
    # Shares at the ends: only the previous, only the others.
    assert _chosen(index, [3, 4], cost, 6.0, 1.0) == [3, 4]
    assert _chosen(index, [3, 4], cost, 6.0, 0.0) == [0, 1, 2]
    # 0.1 of 10 is 1 - 2e-16 when computed as 1 - 0.9.
    assert _chosen(index, [0], cost, 10.0, 0.9) == [0, 1]


def test_pools_break_ties_and_accept_nobody() -> None:
    tie_break = np.array([0.3, 0.1, 0.2, 0.1])
    assert _chosen([1.0] * 4, [], [1.0] * 4, 3.0, 0.0, tie_break=tie_break) == [1, 2, 3]
    assert _chosen([1.0] * 4, [], [1.0] * 4, 1.0, 0.0, tie_break=tie_break) == [1]
    assert _chosen([1.0, 2.0], [0, 1], [5.0, 5.0], 6.0, 0.5) == []


def test_ages_and_weights_by_hand() -> None:
    took = np.array([True, False, True])
    ages = np.array([1.0, 1.0, 4.0])
    assert eiffel.age_step(ages, took).tolist() == [1, 2, 1]
    alpha = eiffel.contribution(np.array([1.0, 2.0, 1.0]), np.array([1.0, 1.0, 2.0]), ages)
    assert alpha.tolist() == [1, 2, 2]
    d = np.array([10.0, 60.0, 30.0])
    np.testing.assert_allclose(eiffel.aggregation_weights(took, d, alpha), [1 / 7, 0, 6 / 7])
    np.testing.assert_allclose(eiffel.aggregation_weights(took, d, alpha, "literal"), [0.1, 0, 0.6])
    np.testing.assert_allclose(eiffel.aggregation_weights(took, d, alpha, "dsize"), [0.25, 0, 0.75])
    assert eiffel.alpha_of_h(took, d, alpha) == 70 / 40
    nobody = np.zeros(3, bool)
    for mode in ("self", "literal", "dsize"):
        assert eiffel.aggregation_weights(nobody, d, alpha, mode).tolist() == [0, 0, 0]


def test_eiffel_resources_by_hand() -> None:
    local, sending = np.array([[1.0, 0.0], [2.0, 1.0], [4.0, 1.0]]), np.array([0.5, 3.0])
    two = np.array([True, True, False])
    # Type 0: 5 + 1 and 10 + 1; type 1: 0 + 6 and 5 + 6.
    assert eiffel.round_cost(two, local, sending, 5).tolist() == [17, 17]
    assert eiffel.round_cost(two, local, sending, 5, "max").tolist() == [11, 11]
    assert eiffel.round_cost(np.zeros(3, bool), local, sending, 5).tolist() == [0, 0]
    stop = eiffel.stop_rule
    plenty = np.array([1000.0, 1000.0])
    assert stop(np.zeros(2), two, local, sending, 5, plenty) == (5, False)
    assert stop(plenty - 17, two, local, sending, 5, plenty) == (5, False)  # exactly used up
    assert stop(plenty - 16.9, two, local, sending, 5, plenty) == (0, True)
    # 3 tau + 2 <= 16.9 and tau + 12 <= 16.9: 4 steps.
    assert stop(plenty - 16.9, two, local, sending, 5, plenty, shrink=True) == (4, True)
    assert stop(plenty - 16.9, two, local, sending, 9, plenty, "max", shrink=True) == (7, True)
    assert stop(plenty - 4, two, local, sending, 5, plenty, shrink=True) == (0, True)


def test_eiffel_run_by_hand_for_three_clients() -> None:
    # Priority is the age alone; costs 1 each and R = 2, so one old and one new client per round.
    losses = np.array([[1.0, 2.0, 4.0], [0.5, 3.0, 6.0], [0.7, 0.8, 0.9], [0.1, 0.1, 0.1]])
    ones, tie_break = np.ones(3), np.tile([0.0, 1.0, 2.0], (4, 1))
    out = eiffel.run(losses, ones, ones, ones, 2.0, 0.5, tie_break, index_weights=(0, 0, 0, 1.0))
    # After round 0: all age 1, all "previous": client 0. Then ages 1 2 2: 0 stays, 1 joins. Ages 1 1 3: 0 and 2.
    assert out["selected"].astype(int).tolist() == [[1, 1, 1], [1, 0, 0], [1, 1, 0], [1, 0, 1]]
    assert out["age"].tolist() == [[1, 1, 1], [1, 2, 2], [1, 1, 3], [1, 2, 1]]
    assert out["alpha"].tolist() == [[1, 1, 1], [1, 1, 1], [1, 2, 2], [1, 1, 3]]
    np.testing.assert_allclose(out["weights"], [[1 / 3] * 3, [1, 0, 0], [1 / 3, 2 / 3, 0], [0.25, 0, 0.75]])
    assert out["loss"].tolist() == [[1, 2, 4], [0.5, 2, 4], [0.7, 0.8, 4], [0.1, 0.8, 0.1]]
    np.testing.assert_allclose(out["h_alpha"], [1, 1, 1.5, 2])
    np.testing.assert_allclose(out["priority"], [[0, 0, 0], [0, 1, 1], [0, 0, 1], [0, 1, 0]])


@pytest.mark.parametrize("work_conserving", [False, True])
@pytest.mark.parametrize("stop_at_first", [False, True])
def test_eiffel_run_by_property(work_conserving: bool, stop_at_first: bool) -> None:
    rng = np.random.default_rng(9)
    T, N, kappa, R = 60, 12, 0.4, 6.0
    losses, tie_break = rng.uniform(0.1, 2, (T, N)), rng.random((T, N))
    d, c, r = rng.integers(50, 500, N).astype(float), rng.choice([1, 1.5, 2.0], N), rng.uniform(0.5, 1.5, N)
    options: dict[str, Any] = {"work_conserving": work_conserving, "stop_at_first": stop_at_first}
    out = eiffel.run(losses, d, c, r, R, kappa, tie_break, **options)
    chosen = out["selected"]
    assert chosen[0].all()
    # Losses of those who stay away are never read.
    again = eiffel.run(np.where(chosen, losses, math.nan), d, c, r, R, kappa, tie_break, **options)
    for name in out:
        np.testing.assert_array_equal(out[name], again[name])
    # Last known losses and ages from the last round of participation.
    for t, i in itertools.product(range(T), range(N)):
        last = int(np.flatnonzero(chosen[: t + 1, i])[-1])
        assert out["loss"][t, i] == losses[last, i]
        assert out["age"][t, i] == t - last + 1
    # alpha d, normalised; the scale of c and r has no influence.
    share = np.where(chosen, d * (c / r) * np.vstack([np.ones(N), out["age"][:-1]]), 0)
    np.testing.assert_allclose(out["weights"], share / share.sum(1, keepdims=True))
    scaled = eiffel.run(losses, d, 7 * c, r / 3, R, kappa, tie_break, cost=r, **options)
    np.testing.assert_array_equal(chosen, scaled["selected"])
    # Shares; nobody could still enter; the order within a pool.
    idle = 0
    for t in range(1, T):
        index, before = out["priority"][t - 1], chosen[t - 1]
        assert r[chosen[t]].sum() <= R + 1e-6
        pools = [(before, kappa * R), (~before, (1 - kappa) * R)]
        if work_conserving:
            pools[1] = (~before, R - r[chosen[t] & before].sum())
        for pool, room in pools:
            if work_conserving and pool is before:
                continue
            members = np.flatnonzero(pool)[np.argsort(-index[pool])]
            used, closed = 0.0, False
            for i in members:
                fits = used + r[i] <= room and not (stop_at_first and closed)
                # The third pass may fill up `before`, never the others.
                assert chosen[t, i] == fits or abs(used + r[i] - room) < 1e-6
                used += r[i] if chosen[t, i] else 0
                closed = closed or not fits
        if work_conserving and not stop_at_first and (~chosen[t]).any():
            assert R - r[chosen[t]].sum() < r[~chosen[t]].min() + 1e-6
        idle += int((~chosen[t]).any() and R - r[chosen[t]].sum() >= r[~chosen[t]].min())
    assert (idle == 0) == (work_conserving and not stop_at_first)
    # Literal weights shrink the model when few take part.
    literal = eiffel.run(losses, d, c, r, R, kappa, tie_break, mode="literal", **options)["weights"].sum(1)
    np.testing.assert_array_less(literal, 3)
    assert abs(literal - 1).max() > 0.1


def test_eiffel_prefers_low_losses_unless_told_otherwise() -> None:
    rng = np.random.default_rng(10)
    N, ones = 10, np.ones(10)
    losses = np.tile(rng.permutation(np.arange(1.0, N + 1)), (3, 1))
    for high_loss, wanted in ((False, losses[0] <= 5), (True, losses[0] > 5)):
        out = eiffel.run(losses, ones, ones, ones, 5.0, 1.0, np.zeros((3, N)), high_loss=high_loss)
        np.testing.assert_array_equal(out["selected"][1], wanted)


# q-FedAvg, agnostic learning, fairness


def test_q_fedavg_by_hand() -> None:
    # L = 2; steps 2 and 1; F 2 and 1. q = 1: (4 + 1) / (4 + 4 + 1 + 2).
    local, losses = np.array([[0.0], [0.5]]), np.array([2.0, 1.0])
    np.testing.assert_allclose(q_fedavg.q_fedavg(ONE, local, losses, 1.0, 0.5), 1 - 5 / 11, rtol=1e-9)
    # q = 2: (8 + 1) / (16 + 8 + 2 + 2).
    np.testing.assert_allclose(q_fedavg.q_fedavg(ONE, local, losses, 2.0, 0.5), 1 - 9 / 28, rtol=1e-9)
    # A loss of 0 counts as 1e-10.
    tiny = q_fedavg.q_fedavg(ONE, local, np.zeros(2), 1.0, 0.5)
    np.testing.assert_allclose(tiny, 1 - 3e-10 / (4 + 1 + 4e-10), rtol=1e-12)


def test_q_fedavg_limits() -> None:
    rng = np.random.default_rng(11)
    w, local, losses = rng.normal(size=5), rng.normal(size=(4, 5)), rng.uniform(0.1, 3, 4)
    np.testing.assert_allclose(q_fedavg.q_fedavg(w, local, losses, 0.0, 0.01), local.mean(0))
    np.testing.assert_allclose(q_fedavg.q_fedavg(w, np.tile(w, (4, 1)), losses, 1.5, 0.01), w)
    # Equal losses F: every difference is shortened alike, by 1 / (1 + q mean |w - w_k|^2 / (F lr)).
    F, q, lr = 0.7, 1.5, 0.3
    length = np.mean(np.sum((w - local) ** 2, axis=1))
    expected = w + (local.mean(0) - w) / (1 + q * length / (lr * (F + 1e-10)))
    np.testing.assert_allclose(q_fedavg.q_fedavg(w, local, np.full(4, F), q, lr), expected)
    # A large q listens to the largest loss.
    step = w - q_fedavg.q_fedavg(w, local, losses, 60.0, 0.01)
    worst = w - local[np.argmax(losses)]
    assert step @ worst / np.linalg.norm(step) / np.linalg.norm(worst) > 0.999


def _nearest_by_trial(v: np.ndarray) -> np.ndarray:
    """The projection on the simplex by trying every set of entries that may be positive."""
    best, distance = v, math.inf
    for size in range(1, len(v) + 1):
        for support in itertools.combinations(range(len(v)), size):
            point = np.zeros(len(v))
            members = list(support)
            point[members] = v[members] + (1 - v[members].sum()) / size
            if point.min() >= -1e-15 and np.sum((point - v) ** 2) < distance:
                best, distance = point, float(np.sum((point - v) ** 2))
    return best


def test_projection_on_the_simplex() -> None:
    np.testing.assert_allclose(q_fedavg.project_simplex(np.array([0.5, 0.5, 2.0])), [0, 0, 1])
    np.testing.assert_allclose(q_fedavg.project_simplex(np.array([0.9, 0.5])), [0.7, 0.3])
    np.testing.assert_allclose(q_fedavg.project_simplex(np.full(4, -7.0)), [0.25] * 4)
    rng = np.random.default_rng(12)
    zeros = 0
    for case in range(150):
        v = rng.normal(0, 0.1 + case / 100, int(rng.integers(1, 7)))
        point = q_fedavg.project_simplex(v)
        assert math.isclose(point.sum(), 1)
        np.testing.assert_allclose(point, _nearest_by_trial(v), atol=1e-12)
        np.testing.assert_allclose(q_fedavg.project_simplex(point), point, atol=1e-12)
        zeros += int(np.sum(point == 0))
    assert zeros > 50


def test_agnostic_step_by_hand() -> None:
    w, lam = np.array([1.0, 1.0]), np.array([0.25, 0.75])
    gradients, losses = np.array([[4.0, 0.0], [0.0, 4.0]]), np.array([3.0, 1.0])
    new_w, new_lam = q_fedavg.afl_step(w, lam, gradients, losses, 0.1, 0.1)
    np.testing.assert_allclose(new_w, [0.9, 0.7])
    np.testing.assert_allclose(new_lam, [0.35, 0.65])  # (0.55, 0.85) less 0.2 each
    _, alone = q_fedavg.afl_step(w, lam, gradients, losses, 0.1, 10.0)
    np.testing.assert_allclose(alone, [1, 0])
    models = np.arange(8.0).reshape(4, 2)
    mean = np.full(2, -9.0)
    for t in range(4):
        mean = q_fedavg.afl_mean(mean, models[t], t)
        np.testing.assert_allclose(mean, models[: t + 1].mean(0))


def test_fairness_by_hand() -> None:
    a = np.array([0.0, 0.0, 3.0])
    out = q_fedavg.fairness(a)
    # Mean 1, deviations -1, -1, 2: m2 = 2, m3 = 2.
    expected = {"mean": 1, "worst10": 3, "best10": 0, "variance": 2, "skewness": 2 / 2**1.5}
    expected |= {"skewness_adjusted": math.sqrt(3), "cosine": 1 / math.sqrt(3), "jain": 1 / 3}
    assert out.keys() == expected.keys()
    for name, value in expected.items():
        assert math.isclose(out[name], value, abs_tol=1e-12), name
    turned = q_fedavg.fairness(a, higher_is_better=True)
    assert (turned["worst10"], turned["best10"]) == (0, 3)
    tail = q_fedavg.fairness(np.random.default_rng(13).permutation(np.arange(39.0)))
    assert (tail["worst10"], tail["best10"]) == (37, 1)  # 3 of 39


def test_fairness_against_scipy_and_at_its_limits() -> None:
    rng = np.random.default_rng(14)
    for n in (3, 10, 100):
        a = rng.exponential(size=n)
        out = q_fedavg.fairness(a)
        assert math.isclose(out["skewness"], skew(a), rel_tol=1e-9)
        assert math.isclose(out["skewness_adjusted"], skew(a, bias=False), rel_tol=1e-9)
        assert math.isclose(out["jain"], out["cosine"] ** 2)
        assert math.isclose(out["jain"], 1 / (1 + out["variance"] / out["mean"] ** 2))
    flat = q_fedavg.fairness(np.full(7, 0.1))
    assert math.isnan(flat["skewness"]) and math.isnan(flat["skewness_adjusted"])
    assert math.isclose(flat["cosine"], 1) and math.isclose(flat["jain"], 1)
    assert flat["variance"] < 1e-30
    nothing = q_fedavg.fairness(np.zeros(4))
    assert math.isnan(nothing["cosine"]) and math.isnan(nothing["jain"])
