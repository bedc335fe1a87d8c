"""Federated training of E3CS's network against a NumPy loop written from the paper: the same draws, the same model.

Ten rounds run on images of the size of EMNIST letters, made by a seeded generator and read from files in the official
format. The loop gets the exogenous draws and computes cohorts, local training and deadline aggregation itself.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np
import pytest
from reference import e3cs as ref
from reference import training as ref_training
from support import Stepper, unpack

import jfed
from jfed import catalog
from jfed.algorithms import local_sgd
from jfed.core import ops, prng
from jfed.data.sources import SOURCES
from jfed.models import cnn
from jfed.selectors import e3cs

K, COHORT, ROUNDS, BATCH = 10, 4, 10, 10
SIZES = (20, 13, 9, 1, 0, 24, 11, 12, 16, 22)  # before a tenth is set aside
RATE, MOMENTUM, QUOTA, ETA = 0.03, 0.9, 0.5, 0.5
RATES = np.array([0.1, 0.3, 0.6, 0.9])[np.arange(K) % 4]
NUM_TRAIN, NUM_TEST, CLASSES = 26 * 25, 52, 26


class Letters(NamedTuple):
    """A synthetic data set of letters.

    Attributes:
        images: (n, 28, 28, 1) uint8, training images first.
        labels: classes from 0.
        folder: the folder of the data files.
    """

    images: np.ndarray
    labels: np.ndarray
    folder: str


@pytest.fixture(scope="module")
def letters(tmp_path_factory) -> Letters:
    """Return blocky prototypes of the letters, shifted and with noise, on a black ground."""
    rng, source = np.random.default_rng(0), SOURCES["emnist_letters"]
    labels = np.arange(NUM_TRAIN + NUM_TEST) % CLASSES
    prototypes = np.zeros((CLASSES, 28, 28))
    prototypes[:, 4:24, 4:24] = 255 * (rng.random((CLASSES, 5, 5)) > 0.5).repeat(4, axis=1).repeat(4, axis=2)
    noisy = prototypes[labels] * rng.uniform(0.6, 1, (len(labels), 1, 1)) + rng.normal(0, 20, (len(labels), 28, 28))
    images = np.where(prototypes[labels] > 0, noisy, 0).clip(0, 255).astype(np.uint8)
    images = np.stack([np.roll(image, rng.integers(-3, 4, 2), axis=(0, 1)) for image in images])[..., None]
    folder = tmp_path_factory.mktemp("letters")
    for files, part in ((source.train_files, slice(NUM_TRAIN)), (source.test_files, slice(NUM_TRAIN, None))):
        stored = images[part].transpose(0, 2, 1, 3).copy(), (labels[part] + 1).astype(np.uint8)  # as NIST stores them
        for name, content in zip(files, source.format.contents(*stored), strict=True):
            (folder / name).write_bytes(b"".join(content))
    return Letters(images, labels, str(folder))


def stepper_for(model, letters) -> Stepper:
    training = jfed.Training(
        dataset="emnist_letters",
        samples_per_client=SIZES,
        test_set="official",
        model=model,
        algorithm=local_sgd.Options(learning_rate=RATE, momentum=MOMENTUM),
        batch_size=BATCH,
        average_over="all",
    )
    config = jfed.Config(
        num_clients=K, cohort_size=COHORT, num_rounds=ROUNDS, selector=e3cs.Options(QUOTA, ETA), training=training
    )
    return Stepper([jfed.Point(config)], [2], data_dir=letters.folder)


class World(NamedTuple):
    """The exogenous draws of one run.

    Attributes:
        succeeded: success of each client (T, K).
        race: arrival times of the selector's race (T, K).
        batches: function of (round from 0, client) that returns the minibatches.
    """

    succeeded: np.ndarray
    race: np.ndarray
    batches: Callable[[int, int], list[np.ndarray]]


@jax.jit
def image_order(key, t, client, epoch, positions, n):
    """Return a client's images in the order of an epoch."""
    return ops.shuffled(jax.random.fold_in(prng.at(key, t, client), epoch), positions, n)


