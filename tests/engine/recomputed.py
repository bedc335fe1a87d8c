"""The data and the draws of one run, recomputed from its seeds for a reference."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
from reference import training as ref_training
from support import Stepper

from jfed.core import ops, prng
from jfed.runner import feed

RATES = np.array([0.1, 0.3, 0.6, 0.9])
SIZES = (20, 13, 9, 1, 0, 20)  # before a tenth is set aside for tests
BATCH, LOCAL = 8, 6
RATE, MOMENTUM = 0.05, 0.9


def success(keys: prng.Keys, t: int, rates: np.ndarray) -> np.ndarray:
    draw = prng.uniform(prng.at(keys.environment, t, 1), len(rates))
    return np.asarray(draw) < rates.astype(draw.dtype)


def race(keys: prng.Keys, t: int, num_clients: int) -> np.ndarray:
    return np.exp(np.asarray(ops.log_exponential(prng.at(keys.selector, t, 1), num_clients), np.float64))


def reference_model(weights: dict) -> ref_training.Params:
    plain = jax.tree.map(lambda x: np.asarray(x, np.float64), weights)
    if "hidden_0" in plain:
        return {"hidden": plain["hidden_0"], "out": plain["out"]}
    return plain["out"] | {"kernel": plain["out"]["kernel"].T}  # stored as (outputs, inputs)


class World:
    """The data and the draws of one run, recomputed from its seeds."""

    def __init__(self, stepper: Stepper, run: int) -> None:
        self.keys = stepper.keys(run)
        self.n = stepper.block.num_samples[run]
        self.positions = stepper.block.positions[run]
        data = feed.dataset("digits", None)
        images = np.concatenate([data.images, data.test_images])
        self.x = images.reshape(len(images), -1) / 16.0
        self.y = np.concatenate([data.labels, data.test_labels]).astype(np.int64)
        self.test = slice(len(data.labels), None)
        which = jax.random.randint(prng.at(self.keys.environment, 0, 1), (LOCAL,), 0, 4)
        self.epochs = np.array([1, 2, 3, 4])[np.asarray(which)]
        self.rates = RATES[np.arange(LOCAL) % 4]

    def batches(self, t: int, client: int) -> list[np.ndarray]:
        key, n = prng.at(self.keys.training, t, client), int(self.n[client])
        found = []
        for epoch in range(self.epochs[client]):
            row = jnp.asarray(self.positions[client])
            order = np.asarray(ops.shuffled(jax.random.fold_in(key, epoch), row, jnp.int32(n)))
            found += [order[i : min(i + BATCH, n)] for i in range(0, n, BATCH)]
        return found

    def round(self, model, t, selected, mu, missing):
        """Return the reference's model after round t, and the clients' mean losses."""
        x = success(self.keys, t, self.rates)
        models, losses = {}, {}
        for i in np.flatnonzero(selected & x):
            data = [(self.x[rows], self.y[rows]) for rows in self.batches(t, int(i))]
            models[int(i)], losses[int(i)] = ref_training.local_sgd(model, data, RATE, MOMENTUM, mu)
        return ref_training.aggregate(model, models, self.n, selected, x, missing), losses

    def steps(self, t, selected):
        x = success(self.keys, t, self.rates)
        return sum(
            ref_training.steps_of(int(self.n[i]), BATCH, int(self.epochs[i])) for i in np.flatnonzero(selected & x)
        )


def assert_close(engine: dict, mine: ref_training.Params, atol: float) -> None:
    chex.assert_trees_all_close(reference_model(engine), mine, rtol=0, atol=atol)
