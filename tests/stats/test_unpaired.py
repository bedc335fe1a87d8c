"""Tests of independent groups of runs: SciPy, published examples, ties, no variance, few and failed runs."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from jfed.stats.unpaired import unpaired

INF = math.inf
FEW = settings(max_examples=60)
SCORES = st.lists(st.integers(0, 6), min_size=1, max_size=6)


def enumerated(x, y):
    """Return the two-sided p-value over all assignments of the runs to groups, by SciPy's permutation test."""
    return stats.mannwhitneyu(x, y, method=stats.PermutationMethod(n_resamples=10**6)).pvalue


def test_welch_equals_scipy():
    rng = np.random.default_rng(0)
    x, y = rng.normal(0.6, 0.1, 12), rng.normal(0.5, 0.3, 7)
    test = stats.ttest_ind(x, y, equal_var=False)
    row = unpaired(x, y, higher_is_better=True)
    assert (row.n_scheme, row.n_reference, row.note) == (12, 7, "")
    assert (row.mean_scheme, row.mean_reference) == (x.mean(), y.mean())
    assert row.difference == pytest.approx(x.mean() - y.mean())
    assert (row.t, row.df, row.p_welch) == pytest.approx((test.statistic, test.df, test.pvalue))
    assert row.se == pytest.approx(math.hypot(stats.sem(x), stats.sem(y)))
    for level in (0.95, 0.5):
        assert row.interval(level) == pytest.approx(tuple(test.confidence_interval(level)))
    assert row.interval() == row.interval(0.95)
    with pytest.raises(ValueError, match="level must lie strictly between 0 and 1, got 95"):
        row.interval(95)


def test_welch_of_tiny_scores():
    x, y = np.array([1.0, 2, 4]), np.array([3.0, 9, 8, 5])
    row, tiny = (unpaired(x * f, y * f, higher_is_better=True) for f in (1.0, 1e-120))
    assert (tiny.t, tiny.df, tiny.p_welch) == pytest.approx((row.t, row.df, row.p_welch))


def test_sleep_data():
    """For Student's sleep data as two groups, R's t.test gives t = -1.8608, df = 17.776, p = 0.07939.

    Its 95 % interval is -3.3654832 to 0.2054832, and wilcox.test gives W = 25.5, p = 0.06933 with ties.
    """
    x = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    y = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    row = unpaired(x, y, higher_is_better=True)
    assert (row.t, row.df, row.p_welch) == pytest.approx((-1.8608, 17.776, 0.07939), rel=1e-4)
    assert row.interval() == pytest.approx((-3.3654832, 0.2054832), rel=1e-6)
    assert row.p_mann_whitney == pytest.approx(0.06933, rel=1e-4)
    assert not row.mann_whitney_exact
    assert row.a12 == pytest.approx(25.5 / 100)


def test_ranks_without_ties():
    # Of the 20 ways to split six runs, one at either end is this extreme.
    row = unpaired([4, 5, 6], [1, 2, 3], higher_is_better=True)
    assert (row.p_mann_whitney, row.mann_whitney_exact, row.a12, row.cliffs_delta) == (0.1, True, 1.0, 1.0)
    x, y = [0.1, 0.9, 0.35], [0.2, 0.3, 0.4, 0.5, 0.05]
    row = unpaired(x, y, higher_is_better=True)
    assert row.p_mann_whitney == pytest.approx(stats.mannwhitneyu(x, y, method="exact").pvalue)
    assert row.p_mann_whitney == pytest.approx(enumerated(x, y))
    assert row.a12 == pytest.approx((1 + 5 + 3) / 15)


@pytest.mark.parametrize(("n", "m", "exact"), [(8, 30, True), (9, 30, False), (30, 8, True), (9, 9, False)])
def test_which_rank_test(n, m, exact):
    rng = np.random.default_rng(n)
    x, y = rng.normal(size=n), rng.normal(0.8, 1, size=m)
    row = unpaired(x, y, higher_is_better=True)
    assert row.mann_whitney_exact is exact
    expected = {kind: stats.mannwhitneyu(x, y, method=kind).pvalue for kind in ("exact", "asymptotic")}
    assert expected["exact"] != pytest.approx(expected["asymptotic"], rel=1e-6)
    assert row.p_mann_whitney == pytest.approx(expected["exact" if exact else "asymptotic"])


def test_ties_in_small_groups_are_counted_out():
    # SciPy's approximation says 0.047, but 2 of 20 assignments are this extreme.
    row = unpaired([1, 1, 1], [2, 2, 2], higher_is_better=True)
    assert stats.mannwhitneyu([1, 1, 1], [2, 2, 2]).pvalue < 0.05
    assert (row.p_mann_whitney, row.mann_whitney_exact) == (pytest.approx(0.1), True)
    # Ranks 1.5, 1.5 | 3.5, 3.5, 5: of 10 pairs only this one sums to 3.
    assert unpaired([0, 0], [1, 1, 2], higher_is_better=True).p_mann_whitney == pytest.approx(0.2)
    x, y = [3, 1, 4, 1, 5, 9, 2], [6, 5, 3, 5, 8, 9, 7, 9]
    assert unpaired(x, y, higher_is_better=True).p_mann_whitney == pytest.approx(enumerated(x, y))


