"""q-FedAvg beside the NumPy reference: small cohorts, clients that fail, with none or with many images, losses of 0."""

import jax
import numpy as np
import pytest
from reference import q_fedavg as reference
from support import Stepper, unpack

import jfed
from jfed.algorithms import q_fedavg
from jfed.controllers import fixed
from jfed.core import prng
from jfed.data.load import load
from jfed.envs import volatility
from jfed.models import svm
from jfed.selectors import uniform

pytestmark = pytest.mark.check

RATE, QS, ROUNDS = 0.05, (0.0, 0.5, 1.5), 12
SIZES = (700, 0, 530, 9, 1)  # two have more images than are evaluated at a time
RATES = np.array([0.9, 0.7, 0.6, 0.8, 0.9])
K, LONELY = len(SIZES), 4
CONFIG = jfed.Config(
    K, 3, ROUNDS, eval_every=ROUNDS, environment=volatility.Options(tuple(RATES.tolist())), selector=uniform.Options(),
    controller=fixed.Options(3), training=jfed.Training(
        partition="iid", samples_per_client=SIZES, test_fraction=0.0, test_set="official",
        model=svm.Options(regularization=0.0), algorithm=q_fedavg.Options(RATE), batch_size=8, average_over="returned",
    ),
)  # fmt: skip


def loss_of(w, x, y):
    """Return the mean of the squared hinge; 0 without images."""
    return 0.5 * float(np.mean(np.maximum(1 - y * (x @ w), 0) ** 2)) if len(y) else 0.0


class Seen:
    """A round's models before and after it and of its clients, the returned clients, and their losses; by q."""

    def __init__(self, before, after, who, losses):
        self.before, self.after = (np.asarray(jax.tree.leaves(s.weights)[0])[:, :, 0] for s in (before, after))
        self.ends = np.asarray(jax.tree.leaves(after.clients.point)[0])[:, :, :, 0]
        self.who, self.losses = who, losses


@pytest.fixture(scope="module")
def rounds():
    """Return the rounds of all three q in one block; before the seventh, the model is set to one client's optimum."""
    with jax.enable_x64(True):
        where = [jfed.Point(jfed.replace(CONFIG, {"training.algorithm.q": q}), {"q": q}) for q in QS]
        stepper, pool, found = Stepper(where, [0]), load("digits"), []
        keys = stepper.keys()
        pixels = np.concatenate([pool.images, pool.test_images]).reshape(-1, 64) / pool.max_value
        signs = np.where(np.concatenate([pool.labels, pool.test_labels]) % 2 == 0, 1.0, -1.0)
        rows = [stepper.block.positions[0, k, : SIZES[k]] for k in range(K)]
        x, y = pixels[rows[LONELY][0]], signs[rows[LONELY][0]]
        for t in range(1, ROUNDS + 1):
            if t == 7:
                safe, now = np.tile(2 * y * x / (x @ x), (len(QS), 1))[:, :, None], stepper.state.weights
                # With the old sharding: another one would compile anew.
                placed = jax.tree.map(lambda old, w=safe: jax.device_put(w, old.sharding), now)
                stepper.state = stepper.state._replace(weights=placed)
            before = stepper.host()
            record, _ = stepper.step(t)
            back = np.asarray(prng.uniform(prng.at(keys.environment, t, 1), K)) < RATES
            who = np.flatnonzero(unpack(record, K)[0] & back)
            models = np.asarray(jax.tree.leaves(before.weights)[0])[:, :, 0]
            losses = np.array([[loss_of(w, pixels[rows[k]], signs[rows[k]]) for k in who] for w in models])
            found.append(Seen(before, stepper.host(), who, losses))
    return found


@pytest.mark.parametrize("q", QS)
def test_every_round_is_that_of_the_reference(rounds, q):
    i = QS.index(q)
    for seen in rounds:
        if not len(seen.who):
            np.testing.assert_array_equal(seen.after[i], seen.before[i])
            continue
        ends = seen.ends[i, seen.who].copy()
        ends[seen.who == 1] = seen.before[i]  # without images it makes no step
        expected = reference.q_fedavg(seen.before[i], ends, seen.losses[i], q, RATE)
        np.testing.assert_allclose(seen.after[i], expected, rtol=1e-9, atol=1e-13)
        assert np.isfinite(expected).all()


def test_what_these_rounds_consist_of(rounds):
    back = [set(seen.who.tolist()) for seen in rounds]
    assert sum(0 in who or 2 in who for who in back) > 5 and any(1 in who for who in back)
    assert any(len(who) < 3 for who in back)  # some client failed
    right = [seen.losses[1][seen.who == LONELY] for seen in rounds]
    assert any(len(loss) and loss[0] == 0 for loss in right)
