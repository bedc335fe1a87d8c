"""Agnostic learning with several local steps beside the NumPy reference, where clients fail and one has no images."""

import jax
import numpy as np
import pytest
from reference import q_fedavg as reference
from reference.adaptive_tau import svm_gradient, svm_loss
from support import Stepper

import jfed
from jfed.algorithms import estimating
from jfed.controllers import fixed
from jfed.core import prng
from jfed.data.load import load
from jfed.envs import volatility
from jfed.selectors import agnostic

pytestmark = pytest.mark.check

RATE, LAMBDA_RATE, TAU, ROUNDS = 0.05, 0.3, 3, 15
SIZES = (24, 0, 30, 9)  # at most a batch: every step uses all images
RATES = np.array([0.7, 0.9, 0.6, 0.8])
K = len(SIZES)
CONFIG = jfed.Config(
    K, 2, ROUNDS, eval_every=ROUNDS, environment=volatility.Options(tuple(RATES.tolist())),
    selector=agnostic.Options(LAMBDA_RATE), controller=fixed.Options(TAU), training=jfed.Training(
        partition="iid", samples_per_client=SIZES, test_fraction=0.0, test_set="official", model="svm",
        algorithm=estimating.Options(RATE), batch_size=30, average_over="returned", final_model="mean",
    ),
)  # fmt: skip


def flat(weights):
    return np.asarray(jax.tree.leaves(weights)[0])[0, :, 0]


def test_every_round_is_that_of_the_reference():
    """A client reports the loss of the received model, not that of its three steps, and only if it returns."""
    back, apart = [], 0.0
    with jax.enable_x64(True):
        one, pool = Stepper([jfed.Point(CONFIG, {})], [0]), load("digits")
        keys = one.keys()
        pixels = np.concatenate([pool.images, pool.test_images]).reshape(-1, 64) / pool.max_value
        signs = np.where(np.concatenate([pool.labels, pool.test_labels]) % 2 == 0, 1.0, -1.0)
        rows = [one.block.positions[0, k, : SIZES[k]] for k in range(K)]
        w, weight, mean = np.zeros(64), np.full(K, 1 / K), np.zeros(64)
        for t in range(1, ROUNDS + 1):
            returned = np.asarray(prng.uniform(prng.at(keys.environment, t, 1), K)) < RATES
            who = [k for k in np.flatnonzero(returned) if SIZES[k]]
            losses, moves, share = np.zeros(K), np.zeros(64), weight[who].sum()
            for k in who:
                x, y, local, along = pixels[rows[k]], signs[rows[k]], w, []
                for _ in range(TAU):
                    along.append(svm_loss(local, x, y))
                    local = local - RATE * svm_gradient(local, x, y)
                losses[k], apart = along[0], max(apart, abs(along[0] - np.mean(along)))
                moves += weight[k] * (local - w)
            w = w + moves / (share if share > 0 else 1.0)
            weight = reference.project_simplex(weight + LAMBDA_RATE * losses) if who else weight
            mean = reference.afl_mean(mean, w, t - 1)
            one.step(t)
            state = one.host()
            np.testing.assert_allclose(flat(state.weights), w, rtol=1e-9, atol=1e-13)
            np.testing.assert_allclose(state.selector.weight[0], weight, rtol=1e-9, atol=1e-13)
            np.testing.assert_allclose(flat(state.mean), mean, rtol=1e-9, atol=1e-13)
            back.append((len(who), returned[1]))
    assert {n for n, _ in back} >= {1, 2, 3} and any(there for _, there in back) and apart > 0.03
