"""Tests by hand of the reference of algorithms that keep state."""

import numpy as np
import pytest

from reference import server, training


def one(value):
    return {"w": np.array([float(value)])}


def value(params):
    return float(params["w"][0])


def test_momentum_adds_up():
    w, v = server.fedavgm(one(1), one(0), one(0.5), 2.0, 0.9)
    assert (value(w), value(v)) == (2.0, 0.5)
    w, v = server.fedavgm(w, v, one(-0.1), 2.0, 0.9)
    assert (value(w), value(v)) == pytest.approx((2.7, 0.35))


@pytest.mark.parametrize(
    ("rule", "delta", "second"),
    [
        ("adagrad", 0.2, 0.01 + 0.04),
        ("adam", 0.2, 0.75 * 0.01 + 0.25 * 0.04),
        ("yogi", 0.2, 0.01 + 0.25 * 0.04),  # v below Delta^2: it grows
        ("yogi", 0.05, 0.01 - 0.25 * 0.0025),  # v above it: it shrinks
        ("yogi", 0.0, 0.01),
    ],
)
def test_a_step_of_reddi_et_al(rule, delta, second):
    start = server.first_moments(one(3), 0.1)
    assert (value(start.m), value(start.v)) == (0.0, pytest.approx(0.01))
    x, after = server.fedopt(rule, one(3), start, one(delta), 0.5, 0.9, 0.75, 0.1)
    assert value(after.v) == pytest.approx(second)
    assert value(x) == pytest.approx(3 + 0.5 * 0.1 * delta / (np.sqrt(second) + 0.1))


def test_weights_of_the_readings():
    n, selected, returned = np.array([2, 1, 1, 4]), np.array([1, 1, 0, 1], bool), np.array([1, 1, 1, 0], bool)
    for reading, total in (("all", 8), ("selected", 7), ("returned", 3)):
        assert server.Round(n, selected, returned, reading).weights() == {0: 2 / total, 1: 1 / total}
    assert server.Round(n, selected, np.zeros(4, bool), "all").weights() == {}


@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize(("momentum", "prox"), [(0.0, 0.0), (0.9, 0.0), (0.0, 0.5)])
def test_the_closed_forms_of_fednova(steps, momentum, prox):
    lr, rho = 0.1, momentum
    got = sum(server.coefficients(steps, lr, momentum, prox))
    if momentum:
        expected = (steps - rho * (1 - rho**steps) / (1 - rho)) / (1 - rho)
    elif prox:
        expected = (1 - (1 - lr * prox) ** steps) / (lr * prox)
    else:
        expected = steps
    assert got == pytest.approx(expected)


def test_coefficients_are_those_of_the_local_steps():
    """With a constant gradient a client's move is minus lr times that gradient times the sum of the coefficients."""
    rng = np.random.default_rng(0)
    x, y = np.zeros((4, 2)), rng.integers(0, 3, 4)  # with pixels of 0 only the bias learns
    w = {"kernel": np.zeros((2, 3)), "bias": np.zeros(3)}
    lr = 1e-7  # so that the gradient stays nearly constant
    local, _ = training.local_sgd(w, [(x, y)] * 4, lr, 0.8, 0.3)
    gradient = training.loss_and_grad(w, x, y)[1]["bias"]
    total = sum(server.coefficients(4, lr, 0.8, 0.3))
    np.testing.assert_allclose(local["bias"], -lr * total * gradient, rtol=1e-5)


def test_scaffold_with_everybody_is_one_step_of_descent():
    """With one local step and option I, the server's control is the mean of the clients' controls after each round."""
    rng = np.random.default_rng(1)
    data = [(rng.normal(size=(5, 2)), rng.integers(0, 3, 5)) for _ in range(3)]
    x = {"kernel": rng.normal(size=(2, 3)), "bias": np.zeros(3)}
    now = server.Round(np.full(3, 5), np.ones(3, bool), np.ones(3, bool), "returned")
    c, own = server.zeros(x), [server.zeros(x) for _ in data]
    for _ in range(3):
        results = [server.scaffold_client(x, c, own[i], [data[i]], data[i], 0.1, "I") for i in range(3)]
        moves = {i: training.tree_map(np.subtract, y, x) for i, (y, _) in enumerate(results)}
        changes = {i: training.tree_map(np.subtract, new, own[i]) for i, (_, new) in enumerate(results)}
        own, before = [new for _, new in results], c
        x, c = server.scaffold_server(x, c, moves, changes, now, 1.0)
        mean = np.mean([o["bias"] for o in own], axis=0)
        np.testing.assert_allclose(c["bias"], mean, atol=1e-15)  # c is the mean of all c_i
    assert not np.allclose(before["bias"], c["bias"])


def test_option_ii_is_the_mean_gradient_of_the_steps():
    rng = np.random.default_rng(2)
    batches = [(rng.normal(size=(4, 2)), rng.integers(0, 3, 4)) for _ in range(3)]
    x = {"kernel": rng.normal(size=(2, 3)), "bias": np.zeros(3)}
    c, own = one_like(x, 0.2), one_like(x, -0.1)
    y, gradients = training.copy_params(x), []
    for batch in batches:
        gradients.append(training.loss_and_grad(y, *batch)[1])
        y = training.tree_map(lambda a, g: a - 0.1 * (g + 0.3), y, gradients[-1])
    got, new = server.scaffold_client(x, c, own, batches, batches[0], 0.1, "II")
    np.testing.assert_allclose(got["kernel"], y["kernel"])
    np.testing.assert_allclose(new["kernel"], np.mean([g["kernel"] for g in gradients], axis=0))


def one_like(params, value):
    return training.tree_map(lambda a: np.full(a.shape, value), training.copy_params(params))
