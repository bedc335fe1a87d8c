"""Tests of Page's trend test and the intersection-union test of an order (SciPy, tables and brute force)."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from jfed.stats.ordering import intersection_union, page
from jfed.stats.signflip import sign_flip

NAMES = ("a", "b", "c", "d")


def test_page_of_cotton_fibres():
    """Hollander and Wolfe's breaking strengths for five amounts of potash give L = 158.

    Page's (1963) table for three rows and five columns has 150 at 0.05, 155 at 0.01, 160 at 0.001.
    """
    strength = [[7.46, 7.17, 7.76, 8.14, 7.63], [7.68, 7.57, 7.73, 8.15, 8.00], [7.21, 7.80, 7.74, 7.87, 7.93]]
    result = page(strength, higher_is_better=False)
    assert (result.statistic, result.exact) == (158.0, True)
    assert 0.001 < result.p < 0.01
    # The same order reversed, as for a metric where higher is better.
    assert page(-np.array(strength)) == result


@pytest.mark.parametrize(("n", "k"), [(2, 3), (7, 3), (5, 4), (4, 6), (3, 8), (20, 3)])
def test_page_equals_scipys_exact_form(n, k):
    rng = np.random.default_rng(n * k)
    scores = rng.normal(size=(n, k)) - 0.2 * np.arange(k)
    scipy = stats.page_trend_test(-scores, method="exact")
    result = page(scores)
    assert (result.statistic, result.exact) == (scipy.statistic, True)
    assert result.p == pytest.approx(scipy.pvalue, rel=1e-9)


@pytest.mark.parametrize(("n", "k"), [(5, 9), (101, 3)])
def test_page_equals_scipys_normal_form_beyond(n, k):
    scores = np.random.default_rng(k).normal(size=(n, k)) - 0.05 * np.arange(k)
    scipy = stats.page_trend_test(-scores, method="asymptotic")
    result = page(scores)
    assert (result.statistic, result.exact) == (scipy.statistic, False)
    assert result.p == pytest.approx(scipy.pvalue)


@settings(max_examples=40)
@given(hnp.arrays(int, st.sampled_from([(2, 3), (3, 3), (2, 4)]), elements=st.integers(0, 2)))
def test_page_with_ties_counts_all_orders(scores):
    ranks = stats.rankdata(-scores, axis=1)
    predicted = np.arange(1, scores.shape[1] + 1)
    sums = [[np.dot(predicted, order) for order in itertools.permutations(row)] for row in ranks]
    totals = np.array([sum(some) for some in itertools.product(*sums)])
    result = page(scores)
    assert result.statistic == np.sum(ranks @ predicted)
    assert result.p == pytest.approx(np.mean(totals >= result.statistic))


def test_page_with_ties_in_its_normal_form():
    """The normal p agrees with 4000 random orders of each row's tied ranks, within 4 standard errors."""
    scores = np.random.default_rng(3).integers(0, 3, (101, 6))
    normal = page(scores)
    assert not normal.exact
    ranks = stats.rankdata(-scores, axis=1)
    rng = np.random.default_rng(0)
    shuffled = rng.permuted(np.broadcast_to(ranks, (4000, *ranks.shape)), axis=-1)
    sampled = np.mean(np.sum(shuffled @ np.arange(1, 7), axis=1) >= normal.statistic)
    assert 0.01 < normal.p < 0.99
    assert normal.p == pytest.approx(sampled, abs=4 * np.sqrt(sampled * (1 - sampled) / 4000))


def test_page_where_all_tie():
    assert page(np.ones((5, 4))).p == 1.0
    large = page(np.ones((101, 4)))
    assert (large.p, large.exact) == (1.0, False)


def test_steps_are_scipys_one_sided_t_tests():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(12, 4)) + 1.5 * np.arange(4)[::-1]
    result = intersection_union(x, NAMES)
    expected = [stats.ttest_rel(x[:, j], x[:, j + 1], alternative="greater").pvalue for j in range(3)]
    assert [step.p for step in result.steps] == pytest.approx(expected)
    assert result.p == max(step.p for step in result.steps)
    assert [(step.better, step.worse, step.n, step.note) for step in result.steps] == [
        ("a", "b", 12, ""),
        ("b", "c", 12, ""),
        ("c", "d", 12, ""),
    ]
    assert [step.difference for step in result.steps] == pytest.approx(-np.diff(x.mean(0)))
    assert result.p < 0.05
    assert result.first_failing is None

    flipped = intersection_union(-x, NAMES, higher_is_better=False)
    assert [step.p for step in flipped.steps] == pytest.approx(expected)
    assert [step.difference for step in flipped.steps] == pytest.approx(np.diff(x.mean(0)))

    signs = intersection_union(x, NAMES, test="sign-flip")
    assert [step.p for step in signs.steps] == [sign_flip(x[:, j] - x[:, j + 1], "greater").p for j in range(3)]


