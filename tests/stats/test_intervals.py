"""Tests of Holm's correction, of the number of seeds it requires, and of the coverage of the cut intervals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels_quietly import multipletests

from jfed.analysis import seeds_needed
from jfed.stats.intervals import cut_at_zero, holm, t_interval


def test_holm_by_hand():
    # Sorted 0.01, 0.03, 0.04 times 3, 2, 1, then never decreasing.
    assert holm(np.array([0.01, 0.04, 0.03])) == pytest.approx([0.03, 0.06, 0.06])
    # A missing p-value counts in the family.
    assert holm(np.array([0.01, np.nan])) == pytest.approx([0.02, np.nan], nan_ok=True)


@given(st.lists(st.sampled_from([0.0, 1e-9, 0.004, 0.01, 0.02, 0.05, 0.4, 1.0]), min_size=1))
def test_holm_is_its_definition(p):
    smaller = [[q for q in p if q <= own] for own in p]
    least = [max(min(1, q * sum(other >= q for other in p)) for q in below) for below in smaller]
    assert holm(np.array(p)) == pytest.approx(least)


def test_holm_equals_statsmodels():
    p = [0.01, 0.4, 1e-9, 0.01, 0.004, 1.0, 0.05, 0.0]  # once: it collects garbage at each call
    assert holm(np.array(p)) == pytest.approx(multipletests(p, method="holm")[1])


def test_seeds_needed():
    assert [seeds_needed(m) for m in (1, 3, 6, 10, 15, 21, 28)] == [6, 7, 8, 9, 10, 10, 11]
    for m in (1, 2, 5, 30):
        n = seeds_needed(m, 0.01)
        assert m * 2 / 2**n < 0.01 <= m * 2 / 2 ** (n - 1)
        smallest = stats.wilcoxon(np.arange(1, n + 1)).pvalue
        assert m * smallest < 0.01
    # A p-value of alpha rejects nothing: 2 / 2**5 is 1/16, and 2 * 2 / 2**6 too.
    assert (seeds_needed(1, 1 / 16), seeds_needed(2, 1 / 16)) == (6, 7)
    with pytest.raises(ValueError, match="num_comparisons must be at least 1, got 0"):
        seeds_needed(0)
    with pytest.raises(ValueError, match="alpha must lie strictly between 0 and 1, got 0"):
        seeds_needed(3, 0)


def test_cut_at_zero():
    assert cut_at_zero(-1.0, 3.0, rejected=True) == (0.0, 3.0, True)
    assert cut_at_zero(-3.0, 1.0, rejected=True) == (-3.0, 0.0, True)
    assert cut_at_zero(1.0, 3.0, rejected=True) == (1.0, 3.0, False)
    assert cut_at_zero(-1.0, 3.0, rejected=False) == (-1.0, 3.0, False)
    # Rounding must not let the interval disagree with the test.
    assert cut_at_zero(1e-17, 3.0, rejected=False) == (0.0, 3.0, False)


@pytest.mark.parametrize("true", [(0, 2, 2, 2, 2), (0, 0, 0, 0, 0), (0.7, 0.7, 0.7, 0.7, 0.7)])
def test_joint_coverage(true):
    """Uncut intervals cover at least 1 - alpha, cut ones 1 - alpha (1 + share of effects), within 3 standard errors."""
    rng = np.random.default_rng(1)
    alpha, n, m, tables = 0.2, 10, len(true), 400
    theta = np.array(true, dtype=float)
    uncut_held = cut_held = 0
    for _ in range(tables):
        d = theta + (rng.normal(size=(n, 1)) + rng.normal(size=(n, m))) / np.sqrt(2)
        mean, sd = d.mean(0), d.std(0, ddof=1)
        p = _p_values(mean, sd, n)
        adjusted = holm(p)
        good_uncut = good_cut = True
        for j in range(m):
            limits = t_interval(mean[j], sd[j], n, 1 - alpha / m)
            low, high, is_open = cut_at_zero(*limits, rejected=bool(adjusted[j] < alpha))
            good_uncut &= limits[0] <= theta[j] <= limits[1]
            good_cut &= low <= theta[j] <= high and not (is_open and theta[j] == 0)
        uncut_held += good_uncut
        cut_held += good_cut
    promised = 1 - alpha * (1 + np.mean(theta != 0))
    error = 3 * np.sqrt(0.25 / tables)
    assert uncut_held / tables >= 1 - alpha - error
    assert cut_held / tables >= promised - error


def _p_values(mean: np.ndarray, sd: np.ndarray, n: int) -> np.ndarray:
    return 2 * stats.t.sf(np.abs(mean) / sd * np.sqrt(n), n - 1)
