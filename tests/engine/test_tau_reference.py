"""Adaptive tau beside the NumPy reference, which was written from the papers alone: every round in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import adaptive_run
from support import Stepper

import jfed
from jfed import ops, prng
from jfed.algorithms import ALGORITHMS
from jfed.controllers import adaptive
from jfed.data.load import load
from jfed.envs import edge
from jfed.models import MODELS
from jfed.selectors import everybody

CLIENTS, BATCH, ROUNDS, RATE = 4, 8, 40, 0.05
SIZES = (40, 17, 30, 8)
COSTS = edge.Options(step_s=(0.02, 0.006), exchange_s=(0.13, 0.05))


def config(**delta):
    training = jfed.Training(
        partition="iid", samples_per_client=SIZES, test_fraction=0.0, test_set="official", model=MODELS["svm"],
        algorithm=jfed.replace(ALGORITHMS["adaptive"], {"learning_rate": RATE}), batch_size=BATCH, missing="returned",
        returns="best",
    )  # fmt: skip
    base = jfed.Config(
        CLIENTS, CLIENTS, ROUNDS, eval_every=ROUNDS, environment=COSTS, selector=everybody.Options(),
        controller=adaptive.Options(budgets=(2.5,), tau_max=30), training=training,
    )  # fmt: skip
    return jfed.replace(base, delta)


class Draws:
    """The engine's own draws of one run, for the reference."""

    def __init__(self, stepper):
        self.keys = prng.keys(jax.tree.map(lambda x: jnp.asarray(x[0]), stepper.block.seeds))
        self.positions, self.num = stepper.block.positions[0], stepper.block.num_samples[0]
        self.given = np.full(CLIENTS, -1)
        pool = load("digits")
        pixels = np.concatenate([pool.images, pool.test_images]).reshape(-1, 64) / pool.max_value
        self.x, self.y = pixels, np.where(np.concatenate([pool.labels, pool.test_labels]) % 2 == 0, 1.0, -1.0)

    def batch(self, t, client, step):
        """Whatever the reference asks for next is the client's next batch."""
        self.given[client] += 1
        size = int(self.num[client])
        epoch, number = divmod(self.given[client], max(size // BATCH, 1))
        key = jax.random.fold_in(prng.at(self.keys.training, 0, client), epoch)
        order = np.asarray(ops.shuffled(key, jnp.asarray(self.positions[client]), jnp.int32(size)))
        return order[number * BATCH : number * BATCH + BATCH][: size - number * BATCH]

    def costs(self):
        local, sent = [], []
        for t in range(1, ROUNDS + 1):
            a, b = jax.random.split(prng.at(self.keys.environment, t, 1))
            local.append(COSTS.step_s[0] + COSTS.step_s[1] * np.asarray(jax.random.normal(a, (1, 100)))[0])
            sent.append(COSTS.exchange_s[0] + COSTS.exchange_s[1] * np.asarray(jax.random.normal(b, (1,))))
        return np.maximum(np.array(local)[:, :, None], 1e-10), np.maximum(np.array(sent), 1e-10)


@pytest.mark.parametrize(
    ("stop", "budget"), [("best", 2.5), pytest.param("last", 2.5, marks=pytest.mark.proof), ("best", 0.2)]
)
def test_every_round_is_that_of_the_reference(stop, budget):
    with jax.enable_x64(True):
        changed = config(**{"controller.stop": stop, "controller.budgets": (budget,), "controller.last_steps": 1})
        stepper = Stepper([jfed.Point(changed, {})], [3])
        draws = Draws(stepper)
        states, records = [], []
        for t in range(1, ROUNDS + 1):
            records.append(stepper.step(t)[0])
            states.append(stepper.host())
        run = adaptive_run.run(
            draws.x, draws.y, np.zeros(64), draws.num.astype(float), draws.batch, *draws.costs(), np.array([budget]),
            eta=RATE, phi=0.025, return_best=stop == "best", tau_max=30, reuse=10**9 if budget < 1 else 3,
        )  # fmt: skip
    rounds = len(run["tau"])
    assert rounds < ROUNDS and (budget < 1 or max(run["tau"]) > 5)
    looks = stop == "best"  # a last round that trains nothing
    trained = rounds - looks
    assert [int(r.num_steps[0]) for r in records[:trained]] == [CLIENTS * int(tau) for tau in run["tau"][:trained]]
    assert not looks or (int(records[trained].num_steps[0]), int(run["tau"][-1])) == (0, 1)
    ours = [s.controller for s in states]
    np.testing.assert_allclose([s.spent[0, 0] for s in ours[:rounds]], run["spent"][:, 0], rtol=1e-10)
    for name in ("rho", "beta", "delta"):
        np.testing.assert_allclose([getattr(s, name)[0] for s in ours[:rounds]], run[name], rtol=1e-8)
    weights = [jax.tree.leaves(s.weights)[0][0, :, 0] for s in states]
    np.testing.assert_allclose(weights[:trained], run["w"][:trained], rtol=1e-8, atol=1e-12)
    best = jax.tree.leaves(states[-1].best)[0][0, :, 0]
    np.testing.assert_allclose(best, run["w_best"], rtol=1e-8, atol=1e-12)
    assert [int(s.ended_round[0]) for s in states] == [0] * (rounds - 1) + [rounds] * (ROUNDS - rounds + 1)
    over = records[rounds:]
    assert not any(r.num_selected[0] or r.num_steps[0] or r.round_time_s[0] for r in over)