def test_first_failing_step_and_its_level():
    # Differences 2, 3, 4 have t = 3 sqrt(3), and 1, 1, 4 have t = 2; with 2 degrees of freedom the
    # tail is (1 - t / sqrt(2 + t^2)) / 2, hence 0.01755 and 0.09175.
    steps = np.array([[2, 1, 2], [3, 1, 3], [4, 4, 4]])
    x = -np.concatenate([np.zeros((3, 1)), np.cumsum(steps, axis=1)], axis=1)
    result = intersection_union(x, NAMES)
    assert [step.p for step in result.steps] == pytest.approx([0.01755, 0.09175, 0.01755], abs=5e-6)
    assert result.first_failing == result.steps[1]
    assert result.p == result.steps[1].p
    assert intersection_union(x, NAMES, alpha=0.01).first_failing == result.steps[0]
    assert intersection_union(x, NAMES, alpha=0.1).first_failing is None


@pytest.mark.parametrize("test", ["t", "sign-flip"])
def test_constant_and_identical_steps(test):
    """p is 2^-n if better by a constant and 1 if equal or worse by a constant, also up to rounding."""
    base = np.array([0.31, 0.52, 0.73, 0.84, 0.95, 0.26])
    x = np.stack([base, base - 0.1, base - 0.1, base], axis=1)
    assert len(np.unique(x[:, 0] - x[:, 1])) > 1
    result = intersection_union(x, NAMES, test=test)
    assert [step.p for step in result.steps] == [2.0**-6, 1.0, 1.0]
    assert [step.note for step in result.steps] == ["constant difference", "identical", "constant difference"]
    assert result.p == 1.0
    assert result.first_failing == result.steps[1]
    assert intersection_union(x[:, :2], "ab", test=test).p == 2.0**-6
    assert intersection_union(x[:, :2], "ab", test=test, higher_is_better=False).p == 1.0
    # Beyond the patterns that sign_flip enumerates, a constant still has its exact p.
    many = np.stack([np.ones(30), np.zeros(30)], axis=1)
    assert intersection_union(many, "ab", test=test).p == 2.0**-30


def test_one_seed():
    result = intersection_union([[2.0, 1.0, 0.0]], "abc")
    assert math.isnan(result.p)
    assert result.first_failing == result.steps[0]
    assert result.steps[0].note == "needs >= 2 seeds"
    assert intersection_union([[2.0, 1.0, 0.0]], "abc", test="sign-flip").p == 0.5


def test_the_claim_keeps_its_level_with_one_step_of_nothing():
    """As in Berger's theorem, a large step and one of size 0 reach the level, within 4 standard errors.

    The level is one half, so that few repetitions tell it from a corrected quarter.
    """
    scores = np.random.default_rng(8).normal([9.0, 0.0, 0.0], size=(200, 8, 3))
    claimed = [intersection_union(one, "abc", alpha=0.5).first_failing is None for one in scores]
    assert abs(np.mean(claimed) - 0.5) < 4 * np.sqrt(0.25 / 200)


def test_errors():
    good = np.arange(6.0).reshape(2, 3)
    for bad in (good[0], good * math.nan):
        with pytest.raises(
            ValueError, match="scores must be a finite matrix, a row per seed and a column per scheme, got shape"
        ):
            page(bad)
        with pytest.raises(
            ValueError, match="scores must be a finite matrix of seeds by at least two schemes, got shape"
        ):
            intersection_union(bad, "abc")
    for bad in (good[:1], good[:, :2]):
        with pytest.raises(ValueError, match="Page's test needs at least two seeds and three schemes, got"):
            page(bad)
    for names in ("ab", "aab"):
        with pytest.raises(ValueError, match="names must be 3 different schemes, one per column, got"):
            intersection_union(good, names)
    with pytest.raises(ValueError, match="test must be 't' or 'sign-flip', got 'z'"):
        intersection_union(good, "abc", test="z")
    with pytest.raises(ValueError, match="alpha must lie strictly between 0 and 1, got 0"):
        intersection_union(good, "abc", alpha=0)
