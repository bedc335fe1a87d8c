"""Tests of the references by hand, where some clients are not available, some fail and some have no data."""

import math

import numpy as np

from . import cs_ucb, e3cs, eiffel, q_fedavg, rbcs_f, selectors


def mask(*flags: int) -> e3cs.BoolArray:
    return np.array(flags, bool)


def test_e3cs_among_those_who_can_be_asked() -> None:
    # K = 4, k = 2; clients 0, 1 and 3 are available; fraction 1/2: sigma = 1/2 x 2/3 = 1/3, R = 2 - 3/3 = 1. Weights
    # 1, 1 and 2 share it: p = 1/3 + 1/4, 1/3 + 1/4, 1/3 + 1/2. Client 2 gets p = 0 despite its large weight.
    log_w = np.log([1.0, 1.0, 50.0, 2.0])
    here = mask(1, 1, 0, 1)
    p, overflow, many, sigma = e3cs.allocate(log_w, 2, 0.5, here)
    np.testing.assert_allclose(p, [7 / 12, 7 / 12, 0, 5 / 6])
    assert many == 2 and not overflow.any() and math.isclose(sigma, 1 / 3)
    # eta = 0.5; clients 0 and 3 are selected, both return: exponents R eta / (K p) = 0.5 / 4 x 12/7 and x 6/5.
    after = e3cs.update(log_w, p, overflow, mask(1, 0, 0, 1), mask(1, 1, 1, 1), 2, sigma, 0.5, available=here)
    np.testing.assert_allclose(after - log_w, [1.5 / 7, 0, 0, 0.15])
    # With one available client k = 1 and p = 1; without any there is nothing to allocate.
    assert e3cs.allocate(log_w, 2, 0.5, mask(0, 1, 0, 0))[0].tolist() == [0, 1, 0, 0]
    assert e3cs.allocate(log_w, 2, 0.5, mask(0, 0, 0, 0))[2:] == (0, 0.0)


def test_a_run_of_e3cs_leaves_out_who_is_away() -> None:
    rng = np.random.default_rng(0)
    rounds, num, k = 60, 7, 3
    x, race = rng.uniform(size=(rounds, num)) < 0.6, rng.exponential(size=(rounds, num))
    there = rng.uniform(size=(rounds, num)) < 0.5
    there[5] = False
    run = e3cs.run_selection(x, race, k, np.full(rounds, 0.3), 0.5, available=there)
    here = there.sum(1)
    np.testing.assert_array_equal(run["selected"].sum(1), np.minimum(k, here))
    np.testing.assert_allclose(run["p"].sum(1), np.minimum(k, here))
    assert not run["p"][~there].any() and not np.diff(run["log_w"], axis=0)[~there].any()
    least = 0.3 * np.minimum(k, here) / np.maximum(here, 1)
    assert (run["p"] >= np.where(there, least[:, None], 0) - 1e-12).all()


def test_the_best_allocation_of_those_who_are_there() -> None:
    # Two of 0, 2 and 3 are selected, sigma = 0.2: R = 2 - 0.6 = 1.4; client 2 comes first by its tie number, then 0.
    rates = np.array([0.9, 0.95, 0.9, 0.1])
    p = e3cs.optimal_allocation(rates, 2, 0.2, mask(1, 0, 1, 1), np.array([0.5, 0.1, 0.2, 0.3]))
    np.testing.assert_allclose(p, [0.8, 0, 1, 0.2])
    assert e3cs.optimal_allocation(rates, 3, 0.5, mask(0, 1, 0, 1)).tolist() == [0, 1, 0, 1]


def test_power_of_choice_among_those_who_are_there() -> None:
    # Arrivals of 0, 2, 3 and 4 in units of 8: 3/6, never, 0.4/2, never. Client 1 would be first, but is not available.
    n, race, here = np.array([6, 1, 0, 2, 0]), np.array([3.0, 0.1, 0.2, 0.4, 0.3]), mask(1, 0, 1, 1, 1)
    assert np.flatnonzero(selectors.pow_d_candidates(n, race, 1, here)).tolist() == [3]
    assert np.flatnonzero(selectors.pow_d_candidates(n, race, 3, here)).tolist() == [0, 2, 3]
    assert np.flatnonzero(selectors.pow_d_candidates(n, race, 5, here)).tolist() == [0, 2, 3, 4]
    assert not selectors.pow_d_candidates(n, race, 2, mask(0, 0, 0, 0, 0)).any()
    assert selectors.answers(np.array([0.7, np.nan]), np.array([3, 0])).tolist() == [0.7, 0.0]


def test_a_time_above_the_limit_has_reward_zero() -> None:
    tau = np.array([[10.0, 1.0], [2.5, 20.0]])
    out = cs_ucb.run_cs_ucb(tau, 2, 5.0, None, np.zeros((2, 2)))
    np.testing.assert_allclose(out["y"], [[0, 0.8], [0.25, 0.4]])
    assert out["round_time"].tolist() == [10.0, 20.0]


def test_in_the_first_rounds_a_group_is_filled_up_at_random() -> None:
    # K = 5, N = 2, kappa = 3: round 3 takes the last unseen arm and, by fill, arm 3, though arm 0 has a larger index.
    tau = np.array([[0.0, 4.9, 4.9, 4.9, 4.9]] * 4)
    tie, fill = np.tile([0.1, 0.2, 0.3, 0.4, 0.5], (4, 1)), np.tile([0.1, 0.2, 0.3, 0.9, 0.5], (4, 1))
    chosen = [np.flatnonzero(row).tolist() for row in cs_ucb.run_cs_ucb(tau, 2, 5.0, fill, tie)["selected"]]
    assert chosen == [[0, 1], [2, 3], [3, 4], [0, 1]]


