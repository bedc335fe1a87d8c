"""Accuracy after a few rounds, against recorded values; `make proof`.

The recorded mean and standard deviation are over seeds other than those tested. The tests detect changes that make
local training, aggregation or the data split worse, but still plausible.
"""

import math
from typing import NamedTuple

import numpy as np
import pytest

import jfed
from jfed.algorithms import local_sgd
from jfed.data.load import where

pytestmark = pytest.mark.proof


class Recorded(NamedTuple):
    """Final test accuracy of seeds 0 to `seeds` - 1."""

    mean: float
    std: float
    seeds: int


def digits(model, rate, rounds):
    training = jfed.Training(
        samples_per_client=35,
        test_fraction=0.0,
        test_set="official",
        model=model,
        algorithm=local_sgd.Options(learning_rate=rate),
        batch_size=10,
    )
    return jfed.Config(num_clients=40, cohort_size=8, num_rounds=rounds, eval_every=rounds, training=training)


def letters():
    training = jfed.Training(dataset="emnist_letters", model="e3cs-emnist")
    return jfed.Config(num_rounds=20, eval_every=20, training=training)


def check(config, scheme, recorded, tested):
    seeds = range(recorded.seeds, recorded.seeds + tested)
    accuracy = jfed.run(jfed.methods(config, [scheme]), seeds, progress=False)["test_accuracy"].values[:, -1]
    band = 4 * recorded.std * math.sqrt(1 / recorded.seeds + 1 / tested)
    assert np.mean(accuracy) == pytest.approx(recorded.mean, abs=band), accuracy


@pytest.mark.parametrize(
    ("scheme", "recorded"),
    [
        ("uniform", Recorded(0.7811, 0.0582, 20)),
        ("e3cs-0.5", Recorded(0.7751, 0.0563, 20)),
        ("fedcs", Recorded(0.7276, 0.0611, 20)),
    ],
)
def test_softmax_regression_on_digits(scheme, recorded):
    check(digits("linear", 0.1, 40), scheme, recorded, 20)


@pytest.mark.parametrize(
    ("scheme", "recorded"),
    [
        ("uniform", Recorded(0.7718, 0.0325, 12)),
        ("e3cs-0.5", Recorded(0.8398, 0.0445, 12)),
        ("fedcs", Recorded(0.8414, 0.0287, 12)),
    ],
)
def test_a_convolutional_network_on_digits(scheme, recorded):
    check(digits("cnn", 0.2, 160), scheme, recorded, 6)


@pytest.mark.skipif(not where("emnist_letters"), reason="EMNIST letters are not here: jfed data get emnist-letters")
def test_the_network_of_e3cs_on_letters():
    check(letters(), "fedcs", Recorded(0.2533, 0.0260, 4), 1)
