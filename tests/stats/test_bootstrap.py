"""Tests of bootstrap intervals by hand, against SciPy, and for constant, few, failed or censored scores."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from jfed.stats.bootstrap import bootstrap_interval, iqm, ratio_of_medians

INF = math.inf
FEW = settings(max_examples=25)
ROUNDS = st.lists(st.tuples(st.integers(1, 500), st.integers(1, 500)), min_size=3, max_size=12)


def test_iqm_by_hand():
    assert iqm([9, 1, 2, 3]) == 2.5
    assert iqm([1, 2, 3, 4, 5, 6, 7, 100]) == 4.5
    # 5 values lose one at each end, 7 also, 3 none.
    assert iqm([100, 1, 2, 3, -50]) == 2.0
    assert iqm([0, 1, 2, 3, 4, 5, 90]) == 3.0
    assert iqm([1, 2, 6]) == 3.0
    assert iqm([5.0]) == 5.0


def test_iqm_of_arrays_and_of_what_is_not_finite():
    x = np.random.default_rng(0).normal(size=(3, 9))
    np.testing.assert_allclose(iqm(x), [np.sort(row)[2:7].mean() for row in x])
    np.testing.assert_allclose(iqm(x, axis=0), x.mean(0))
    # A censored seed may be trimmed away, a failed one must not be.
    assert iqm([1, 2, 3, INF]) == 2.5
    assert iqm([1, INF, 3, INF]) == INF
    assert math.isnan(iqm([1, 2, 3, math.nan]))
    assert math.isnan(iqm([-INF, -INF, INF, INF]))
    assert np.isnan(iqm([[1, 2, math.nan, 3], [1, 2, 2, 3]])).tolist() == [True, False]


def test_percentile_and_bca_by_hand():
    """With differences 0, 0, 3 the mean of a resample is the number of threes, binomial(3, 1/3).

    Its distribution is 8/27, 12/27, 6/27, 1/27, so the 5 % and 95 % quantiles are 0 and 2. BCa has
    z0 = Phi^-1((8/27 + 20/27) / 2) = 0.0464 and a = (6/27) / (6/9)^1.5 / 6 = 0.0680, and hence takes the
    quantiles 8.2 % and 97.5 % instead, which are 0 and 3.
    """
    assert bootstrap_interval([0, 0, 3], level=0.9, method="percentile") == (0.0, 2.0)
    assert bootstrap_interval([0, 0, 3], level=0.9, method="BCa") == (0.0, 3.0)
    # A symmetric sample: both methods take the same quantiles. 1/27 < 5 % < 4/27 gives a sum of 1, and by symmetry 5.
    for method in ("percentile", "BCa"):
        assert bootstrap_interval([0, 1, 2], level=0.9, method=method) == pytest.approx((1 / 3, 5 / 3))


@pytest.mark.parametrize("method", ["BCa", "percentile"])
@pytest.mark.parametrize(("name", "function"), [("mean", np.mean), ("median", np.median), ("iqm", None)])
def test_equals_scipy(name, function, method):
    x = np.random.default_rng(3).exponential(size=21) - 0.3

    def middle(v, axis):
        return stats.trim_mean(v, 0.25, axis=axis)

    expected = stats.bootstrap(
        (x,), function or middle, confidence_level=0.9, n_resamples=2500, method=method, rng=np.random.default_rng(7)
    ).confidence_interval
    found = bootstrap_interval(x, name, 0.9, method, 2500, 7)
    assert found == pytest.approx(tuple(expected))
    assert found != pytest.approx(bootstrap_interval(x, name, 0.8, method, 2500, 7))


def test_bca_of_a_large_normal_sample_is_the_t_interval():
    x = np.random.default_rng(5).normal(0.2, 1, 400)
    expected = stats.t.interval(0.95, 399, x.mean(), stats.sem(x))
    assert bootstrap_interval(x) == pytest.approx(expected, abs=0.01)


def test_coverage_of_a_skewed_mean():
    """A 90 % interval of an exponential mean from 25 seeds nearly keeps its level; BCa is slightly too short there."""
    rng = np.random.default_rng(11)
    intervals = [bootstrap_interval(rng.exponential(size=25), level=0.9, resamples=499, seed=i) for i in range(300)]
    held = np.mean([low <= 1 <= high for low, high in intervals])
    assert 0.82 <= held <= 0.95


@FEW
@given(st.lists(st.integers(-50, 50), min_size=3, max_size=10), st.sampled_from(["mean", "iqm", "median"]))
def test_moves_with_the_differences(values, statistic):
    x = np.array(values, float)
    low, high = bootstrap_interval(x, statistic, method="percentile", resamples=200)
    assert x.min() <= low <= high <= x.max()
    moved = bootstrap_interval(3 * x + 7, statistic, method="percentile", resamples=200)
    assert moved == pytest.approx((3 * low + 7, 3 * high + 7))
    bca = bootstrap_interval(x, statistic, resamples=200)
    assert np.isnan(bca).all() or x.min() <= bca[0] <= bca[1] <= x.max()


def test_constant_few_and_failed():
    nothing = pytest.approx((math.nan, math.nan), nan_ok=True)
    assert bootstrap_interval([0.5] * 5, method="percentile") == (0.5, 0.5)
    assert bootstrap_interval([0.0] * 5, method="percentile") == (0.0, 0.0)
    assert bootstrap_interval([0.5] * 5, method="BCa") == nothing
    # The same up to rounding.
    almost = [0.3 - 0.2, 0.2 - 0.1, 0.1]
    assert len(set(almost)) > 1
    assert bootstrap_interval(almost, method="percentile") == (almost[0], almost[0])
    # The median of five equal values and an outlier never changes when one is left out: BCa has no acceleration.
    assert bootstrap_interval([1, 1, 1, 1, 1, 9], "median", method="BCa") == nothing
    for method in ("BCa", "percentile"):
        assert bootstrap_interval([1.0, 2.0], method=method) == nothing
        assert bootstrap_interval([], method=method) == nothing
        assert bootstrap_interval([1, 2, 3, math.nan], method=method) == nothing
        assert bootstrap_interval([1, 2, 3, INF], method=method) == nothing


def test_unusable_arguments():
    with pytest.raises(ValueError, match="statistic must be one of mean, iqm, median, got 'mode'"):
        bootstrap_interval([1, 2, 3], "mode")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="method must be 'BCa' or 'percentile', got 'basic'"):
        bootstrap_interval([1, 2, 3], method="basic")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="level must lie strictly between 0 and 1, got 95"):
        bootstrap_interval([1, 2, 3], level=95)
    with pytest.raises(ValueError, match="seed must not be negative, got -1"):
        bootstrap_interval([1, 2, 3], seed=-1)
    with pytest.raises(ValueError, match="resamples must be at least 1, got 0"):
        bootstrap_interval([1, 2, 3], resamples=0)
    with pytest.raises(ValueError, match=r"must have one value per seed, \(n,\), got shape \(1, 3\)"):
        bootstrap_interval([[1, 2, 3]])
    with pytest.raises(ValueError, match="both values of each seed, got 3 and 2"):
        ratio_of_medians([1, 2, 3], [1, 2])
    with pytest.raises(ValueError, match="a ratio of medians needs values of 0 or more"):
        ratio_of_medians([1, -2, 3], [1, 2, 3])


def test_ratio_keeps_the_seeds_together():
    b = np.array([3.0, 40.0, 500.0, 6.0, 70.0])
    assert ratio_of_medians(2 * b, b) == (2.0, 2.0)
    # With the values of other seeds the ratio varies a hundredfold.
    low, high = ratio_of_medians(2 * b, b[::-1])
    assert low < 0.5 and high > 10


def test_ratio_equals_scipy():
    rng = np.random.default_rng(1)
    a, b = rng.uniform(50, 100, 15), rng.uniform(20, 60, 15)

    def ratio(x, y, axis):
        return np.median(x, axis=axis) / np.median(y, axis=axis)

    expected = stats.bootstrap(
        (a, b), ratio, paired=True, vectorized=True, method="percentile", rng=np.random.default_rng(2)
    ).confidence_interval
    # The draws differ, and SciPy interpolates between two resamples.
    assert ratio_of_medians(a, b) == pytest.approx(tuple(expected), rel=0.03)


def test_ratio_by_hand():
    """For the seeds (1, 1), (2, 1), (4, 1) a resample's ratio is 1, 2, 4 with probabilities 7, 13, 7 of 27."""
    assert ratio_of_medians([1, 2, 4], [1, 1, 1], level=0.6) == (1.0, 4.0)  # 20 % < 7/27 at either end
    assert ratio_of_medians([1, 2, 4], [1, 1, 1], level=0.4) == (2.0, 2.0)
    assert ratio_of_medians([5, 5, 5], [2, 2, 2], resamples=1) == (2.5, 2.5)