def test_rbcs_f_on_times_that_are_given() -> None:
    """With one feature, the number 1, and lambda = 1, tau-bar is the sum of the times over their number plus one."""
    waited = np.array([[2.0, 8.0], [2.0, 8.0], [4.0, 8.0]])
    there = np.array([[1, 1], [1, 1], [0, 1]], bool)
    run = rbcs_f.run_on_times(
        np.ones((3, 2, 1)), waited, there, np.array([[0.1, 0.2]] * 3), m=1, V=1.0, beta=0.5, alpha=0.0, ridge=1.0
    )
    # Round 1: all equal, client 0 by its tie number. Z = (0 + .5 - 1)+, .5.
    # Round 2: tau-bar 1 and 0: client 1, faster and longer in waiting. Z = .5, 0. Round 3: only client 1.
    assert run["selected"].astype(int).tolist() == [[1, 0], [0, 1], [0, 1]]
    np.testing.assert_allclose(run["tau_bar"], [[0, 0], [1, 0], [1, 4]])
    np.testing.assert_allclose(run["queue"], [[0, 0.5], [0.5, 0], [1, 0]])
    assert run["H"].ravel().tolist() == [2, 3] and run["b"].ravel().tolist() == [2, 16]


def test_rbcs_f_is_the_same_where_times_do_not_depend_on_the_choice() -> None:
    rng = np.random.default_rng(3)
    rounds, num = 30, 6
    inverse_mu, bits, noise, tie = rng.uniform(0.5, 2, (4, rounds, num))
    there, theta = rng.uniform(size=(rounds, num)) < 0.7, rng.uniform(0.5, 2, (num, 3))
    theta[:, 1] = 0.0  # no cold start
    about = {"m": 2, "V": 5.0, "beta": 0.25, "alpha": 0.2, "ridge": 1.0}
    one = rbcs_f.run(inverse_mu, bits, there, noise - 1, tie, theta_star=theta, **about)
    before = np.vstack([np.zeros((1, num), bool), one["selected"][:-1]])
    contexts = np.stack([inverse_mu, ~before, bits], -1)
    other = rbcs_f.run_on_times(contexts, one["latency"], there, tie, **about)
    for name in other:
        np.testing.assert_allclose(other[name], one[name])


def test_eiffel_where_a_client_fails_and_another_is_away() -> None:
    """With three equal clients, R = 2 and kappa = 1/2, each round has one client of the last and one other, by loss."""
    ones, tie = np.ones(3), np.zeros((4, 3))
    losses = np.array([[2.0, 1.0, 4.0], [9.0, 3.0, 9.0], [5.0, 9.0, 9.0], [9.0, 9.0, 9.0]])
    there = np.array([[1, 1, 1], [1, 1, 1], [1, 1, 0], [1, 1, 1]], bool)
    back = np.array([[0, 1, 1], [0, 1, 1], [1, 1, 1], [1, 1, 1]], bool)
    about = {"index_weights": (1.0, 0.0, 0.0, 0.0), "normalise": False, "available": there, "returns": back}
    run = eiffel.run(losses, ones, ones, ones, 2.0, 0.5, tie, **about)
    # Round 0: all; client 0 fails and is not heard: its factor is that of client 1, the best; the lower number wins.
    #   No client is outside: client 0 alone. Round 1: it fails again, age 3.
    # Round 2: of the previous {0}, selected though it failed: client 0. Of the others {1}, as 2 is not available.
    #   It returns with loss 5, client 1 with 9. Round 3: of {0, 1} the one with loss 5; of the others client 2.
    assert run["selected"].astype(int).tolist() == [[1, 1, 1], [1, 0, 0], [1, 1, 0], [1, 0, 1]]
    assert run["age"].astype(int).tolist() == [[2, 1, 1], [3, 2, 2], [1, 1, 3], [1, 2, 1]]
    np.testing.assert_array_equal(run["loss"][1], [np.nan, 1, 4])
    np.testing.assert_allclose(run["priority"][1], [1, 1, 0.25])
    np.testing.assert_allclose(run["weights"][0], [0, 0.5, 0.5])
    assert not run["weights"][1].any()  # no client returned


def test_agnostic_averages_only_who_told() -> None:
    w, local = np.array([1.0]), np.array([[0.0], [4.0], [9.0]])
    lam, losses = np.array([0.25, 0.5, 0.25]), np.array([1.0, 2.0, 50.0])
    moved, weights = q_fedavg.afl_average(w, local, lam, losses, mask(1, 1, 0), 0.1)
    np.testing.assert_allclose(moved, [2.0 / 0.75])
    np.testing.assert_allclose(weights, [0.25, 0.6, 0.15])  # .35, .7, .25 less a tenth each
    for same, before in zip(q_fedavg.afl_average(w, local, lam, losses, mask(0, 0, 0), 0.1), (w, lam), strict=True):
        np.testing.assert_array_equal(same, before)


def test_agnostic_with_one_step_of_all_is_the_method() -> None:
    rng = np.random.default_rng(1)
    w, gradients, losses = rng.normal(size=4), rng.normal(size=(3, 4)), rng.uniform(size=3)
    lam = q_fedavg.project_simplex(rng.uniform(size=3))
    one = q_fedavg.afl_step(w, lam, gradients, losses, 0.2, 0.3)
    other = q_fedavg.afl_average(w, w - 0.2 * gradients, lam, losses, np.ones(3, bool), 0.3)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b)
