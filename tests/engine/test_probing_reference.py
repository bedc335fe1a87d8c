"""Answers of power-of-choice's candidates beside the NumPy reference, where clients are away or have no images.

With b at least the number of a client's images, cpow-d is pow-d, so that one program does both.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import selectors as ref_selectors
from reference import training as ref_training
from support import Stepper, unpack

import jfed
from jfed.algorithms import local_sgd
from jfed.controllers import fixed
from jfed.core import ops, prng
from jfed.data.load import load
from jfed.envs import volatility
from jfed.selectors import pow_d

pytestmark = pytest.mark.check

K, ROUNDS, HERE = 7, 6, 0.8
SIZES = (40, 5, 12, 0, 3, 26, 0)
ALL = 1000
CASES = [(2, 7, 4), (3, 5, 4), (3, 6, 1), (2, 7, ALL), (3, 5, ALL), (6, 7, ALL), (7, 7, 4)]  # k, d, b
BASE = jfed.Config(
    K, 3, ROUNDS, eval_every=ROUNDS, environment=volatility.Options((0.3, 0.9), availability=HERE),
    controller=fixed.Options(2),
    training=jfed.Training(
        samples_per_client=SIZES, test_fraction=0.0, test_set="official", batch_size=8, average_over="returned",
        algorithm=local_sgd.Options(learning_rate=0.5),
    ),
)  # fmt: skip


def pixels():
    """Return the images as the model sees them, and their labels."""
    pool = load("digits")
    images = np.concatenate([pool.images, pool.test_images])
    return images.reshape(len(images), -1) / pool.max_value, np.concatenate([pool.labels, pool.test_labels])


@jax.jit
def drawn(seeds, positions, sizes, t):
    """Return a round's draws: available clients, the candidates' race, ties, and the order of each client's images."""
    keys = prng.keys(seeds)
    order = jax.vmap(
        lambda client, row, n: ops.shuffled(prng.at(keys.selector, t, 2, client), row, n), in_axes=(0, 0, 0)
    )(jnp.arange(K), positions, sizes)
    tie = jax.random.split(prng.at(keys.selector, t, 1))[1]
    return (
        prng.uniform(prng.at(keys.environment, t, 0), K) < HERE,
        ops.log_exponential(prng.at(keys.selector, t, 0), K),
        prng.uniform(tie, K),
        order,
    )


def test_candidates_answer_on_b_shuffled_images():
    where = [
        jfed.Point(jfed.replace(BASE, {"cohort_size": k, "selector": pow_d.Options(d, b, "cpow-d")}), {"case": i})
        for i, (k, d, b) in enumerate(CASES)
    ]
    x, y = pixels()
    parts, without, fewer = [], 0, 0
    with jax.enable_x64(True):
        stepper = Stepper(where, [3])
        for t in range(1, ROUNDS + 1):
            weights = stepper.host().weights["out"]
            record, _ = stepper.step(t)
            chosen = unpack(record, K)
            for i, (k, d, b) in enumerate(CASES):
                seeds = jax.tree.map(lambda leaf, i=i: jnp.asarray(leaf[i]), stepper.block.seeds)
                n = stepper.block.num_samples[i]
                there, race, ties, order = (
                    np.asarray(v) for v in drawn(seeds, stepper.block.positions[i], n, jnp.int32(t))
                )
                model = {"kernel": np.asarray(weights["kernel"][i]).T, "bias": np.asarray(weights["bias"][i])}
                rows = [order[c, : min(b, n[c])] for c in range(K)]
                told = [ref_training.evaluate(model, x[r], y[r])[1] if len(r) else np.nan for r in rows]
                candidates = ref_selectors.pow_d_candidates(n, np.exp(race.astype(float)), d, there)
                losses = ref_selectors.answers(np.array(told), n)
                many = min(k, int(candidates.sum()))
                np.testing.assert_array_equal(chosen[i], ref_selectors.pow_d(losses, candidates, many, ties))
                assert record.num_probed[i] == candidates.sum() == min(d, there.sum())
                assert chosen[i].sum() == many
                without += (chosen[i] & (n == 0)).sum()
                fewer += there.sum() < k
                if (k, b) == (2, 4):
                    parts.append(rows[0])
    assert without > 3 and fewer > 0  # clients without images are selected where no others are left
    assert len({tuple(sorted(row)) for row in parts}) == ROUNDS  # each round draws its images anew
