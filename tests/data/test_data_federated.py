"""Partitions of several seeds side by side."""

import numpy as np
import pytest

from jfed.core.errors import ConfigError
from jfed.data.federated import stack
from jfed.data.partition import partition, reserve, sizes, union_test

LABELS = np.repeat(np.arange(4), 50)


def parts(numbers, fraction=0.2, seeds=3):
    return [partition("iid", LABELS, numbers, fraction, np.random.default_rng(seed)) for seed in range(seeds)]


def test_stack_reserved():
    given = parts(np.array([30, 0, 1, 10]))
    data = stack(given)
    assert data.index.shape == (3, 4, 24)
    assert data.num_samples.tolist() == [[24, 0, 1, 8]] * 3
    assert data.test_index.shape == (3, 8)
    assert {a.dtype for a in (data.index, data.num_samples, data.test_index, data.num_test)} == {np.dtype(np.int32)}
    for seed, part in enumerate(given):
        np.testing.assert_array_equal(data.test_index[seed], union_test(part))
        np.testing.assert_array_equal(data.index[seed], part.train)


def valid(table, numbers):
    """Return which entries are real."""
    return np.arange(table.shape[-1]) < numbers[..., np.newaxis]


def test_no_image_is_both_trained_and_tested_on():
    data = stack(parts(np.array([30, 0, 1, 10])))
    for seed in range(3):
        trained = data.index[seed][valid(data.index[seed], data.num_samples[seed])]
        tested = data.test_index[seed][valid(data.test_index[seed], data.num_test[seed])]
        both = np.concatenate([trained, tested])
        assert len(np.unique(both)) == len(both) == 41


def test_seeds_of_different_width_are_padded():
    rng = np.random.default_rng(0)
    small = reserve([np.arange(1, 5), np.arange(5, 7)], 0.5, rng)
    large = reserve([np.arange(1, 3), np.arange(3, 11)], 0.25, rng)
    data = stack([small, large])
    assert data.index.shape == (2, 2, 6)
    assert data.num_samples.tolist() == [[2, 1], [2, 6]]
    assert data.test_index.shape == (2, 3)
    assert data.num_test.tolist() == [3, 2]
    real, real_test = valid(data.index, data.num_samples), valid(data.test_index, data.num_test)
    assert (data.index[~real] == 0).all()
    assert (data.test_index[~real_test] == 0).all()
    assert (data.index[real] > 0).all()


@pytest.mark.parametrize("fraction", [0, 0.2])
def test_official_test_images(fraction):
    data = stack(parts(sizes(4, 10), fraction), num_official_test=60)
    np.testing.assert_array_equal(data.test_index, np.tile(np.arange(60), (3, 1)))
    assert data.num_test.tolist() == [60] * 3


def test_refusals():
    with pytest.raises(ConfigError, match="no partition to stack: at least one seed is needed"):
        stack([])
    with pytest.raises(ConfigError, match=r"differ in their numbers of clients: \[3, 4\]"):
        stack([*parts(sizes(4, 10)), *parts(sizes(3, 10))])
    for arguments in ((parts(sizes(4, 10), 0),), (parts(sizes(4, 10)), 0)):
        with pytest.raises(ConfigError, match="there are no test images: reserve a fraction"):
            stack(*arguments)
