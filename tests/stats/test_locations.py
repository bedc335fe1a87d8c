"""Tests of the intervals that belong to rank and sign-flip tests: exactly the shifts that the test does not reject."""

import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy import stats

from jfed.stats.locations import Estimate, hodges_lehmann, hodges_lehmann_shift, typical_values
from jfed.stats.signflip import sign_flip

FEW = settings(max_examples=30, deadline=None)
LEVELS = st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99, 1 - 1 / 16, 1 - 1 / 64])
DARWIN = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]


def candidates(values):
    """Return all values at which a test's decision can change, and points between and beyond them."""
    at = np.unique(np.round(values, 12))
    return np.concatenate([at, (at[1:] + at[:-1]) / 2, [at[0] - 1, at[-1] + 1]])


def inside(ends, values):
    """Return whether values are in the closed interval, up to rounding; an interval without ends holds everything."""
    low, high = np.nan_to_num(ends, nan=math.inf) * [-1 if math.isnan(ends[0]) else 1, 1]
    return (values >= low - 1e-9) & (values <= high + 1e-9)


def means_of_sets(d):
    return [np.mean(d[[bool(s >> i & 1) for i in range(len(d))]]) for s in range(1, 2 ** len(d))]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=7), LEVELS)
@example([1, 2, 3, 4, 5], 1 - 1 / 16)  # p equals alpha at the first mean
@example([0, 0, 0, 0, 0, 0, 0], 0.95)
@example([3, 3, 3, -1, 2, 2, 7, 7], 0.9)
def test_typical_values_are_those_that_sign_flips_do_not_reject(whole, level):
    d = np.array(whole, float)
    points = candidates(means_of_sets(d))
    if len(points) > 60:
        points = points[:: len(points) // 60]
    accepted = np.array([sign_flip(d - mu).p >= 1 - level - 1e-12 for mu in points])
    assert (inside(typical_values(d, level), points) == accepted).all()


@settings(max_examples=6, deadline=None)
@given(st.lists(st.integers(-99, 99), min_size=8, max_size=12), LEVELS)
def test_typical_values_of_more_seeds(whole, level):
    d = np.array(whole, float)
    low, high = typical_values(d, level)
    # Two distinct means are at least 1 / (12 * 11) apart, further than the rounding that the test allows for.
    for mu, accepted in ((low, True), (high, True), (low - 0.004, False), (high + 0.004, False)):
        assert (sign_flip(d - mu).p >= 1 - level - 1e-12) == accepted


def test_typical_values_by_hand():
    # Sets of 1, 2, 4 have the means 1, 1.5, 2, 7/3, 2.5, 3, 4; at 50 % of 8 patterns k = ceil(2) - 1 = 1.
    assert typical_values([1, 2, 4], 0.5) == (1.0, 4.0)
    assert typical_values([1, 2, 4], 0.2) == (2.0, 2.5)  # k = ceil(3.2) - 1
    assert np.isnan(typical_values([1, 2, 4], 0.75)).all()
    assert np.isnan(typical_values([1, 2, 3, 4, 5])).all()
    assert typical_values([6, 1, 2, 3, 4, 5]) == (1.0, 6.0)
    low, high = typical_values(DARWIN)  # p of no difference is 2 * 863 / 2^15 = 0.0527: 0 is inside, not by much
    assert -1 < low <= 0 and high < 45


def test_many_seeds_draw_sets():
    d = np.random.default_rng(3).normal(1, 1, 24)
    ends = typical_values(d, resamples=19_999, seed=1)
    assert ends == typical_values(d, resamples=19_999, seed=1) != typical_values(d, resamples=19_999, seed=2)
    # These differences are nearly normal, so that the t interval is close.
    expected = stats.t.interval(0.95, 23, d.mean(), stats.sem(d))
    assert ends == pytest.approx(expected, abs=0.1 * (expected[1] - expected[0]))
    for mu, accepted in ((ends[0] + 0.02, True), (ends[0] - 0.02, False)):
        assert (sign_flip(d - mu).p >= 0.05) == accepted
    assert np.isnan(typical_values(d, resamples=19)).all()  # R + 1 = 20, k = ceil(0.5) - 1
    # A set is empty once in 2^21 draws: with 21 seeds and these draws, never a division by zero.
    assert np.isfinite(typical_values(np.arange(21.0), resamples=30_000)).all()


def test_typical_values_cover_exactly():
    """With 6 seeds and 80 %, k = ceil(6.4) - 1 = 6: a skew-free law is covered with probability 1 - 12 / 64."""
    rng = np.random.default_rng(0)
    held = [low <= 0 <= high for low, high in (typical_values(d, 0.8) for d in rng.standard_cauchy((3000, 6)))]
    assert abs(np.mean(held) - 0.8125) < 4 * math.sqrt(0.8125 * 0.1875 / 3000)


@FEW
@given(st.sets(st.integers(1, 400), min_size=1, max_size=11), st.integers(0, 2**11), LEVELS)
def test_hodges_lehmann_holds_what_wilcoxon_does_not_reject(sizes, signs, level):
    d = np.array([s if signs >> i & 1 else -s for i, s in enumerate(sorted(sizes))], float)
    found = hodges_lehmann(d, level)
    walsh = [(a + b) / 2 for i, a in enumerate(d) for b in d[i:]]
    assert found.value == np.median(walsh)
    for mu in candidates(walsh)[len(np.unique(walsh)) :][::3]:  # between averages there are neither ties nor zeros
        # Differences minus mu could still tie in size if mu were their midpoint, which is a Walsh average.
        accepted = stats.wilcoxon(d - mu, method="exact").pvalue >= 1 - level - 1e-12
        assert inside((found.low, found.high), mu) == accepted


def test_hodges_lehmann_of_darwins_maize():
    """R's wilcox.test(darwin, conf.int = TRUE, exact = TRUE) keeps averages 26 to 95 of 120: P(T <= 25) = 0.0240."""
    walsh = np.sort([(a + b) / 2 for i, a in enumerate(DARWIN) for b in DARWIN[i:]])
    found = hodges_lehmann(DARWIN)
    assert found == Estimate(np.median(walsh), walsh[25], walsh[-26])
    assert (found.low > 0) == (stats.wilcoxon(DARWIN, method="exact").pvalue < 0.05)


def test_hodges_lehmann_of_few_and_of_many():
    assert np.isnan([hodges_lehmann([1, 2, 3, 4, 5]).low, hodges_lehmann([7]).high]).all()
    assert hodges_lehmann([1, 2, 3, 4, 5]).value == hodges_lehmann([3]).value == 3.0
    assert hodges_lehmann([6, 1, 2, 3, 4, 5]) == Estimate(3.5, 1.0, 6.0)
    # Tables give 434 as the critical value of T for 50 seeds at 5 %, and so the 435th averages.
    d = np.sort(np.random.default_rng(0).normal(size=51))
    for n in (50, 51):
        first, second = np.triu_indices(n)
        walsh = np.sort((d[:n][first] + d[:n][second]) / 2)
        low = hodges_lehmann(d[:n]).low
        k = int(np.flatnonzero(walsh == low)[0]) + 1
        assert k == {50: 435, 51: 454}[n]
    just = (walsh[k - 2] + low) / 2
    assert stats.wilcoxon(d - just, method="asymptotic").pvalue < 0.05
    assert stats.wilcoxon(d - (walsh[k] + low) / 2, method="asymptotic").pvalue >= 0.05


@FEW
@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=6), st.lists(st.integers(0, 60), min_size=1, max_size=9), LEVELS
)
def test_shift_holds_what_mann_whitney_does_not_reject(x, y, level):
    found = hodges_lehmann_shift(x, y, level)
    differences = np.subtract.outer(np.array(x, float), y).ravel()
    assert found.value == np.median(differences)
    for mu in candidates(differences)[len(np.unique(differences)) :][::3]:
        moved = np.array(x) - mu + 1e-4 * np.sqrt(np.arange(len(x)))  # runs that tie within a group are set apart
        assume(len(np.unique(moved)) == len(x))
        apart = np.array(y) + 1e-4 * np.sqrt(np.arange(len(y)))
        accepted = stats.mannwhitneyu(moved, apart, method="exact").pvalue >= 1 - level - 1e-12
        assert inside((found.low, found.high), mu) == accepted