def test_ratio_takes_the_right_resamples():
    a, b = np.random.default_rng(4).uniform(10, 90, (2, 20))
    # Of 39 resamples, 95 % and above take the first and the last, 90 % the second from either end.
    outermost = ratio_of_medians(a, b, level=0.95, resamples=39)
    assert ratio_of_medians(a, b, level=0.9999, resamples=39) == outermost
    low, high = ratio_of_medians(a, b, level=0.9, resamples=39)
    assert outermost[0] < low < high < outermost[1]


def test_ratio_of_censored_runs():
    finite = [100.0, 110, 120, 130, 140, 150, 160]
    never = [INF] * 7
    assert ratio_of_medians(never, finite) == (INF, INF)
    assert ratio_of_medians(finite, never) == (0.0, 0.0)
    assert ratio_of_medians(finite, [0.0] * 7) == (INF, INF)
    for a, b in ((never, never), ([0.0] * 7, [0.0] * 7), ([*finite[:6], math.nan], finite), (finite[:2], finite[:2])):
        assert np.isnan(ratio_of_medians(a, b)).all()


def test_resamples_without_a_ratio_only_widen_the_interval():
    # Four of seven seeds reach the target in both: four or more seeds of a resample are often censored.
    a = np.array([100, 110, 120, 130, INF, INF, INF])
    assert ratio_of_medians(a, a) == (0.0, INF)
    # One of nine is censored: five or more in a resample have probability 0.2 %, too little to reach the ends at 95 %.
    a = np.array([100, 110, 120, 130, 140, 150, 160, 170, INF])
    assert ratio_of_medians(a, a) == (1.0, 1.0)
    low, high = ratio_of_medians(a, a, level=0.999)
    assert (low, high) == (0.0, INF)


@FEW
@given(ROUNDS, st.integers(0, 4))
def test_ratio_of_the_two_in_reverse(pairs, censored):
    a, b = np.array(pairs, float).T
    a[:censored] = INF
    b[censored // 2 : censored] = INF
    low, high = ratio_of_medians(a, b, resamples=199)
    back_low, back_high = ratio_of_medians(b, a, resamples=199)
    with np.errstate(divide="ignore"):
        back = np.divide(1.0, [back_high, back_low])
    np.testing.assert_allclose([low, high], back)
