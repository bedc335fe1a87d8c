"""Clients with a given number of labels each."""

import re

import numpy as np
import pytest
from counting import label_counts

from jfed.core.errors import ConfigError
from jfed.data.partition import partition, sizes

LABELS = np.repeat(np.arange(10), 600)


def few(numbers, num_labels, seed=0, labels=LABELS):
    part = partition("few_labels", labels, numbers, 0.0, np.random.default_rng(seed), {"num_labels": num_labels})
    return [row[:n] for row, n in zip(part.train, part.num_train, strict=True)]


def test_cs_ucb_two_clients_of_five_digits_and_eight_of_one():
    hands = few(np.array([1500, 1500, *[300] * 8]), (5, 5, 1, 1, 1, 1, 1, 1, 1, 1))
    counts = label_counts(hands, LABELS)
    assert (np.sort(counts[:2], axis=1) == [0] * 5 + [300] * 5).all()
    assert counts[:2].sum(axis=0).tolist() == [300] * 10  # all ten digits between the two
    assert (np.sort(counts[2:], axis=1) == [0] * 9 + [300]).all()
    assert counts[2:].sum(axis=0).max() == 300  # eight different digits
    assert len(np.unique(np.concatenate(hands))) == 5400


def test_labels_are_as_even_as_can_be_and_which_is_drawn():
    counts = np.array([label_counts(few(sizes(5, 11), 2, seed), LABELS) for seed in range(20)])
    assert (np.sort(counts, axis=2)[:, :, -2:] == [5, 6]).all() and (counts.sum(axis=2) == 11).all()
    assert (np.sort(counts.sum(axis=1), axis=1) == [5] * 5 + [6] * 5).all()
    assert len({tuple(c[0]) for c in counts}) > 10


@pytest.mark.parametrize(
    ("numbers", "num_labels", "message"),
    [
        ([10, 10], (1, 2, 3), "there are 3 num_labels for 2 clients"),
        ([10, 10], 0, "num_labels must be whole numbers from 1 to 10, found 0"),
        ([10, 10], 11, "num_labels must be whole numbers from 1 to 10, found 11"),
        ([10, 10], 1.5, "num_labels must be whole numbers from 1 to 10, found 1.5"),
        ([601, 10], 1, "the clients ask for 601 images of label"),
        ([601, 10], 1, "but there are only 600: lower samples_per_client or num_clients"),
    ],
)
def test_what_cannot_be_is_refused(numbers, num_labels, message):
    with pytest.raises(ConfigError, match=re.escape(message)):
        few(np.array(numbers), num_labels)
