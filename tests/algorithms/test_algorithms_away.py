"""MIFA, FedVARP, FedDyn and FedAU beside the NumPy references, and what they are for, on quadratic losses."""

import jax
import numpy as np
import pytest
from quadratics import Clients, run
from reference import away as ref

import jfed
from jfed.algorithms import fedau, feddyn, fedvarp, local_sgd, mifa
from jfed.core.types import Problem

K, ROUNDS, RATE, D = 6, 24, 0.1, 2
STEPS = np.array([3, 1, 2, 0, 4, 2])  # client 3 has no points
MANY = np.array([5, 1, 3, 0, 5, 2])
STEP = np.array([1.0] * 12 + [0.5] * 12)  # the factor of step-0.5-12


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def made_up(seed):
    """Return clients of which some fail in each round, all in two rounds, and none in one."""
    rng = np.random.default_rng(seed)
    returned = rng.uniform(size=(ROUNDS, K)) < 0.45
    returned[4], returned[9], returned[10] = False, False, True
    returned[15] = np.arange(K) == 3  # only the client without points
    share = rng.uniform(0.05, 0.4, (ROUNDS, K)) * (MANY > 0)
    return Clients(rng.normal(0, 2, (K, 5, D)), MANY, STEPS, returned, share)


def batches(clients, i):
    return [(clients.points[i, : clients.many[i]], None)] * int(clients.steps[i])


def gradient(w, batch):
    return {"w": w["w"] - batch[0].mean(0)}


def moves_of(clients, t, w, **how):
    there = [i for i in np.flatnonzero(clients.returned[t]) if clients.steps[i] > 0]
    found = {}
    for i in there:
        linear = how.get("linears")
        rest = {name: value for name, value in how.items() if name != "linears"}
        own = ref.descend(w, batches(clients, i), gradient, linear=None if linear is None else linear[i], **rest)
        found[int(i)] = {"w": own["w"] - w["w"]}
    return found


def start():
    return {"w": np.array([3.0, -1.0])}


def filled(table):
    return np.array([np.zeros(D) if g is None else g["w"] for g in table])


