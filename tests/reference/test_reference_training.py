"""Tests of the reference's training: gradients, steps and averages computed by hand."""

import math

import numpy as np
import pytest

from . import training
from .e3cs import BoolArray, FloatArray
from .training import Params


def mask(*flags: int) -> BoolArray:
    return np.array(flags, bool)


def toy_model(kind: str, rng: np.random.Generator) -> Params:
    def layer(rows: int, columns: int) -> Params:
        return {"kernel": rng.normal(size=(rows, columns)), "bias": rng.normal(size=columns)}

    return layer(4, 3) if kind == "softmax" else {"hidden": layer(4, 5), "out": layer(5, 3)}


def toy_data(n: int, rng: np.random.Generator) -> training.Batch:
    return rng.normal(size=(n, 4)), rng.integers(0, 3, size=n)


@pytest.mark.parametrize("kind", ["softmax", "mlp"])
def test_gradient_by_finite_differences(kind):
    rng = np.random.default_rng(5)
    params = toy_model(kind, rng)
    x, y = toy_data(6, rng)
    loss, gradient = training.loss_and_grad(params, x, y)
    assert loss == pytest.approx(training.evaluate(params, x, y)[1])
    checked = 0

    def check(leaf: FloatArray, slope: FloatArray) -> FloatArray:
        nonlocal checked
        for position in np.ndindex(leaf.shape):
            value, step = leaf[position], 1e-6
            leaf[position] = value + step
            above, _ = training.loss_and_grad(params, x, y)
            leaf[position] = value - step
            below, _ = training.loss_and_grad(params, x, y)
            leaf[position] = value
            assert slope[position] == pytest.approx((above - below) / (2 * step), abs=1e-7)
            checked += 1
        return leaf

    training.tree_map(check, params, gradient)
    assert checked == (15 if kind == "softmax" else 43)


def test_local_sgd_golden():
    # One feature, two classes, datum x = 1 of class 0, all weights 0. Kernel and bias get the same
    # gradient (-g, g), g = P(class 1). Step 1: g = 1/2, v = 1/2, weight of class 0 becomes 0.05.
    # Step 2: the logits differ by 4 * 0.05 = 0.2, g = 1 / (1 + e^0.2); with the proximal term
    # the direction of ascent is g - 0.5 * 0.05, the velocity 0.9 / 2 + that, times 0.1.
    zero = {"kernel": np.zeros((1, 2)), "bias": np.zeros(2)}
    batch = (np.ones((1, 1)), np.array([0]))
    g = 1 / (1 + math.exp(0.2))
    for mu in (0.0, 0.5):
        got, loss = training.local_sgd(zero, [batch, batch], 0.1, 0.9, mu)
        weight = 0.05 + 0.1 * (0.45 + g - mu * 0.05)
        np.testing.assert_allclose(got["kernel"], [[weight, -weight]])
        np.testing.assert_allclose(got["bias"], [weight, -weight])
        assert loss == pytest.approx((math.log(2) + math.log(1 + math.exp(-0.2))) / 2)
    assert not zero["kernel"].any()
    same, loss = training.local_sgd(zero, [], 0.1, 0.9)
    assert math.isnan(loss)
    assert not same["kernel"].any()


def test_aggregate_readings():
    # n = (1, 1, 2), global 10; client 0 returned 14, client 1 was lost, client 2 not selected.
    old, model = {"bias": np.array([10.0])}, {0: {"bias": np.array([14.0])}}
    n, selected, returned = np.array([1, 1, 2]), mask(1, 1, 0), mask(1, 0, 1)
    for reading, value in (("all", 11.0), ("selected", 12.0), ("returned", 14.0)):
        got = training.aggregate(old, model, n, selected, returned, reading)
        np.testing.assert_allclose(got["bias"], [value])
    odd = {"bias": np.array([0.1, 1 / 3, 1e-310])}
    for reading in ("all", "selected", "returned"):
        got = training.aggregate(odd, {}, np.array([3, 3, 1]), selected, mask(0, 0, 1), reading)
        assert got["bias"].tobytes() == odd["bias"].tobytes()
    with pytest.raises(ValueError, match="unknown reading 'mean'"):
        training.aggregate(old, model, n, selected, returned, "mean")


def test_steps_and_evaluation():
    assert [training.steps_of(n, 40, 3) for n in (0, 1, 40, 41, 450)] == [0, 3, 3, 6, 36]
    params = {"kernel": np.eye(2), "bias": np.zeros(2)}
    x, y = np.array([[1.0, 0.0], [0.0, 0.0], [5.0, 5.0]]), np.array([0, 0, 1])
    accuracy, loss = training.evaluate(params, x, y)  # the two ties go to class 0
    assert accuracy == pytest.approx(2 / 3)
    assert loss == pytest.approx((math.log(1 + math.exp(-1)) + 2 * math.log(2)) / 3)


@pytest.mark.parametrize("kind", ["softmax", "mlp"])
def test_run_training_is_its_parts(kind):
    rng = np.random.default_rng(6)
    x, y = toy_data(12, rng)
    start = toy_model(kind, rng)
    n = np.array([4, 6, 2])
    batches = {(0, 0): [np.array([0, 1]), np.array([2, 3])], (0, 1): [np.arange(4, 10)]}
    batches[1, 2] = [np.array([10, 11])]
    selected = np.array([[1, 1, 0], [1, 0, 1], [1, 1, 0]], bool)
    succeeded = np.array([[1, 1, 1], [0, 1, 1], [0, 0, 1]], bool)
    got = training.run_training(start, x, y, n, selected, succeeded, batches, 0.1, 0.9, 0.5, "selected")
    first = [training.local_sgd(start, [(x[b], y[b]) for b in batches[0, i]], 0.1, 0.9, 0.5)[0] for i in (0, 1)]
    one = training.tree_map(lambda a, b: 0.4 * a + 0.6 * b, *first)
    last = training.local_sgd(one, [(x[10:], y[10:])], 0.1, 0.9, 0.5)[0]
    two = training.tree_map(lambda a, b: (2 * a + 4 * b) / 6, last, one)
    assert len(got) == 3
    for mine, theirs, slack in ((one, got[0], 1e-14), (two, got[1], 1e-14), (got[1], got[2], 0.0)):
        gaps = training.tree_map(lambda a, b: abs(a - b).max(), mine, theirs)
        layers = [gaps] if kind == "softmax" else [gaps["hidden"], gaps["out"]]
        assert max(float(gap) for layer in layers for gap in layer.values()) <= slack
