"""Tests of whole runs of the reference of adaptive tau."""

import math
from typing import Any

import numpy as np
import pytest

from reference import adaptive_run
from reference import adaptive_tau as at
from reference.tau_cases import ONE, printed_G, search_with


def _run(given: dict[str, Any], **changes: Any) -> dict[str, np.ndarray]:
    return adaptive_run.run(**{**given, **changes})


def _quadratics(a: np.ndarray, m: np.ndarray) -> dict[str, Any]:
    """Return the arguments of F_i(w) = a_i |w - m_i|^2 / 2; the "data" of client i is one row, which holds i."""

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
    last = rounds - 2 if return_best else rounds - 1  # the last round with its own tau
    for t in range(1, last):
        room = R - c[t - 1] - b[t - 1] if return_best else R
        scan = [
            printed_G(x, out["rho"][t], out["beta"][t], out["delta"][t], c[t - 1], b[t - 1], room, eta, phi)
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
    # The best of the models sent out; its loss does not change here, as the data is fixed.
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
    stale = [np.zeros(0, int)] * 3  # the batch on which the stored end point was evaluated
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
        else:  # no room was left, but the last round is played all the same
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
    with pytest.raises(ValueError, match="more rounds than cost draws"):
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
        assert resumed == search_with(1, **seen, **costs, R=14 * ONE, eta=0.05, phi=0.2, tau_max=30)
    assert np.all(np.isfinite(out["w"]))
    assert np.all(np.isfinite(out["w_out"]))
