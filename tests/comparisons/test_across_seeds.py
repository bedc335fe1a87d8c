"""Tests of what seeds mean for comparisons over data sets: shared or each data set's own, by hand and simulated."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from jfed.comparisons.across import across
from jfed.comparisons.across_tests import candidates, corrected
from jfed.stats.crossed import crossed
from tests.comparisons.test_across import runs

pytestmark = pytest.mark.check


def errors(tables, shared):
    """Return the rates at which the tests for further data sets and for these reject at 5 %."""
    wrong = []
    for d in tables:
        tests = [corrected([(float(np.mean(d)), known)], 0.05)[0] for known in candidates(d, shared)]
        wrong.append([one.p < 0.05 for one in tests])
    return np.mean(wrong, axis=0)


MOST = 0.05 + 4 * math.sqrt(0.05 * 0.95 / 1000)


@pytest.mark.parametrize(("num", "between", "fixed"), [(3, 0, 0.05), (3, 1, 0.378), (10, 0, 0.05), (10, 1, 0.399)])
def test_type_one_errors_with_seeds_of_their_own(num, between, fixed):
    """Of 1000 tables, within 4 standard errors; the test for these data sets only is no claim about further ones.

    Its rates there are of 20 000 and 8000 other tables.
    """
    rng = np.random.default_rng(8)
    further, these = errors(rng.normal(rng.normal(0, between, (1000, num, 1)), 1, (1000, num, 5)), shared=False)
    assert further <= MOST
    assert abs(these - fixed) < 4 * math.sqrt(fixed * (1 - fixed) / 1000)


def test_type_one_errors_with_shared_seeds():
    """Three settings share seeds, whose effects exceed the noise: as independent ones they err in a fifth of cases."""
    rng = np.random.default_rng(9)
    tables = rng.normal(0, 0.01, (1000, 1, 10)) + rng.normal(0, 0.005, (1000, 3, 10))
    assert (errors(tables, shared=True) <= MOST).all()
    assert (errors(tables, shared=False) > MOST).all()


# Differences 1, 3, 2 on the first data set and 4, 6, 11 on the second, of the same seeds.
SHARED = {"a": [(3, 2), (4, 1), (5, 3)], "b": [(8, 4), (6, 0), (20, 9)]}


def test_shared_seeds_by_hand():
    (row,) = across(runs(SHARED, shared=True), "acc", by="data", baseline="random").rows
    grid = np.array([[1, 3, 2], [4, 6, 11]])
    # Means 2 and 7 of data sets, 2.5, 4.5 and 6.5 of seeds: mean squares 37.5, 8 and 6 (residual).
    assert row.difference == 4.5
    assert (row.random.se, row.random.df) == pytest.approx((math.sqrt(37.5 / 6), 1))
    assert row.random.p == crossed(grid).p == pytest.approx(stats.ttest_1samp([2, 7], 0).pvalue)
    assert (row.random.low, row.random.high) == pytest.approx(crossed(grid).interval(0.95))
    theirs = stats.ttest_1samp([2.5, 4.5, 6.5], 0)
    ends = theirs.confidence_interval(0.95)
    assert (row.fixed.p, row.fixed.low, row.fixed.high) == pytest.approx((theirs.pvalue, ends.low, ends.high))
    assert (row.sd_between, row.sd_within) == pytest.approx((math.sqrt((37.5 - 6) / 3), math.sqrt((1 + 13) / 2)))


def test_means_that_coincide_by_chance_show_nothing():
    rng = np.random.default_rng(10)
    for shared in (True, False):
        noise = rng.normal(0, 1, (2, 8))
        noise += 0.1 - noise.mean(1, keepdims=True) + np.array([[0], [1e-6]])
        scores = {name: np.stack([5 + d, 5 + 0 * d], axis=1) for name, d in zip("ab", noise, strict=True)}
        (row,) = across(runs(scores, shared=shared), "acc", by="data").rows
        assert stats.ttest_1samp([one.difference for one in row.on], 0).pvalue < 1e-4
        assert row.random.p > 0.3 and row.random.low < 0 < row.random.high
        assert row.verdict == "no difference shown"


def test_only_seeds_on_all_data_sets_count_where_some_are_shared():
    frame = runs(SHARED, shared=True)
    more = pd.DataFrame([("b", scheme, 7, 1.0) for scheme in ("fair", "random")], columns=frame.columns)
    found = across(pd.concat([frame, more]), "acc", by="data")
    assert found.rows == across(frame, "acc", by="data").rows
    assert found.notes[0] == "up to 1 seeds are not on all values of data, and left out"
    with pytest.raises(ValueError, match="values of data share seeds, but all schemes finished only 1 seeds on all"):
        across(frame[(frame["data"] == "a") | (frame["seed"] == 2)], "acc", by="data")


def test_bootstrap_draws_shared_seeds_for_all_data_sets():
    """Data sets and seeds are drawn independently: a mean of effects alone varies by the sum of both variances."""
    seeds = np.random.default_rng(11).normal(0, 1, 30)
    scores = {name: np.stack([9 + shift + seeds, 9 + 0 * seeds], axis=1) for name, shift in (("a", 0), ("b", 0.1))}
    (row,) = across(runs(scores, shared=True), "acc", by="data").rows
    half = 1.96 * math.sqrt(np.var(seeds) / 30 + 0.05**2 / 2)
    assert (row.boot_low, row.boot_high) == pytest.approx(
        (row.difference - half, row.difference + half), abs=0.1 * half
    )


def test_runs_that_share_seeds_of_factors():
    frame = runs(SHARED, shared=True)
    only_factors = frame.rename(columns={"seed": "data_seed"})
    assert across(only_factors, "acc", by="data").rows == across(frame, "acc", by="data").rows
    assert across(frame.assign(model_seed=3), "acc", by="data").notes[0] == (
        "all runs share model_seed 3: the conclusion holds for it only"
    )
    for seeds in (frame["seed"] // 2, (frame["data"] == "b").astype(int)):
        with pytest.raises(ValueError, match="runs on different seeds share data_seed: compare each value of data by"):
            across(frame.assign(data_seed=seeds), "acc", by="data")
    apart = runs(SHARED).assign(data_seed=frame["seed"])  # other seeds, but the same data
    with pytest.raises(ValueError, match="runs on different seeds share data_seed"):
        across(apart, "acc", by="data")
