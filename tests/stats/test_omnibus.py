"""Tests of Friedman's test, Iman and Davenport's F and Nemenyi's critical difference (Demsar 2006, SciPy)."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from jfed.stats.omnibus import chi_square, cliques, critical_difference, friedman, iman_davenport, rank

# The ranks of Demsar's (2006) table 6: C4.5, with m, with cf, with both, on 14 data sets.
DEMSAR = np.array(
    [
        [4, 3, 2, 1],
        [1, 2, 3, 4],
        [4, 1, 2, 3],
        [4, 1, 3, 2],
        [4, 2, 3, 1],
        [1, 2.5, 4, 2.5],
        [3, 2, 4, 1],
        [2.5, 2.5, 4, 1],
        [4, 3, 2, 1],
        [2.5, 2.5, 2.5, 2.5],
        [4, 2.5, 1, 2.5],
        [3, 2, 4, 1],
        [4, 1, 2, 3],
        [3, 1, 4, 2],
    ]
)
SCORES = hnp.arrays(float, st.tuples(st.integers(2, 6), st.integers(3, 5)), elements=st.integers(0, 4))


def test_demsars_example():
    """Demsar prints the mean ranks, chi2 = 9.28, F = 3.69 (both without correction for ties) and CD = 1.25."""
    result = friedman(DEMSAR, higher_is_better=False)
    assert (result.n, result.k, result.df_chi2, result.df_f) == (14, 4, 3, (3, 39))
    assert np.round(result.mean_ranks, 3).tolist() == [3.143, 2.0, 2.893, 1.964]
    plain = chi_square(result.mean_ranks, 14)
    assert round(plain, 2) == 9.28
    assert round(iman_davenport(plain, 14, 4), 2) == 3.69
    assert result.chi2 > plain
    cd = critical_difference(14, 4)
    assert round(cd, 2) == 1.25
    # No pair reaches 1.25 (the largest is 1.179), so one bar holds all.
    assert cliques(result.mean_ranks, cd) == ((3, 1, 2, 0),)


@given(SCORES)
def test_friedman_equals_scipy(scores):
    result = friedman(scores)
    assert sum(result.mean_ranks) == pytest.approx(result.k * (result.k + 1) / 2)
    if result.note == "all schemes tie":
        assert np.all(np.ptp(scores, axis=1) == 0)
        return
    scipy = stats.friedmanchisquare(*scores.T)
    assert result.chi2 == pytest.approx(scipy.statistic)
    assert result.p_chi2 == pytest.approx(scipy.pvalue)
    # Reversing the direction reverses the ranks and changes nothing else.
    turned = friedman(scores, higher_is_better=False)
    assert turned.mean_ranks == pytest.approx(result.k + 1 - np.array(result.mean_ranks))
    assert (turned.chi2, turned.p_f) == pytest.approx((result.chi2, result.p_f))


def test_f_is_the_two_way_analysis_of_variance_of_ranks():
    """By Conover's identity, Iman and Davenport's F is the two-way F of schemes and seeds, computed on ranks."""
    scores = np.random.default_rng(2).integers(0, 6, (12, 4))
    ranks = stats.rankdata(scores, axis=1)
    columns, rest = ranks.mean(0), ranks - ranks.mean(0)
    f = 12 * np.sum((columns - 2.5) ** 2) / 3 / (np.sum(rest**2) / 33)
    result = friedman(scores)
    assert result.f == pytest.approx(f)
    assert result.p_f == pytest.approx(stats.f.sf(f, 3, 33))


def test_few_seeds_are_counted_out():
    """p_f agrees with the share among all 6^3 orders of three seeds of three schemes (one more seed is fixed)."""
    scores = np.array([[1.0, 2.0, 3.0], [2.0, 1.0, 3.0], [1.0, 2.0, 3.0], [1.0, 3.0, 2.0]])
    sums = []
    for orders in itertools.product(itertools.permutations((1, 2, 3)), repeat=3):
        sums.append(((np.sum([(1, 2, 3), *orders], axis=0) - 8) ** 2).sum())
    exact = np.mean(np.array(sums) >= ((stats.rankdata(scores, axis=1).sum(0) - 8) ** 2).sum())
    assert friedman(scores).p_f == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 20_000))


def test_higher_is_better_decides_who_has_rank_one():
    scores = [[0.9, 0.5, 0.5], [0.8, 0.7, 0.1]]
    assert rank(scores).tolist() == [[1, 2.5, 2.5], [1, 2, 3]]
    assert rank(scores, higher_is_better=False).tolist() == [[3, 1.5, 1.5], [3, 2, 1]]
    assert friedman(scores).mean_ranks == (1, 2.25, 2.75)


@pytest.mark.parametrize("row", [[1, 2, 3], [1, 2, 2], [5, 5, 1, 1]])
def test_perfect_agreement(row):
    """p_f is the share of the orders of the later seeds that agree with the first; chi2 is at its maximum."""
    n, k = 3, len(row)
    result = friedman([row] * n)
    orders = len(set(itertools.permutations(row)))
    assert (result.f, result.note) == (math.inf, "all seeds agree")
    assert result.p_f == pytest.approx(orders**-2)
    assert result.chi2 == pytest.approx(n * (k - 1))
    assert result.p_chi2 == pytest.approx(stats.chi2.sf(n * (k - 1), k - 1))


def test_perfect_agreement_of_very_many():
    # 200 factorial is beyond a float.
    assert friedman([np.arange(200)] * 2).p_f == 0.0


def test_all_tied_and_one_seed():
    tied = friedman(np.full((4, 3), 0.7))
    assert (tied.p_chi2, tied.p_f, tied.note, tied.mean_ranks) == (1.0, 1.0, "all schemes tie", (2.0, 2.0, 2.0))
    assert math.isnan(tied.chi2) and math.isnan(tied.f)
    one = friedman([[1, 2, 3]])
    assert one.note == "needs >= 2 seeds"
    assert all(math.isnan(x) for x in (one.chi2, one.p_chi2, one.f, one.p_f))


def test_level_of_f():
    """The level is within 4 standard errors of 5 % for 12 seeds and 4 equal schemes."""
    scores = np.random.default_rng(0).normal(size=(800, 12, 4))
    share = np.mean([friedman(one).p_f < 0.05 for one in scores])
    assert abs(share - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 800)


def test_critical_values_of_demsars_table_5():
    """q at 0.05 and 0.10 for 2 to 10 schemes is as printed."""
    printed = {
        0.05: [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164],
        0.10: [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920],
    }
    for alpha, values in printed.items():
        for k, q in enumerate(values, start=2):
            assert critical_difference(6, k, alpha) / math.sqrt(k * (k + 1) / 36) == pytest.approx(q, abs=0.0011)


def test_cliques_by_hand():
    # 1.0 and 1.8 form a group, 1.8 and 2.5 as well, 4 is alone; a distance of exactly cd is a difference.
    assert cliques([4.0, 1.0, 2.5, 1.8], 1.0) == ((1, 3), (3, 2))
    assert cliques([1.0, 2.0, 3.0], 1.0) == ()
    assert cliques([1.0, 2.0, 3.0], 2.5) == ((0, 1, 2),)
    assert cliques([2.0, 2.0, 2.0], 0.1) == ((0, 1, 2),)
    assert cliques([], 1.0) == ()


@settings(max_examples=50)
@given(st.lists(st.integers(0, 12), min_size=1, max_size=6), st.integers(1, 12))
def test_cliques_are_the_maximal_groups(ranks, cd):
    groups = cliques(ranks, cd)
    close = [
        set(some)
        for size in range(2, len(ranks) + 1)
        for some in itertools.combinations(range(len(ranks)), size)
        if np.ptp(np.array(ranks)[list(some)]) < cd
    ]
    maximal = [some for some in close if not any(some < other for other in close)]
    assert len(groups) == len(maximal)
    assert all(set(group) in maximal for group in groups)
    assert all(np.all(np.diff(np.array(ranks)[list(group)]) >= 0) for group in groups)


def test_errors():
    for bad in ([1.0, 2.0, 3.0], [[1.0, math.nan, 2.0]], np.zeros((0, 3))):
        with pytest.raises(
            ValueError, match="scores must be a finite matrix, a row per seed and a column per scheme, got shape"
        ):
            friedman(bad)
    with pytest.raises(ValueError, match="Friedman's test needs at least three schemes, got 2"):
        friedman([[1, 2], [2, 1]])
    with pytest.raises(ValueError, match="needs at least one seed and two schemes, got n=5 and k=1"):
        critical_difference(5, 1)
    with pytest.raises(ValueError, match=r"alpha must lie strictly between 0 and 1, got 1\.0"):
        critical_difference(5, 3, 1.0)
    with pytest.raises(ValueError, match="mean ranks must be a finite vector, got shape"):
        cliques([1.0, math.nan], 1.0)
    with pytest.raises(ValueError, match=r"the critical difference must be positive, got 0\.0"):
        cliques([1.0, 2.0], 0.0)
