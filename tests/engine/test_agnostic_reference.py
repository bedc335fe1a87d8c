"""Agnostic federated learning beside the NumPy reference, where clients are away, fail or have no images."""

import jax
import numpy as np
import pytest
from reference import q_fedavg
from support import Stepper

import jfed
from jfed.algorithms import estimating
from jfed.controllers import fixed
from jfed.core import prng
from jfed.data.load import load
from jfed.envs import volatility
from jfed.selectors import agnostic

pytestmark = pytest.mark.check

K, ROUNDS, RATE, LR_LAMBDA, HERE = 6, 12, 0.05, 0.7, 0.75
SIZES = (24, 17, 30, 9, 20, 0)
CASES = [(1, (1.0, 1.0)), (1, (0.5, 0.9)), (3, (0.5, 0.9))]  # tau, and success rates
BASE = jfed.Config(
    K, K, ROUNDS, eval_every=ROUNDS, selector=agnostic.Options(LR_LAMBDA),
    training=jfed.Training(
        partition="iid", samples_per_client=SIZES, test_fraction=0.0, test_set="official", model="svm",
        algorithm=estimating.Options(RATE), batch_size=max(SIZES),
        average_over="returned", final_model="mean",
    ),
)  # fmt: skip


def svm(w, x, y):
    """Return loss and gradient of the squared SVM, lambda 0.1."""
    slack = np.maximum(1 - y * (x @ w), 0)
    return 0.05 * w @ w + 0.5 * np.mean(slack**2), 0.1 * w - np.mean((y * slack)[:, None] * x, 0)


def flat(weights, run):
    return np.asarray(jax.tree.leaves(weights)[0])[run, :, 0]


def clients_data(block):
    """Return images and signs of each client, the same in all runs."""
    pool = load("digits")
    pixels = np.concatenate([pool.images, pool.test_images]).reshape(-1, 64) / pool.max_value
    signs = np.where(np.concatenate([pool.labels, pool.test_labels]) % 2 == 0, 1.0, -1.0)
    rows = [block.positions[0, k, : block.num_samples[0, k]] for k in range(K)]
    return [(pixels[row], signs[row]) for row in rows]


def test_agnostic_learning_is_that_of_the_reference():
    """Batches hold all images, so that all gradients and losses are known; F is the loss of the received model."""
    where = [
        jfed.Point(
            jfed.replace(
                BASE, {"environment": volatility.Options(rates, availability=HERE), "controller": fixed.Options(tau)}
            ),
            {"case": i},
        )
        for i, (tau, rates) in enumerate(CASES)
    ]
    with jax.enable_x64(True):
        one = Stepper(where, [5])
        keys = one.keys().environment
        data, runs = clients_data(one.block), len(CASES)
        w, mean, weight = np.zeros((runs, 64)), np.zeros((runs, 64)), np.full((runs, K), 1 / K)
        for t in range(1, ROUNDS + 1):
            one.step(t)
            state = one.host()
            there, back = (np.asarray(prng.uniform(prng.at(keys, t, which), K)) for which in (0, 1))
            for i, (tau, rates) in enumerate(CASES):
                told = (there < HERE) & (back < np.resize(rates, K)) & (np.array(SIZES) > 0)
                losses, local = np.zeros(K), np.tile(w[i], (K, 1))
                for k in np.flatnonzero(told):
                    losses[k] = svm(w[i], *data[k])[0]
                    for _ in range(tau):
                        local[k] -= RATE * svm(local[k], *data[k])[1]
                w[i], weight[i] = q_fedavg.afl_average(w[i], local, weight[i], losses, told, LR_LAMBDA)
                mean[i] = q_fedavg.afl_mean(mean[i], w[i], t - 1)
                np.testing.assert_allclose(flat(state.weights, i), w[i], rtol=1e-9, atol=1e-13)
                np.testing.assert_allclose(state.selector.weight[i], weight[i], rtol=1e-9, atol=1e-13)
                np.testing.assert_allclose(flat(state.mean, i), mean[i], rtol=1e-9, atol=1e-13)
        assert all(row.min() < 0.1 < 0.3 < row.max() for row in weight)
        quality = one.finish()
        for i in range(runs):
            expected = [svm(mean[i], *data[k])[0] for k in range(K - 1)]  # the last one has no data
            np.testing.assert_allclose(quality.loss[i, : K - 1], expected, rtol=1e-9)
