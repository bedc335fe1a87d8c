"""What a quantity's name says of its values: units, words and what is possible."""

import math

import numpy as np
import pytest

from jfed.results.meaning import axis, possible

FREE = (-math.inf, math.inf)
AMOUNT = (0.0, math.inf)


@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("test_accuracy", (0.0, 1.0)), ("test accuracy", (0.0, 1.0)), ("success ratio", (0.0, 1.0)),
        ("share of clients with a rate of 0.15", (0.0, 1.0)), ("client_accuracy", (0.0, 1.0)),
        ("test_loss", AMOUNT), ("round_time_s", AMOUNT), ("num_succeeded", AMOUNT), ("selector_queue_sum", AMOUNT),
        ("cumulative effective participation, models", AMOUNT), ("total time, s", AMOUNT),
        ("cumulative gap, s", FREE), ("cumulative regret, s", FREE), ("minus uniform", FREE), ("reward", FREE),
        ("1 - accuracy", FREE), ("log of the loss", FREE), ("accuracy minus that of uniform", FREE), ("x", FREE),
    ],
)  # fmt: skip
def test_what_is_possible(name, ends):
    assert possible(name) == ends


def test_values_overrule_words():
    assert possible("accuracy", np.array([0.2, np.nan]), np.array([np.inf])) == (0.0, 1.0)
    assert possible("accuracy, %", np.array([71.3])) == (0.0, 100.0)
    assert possible("accuracy", np.array([71.3])) == (0.0, math.inf)
    assert possible("loss", np.array([-0.1])) == FREE


def test_axes_have_words_and_units():
    assert axis("round_time_s") == "simulated time of the round, s"
    assert axis("num_succeeded") == "clients of the cohort that returned"
    assert axis("my_own_score") == "my own score"
