"""Equivalence and non-inferiority against statsmodels and by hand."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from statsmodels.stats.weightstats import ttost_paired

from jfed.stats.equivalence import non_inferiority, tost

DIFFERENCES = hnp.arrays(float, st.integers(2, 8), elements=st.integers(-9, 9))


@given(DIFFERENCES, st.integers(-8, 0), st.integers(1, 8), st.sampled_from([0.01, 0.05, 0.2]))
def test_tost_equals_statsmodels(d, low, high, alpha):
    assume(np.ptp(d) > 0)
    p, (_, p_lower, _), (_, p_upper, _) = ttost_paired(d, np.zeros(len(d)), low, high)
    result = tost(d, low, high, alpha)
    assert (result.p, result.p_lower, result.p_upper) == pytest.approx((p, p_lower, p_upper), abs=1e-12)
    interval = stats.ttest_1samp(d, 0).confidence_interval(1 - 2 * alpha)
    assert (result.interval_low, result.interval_high) == pytest.approx((interval.low, interval.high), abs=1e-9)
    assert result.equivalent == (p < alpha)
    # Both criteria agree, except for a tie within rounding.
    inside = low < result.interval_low and result.interval_high < high
    assert result.equivalent == inside or math.isclose(p, alpha, rel_tol=1e-9)


def test_tost_by_hand():
    # Mean 0, standard error sqrt(2.5 / 5) = 0.7071; margins at 3 are t = sqrt(18) away, and with 4
    # degrees of freedom the tail has a closed form.
    result = tost([-2, -1, 0, 1, 2], -3, 3)
    assert (result.n, result.difference, result.note) == (5, 0.0, "")
    assert result.p == pytest.approx(0.5 - 3 / 8 * math.sqrt(18 / 5.5) * (1 - 18 / 66))
    # 2.131847 is the tabled quantile of t for 0.95.
    assert result.interval_high == pytest.approx(2.131847 * math.sqrt(0.5), abs=1e-6)
    assert result.interval_low == -result.interval_high
    assert result.equivalent
    assert not tost([-2, -1, 0, 1, 2], -3, 1.5).equivalent


@given(DIFFERENCES, st.integers(1, 9))
def test_non_inferiority_is_half_of_tost(d, margin):
    both = tost(d, -margin, margin)
    up, down = non_inferiority(d, margin), non_inferiority(d, margin, higher_is_better=False)
    assert (up.p, down.p) == (both.p_lower, both.p_upper)
    assert (up.bound, down.bound) == pytest.approx((both.interval_low, both.interval_high), nan_ok=True)
    assert (up.n, up.difference, up.note) == (both.n, both.difference, both.note)
    assert up.non_inferior == (up.p < 0.05)
    mirrored = non_inferiority(-d, margin, higher_is_better=False)
    assert (mirrored.p, mirrored.bound) == pytest.approx((up.p, -up.bound), nan_ok=True)


def test_non_inferiority_equals_scipy():
    d = np.array([0.3, -0.1, 0.2, -0.4, 0.1, 0.0])
    for higher, side, shifted in ((True, "greater", d + 0.25), (False, "less", d - 0.25)):
        expected = stats.ttest_1samp(shifted, 0, alternative=side).pvalue
        assert non_inferiority(d, 0.25, higher_is_better=higher).p == pytest.approx(expected)


@pytest.mark.parametrize(("n", "equivalent"), [(4, False), (5, True)])
def test_constant_difference(n, equivalent):
    """With a constant difference p is 2^-n on each side: 1/16 does not reach 0.05, 1/32 does."""
    result = tost(np.full(n, 0.01), -0.02, 0.02)
    assert (result.p_lower, result.p_upper, result.p) == (2.0**-n, 2.0**-n, 2.0**-n)
    assert (result.equivalent, result.note) == (equivalent, "constant difference")
    assert math.isnan(result.interval_low) and math.isnan(result.interval_high)
    one = non_inferiority(np.full(n, -0.01), 0.02)
    assert (one.p, one.non_inferior) == (2.0**-n, equivalent)
    assert math.isnan(one.bound)


def test_constant_difference_on_or_beyond_a_margin():
    # 0.3 - 0.2 is below 0.1 only by rounding: it counts as on the margin.
    on = tost(np.full(9, 0.3 - 0.2), -0.1, 0.1)
    assert 0.3 - 0.2 < 0.1
    assert (on.p_lower, on.p_upper, on.equivalent) == (2.0**-9, 1.0, False)
    beyond = tost(np.full(9, 0.5), -0.1, 0.1)
    assert (beyond.p_lower, beyond.p, beyond.equivalent) == (2.0**-9, 1.0, False)
    assert non_inferiority(np.full(9, 0.5), 0.1).non_inferior
    assert non_inferiority(np.full(9, 0.5), 0.1, higher_is_better=False).p == 1.0


def test_rounding_errors_are_not_a_spread():
    # Differences of schemes that are equal up to rounding; a t-test would find p = 1e-40 or so.
    noise = np.array([0.0, 1e-17, -1e-17, 2e-17])
    assert tost(noise, -0.01, 0.01).p == 2.0**-4
    assert non_inferiority(0.1 + noise * 5, 0.01).p == 2.0**-4


def test_level_on_the_margin():
    """A true difference at the margin is called equivalent in 5 % of experiments, within 4 standard errors."""
    d = np.random.default_rng(4).normal(1.0, 0.2, (1000, 10))
    share = np.mean([tost(one, -1, 1).equivalent for one in d])
    assert abs(share - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 1000)


def test_one_seed():
    result = tost([0.0], -1, 1)
    assert (result.n, result.difference, result.equivalent, result.note) == (1, 0.0, False, "needs >= 2 seeds")
    assert all(math.isnan(x) for x in (result.p, result.p_lower, result.p_upper, result.interval_low))
    one = non_inferiority([0.0], 1)
    assert math.isnan(one.p) and math.isnan(one.bound) and not one.non_inferior


def test_errors():
    for bad in ([], [[1.0]], [1.0, math.nan], [math.inf, 1.0]):
        with pytest.raises(ValueError, match="differences must be a finite vector with at least one entry, got shape"):
            tost(bad, -1, 1)
        with pytest.raises(ValueError, match="differences must be a finite vector with at least one entry, got shape"):
            non_inferiority(bad, 1)
    for low, high in ((1, 1), (2, 1), (-math.inf, 1), (0, math.nan)):
        with pytest.raises(ValueError, match=f"finite with low < high, got {low} and {high}"):
            tost([1.0, 2.0], low, high)
    for margin in (0, -1, math.inf, math.nan):
        with pytest.raises(ValueError, match=f"the margin must be positive and finite, got {margin}"):
            non_inferiority([1.0, 2.0], margin)
    for alpha in (0, 0.5, math.nan):
        with pytest.raises(ValueError, match=f"alpha must lie strictly between 0 and 0.5, got {alpha}"):
            tost([1.0, 2.0], -1, 1, alpha)
        with pytest.raises(ValueError, match=f"alpha must lie strictly between 0 and 0.5, got {alpha}"):
            non_inferiority([1.0, 2.0], 1, alpha=alpha)
