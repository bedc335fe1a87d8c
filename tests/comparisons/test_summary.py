"""Tests of summaries over seeds, and of the indices of even participation of clients."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from jfed.analysis import coefficient_of_variation, entropy, gini, jain, summarise

INDICES = (jain, coefficient_of_variation, entropy, gini)
FEW = settings(deadline=None, max_examples=50)
COUNTS = hnp.arrays(int, st.integers(2, 8), elements=st.integers(0, 1000)).filter(np.any)


def test_summarise_equals_scipy():
    x = np.array([0.2, 0.5, 0.9, 0.4])
    frame = pd.DataFrame({"scheme": "a", "seed": range(4), "acc": x})
    row = summarise(frame, "acc", alpha=0.1).rows[0]
    low, high = stats.t.interval(0.9, 3, x.mean(), stats.sem(x))
    assert (row.scheme, row.n, row.failed) == ("a", 4, ())
    assert (row.mean, row.sd) == pytest.approx((0.5, x.std(ddof=1)))
    assert (row.low, row.high) == pytest.approx((low, high))


def test_summarise_failed_and_single_runs():
    frame = pd.DataFrame(
        {
            "scheme": ["a", "a", "a", "b", "c"],
            "seed": [0, 1, 2, 0, 5],
            "acc": [1.0, math.nan, 3.0, 7.0, math.inf],
        }
    )
    a, b, c = summarise(frame, "acc").rows
    assert (a.n, a.failed, a.mean) == (2, (1,), 2.0)
    assert (b.n, b.mean) == (1, 7.0)
    assert all(math.isnan(value) for value in (b.sd, b.low, b.high, c.mean, c.low))
    assert (c.n, c.failed) == (0, (5,))
    assert summarise(frame, "acc").frame()["failed"].tolist() == ["1", "", "5"]
    with pytest.raises(ValueError, match="did you mean 'acc'"):
        summarise(frame, "accu")


def test_golden_values():
    assert jain([1, 1, 1, 1]) == 1.0
    assert jain([4, 0, 0, 0]) == 0.25
    assert jain([1, 2, 3]) == pytest.approx(36 / (3 * 14))
    assert coefficient_of_variation([1, 2, 3]) == pytest.approx(math.sqrt(2 / 3) / 2)
    assert coefficient_of_variation([4, 0, 0, 0]) == pytest.approx(math.sqrt(3))
    assert entropy([1, 1, 1, 1]) == pytest.approx(1.0)
    assert entropy([4, 0, 0, 0]) == 0.0
    assert entropy([1, 1, 0, 0]) == pytest.approx(0.5)
    assert gini([1, 1, 1]) == 0.0
    assert gini([4, 0, 0, 0]) == pytest.approx(0.75)
    # All ordered pairs of 1, 2, 3 differ by 8 in total: 8 / 9 / (2 x 2).
    assert gini([1, 2, 3]) == pytest.approx(8 / 9 / 4)


@FEW
@given(COUNTS)
def test_relations_between_the_indices(counts):
    n = len(counts)
    assert jain(counts) == pytest.approx(1 / (1 + coefficient_of_variation(counts) ** 2))
    assert 1 / n - 1e-12 <= jain(counts) <= 1 + 1e-12
    assert -1e-12 <= entropy(counts) <= 1 + 1e-12
    pairs = np.abs(counts[:, None] - counts[None, :]).mean()
    assert gini(counts) == pytest.approx(pairs / (2 * counts.mean()))
    for index in INDICES:
        assert index(counts[::-1] * 3) == pytest.approx(index(counts))
        stacked = index(np.stack([counts, counts[::-1]]))
        assert stacked.shape == (2,)
        assert stacked == pytest.approx([index(counts)] * 2)


@FEW
@given(COUNTS)
def test_a_run_of_fewer_clients_has_them_alone(counts):
    nobody = np.array([0.0, np.nan, np.nan])  # as runs of fewer clients are padded
    for index in INDICES:
        both = index(np.stack([np.concatenate([counts, nobody[1:]]), np.concatenate([counts, nobody[:1], nobody[:1]])]))
        assert both == pytest.approx([index(counts), index(np.append(counts, [0.0, 0.0]))])
        assert math.isnan(index(nobody[1:]))


def test_nothing_was_served():
    few = "counts need at least one client on the last axis"
    for index in INDICES:
        assert math.isnan(index([0, 0, 0]))
        mixed = index([[0, 0], [1, 1]])
        assert math.isnan(mixed[0])
        assert not math.isnan(mixed[1])
        for bad, message in ((5, few), ([], few), ([-1], "counts must not be negative")):
            with pytest.raises(ValueError, match=message):
                index(bad)
    assert math.isnan(entropy([3]))