def test_shift_of_many_and_few_runs():
    rng = np.random.default_rng(4)
    x, y = rng.normal(1, 1, 12), rng.normal(0, 1, 9)
    found = hodges_lehmann_shift(x, y)
    for mu, accepted in ((found.low + 1e-9, True), (found.low - 1e-9, False), (found.high + 1e-9, False)):
        p = stats.mannwhitneyu(x - mu, y, method="asymptotic", use_continuity=True).pvalue
        assert (p >= 0.05) == accepted
    assert math.isnan(hodges_lehmann_shift([1, 2, 3], [4, 5, 6]).low)
    assert hodges_lehmann_shift([5, 6, 7, 8], [1, 2, 3, 4]) == Estimate(4.0, 1.0, 7.0)  # 2 of 70: p = 0.029
    # p is exactly 0.1 for 3 against 3: at 90 % that does not reject.
    assert math.isnan(hodges_lehmann_shift([1, 2, 3], [4, 5, 6], 0.9).low)
    many = hodges_lehmann_shift(np.arange(8.0), np.arange(1000.0))
    assert many.low < many.value < many.high


def test_errors():
    for call, name in ((hodges_lehmann, "differences"), (typical_values, "differences")):
        for bad in ([], [[1.0]], [1.0, math.nan], [math.inf]):
            with pytest.raises(ValueError, match=f"{name} must be a finite vector with at least one entry, got shape"):
                call(bad)
        with pytest.raises(ValueError, match="level must lie strictly between 0 and 1, got 95"):
            call([1.0, 2.0], 95)
    with pytest.raises(ValueError, match="reference must be a finite vector with at least one entry"):
        hodges_lehmann_shift([1.0], [])
    with pytest.raises(ValueError, match="level must lie strictly between 0 and 1, got 0"):
        hodges_lehmann_shift([1.0], [2.0], 0.0)
    with pytest.raises(ValueError, match="resamples must be at least 1, got 0"):
        typical_values([1.0], resamples=0)
