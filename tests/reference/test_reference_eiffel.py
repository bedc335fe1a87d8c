"""Tests of the reference of Eiffel's Algorithm 1."""

import itertools
import math
from typing import Any

import numpy as np
import pytest

from reference import eiffel


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
    # All clients selected before: half the budget is unused, unless the pools lend to each other.
    assert _chosen(index, [0, 1, 2, 3, 4, 5], cost, 6.0, 0.5) == [0, 1]
    assert _chosen(index, [0, 1, 2, 3, 4, 5], cost, 6.0, 0.5, work_conserving=True) == [0, 1, 2]
    # No client selected before: the share of the others, or all.
    assert _chosen(index, [], cost, 6.0, 0.5) == [0, 1]
    assert _chosen(index, [], cost, 6.0, 0.5, work_conserving=True) == [0, 1, 2]
    # Previous 5 uses 1 of 3; the others have 3, or 5 with the remainder: 0, 1 and 3 (2 would make 6), then none.
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
    # Losses of clients outside the cohort are never read.
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
    # The shares; no further client would fit; the order within a pool.
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
                # The third pass may add to `before`, never to the others.
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