@FEW
@given(SCORES, SCORES)
def test_ranks_of_any_small_groups(x, y):
    row = unpaired(x, y, higher_is_better=True)
    pairs = [(a > b) + 0.5 * (a == b) for a in x for b in y]
    assert row.a12 == pytest.approx(np.mean(pairs))
    assert row.cliffs_delta == pytest.approx(np.mean([np.sign(a - b) for a in x for b in y]))
    assert row.mann_whitney_exact
    ranks = stats.rankdata([*x, *y])
    sums = [sum(picked) for picked in itertools.combinations(ranks, len(x))]
    tails = np.mean(sums <= ranks[: len(x)].sum()), np.mean(sums >= ranks[: len(x)].sum())
    assert row.p_mann_whitney == pytest.approx(min(1.0, 2 * min(tails)))


@FEW
@given(SCORES, SCORES, st.booleans())
def test_the_other_way_round(x, y, higher):
    row, back = unpaired(x, y, higher_is_better=higher), unpaired(y, x, higher_is_better=higher)
    lower = unpaired(x, y, higher_is_better=not higher)
    assert (back.p_welch, back.df) == pytest.approx((row.p_welch, row.df), nan_ok=True)
    assert back.p_mann_whitney == pytest.approx(row.p_mann_whitney)
    assert (back.difference, back.t) == pytest.approx((-row.difference, -row.t), nan_ok=True)
    assert back.a12 == pytest.approx(1 - row.a12) == pytest.approx(lower.a12)
    # The direction changes nothing else.
    assert str(replace(lower, a12=row.a12, cliffs_delta=row.cliffs_delta)) == str(row)


def test_large_groups_with_ties_equal_scipy():
    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 5, 40), rng.integers(1, 6, 30)
    row = unpaired(x, y, higher_is_better=False)
    test = stats.mannwhitneyu(x, y)
    assert row.p_mann_whitney == pytest.approx(test.pvalue)
    assert row.a12 == pytest.approx(1 - test.statistic / 1200)
    assert row.a12 > 0.5 and row.cliffs_delta > 0


def test_one_group_without_variance():
    x, y = [0.1] * 3, [0.2, 0.4, 0.3, 0.5]
    row = unpaired(x, y, higher_is_better=True)
    # All variance and all degrees of freedom are those of y.
    expected = stats.ttest_1samp(y, 0.1)
    assert row.note == "no variance in one group"
    assert (row.t, row.df, row.p_welch) == pytest.approx((-expected.statistic, 3, expected.pvalue))


def test_no_variance_at_all():
    for x, y in (([0.1] * 3, [0.1] * 4), ([0.3 - 0.2, 0.2 - 0.1], [0.1, 0.1]), ([0, 0], [0, 0])):
        row = unpaired(x, y, higher_is_better=True)
        assert (row.p_welch, row.p_mann_whitney, row.a12, row.cliffs_delta) == (1.0, 1.0, 0.5, 0.0)
        assert row.note == "all values equal"
        assert math.isnan(row.t) and np.isnan(row.interval()).all()
    row = unpaired([2.0] * 9, [1.0] * 9, higher_is_better=True)
    assert (row.note, row.difference, row.se) == ("no variance in either group", 1.0, 0.0)
    assert math.isnan(row.p_welch) and np.isnan(row.interval()).all()
    assert row.p_mann_whitney < 0.001 and row.a12 == 1.0


def test_one_run():
    row = unpaired([5.0], [1, 2, 3, 4], higher_is_better=True)
    assert row.note == "no t-test: needs >= 2 runs in each group"
    assert (row.difference, row.a12, row.p_mann_whitney) == (2.5, 1.0, pytest.approx(0.4))
    assert all(math.isnan(v) for v in (row.t, row.df, row.se, row.p_welch, *row.interval()))
    for x, y in (([1], [2]), ([1], [1]), ([1], [1, 1, 1])):
        assert unpaired(x, y, higher_is_better=True).p_mann_whitney == 1.0


def test_no_run_and_failed_runs():
    for x, note in (([], "a group has no runs"), ([1, math.nan, 3], "failed runs: 1 of the scheme, 0 of the")):
        row = unpaired(x, [1.0, 2, 4], higher_is_better=True)
        assert row.note.startswith(note)
        numbers = (row.difference, row.t, row.p_welch, row.p_mann_whitney, row.a12, row.cliffs_delta, row.mean_scheme)
        assert np.isnan(numbers).all()
        assert (row.n_scheme, row.mann_whitney_exact) == (len(x), False)
    with pytest.raises(ValueError, match=r"one value per run.*\(1, 2\)"):
        unpaired([[1, 2]], [1], higher_is_better=True)


def test_censored_rounds_take_part_in_the_ranks():
    x, y = [300, 320, INF], [100, 110, 120, 310]
    row = unpaired(x, y, higher_is_better=False)
    finite = unpaired([300, 320, 9999], y, higher_is_better=False)
    assert (row.p_mann_whitney, row.a12) == (finite.p_mann_whitney, finite.a12)
    assert row.a12 == pytest.approx(1 / 12)
    assert (row.mean_scheme, row.note) == (INF, "infinite scores: ranks only")
    assert np.isnan([row.difference, row.t, row.p_welch, *row.interval()]).all()
    never = unpaired([INF] * 3, [INF] * 3, higher_is_better=False)
    assert (never.p_mann_whitney, never.a12) == (1.0, 0.5)
    both = unpaired([INF, -INF], [0.0, 1.0], higher_is_better=True)
    assert math.isnan(both.mean_scheme) and both.a12 == 0.5
