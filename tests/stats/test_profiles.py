"""Tests of profiles, interquartile means and chances of improvement: by hand, and the same seeds for all schemes."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jfed.stats.bootstrap import iqm
from jfed.stats.locations import Estimate
from jfed.stats.paired import measure
from jfed.stats.profiles import iqm_intervals, performance_profiles, probability_of_improvement

FEW = settings(max_examples=25)
ROUNDING = {"abs": 1e-12}


def all_resamples(n):
    return list(itertools.product(range(n), repeat=n))


def test_profile_by_hand():
    scores = {"a": [[0.1, 0.5], [0.3, 0.7], [0.5, math.nan]], "b": [[1.0, 1.0]] * 3}
    found = performance_profiles(scores, [0.0, 0.3, 0.6, 2.0], resamples=50)
    assert found.schemes["a"].share == pytest.approx([5 / 6, 4 / 6, 1 / 6, 0])  # the failed run reaches nothing
    assert found.schemes["b"].share.tolist() == [1, 1, 1, 0]
    assert (found.num_seeds, found.num_tasks, found.level) == (3, 2, 0.95)
    falling = performance_profiles(scores, [0.3, 0.6], higher_is_better=False, resamples=50)
    assert falling.schemes["a"].share == pytest.approx([2 / 6, 4 / 6])
    assert found.schemes["b"].low.tolist() == found.schemes["b"].high.tolist() == [1, 1, 1, 0]


def test_profile_band_by_hand():
    """Two of three runs reach the threshold; of 27 resamples 1, 6, 12 and 8 reach it 0, 1, 2 and 3 times."""
    found = performance_profiles({"a": [1, 2, 0]}, [1.0], level=0.9, resamples=4000).schemes["a"]
    assert (found.low[0], found.high[0]) == pytest.approx((1 / 3, 1.0))  # 1/27 < 5 % < 7/27
    found = performance_profiles({"a": [1, 2, 0]}, [1.0], level=0.3, resamples=4000).schemes["a"]
    assert (found.low[0], found.high[0]) == pytest.approx((2 / 3, 2 / 3))  # 7/27 < 35 %, 65 % < 19/27


def test_tasks_are_resampled_by_themselves():
    """If each of two tasks draws its own seeds, both draw only the worst of 3 with probability 1 / 27^2, not 1 / 27."""
    scores = {"a": np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]])}
    found = performance_profiles(scores, [0.5], level=0.96, resamples=4000).schemes["a"]
    alone = performance_profiles({"a": scores["a"][:, 0]}, [0.5], level=0.96, resamples=4000).schemes["a"]
    assert alone.low[0] == 0.0  # 1/27 > 2 %
    # Of 6 draws, each 1 with probability 2/3, at most one is 1 with 1.8 %, and at most two with 10 %.
    assert found.low[0] == pytest.approx(2 / 6)


@FEW
@given(st.integers(3, 8), st.integers(1, 3), st.integers(0, 10**6))
def test_the_same_seeds_for_all_schemes(n, tasks, number):
    x = np.random.default_rng(number).normal(size=(n, tasks))
    scores = {"a": x, "b": x + 1, "c": -x}
    found = iqm_intervals(scores, resamples=99, seed=number)
    assert found["b"].low == pytest.approx(found["a"].low + 1, **ROUNDING)
    assert (found["c"].low, found["c"].high) == pytest.approx((-found["a"].high, -found["a"].low), **ROUNDING)
    # Together with others or alone, a scheme has the same interval.
    assert iqm_intervals({"c": -x}, resamples=99, seed=number)["c"] == found["c"]
    assert found["a"].low <= found["a"].high and found["a"].value == pytest.approx(iqm(x.ravel()))
    curves = performance_profiles(scores, np.linspace(-3, 3, 7), resamples=99, seed=number).schemes
    moved = performance_profiles({"b": x}, np.linspace(-4, 2, 7), resamples=99, seed=number).schemes["b"]
    assert (curves["b"].low == moved.low).all() and (curves["b"].high == moved.high).all()
    for one in curves.values():
        assert ((one.low >= 0) & (one.low <= one.high) & (one.high <= 1)).all()
        assert (np.diff(one.share) <= 0).all() and (np.diff(one.low) <= 1e-9).all()


def test_iqm_interval_of_all_resamples():
    """With 5 seeds the 3125 resamples can be listed; random ones agree about the 5 % and 95 % quantiles."""
    x = np.array([0.0, 1.0, 4.0, 9.0, 16.0])
    expected = np.quantile([iqm(x[list(rows)]) for rows in all_resamples(5)], [0.05, 0.95])
    found = iqm_intervals({"a": x}, level=0.9)["a"]
    assert found.value == pytest.approx(14 / 3)
    assert (found.low, found.high) == pytest.approx(tuple(expected), abs=0.4)


def test_probability_of_improvement():
    x, y = np.array([1.0, 2, 4, 4]), np.array([0.0, 3, 3, 4])
    found = probability_of_improvement(x, y, level=0.9)
    assert found.value == measure(x, y, higher_is_better=True).a12
    resampled = [measure(x[list(r)], y[list(r)], higher_is_better=True).a12 for r in all_resamples(4)]
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(resampled, [0.05, 0.95])), abs=0.04)
    lower = probability_of_improvement(x, y, higher_is_better=False, level=0.9)
    assert (lower.value, lower.low) == pytest.approx((1 - found.value, 1 - found.high), abs=0.04)
    assert probability_of_improvement([1, math.inf, math.inf], [0, 1, math.inf]).value == pytest.approx(6.5 / 9)
    two = probability_of_improvement(np.column_stack([x, x]), np.column_stack([y, x - 9]))
    assert two.value == pytest.approx((found.value + 1) / 2)


def test_few_seeds_and_failed_runs():
    for call in (
        lambda x: iqm_intervals({"a": x})["a"],
        lambda x: probability_of_improvement(x, np.zeros(np.shape(x))),
    ):
        found = call([1.0, 2.0])
        assert found.value in (1.5, 1.0) and math.isnan(found.low) and math.isnan(found.high)
        assert np.isnan([*call([1.0, 2.0, 3.0, math.nan])]).all()
    one = performance_profiles({"a": [1.0, 2.0]}, [1.5]).schemes["a"]
    assert one.share.tolist() == [0.5] and np.isnan([one.low, one.high]).all()
    assert iqm_intervals({"a": [5.0] * 4})["a"] == Estimate(5.0, 5.0, 5.0)
    censored = iqm_intervals({"a": [1.0, 2.0, 3.0, math.inf, math.inf]})["a"]
    assert 1 <= censored.low <= 3 and censored.value == censored.high == math.inf


@pytest.mark.parametrize(
    ("scores", "sentence"),
    [
        ({}, "there are no schemes"),
        ({"a": 3.0}, r"scores of 'a' must be \(seeds, tasks\) or \(seeds,\), got shape \(\)"),
        ({"a": []}, r"scores of 'a' must be \(seeds, tasks\) or \(seeds,\), got shape \(0,\)"),
        ({"a": [1.0], "b": [1.0, 2.0]}, r"'b' has scores of shape \(2,\), 'a' of \(1,\): use the same seeds"),
    ],
)
def test_scores_that_cannot_be(scores, sentence):
    with pytest.raises(ValueError, match=sentence):
        iqm_intervals(scores)


def test_other_errors():
    with pytest.raises(ValueError, match="thresholds must be a vector of numbers with at least one entry"):
        performance_profiles({"a": [1.0]}, [])
    with pytest.raises(ValueError, match="resamples must be at least 1, got 0"):
        iqm_intervals({"a": [1.0]}, resamples=0)
    with pytest.raises(ValueError, match="level must lie strictly between 0 and 1, got 95"):
        probability_of_improvement([1.0], [2.0], level=95)
