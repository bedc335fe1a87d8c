"""Tests of the sign-flip test against SciPy, brute force, exact counts and Fisher's own example."""

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from jfed.stats.signflip import sign_flip

ALTERNATIVES = ("two-sided", "greater", "less")


def test_fishers_example():
    """Darwin's 15 pairs of maize (Fisher 1935, section 21): 863 of 32768 sums reach the observed 314."""
    darwin = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
    result = sign_flip(darwin)
    assert (result.exact, result.n) == (True, 15)
    assert result.p == 2 * 863 / 32768
    assert sign_flip(darwin, "greater").p == 863 / 32768


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("n", [1, 2, 5, 11])
def test_equals_scipy(n, alternative):
    d = np.random.default_rng(n).normal(0.4, 1, n)
    # SciPy does not flip a single observation, so a zero, which changes no sum, is appended.
    data = np.append(d, 0.0)
    scipy = stats.permutation_test(
        (data,), np.mean, permutation_type="samples", alternative=alternative, n_resamples=np.inf
    )
    assert sign_flip(d, alternative).p == pytest.approx(scipy.pvalue, abs=1e-12)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=8), st.floats(1e-300, 1e300), st.sampled_from(ALTERNATIVES))
def test_counts_all_patterns(whole, unit, alternative):
    """All patterns are counted with ties and zeros, in any unit; whole numbers make brute force exact."""
    sums = np.array([np.dot(signs, whole) for signs in itertools.product((-1, 1), repeat=len(whole))])
    total = sum(whole)
    extreme = {"two-sided": abs(sums) >= abs(total), "greater": sums >= total, "less": sums <= total}[alternative]
    result = sign_flip(np.array(whole) * unit, alternative)
    assert result.exact
    assert result.p == extreme.mean()


def test_rounding_does_not_break_ties():
    # Each difference is 0.1 up to rounding, in double and in single precision.
    for kind in (np.float64, np.float32):
        scores = np.array([0.2, 0.3, 0.7, 0.9], dtype=kind)
        d = (scores - np.array([0.1, 0.4, 0.6, 0.8], dtype=kind)).astype(float)
        assert len(np.unique(np.abs(d))) > 1
        # Four patterns with one minus and one with none, of 16, reach the sum.
        assert sign_flip(d, "greater").p == 5 / 16


def test_most_patterns_that_are_counted():
    d = np.arange(1, 21)
    # 2 patterns reach the full sum, all others fall short.
    assert sign_flip(d).p == 2.0**-19
    # The distribution of the signed sum by convolution.
    d[:8] *= -1
    result = sign_flip(d)
    assert result.exact
    assert result.p == pytest.approx(_by_convolution(d), rel=1e-12)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_monte_carlo_agrees_with_the_exact_count(alternative):
    d = np.random.default_rng(5).integers(-20, 40, 40)
    d[:5] = -d[:5]
    d[np.abs(d) == 0] = 1
    d[:14] = -np.abs(d[:14])
    truth = _by_convolution(d, alternative)
    assert 0.01 < truth < 0.99
    result = sign_flip(d, alternative, resamples=20_000, seed=3)
    assert (result.exact, result.n) == (False, 40)
    assert result.p == pytest.approx(truth, abs=4 * np.sqrt(truth * (1 - truth) / 20_000))
    assert result == sign_flip(d, alternative, resamples=20_000, seed=3)
    assert result != sign_flip(d, alternative, resamples=20_000, seed=4)


def test_monte_carlo_never_gives_zero():
    assert sign_flip(np.ones(40), resamples=99).p == 1 / 100
    assert sign_flip(np.ones(40), "less", resamples=99).p == 1.0


def test_zeros_stay_and_decide_nothing():
    result = sign_flip([3, 0, 0, 1, 2])
    assert (result.p, result.n) == (0.25, 5)
    many = sign_flip(np.append(np.ones(6), np.zeros(30)))
    assert (many.p, many.exact, many.n) == (2 / 64, True, 36)
    for alternative in ALTERNATIVES:
        assert sign_flip([0.0, 0.0], alternative).p == 1.0


def test_memory_stays_small():
    tracemalloc.start()
    sign_flip(np.arange(1, 61), resamples=100_000)
    sign_flip(np.arange(1, 21))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6


def test_level_is_kept():
    """For symmetric differences, here far from normal, P(p <= 0.125) is 0.125."""
    rng = np.random.default_rng(0)
    p = np.array([sign_flip(d).p for d in rng.standard_cauchy((2000, 6))])
    assert abs(np.mean(p <= 0.125) - 0.125) < 4 * np.sqrt(0.125 * 0.875 / 2000)


def test_errors():
    for bad in ([], [[1.0, 2.0]], [1.0, np.nan], [np.inf], 3.0):
        with pytest.raises(ValueError, match="differences must be a finite vector with at least one entry, got shape"):
            sign_flip(bad)
    with pytest.raises(ValueError, match="alternative must be 'two-sided', 'greater' or 'less', got 'both'"):
        sign_flip([1.0], "both")
    with pytest.raises(ValueError, match="resamples must be at least 1, got 0"):
        sign_flip([1.0], resamples=0)


def _by_convolution(d: np.ndarray, alternative: str = "two-sided") -> float:
    size = int(np.abs(d).sum())
    chance = np.ones(1)
    for value in np.abs(d).tolist():
        step = np.zeros(2 * value + 1)
        step[[0, -1]] = 0.5
        chance = np.convolve(chance, step)
    sums = np.arange(-size, size + 1)
    total = int(d.sum())
    extreme = {"two-sided": abs(sums) >= abs(total), "greater": sums >= total, "less": sums <= total}[alternative]
    return float(chance[extreme].sum())
