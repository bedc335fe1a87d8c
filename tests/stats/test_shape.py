"""Tests of the note on skewed and outlying differences: published outliers, its level, and what it detects."""

import math

import numpy as np
import pytest
from scipy import stats

from jfed.stats.shape import outlying, shape_note


def test_grubbs_own_example():
    """Grubbs (1969): of ten strengths of copper wire the largest has T = 2.39, an outlier at 5 % but not at 1 %."""
    strengths = [568, 570, 570, 570, 572, 572, 572, 578, 584, 596]
    assert (596 - np.mean(strengths)) / np.std(strengths, ddof=1) == pytest.approx(2.39, abs=0.005)
    assert outlying(strengths) is None
    assert outlying([*strengths[:-1], 660]) == 9


def test_the_critical_values_are_those_of_grubbs_table():
    """Table I of Grubbs and Beck (1972), one-sided 0.5 %: 1.764 for n = 5, 2.482 for n = 10, 3.236 for n = 30."""
    for n, critical in ((5, 1.764), (10, 2.482), (30, 3.236)):
        rest = np.random.default_rng(n).normal(size=n - 1)
        last = rest.max() + np.linspace(0, 60, 20_001)
        samples = np.column_stack([np.tile(rest, (len(last), 1)), last])
        statistic = (last - samples.mean(1)) / samples.std(1, ddof=1)  # grows with the last value
        assert outlying(samples[np.argmax(statistic > critical + 0.001)]) == n - 1
        assert outlying(samples[np.argmax(statistic > critical - 0.001) - 1]) is None


def test_notes():
    even = np.array([-3.0, -2, -1, 0, 1, 2, 3, -2.5, 2.5])
    assert shape_note(even) == ""
    assert shape_note([*even, 40.0]) == "one outlying seed: 9"
    assert shape_note([40.0, *even], seeds=range(7, 17)) == "one outlying seed: 7"
    assert shape_note([-40.0, *even], seeds=[*"abcdefghij"]) == "one outlying seed: a"
    skewed = np.exp(np.linspace(0, 5, 14))
    assert stats.skew(skewed, bias=False) == pytest.approx(1.747, abs=1e-3)
    assert shape_note(skewed) == "skewed (skewness 1.7)"
    assert shape_note(-skewed) == "skewed (skewness -1.7)"
    assert shape_note([*skewed, 800.0]) == "one outlying seed: 14; the others skewed (skewness 1.7)"
    assert shape_note(1e-6 * skewed + 5) == shape_note(skewed)


@pytest.mark.parametrize("d", [[], [1], [1, 5], [0, 0, 9], [2.0] * 12, [0.3 - 0.2, 0.2 - 0.1, 0.1] * 4])
def test_few_or_constant_differences_have_no_note(d):
    assert shape_note(d) == ""


def test_an_outlier_among_equal_values():
    assert shape_note([0.0] * 11 + [1.0]) == "one outlying seed: 11"


@pytest.mark.check
@pytest.mark.parametrize("n", [5, 10, 30])
def test_false_alarms_and_detection(n):
    """False alarms stay below the 2 % of two tests at 1 %; few seeds detect little, as the docstring says."""
    rng = np.random.default_rng(n)
    repetitions = 1000

    def noted(draw):
        return np.mean([shape_note(d) != "" for d in draw(size=(repetitions, n))])

    def four_errors(p):
        return 4 * math.sqrt(p * (1 - p) / repetitions)

    assert noted(rng.normal) < 0.02 + four_errors(0.02)
    rate = {5: 0.10, 10: 0.33, 30: 0.90}[n]
    assert abs(noted(rng.lognormal) - rate) < four_errors(rate) + 0.01


def test_errors():
    for bad in ([[1.0, 2.0]], [1.0, math.nan], [math.inf, 1.0]):
        with pytest.raises(ValueError, match="differences must be a finite vector, got shape"):
            shape_note(bad)
    with pytest.raises(ValueError, match="there must be a name for each of 3 seeds, got 2"):
        shape_note([1.0, 2.0, 3.0], seeds=[1, 2])