@pytest.mark.parametrize("over", ["all", "seen"])
def test_mifa_is_that_of_the_reference(over):
    options = mifa.Options(RATE, over=over, schedule="step-0.5-12")
    for seed in range(3):
        clients, w, table = made_up(seed), start(), [None] * K
        models, server, memory = run(options, clients, w["w"])
        for t in range(ROUNDS):
            lr = RATE * STEP[t]
            w, table = ref.mifa(w, table, moves_of(clients, t, w, lr=lr), lr, over)
            np.testing.assert_allclose(models[t], w["w"], rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(memory.update["w"][t], filled(table), rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(server.mean["w"][t], filled(table).mean(0), atol=1e-12)
            assert server.seen[t] == pytest.approx(sum(g is not None for g in table) / K)


def test_fedvarp_is_that_of_the_reference():
    options = fedvarp.Options(RATE, server_rate=0.7, schedule="inverse-4", server_schedule="cosine-0.2", momentum=0.5)
    rates, etas = ref.schedule("inverse", ROUNDS, 4), ref.schedule("cosine", ROUNDS, 0.2)
    for seed in range(3):
        clients, w, table = made_up(seed), start(), [None] * K
        models, server, memory = run(options, clients, w["w"])
        for t in range(ROUNDS):
            lr = RATE * rates[t]
            w, table = ref.fedvarp(w, table, moves_of(clients, t, w, lr=lr, momentum=0.5), lr, 0.7 * etas[t])
            np.testing.assert_allclose(models[t], w["w"], rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(memory.update["w"][t], filled(table), rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(server["w"][t], filled(table).mean(0), atol=1e-12)


@pytest.mark.parametrize("clip", [None, 0.8])
def test_feddyn_is_that_of_the_reference(clip):
    alpha = 0.3
    options = feddyn.Options(RATE, prox=alpha, clip=clip, schedule=tuple(STEP))
    for seed in range(3):
        clients, w = made_up(seed), start()
        h, linear = {"w": np.zeros(D)}, [{"w": np.zeros(D)}] * K
        models, server, memory = run(options, clients, w["w"])
        for t in range(ROUNDS):
            moves = moves_of(clients, t, w, lr=RATE * STEP[t], prox=alpha, linears=linear, clip=clip)
            w, h, linear = ref.feddyn(w, h, linear, moves, alpha)
            np.testing.assert_allclose(models[t], w["w"], rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(alpha * server["w"][t], h["w"], rtol=1e-10, atol=1e-12)
            np.testing.assert_allclose(memory["w"][t], filled(linear), rtol=1e-10, atol=1e-12)


def test_fedau_is_that_of_the_reference():
    options = fedau.Options(RATE, server_rate=0.5, longest=4)
    for seed in range(3):
        clients, w = made_up(seed), start()
        part = clients.returned & (clients.steps > 0)
        omega = ref.gap_weights(part, 4)
        assert omega.max() > 2
        models, _, memory = run(options, clients, w["w"])
        for t in range(ROUNDS):
            moves = moves_of(clients, t, w, lr=RATE)
            w = ref.fedau(w, moves, {i: clients.share[t, i] * omega[t, i] for i in moves}, 0.5)
            np.testing.assert_allclose(models[t], w["w"], rtol=1e-10, atol=1e-12)
        told = [i for i in range(K) if part[-1, i]]
        after = ref.gap_weights(np.vstack([part, part[-1:]]), 4)[-1]  # of the round after the last
        np.testing.assert_allclose(memory.mean[-1][told], after[told], rtol=1e-12)


# ---------------------------------------------------------------------------------------- what they are for


def tied(rounds, seed=0):
    """Return 20 clients at 1 and -1, of which the former return with probability 0.9, the latter with 0.1."""
    c = np.repeat([1.0, -1.0], 10)
    returned = np.random.default_rng(seed).uniform(size=(rounds, 20)) < np.where(c > 0, 0.9, 0.1)
    return Clients(c.reshape(20, 1, 1), np.ones(20, int), np.ones(20, int), returned)


def offset(options, clients):
    """Return the distance of the mean of the last half of the models from the optimum, 0."""
    models = run(options, clients, np.zeros(1))[0]
    return abs(models[len(models) // 2 :].mean())


def test_where_availability_depends_on_the_labels():
    clients, rate = tied(4000), 0.02
    # FedAvg ends where 0.9 (1 - w) = 0.1 (1 + w).
    assert offset(local_sgd.Options(rate, momentum=0.0), clients) == pytest.approx(0.8, abs=0.02)
    for options, most in ((mifa.Options(rate), 0.002), (fedvarp.Options(rate), 0.002), (fedau.Options(rate), 0.03)):
        assert offset(options, clients) < most, options


def test_mifa_keeps_gradients_where_the_rate_is_halved():
    """At the rate 0.05 an old update of the rate 0.1 counts as one of 0.05: the mean of all G_i is what moves."""
    clients = Clients(np.array([[[1.0]], [[-1.0]]]), np.ones(2, int), np.ones(2, int), np.array([[1, 1], [1, 0]], bool))
    models, server, _ = run(mifa.Options(0.1, schedule=(1.0, 0.5)), clients, np.array([0.5]))
    # Round 1: G = (0.5 - 1, 0.5 + 1) = (-0.5, 1.5), mean 0.5. Round 2: client 0 alone, G_0 = 0.45 - 1 = -0.55.
    np.testing.assert_allclose(models[:, 0], [0.45, 0.45 - 0.05 * (-0.55 + 1.5) / 2], rtol=1e-12)
    np.testing.assert_allclose(server.mean["w"][:, 0], [0.5, 0.475], rtol=1e-12)


ALIKE = (mifa.Options(RATE), mifa.Options(RATE, over="seen"), fedvarp.Options(RATE), fedau.Options(RATE))


def test_with_everybody_they_are_fedavg():
    rng = np.random.default_rng(0)
    everybody = Clients(rng.normal(size=(4, 3, D)), np.full(4, 3), np.array([1, 2, 3, 2]), np.ones((8, 4), bool))
    expected = run(local_sgd.Options(RATE, momentum=0.0), everybody, np.ones(D))[0]
    assert np.ptp(expected, 0).min() > 0.1
    for options in ALIKE:
        np.testing.assert_allclose(run(options, everybody, np.ones(D))[0], expected, rtol=1e-12)


def test_feddyn_reaches_the_optimum_that_fedavg_misses():
    """Clients with more steps pull FedAvg their way; curvatures are those of the steps."""
    rng = np.random.default_rng(1)
    clients = Clients(rng.normal(size=(4, 3, D)), np.full(4, 3), np.array([1, 30, 2, 30]), np.ones((400, 4), bool))
    optimum = clients.points.mean((0, 1))
    missed = run(local_sgd.Options(RATE, momentum=0.0), clients, np.ones(D))[0][-1]
    assert np.abs(missed - optimum).max() > 0.05
    found = run(feddyn.Options(RATE, prox=0.5), clients, np.ones(D))[0][-1]
    np.testing.assert_allclose(found, optimum, atol=1e-6)


def test_the_weights_of_fedau_by_hand():
    # Returns in rounds 1, 4 and 5; with K = 2, gaps of 2 end silently in rounds 3 (2 and 3), 7 and 9.
    part = np.array([[1], [0], [0], [1], [1], [0], [0], [0], [0], [1]], bool)
    np.testing.assert_allclose(ref.gap_weights(part, 99)[:, 0], [1, 1, 1, 1, 2, 5 / 3, 5 / 3, 5 / 3, 5 / 3, 5 / 3])
    expected = [1, 1, 1, 3 / 2, 4 / 3, 5 / 4, 5 / 4, 7 / 5, 7 / 5, 9 / 6]
    np.testing.assert_allclose(ref.gap_weights(part, 2)[:, 0], expected)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (feddyn.Options(prox=0.0), "FedDyn's alpha, prox, must be positive, found 0"),
        (fedvarp.Options(server_rate=0.0), "The server's learning rate must be positive and finite, found 0"),
        (fedau.Options(longest=0), "FedAU's longest gap must be at least one round, found 0"),
        (mifa.Options(learning_rate=-1.0), "The learning rate must be positive and finite, found -1"),
    ],
)
def test_what_makes_no_sense_is_refused(options, sentence):
    with pytest.raises(jfed.ConfigError, match=sentence):
        options.params(Problem(6, 4, 8))
