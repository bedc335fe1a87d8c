"""Tests of the references of q-FedAvg and agnostic FL, and of the fairness measures."""

import itertools
import math

import numpy as np
from scipy.stats import skew

from reference import q_fedavg
from reference.tau_cases import ONE


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
    # With a large q the largest loss dominates.
    step = w - q_fedavg.q_fedavg(w, local, losses, 60.0, 0.01)
    worst = w - local[np.argmax(losses)]
    assert step @ worst / np.linalg.norm(step) / np.linalg.norm(worst) > 0.999


def _nearest_by_trial(v: np.ndarray) -> np.ndarray:
    """Return the projection on the simplex, found by trying every set of entries that may be positive."""
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
