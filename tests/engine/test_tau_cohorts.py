"""Adaptive tau beside the NumPy reference where cohorts are small, clients fail, and one of them has no images.

All is in float64. The cohorts are the engine's; the reference computes everything else itself.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import adaptive_run, adaptive_tau
from support import Stepper, unpack

import jfed
from jfed.algorithms import estimating
from jfed.controllers import adaptive
from jfed.core import ops, prng
from jfed.data.load import load
from jfed.envs import volatility
from jfed.selectors import uniform

pytestmark = pytest.mark.check

BATCH, ROUNDS, RATE, PHI, BUDGET, WAIT_S = 8, 24, 0.05, 0.025, 60.0, 1.0
SIZES = (40, 17, 0, 8, 30, 5)  # one has nothing, one less than a batch
RATES = np.array([0.7, 0.4, 0.9, 0.5, 0.6, 0.8])
K = len(SIZES)
CONFIG = jfed.Config(
    K, 3, ROUNDS, eval_every=ROUNDS, environment=volatility.Options(tuple(RATES.tolist()), deadline_s=WAIT_S),
    selector=uniform.Options(), controller=adaptive.Options(budgets=(BUDGET,), phi=PHI, tau_max=12),
    training=jfed.Training(
        partition="iid", samples_per_client=SIZES, test_fraction=0.0, test_set="official", model="svm",
        algorithm=estimating.Options(RATE), batch_size=BATCH, average_over="returned",
        final_model="best",
    ),
)  # fmt: skip


@jax.jit
def ordered(key, client, epoch, positions, size):
    """Return a client's images in an epoch's order."""
    return ops.shuffled(jax.random.fold_in(prng.at(key, 0, client), epoch), positions, jnp.asarray(size, jnp.int32))


class Server:
    """The reference's server, whose rounds go from the models of the returned clients to the next tau."""

    def __init__(self, stepper):
        self.keys = stepper.keys()
        self.positions, self.num = stepper.block.positions[0], stepper.block.num_samples[0]
        self.given = np.full(K, -1)
        pool = load("digits")
        x = np.concatenate([pool.images, pool.test_images]).reshape(-1, 64) / pool.max_value
        y = np.where(np.concatenate([pool.labels, pool.test_labels]) % 2 == 0, 1.0, -1.0)
        about = x, y, adaptive_tau.svm_loss, adaptive_tau.svm_gradient
        self.clients = [adaptive_run.Client(i, *about) for i in range(K)]
        self.w = self.best = np.zeros(64)
        self.tau, self.spent = 1, 0.0
        self.rho = self.beta = self.delta = math.nan

    def batch(self, t, client, step):
        """Return the client's next batch."""
        self.given[client] += 1
        size = int(self.num[client])
        epoch, number = divmod(self.given[client], max(size // BATCH, 1))
        order = np.asarray(ordered(self.keys.training, client, epoch, self.positions[client], size))
        return order[number * BATCH : number * BATCH + BATCH][: size - number * BATCH]

    def succeeds(self, t):
        return np.asarray(prng.uniform(prng.at(self.keys.environment, t, 1), K)) < RATES

    def play(self, t, selected):
        """Play round t; return the clients with images that returned, and those of them that were new."""
        who = [int(i) for i in np.flatnonzero(selected & self.succeeds(t)) if self.num[i] > 0]
        new = [i for i in who if self.clients[i].end is None]
        self.spent += WAIT_S
        told = [self.clients[i].play(t, self.w, self.best, self.tau, self.batch, RATE, 3) for i in who]
        size = self.num[who].astype(float)
        if who:
            now, best = (adaptive_tau.weighted_mean([a[name] for a in told], size) for name in ("loss", "loss_best"))
            self.best = self.w if now < best else self.best
            self.w = adaptive_tau.weighted_vector([a["w"] for a in told], size)
        known = [k for k, i in enumerate(who) if i not in new]
        if known:
            self.rho, self.beta = (
                adaptive_tau.weighted_mean([told[k][name] for k in known], size[known]) for name in ("rho", "beta")
            )
            self.delta = adaptive_tau.divergence([a["gradient"] for a in told], size)[2]
        self.tau = adaptive_tau.search(
            self.tau, self.rho, self.beta, self.delta, np.zeros(1), np.array([WAIT_S]), np.array([BUDGET]), RATE, PHI,
            tau_max=12,
        )  # fmt: skip
        return who, new


@pytest.fixture(scope="module")
def rounds():
    """Return each round's returned clients with images, the new ones, tau, and both the server's and engine's state."""
    with jax.enable_x64(True):
        stepper = Stepper([jfed.Point(CONFIG, {})], [1])
        server, found = Server(stepper), []
        for t in range(1, ROUNDS + 1):
            record, _ = stepper.step(t)
            steps = server.tau
            who, new = server.play(t, unpack(record, K)[0])
            found.append((who, new, steps, dict(vars(server)), record, stepper.host()))
    return found


def flat(weights):
    return jax.tree.leaves(weights)[0][0, :, 0]


def test_every_round_is_that_of_the_reference(rounds):
    for who, _, steps, server, record, state in rounds:
        assert int(record.num_steps[0]) == steps * len(who)
        for name in ("rho", "beta", "delta", "tau"):
            np.testing.assert_allclose(getattr(state.controller, name)[0], server[name], 1e-8, 1e-14, err_msg=name)
        np.testing.assert_allclose(state.controller.spent[0, 0], server["spent"], rtol=1e-12)
        np.testing.assert_allclose(flat(state.weights), server["w"], rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(flat(state.best), server["best"], rtol=1e-8, atol=1e-12)


def test_a_round_in_which_nobody_returns_changes_no_model(rounds):
    """It does not change the best model either, which is not the last one."""
    mixed = [0 < len(new) < len(who) for who, new, *_ in rounds]
    empty = np.flatnonzero([not who for who, *_ in rounds])
    assert sum(mixed) >= 3 and len(empty) >= 3 and len({steps for _, _, steps, *_ in rounds}) > 3
    assert any(int(record.num_succeeded[0]) > len(who) for who, _, _, _, record, _ in rounds)  # one without images
    for t in empty:
        before, after = rounds[t - 1][-1], rounds[t][-1]
        assert (flat(before.best) != flat(before.weights)).any()
        np.testing.assert_array_equal(flat(after.best), flat(before.best))
        np.testing.assert_array_equal(flat(after.weights), flat(before.weights))