def world_of(stepper: Stepper) -> World:
    keys = stepper.keys()
    which = jax.random.randint(prng.at(keys.environment, 0, 1), (K,), 0, 4)
    epochs = np.array([1, 2, 3, 4])[np.asarray(which)]
    n, positions = stepper.block.num_samples[0], stepper.block.positions[0]

    def batches(t, i):
        orders = [np.asarray(image_order(keys.training, t + 1, i, e, positions[i], n[i])) for e in range(epochs[i])]
        return [order[a : min(a + BATCH, n[i])] for order in orders for a in range(0, n[i], BATCH)]

    success = np.array([prng.uniform(prng.at(keys.environment, t, 1), K) for t in range(1, ROUNDS + 1)])
    arrival = np.array([ops.log_exponential(prng.at(keys.selector, t, 1), K) for t in range(1, ROUNDS + 1)])
    return World(success < RATES.astype(success.dtype), np.exp(arrival.astype(np.float64)), batches)


def nested(weights) -> ref_training.Params:
    """Return the weights under the reference's names."""
    found: ref_training.Params = {}
    for name, value in weights.items():
        layer, _, part = name.rpartition("_")
        found.setdefault(layer, {})[part] = np.asarray(value[0], np.float64)
    return found


def largest_gap(a, b) -> float:
    gaps = ref_training.tree_map(lambda x, y: abs(x - y).max(), a, b)
    return max(float(gap) for layer in gaps.values() for gap in layer.values())


def check_ten_rounds(model, letters, atol, free):
    """Check ten rounds; `free` starts each round of the loop from its own model, otherwise from the engine's."""
    stepper = stepper_for(model, letters)
    world, n = world_of(stepper), np.asarray(stepper.block.num_samples[0])
    start, x, y = nested(stepper.host().weights), (letters.images / 255 - 0.1307) / 0.3081, letters.labels
    cohorts = ref.run_selection(world.succeeded, world.race, COHORT, np.full(ROUNDS, QUOTA), ETA)["selected"]
    back = cohorts & world.succeeded
    assert 12 < back.sum() < cohorts.sum()
    assert {2, 3} <= {-(-int(n[i]) // BATCH) for i in np.flatnonzero(back.any(0))}  # last batches are not full
    mine, test = start, slice(NUM_TRAIN, None)
    for t in range(ROUNDS):
        mine = mine if free else nested(stepper.host().weights)
        batches = {(0, i): world.batches(t, i) for i in np.flatnonzero(back[t]).tolist()}
        here = cohorts[t : t + 1], world.succeeded[t : t + 1], batches
        (mine,) = ref_training.run_training(mine, x, y, n, *here, RATE, MOMENTUM, 0.0, "all")
        record, quality = stepper.step(t + 1)
        np.testing.assert_array_equal(unpack(record, K)[0], cohorts[t])
        assert record.num_succeeded[0] == back[t].sum()
        assert record.num_steps[0] == sum(map(len, batches.values()))
        assert largest_gap(nested(stepper.host().weights), mine) < atol
        accuracy, loss = ref_training.evaluate(mine, x[test], y[test])
        assert quality.loss[0] == pytest.approx(loss, abs=10 * atol)
        assert quality.accuracy[0] == pytest.approx(accuracy, abs=1e-6)
    assert largest_gap(mine, start) > 0.05  # the model does learn


@pytest.mark.proof
def test_a_small_network_trains_as_in_numpy(letters):
    with jax.enable_x64(True):
        check_ten_rounds(cnn.Options((3, 4), hidden=(16,)), letters, 1e-10, free=True)


@pytest.mark.proof
@pytest.mark.parametrize("wide", [False, True], ids=["float32", "float64"])
def test_the_network_of_e3cs_trains_as_in_numpy(letters, wide):
    with jax.enable_x64(wide):
        check_ten_rounds(catalog.find("model", "e3cs-emnist"), letters, 1e-10 if wide else 1e-6, free=wide)
