"""Tests of the references of RBCS-F and CS-UCB."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

from reference import cs_ucb, rbcs_f


def test_algorithm_1_solves_p4_and_fills_the_round() -> None:
    rng = np.random.default_rng(0)
    short = 0
    for case in range(300):
        n = int(rng.integers(1, 9))
        m = int(rng.integers(1, 9))
        V = float(rng.choice([0.0, 0.5, 5.0, 50.0]))
        tau_bar = np.where(rng.random(n) < 0.3, 0.0, rng.integers(0, 5, n) * (1.0 if case % 2 else rng.random()))
        z = np.asarray(rng.integers(0, 4, n) * 0.5 if case % 3 else rng.random(n) * 4, np.float64)
        available = rng.random(n) < (0.7 if case % 5 else 0.2)
        mask = rbcs_f.choose_algorithm_1(tau_bar, z, available, m, V, rng.integers(0, 3, n).astype(float))
        assert not np.any(mask & ~available)
        assert np.count_nonzero(mask) == min(m, np.count_nonzero(available))
        best = rbcs_f.brute_force(tau_bar, z, available, m, V)
        assert math.isclose(rbcs_f.objective(mask, tau_bar, z, V), best, rel_tol=1e-12, abs_tol=1e-12)
        short += int(np.count_nonzero(available) < m)
    assert 30 < short < 270


def test_algorithm_1_orders_equal_queues_by_tie_break() -> None:
    tie_break = np.array([0.4, 0.1, 0.9, 0.1, 0.5])
    mask = rbcs_f.choose_algorithm_1(np.zeros(5), np.zeros(5), np.array([1, 1, 1, 1, 1], bool), 3, 5.0, tie_break)
    assert mask.tolist() == [True, True, False, True, False]
    mask = rbcs_f.choose_algorithm_1(np.zeros(5), np.zeros(5), np.array([1, 0, 1, 1, 1], bool), 1, 5.0, np.zeros(5))
    assert mask.tolist() == [True, False, False, False, False]


def test_algorithm_1_trades_time_against_queue() -> None:
    # Cap 1: clients 0 and 1, 1 V - 0; cap 9: clients 2 and (0 or 1), 9 V - 4. Equal at V = 0.5.
    tau_bar, z = np.array([1.0, 1.0, 9.0]), np.array([0.0, 0.0, 4.0])
    everybody = np.ones(3, bool)
    slow = rbcs_f.choose_algorithm_1(tau_bar, z, everybody, 2, 0.4, np.arange(3.0))
    fast = rbcs_f.choose_algorithm_1(tau_bar, z, everybody, 2, 0.6, np.arange(3.0))
    assert slow.tolist() == [True, False, True]
    assert fast.tolist() == [True, True, False]


def _rbcs_f_draws(rng: np.random.Generator, rounds: int, n: int) -> dict[str, np.ndarray]:
    return {
        "inverse_mu": 1 / rng.uniform(0.5, 2, (rounds, n)),
        "bits_per_hz": 20 / rng.uniform(2, 4, (rounds, n)),
        "available": rng.random((rounds, n)) < 0.8,
        "noise": rng.uniform(-1, 1, (rounds, n)),
        "tie_break": rng.random((rounds, n)),
    }


@pytest.mark.parametrize("cold", [True, False])
def test_run_agrees_with_direct_formulas(cold: bool) -> None:
    rng = np.random.default_rng(1)
    rounds, n, beta, alpha, ridge = 60, 6, 0.3, 0.1, 0.7
    base, start, snr = np.arange(1.0, 7), np.full(n, 1.0), 10.0 ** np.array([3, 3, 2, 1, 0, 0])
    star = rbcs_f.theta(base, start, snr, "log2")
    np.testing.assert_allclose(star[:, 2] * np.log2(1 + snr), 1)
    np.testing.assert_allclose(rbcs_f.theta(base, start, snr, "ln")[:, 2] * np.log1p(snr), 1)
    draws = _rbcs_f_draws(rng, rounds, n)
    out = rbcs_f.run(**draws, m=2, V=2.0, beta=beta, alpha=alpha, ridge=ridge, theta_star=star, cold=cold)
    chosen = out["selected"]
    assert np.array_equal(chosen.sum(1), np.minimum(2, draws["available"].sum(1)))
    # Queue: a walk of steps beta - x reflected at 0 is the walk minus its running minimum.
    walk = np.vstack([np.zeros(n), np.cumsum(beta - chosen, 0)])
    np.testing.assert_allclose(out["queue"], (walk - np.minimum.accumulate(walk, 0))[1:], atol=1e-12)
    # Contexts, times, ridge regression from the whole history in one step.
    before = np.vstack([np.zeros(n, bool), chosen[:-1]])
    s = (~before if cold else before).astype(float)
    c = np.stack([draws["inverse_mu"], s, draws["bits_per_hz"]], -1)
    np.testing.assert_allclose(out["latency"], (c * star).sum(-1) * (1 + draws["noise"]))
    np.testing.assert_allclose(out["round_time"], np.where(chosen, out["latency"], 0).max(1))
    for client, t in itertools.product(range(n), (0, 1, 17, rounds - 1)):
        past = c[:t, client][chosen[:t, client]]
        times = out["latency"][:t, client][chosen[:t, client]]
        here = c[t, client]
        width = math.sqrt(here @ np.linalg.inv(past.T @ past + ridge * np.eye(3)) @ here)
        expected = here @ rbcs_f.ridge_direct(past, times, ridge) - alpha * width
        assert math.isclose(out["tau_bar"][t, client], max(expected, 0), rel_tol=1e-9, abs_tol=1e-12)
    for client in range(n):
        past, times = c[:, client][chosen[:, client]], out["latency"][:, client][chosen[:, client]]
        np.testing.assert_allclose(out["H"][client], past.T @ past + ridge * np.eye(3))
        np.testing.assert_allclose(out["b"][client], past.T @ times, atol=1e-12)


@pytest.mark.parametrize(
    ("log", "cold", "size"), [("ln", False, 8.58), ("ln", True, 7.0), ("log2", False, 10.53), ("log2", True, 8.78)]
)
def test_the_deadline_takes_about_eight_in_two_of_four_readings(log: str, cold: bool, size: float) -> None:
    rng = np.random.default_rng(2)
    level = np.repeat([1.0, 2, 3, 4], 10)
    star = rbcs_f.theta(level, np.ones(40), np.repeat([1000.0, 100, 10, 1], 10), log)
    took, sizes = np.zeros(40, bool), []
    for _ in range(1500):
        c = rbcs_f.context(1 / rng.uniform(0.5, 2, 40), took, 20 / rng.uniform(2, 4, 40), cold)
        took = rbcs_f.fedcs_deadline((c * star).sum(1), rng.random(40) < 0.8, 3.0)
        sizes.append(np.count_nonzero(took))
    assert abs(np.mean(sizes) - size) < 0.3


def test_cell_against_array_formula() -> None:
    rng = np.random.default_rng(3)
    rounds, K = 400, 20
    d = 0.5 * np.sqrt(rng.random(K))
    low, high = cs_ucb.speed_range(K)
    assert low[[0, 19]].tolist() == [20, 210]
    assert high[[0, 19]].tolist() == [40, 230]
    down, up = rng.exponential(size=(2, rounds, K))
    phi = rng.uniform(low, high, (rounds, K))
    snr = 10 ** ((23 + 107 - 128.1 - 37.6 * np.log10(d)) / 10)
    rate = 15e3 / (1 / np.log2(1 + snr * down) + 1 / np.log2(1 + snr * up))
    tau = cs_ucb.latency(d, down, up, phi, 5e3)
    np.testing.assert_allclose(tau, np.minimum(5e3 / rate + 2 / phi, 5))
    assert 0.03 < tau.mean(0).min() < tau.mean(0).max() < 0.6
    assert cs_ucb.link_s(5e3, 15e3, 10.0, 0.0) == math.inf


def test_cs_ucb_covers_all_then_follows_the_index() -> None:
    rng = np.random.default_rng(4)
    rounds, K, N = 40, 7, 3
    tau, fill, tie = rng.random((3, rounds, K))
    out = cs_ucb.run_cs_ucb(tau, N, 5.0, fill, tie)
    chosen = out["selected"]
    assert np.all(chosen.sum(1) == N)
    assert np.array_equal(np.flatnonzero(chosen[0]), np.sort(np.argsort(tie[0])[:3]))
    seen = chosen[:2].any(0)
    assert seen.sum() == 6
    last = np.flatnonzero(chosen[2])
    best_fill = np.argsort(np.where(seen, -fill[2], np.inf))[:2]
    assert set(last) == {int(np.flatnonzero(~seen)[0]), *best_fill.tolist()}
    for t in range(rounds):
        z = chosen[: t + 1].sum(0)
        y = np.where(chosen[: t + 1], 1 - tau[: t + 1] / 5, 0).sum(0) / np.maximum(z, 1)
        assert np.array_equal(out["z"][t], z)
        np.testing.assert_allclose(out["y"][t], y, atol=1e-12)
        if 3 <= t < rounds - 1:
            index = y + np.sqrt((N + 1) * np.log(t + 2) / z)
            assert set(np.flatnonzero(chosen[t + 1])) == set(np.argsort(-index)[:N].tolist())
    np.testing.assert_allclose(out["round_time"], np.where(chosen, tau, 0).max(1))


@pytest.mark.parametrize("bonus", ["plain", "truncated"])
def test_modified_cs_ucb_takes_unseen_available_arms_first(bonus: str) -> None:
    rng = np.random.default_rng(5)
    rounds, K, N = 60, 5, 2
    tau, tie = rng.random((2, rounds, K))
    available = rng.random((rounds, K)) < 0.4
    out = cs_ucb.run_cs_ucb(tau, N, 5.0, None, tie, available, bonus)
    before = np.vstack([np.zeros(K, int), out["z"][:-1]])
    for t in range(rounds):
        assert not np.any(out["selected"][t] & ~available[t])
        assert out["selected"][t].sum() == min(N, available[t].sum())
        fresh = available[t] & (before[t] == 0)
        assert (out["selected"][t] & fresh).sum() == min(N, fresh.sum())
    empty = ~available.any(1)
    assert empty.any()
    assert np.all(out["round_time"][empty] == 5.0)


def test_cs_ucb_q_by_hand() -> None:
    """K = 3, N = 2, tau_max = 4 s (reward 1 - tau / 4), beta = 0.5, c = (0, 0.5, 0.75); score (y_hat + D) / 2."""
    tau = np.array([[1.0, 2, 4], [9, 3, 4], [9, 9, 4], [2, 1, 9]])  # 9: not played, must not be read
    available = np.array([[1, 1, 1], [1, 1, 1], [0, 0, 1], [1, 1, 1]], bool)
    tie = np.array([[0.2, 0.9, 0.1], [0.5, 0.1, 0.3], [0.0, 0.0, 0.0], [0.9, 0.5, 0.1]])
    out = cs_ucb.run_cs_ucb_q(tau, available, 2, np.array([0, 0.5, 0.75]), 0.5, 4.0, tie)
    # Round 1: no client seen, y_hat = 1, D = 0, all scores 1/2: clients 2 and 0 by tie-break.
    #   r = 1 - 1/4 = 0.75 and 1 - 4/4 = 0. y = (.75, 0, 0), z = (1, 0, 1), 4 s.
    #   D = (0 + 0 - 1, 0 + .5 - 0, 0 + .75 - 1)+ = (0, .5, 0).
    # Round 2: y_hat = min(.75 + 1.177, 1), 1 (unseen), min(0 + sqrt(2 ln 2) = 1.177, 1): all 1.
    #   Scores (.5, .75, .5): client 1, then 2 (0.3 before 0.5). r1 = 1 - 3/4 = .25, r2 = 0.
    #   y = (.75, .25, 0), z = (1, 1, 2), 4 s. D = (0, .5 + .5 - 1, 0 + .75 - 1)+ = (0, 0, 0).
    # Round 3: only client 2. r2 = 0, y2 = (0 * 2 + 0) / 3 = 0, z = (1, 1, 3), 4 s.
    #   D = (0, 0 + .5, 0 + .75 - 1)+ = (0, .5, 0).
    # Round 4: y_hat = 1, 1, sqrt(2 ln 4 / 3) = sqrt(.924196) = .961351. Scores (.5, .75, .480676): clients
    #   1 and 0, though the tie-break favours 2. r0 = 1 - 2/4 = .5, r1 = 1 - 1/4 = .75.
    #   y0 = (.75 + .5) / 2 = .625, y1 = (.25 + .75) / 2 = .5, z = (2, 2, 3), 2 s.
    #   D = (0 + 0 - 1, .5 + .5 - 1, 0 + .75)+ = (0, 0, .75).
    assert out["selected"].astype(int).tolist() == [[1, 0, 1], [0, 1, 1], [0, 0, 1], [1, 1, 0]]
    np.testing.assert_allclose(out["y"], [[0.75, 0, 0], [0.75, 0.25, 0], [0.75, 0.25, 0], [0.625, 0.5, 0]])
    assert out["z"].tolist() == [[1, 0, 1], [1, 1, 2], [1, 1, 3], [2, 2, 3]]
    np.testing.assert_allclose(out["queue"], [[0, 0.5, 0], [0, 0, 0], [0, 0.5, 0], [0, 0, 0.75]])
    assert out["round_time"].tolist() == [4, 4, 4, 2]
    assert math.isclose(cs_ucb.bonus_truncated(0.0, 3, 4), 0.961351, abs_tol=1e-6)


def test_cs_ucb_q_empty_round_and_quota() -> None:
    rng = np.random.default_rng(6)
    rounds, c = 1500, np.array([0.6, 0.5, 0.4])
    tau = rng.random((rounds, 3)) * np.array([3.0, 2, 1])
    available = rng.random((rounds, 3)) < 0.9
    available[7] = False
    tie = rng.random((rounds, 3))
    out = cs_ucb.run_cs_ucb_q(tau, available, 2, c, 0.1, 5.0, tie)
    assert out["round_time"][7] == 5.0
    assert out["z"][7].tolist() == out["z"][6].tolist()
    walk = np.vstack([np.zeros(3), np.cumsum(c - out["selected"], 0)])
    np.testing.assert_allclose(out["queue"], (walk - np.minimum.accumulate(walk, 0))[1:], atol=1e-9)
    assert np.all(out["selected"].mean(0) > c - 0.02)
    for t in range(20, rounds):  # round t + 1, all clients seen
        y_hat = np.minimum(out["y"][t - 1] + np.sqrt(2 * np.log(t + 1) / out["z"][t - 1]), 1)
        score = 0.9 * y_hat + 0.1 * out["queue"][t - 1]
        order = [k for k in np.lexsort((tie[t], -score)) if available[t, k]]
        assert set(np.flatnonzero(out["selected"][t]).tolist()) == set(order[:2])
    assert np.all(out["y"][-2][:2] + np.sqrt(2 * np.log(rounds) / out["z"][-2][:2]) < 1)  # not cut


def test_closed_form_equals_linear_program() -> None:
    rng = np.random.default_rng(7)
    c = np.array([0.6, 0.5, 0.4])
    mu = np.full(3, 0.5)
    for _ in range(60):
        value = cs_ucb.lp_value(cs_ucb.min_reward(mu), np.full(3, 0.9), c, 2)
        assert abs(cs_ucb.closed_form(mu, 0.9, c) - value) < 1e-6
        mu = rng.random(3)
    with pytest.raises(ValueError, match="quotas out of reach"):
        cs_ucb.closed_form(mu, 0.9, np.array([0.95, 0.5, 0.4]))
    with pytest.raises(ValueError, match=r"linear program not solved: .*infeasible"):
        cs_ucb.lp_value(cs_ucb.min_reward(mu), np.full(3, 0.9), np.array([0.95, 0.5, 0.4]), 2)


def test_dual_bounds_and_reaches_the_linear_program() -> None:
    rng = np.random.default_rng(8)
    mu, a, c = rng.random(4), np.array([0.9, 0.8, 0.9, 0.7]), np.array([0.5, 0.4, 0.3, 0.45])
    rewards = cs_ucb.min_reward(mu)
    value = cs_ucb.lp_value(rewards, a, c, 2)
    for _ in range(50):
        assert cs_ucb.dual_value(rng.exponential(size=4), rewards, a, c, 2) >= value - 1e-9
    # The best prices p from the dual program itself: min sum P(e) v_e - p c, v_e >= reward(S) + sum of p in S.
    sets = cs_ucb.all_sets(4)
    rows, bounds = [], []
    for i, e in enumerate(sets):
        for arm in cs_ucb.super_arms(e, 2):
            rows.append([float(k in arm) for k in range(4)] + [-float(i == j) for j in range(len(sets))])
            bounds.append(-rewards[arm])
    cost = np.concatenate([-c, [cs_ucb.chance(e, a) for e in sets]])
    best = linprog(cost, rows, bounds, bounds=[(0, None)] * 4 + [(None, None)] * len(sets), method="highs")
    assert abs(best.fun - value) < 1e-9
    assert abs(cs_ucb.dual_value(best.x[:4], rewards, a, c, 2) - value) < 1e-9


def test_lp_without_quotas_takes_the_best_super_arm() -> None:
    rng = np.random.default_rng(9)
    for _ in range(20):
        mu, N = rng.random(5), int(rng.integers(1, 5))
        best = max(min(mu[list(S)]) for S in itertools.combinations(range(5), N))
        mask = cs_ucb.optimal_super_arm(mu, N)
        assert np.count_nonzero(mask) == N
        assert mu[mask].min() == best
        assert math.isclose(cs_ucb.lp_value(cs_ucb.min_reward(mu), np.ones(5), np.zeros(5), N), best, abs_tol=1e-9)


def test_round_robin_groups() -> None:
    order = np.array([3, 0, 4, 1, 2])
    short = cs_ucb.round_robin(order, 2, 4)
    assert [np.flatnonzero(row).tolist() for row in short] == [[0, 3], [1, 4], [2], [0, 3]]
    whole = cs_ucb.round_robin(order, 2, 4, complete=True)
    assert [np.flatnonzero(row).tolist() for row in whole] == [[0, 3], [1, 4], [2, 3], [0, 3]]
