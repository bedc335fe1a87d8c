"""Tests of a model's fairness over clients, against the reference and by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import q_fedavg
from scipy import stats

from jfed.measures.fairness import fairness

VALUES = st.lists(st.floats(0.001, 5), min_size=1, max_size=43)


@settings(max_examples=100, deadline=None)
@given(runs=st.lists(VALUES, min_size=1, max_size=4), higher=st.booleans())
def test_it_is_what_the_reference_says(runs, higher):
    widest = max(map(len, runs))
    table = np.full((len(runs), widest), np.nan)
    for row, values in zip(table, runs, strict=True):
        row[: len(values)] = values
    found = fairness(table, higher_is_better=higher)
    for i, values in enumerate(runs):
        expected = q_fedavg.fairness(np.array(values), higher)
        for name, value in expected.items():
            # where values are nearly equal, both skewnesses are rounding errors
            same = name.startswith("skewness") and np.std(values) < 1e-9 * np.mean(values)
            assert same or np.isclose(found[name][i], value, rtol=1e-6, atol=1e-9, equal_nan=True), name


def test_skewness_is_scipys():
    values = np.random.default_rng(0).exponential(size=(3, 50))
    found = fairness(values, higher_is_better=False)
    np.testing.assert_allclose(found["skewness"], stats.skew(values, axis=1), rtol=1e-10)
    np.testing.assert_allclose(found["skewness_adjusted"], stats.skew(values, axis=1, bias=False), rtol=1e-10)


def test_by_hand():
    found = fairness([[3.0, 4.0]], higher_is_better=False)
    assert found["mean"] == 3.5 and found["variance"] == 0.25 and found["worst10"] == 4.0 and found["best10"] == 3.0
    assert (
        found["jain"][0] == pytest.approx(49 / 50) and found["skewness"] == 0 and np.isnan(found["skewness_adjusted"])
    )
    twenty = fairness([np.arange(20.0)], higher_is_better=True)
    assert twenty["worst10"] == 0.5 and twenty["best10"] == 18.5


def test_a_broken_run_has_no_numbers_and_does_no_harm():
    found = fairness([[np.nan, np.nan], [1.0, 3.0]], higher_is_better=False)
    assert all(np.isnan(x[0]) for x in found.values()) and found["mean"][1] == 2.0
    with pytest.raises(ValueError, match=r"values must be \(runs, clients\), found shape \(2,\)"):
        fairness([1.0, 2.0], higher_is_better=False)
