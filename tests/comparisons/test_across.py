"""Tests of comparisons over data sets: by hand, against SciPy and statsmodels' mixed model, and simulated errors."""

import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from jfed.comparisons.across import across
from jfed.stats.intervals import holm
from jfed.stats.omnibus import critical_difference, friedman

pytestmark = pytest.mark.check


def runs(scores, schemes=("fair", "random", "greedy"), *, shared=False):
    """Return a frame of scores by data set, each (seeds, schemes), with the same seeds for all or others for each."""
    rows = [
        (name, scheme, seed if shared else 100 * i + seed, value)
        for i, (name, table) in enumerate(scores.items())
        for seed, values in enumerate(table)
        for scheme, value in zip(schemes, values, strict=False)
    ]
    return pd.DataFrame(rows, columns=["data", "scheme", "seed", "acc"])


def simulated(rng, sizes, between, schemes=2):
    return {
        f"d{i}": 5 + rng.normal(0, between / math.sqrt(2), schemes) + rng.normal(0, math.sqrt(0.5), (n, schemes))
        for i, n in enumerate(sizes)
    }


# Differences 1, 3 on the first data set, 4, 6 on the second and 5, 5, 11 on the third: means 2, 5 and 7.
BY_HAND = {"a": [(3, 2), (4, 1)], "b": [(8, 4), (6, 0)], "c": [(9, 4), (5, 0), (20, 9)]}


def test_by_hand():
    found = across(runs(BY_HAND), "acc", by="data", baseline="random")
    (row,) = found.rows
    assert (row.scheme, row.reference, row.difference) == ("fair", "random", pytest.approx(14 / 3))
    assert [(one.name, one.n, one.difference) for one in row.on] == [("a", 2, 2), ("b", 2, 5), ("c", 3, 7)]
    # Variances 2, 2 and 12 over 2, 2 and 3 seeds: squared standard errors 1, 1 and 4.
    assert [one.se for one in row.on] == pytest.approx([1, 1, 2])
    theirs = stats.ttest_1samp([2, 5, 7], 0)
    assert (row.random.t, row.random.p, row.random.df) == pytest.approx((theirs.statistic, theirs.pvalue, 2))
    ends = theirs.confidence_interval(0.95)
    assert (row.random.low, row.random.high) == pytest.approx((ends.low, ends.high))
    assert (row.fixed.se, row.fixed.df) == pytest.approx((math.sqrt(6) / 3, 36 / (1 / 1 + 1 / 1 + 16 / 2)))
    assert row.fixed.p == pytest.approx(2 * stats.t.sf(14 / math.sqrt(6), 3.6))
    # The means' variance 19 / 3 less the mean squared standard error 2; the mean variance over seeds 16 / 3.
    assert (row.sd_between, row.sd_within) == pytest.approx((math.sqrt(19 / 3 - 2), math.sqrt(16 / 3)))
    assert (row.wins, row.verdict) == (3, "no difference shown")
    assert found.schemes == (("fair", pytest.approx((3.5 + 7 + 34 / 3) / 3), 0), ("random", pytest.approx(47 / 18), 0))
    assert found.notes == ("values of data have 2 to 3 seeds: the test for further ones is approximate",)
    assert found.omnibus is None and math.isnan(found.critical_difference)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_balanced_data_give_the_mixed_model(seed):
    scores = simulated(np.random.default_rng(seed), [6] * 7, between=2.0)
    (row,) = across(runs(scores), "acc", by="data").rows
    pairs = [(name, x - y) for name, table in scores.items() for x, y in table]
    fit = smf.mixedlm("d ~ 1", pd.DataFrame(pairs, columns=["data", "d"]), groups="data").fit(reml=True)
    assert row.difference == pytest.approx(fit.params["Intercept"])
    assert row.random.se == pytest.approx(fit.bse["Intercept"], rel=1e-4)
    assert row.sd_between**2 == pytest.approx(fit.cov_re.iloc[0, 0], rel=1e-3)
    assert row.sd_within**2 == pytest.approx(fit.scale, rel=1e-4)


def test_families_are_corrected_and_ranked():
    scores = simulated(np.random.default_rng(4), [5] * 6, 0.5, schemes=3)
    scores = {name: table + np.array([2.0, 0.0, 0.0]) for name, table in scores.items()}
    found = across(runs(scores), "acc", by="data")
    assert [(row.scheme, row.reference) for row in found.rows] == [
        ("fair", "random"), ("fair", "greedy"), ("random", "greedy"),
    ]  # fmt: skip
    for name in ("random", "fixed"):
        tests = [getattr(row, name) for row in found.rows]
        assert [one.p_adjusted for one in tests] == holm(np.array([one.p for one in tests])).tolist()
        for one, row in zip(tests, found.rows, strict=True):
            half = stats.t.isf(0.05 / 6, one.df) * one.se
            assert one.high >= row.difference + half - 1e-12
            assert not (one.low > 0 or one.high < 0) or one.p_adjusted < 0.05
    assert [row.verdict for row in found.rows] == ["better", "better", "no difference shown"]
    means = [table.mean(0) for table in scores.values()]
    assert found.omnibus == friedman(means)
    assert found.critical_difference == critical_difference(6, 3)
    table = found.frame()
    assert len(table) == 3
    assert table["random_p_adjusted"].tolist() == [row.random.p_adjusted for row in found.rows]
    assert {"metric", "scheme", "reference", "fixed_se", "boot_low", "verdict"} <= set(table.columns)
    worse = across(runs(scores), "acc", by="data", higher_is_better=False)
    assert [row.verdict for row in worse.rows] == ["worse", "worse", "no difference shown"]
    assert [row.wins for row in worse.rows[:2]] == [6 - row.wins for row in found.rows[:2]]


def test_ratios_do_not_depend_on_a_data_set_s_unit():
    scores = simulated(np.random.default_rng(5), [4] * 4, 0.3)
    frame = runs(scores)
    one = across(frame, "acc", by="data", relative=True)
    scaled = frame.assign(acc=frame["acc"] * frame["data"].map({"d0": 1, "d1": 1000, "d2": 0.01, "d3": 7}))
    other = across(scaled, "acc", by="data", relative=True)
    (row,), (same,) = one.rows, other.rows
    assert same.difference == pytest.approx(row.difference)
    assert (same.random.p, same.fixed.p, same.boot_low) == pytest.approx((row.random.p, row.fixed.p, row.boot_low))
    logs = [np.mean(np.log(table[:, 0] / table[:, 1])) for table in scores.values()]
    assert row.difference == pytest.approx(np.mean(logs))
    assert one.schemes[0][1] / one.schemes[1][1] == pytest.approx(math.exp(row.difference))
    with pytest.raises(ValueError, match="ratios need scores above 0, and metric 'acc' has others"):
        across(frame.assign(acc=frame["acc"] - 5), "acc", by="data", relative=True)


def test_failed_and_missing_runs():
    scores = simulated(np.random.default_rng(6), [5, 5, 5], 1.0, schemes=3)
    scores["d1"][2, 1] = math.nan
    frame = runs(scores)
    frame = frame[~((frame["data"] == "d2") & (frame["scheme"] == "greedy") & (frame["seed"] == 204))]
    found = across(frame, "acc", by="data")
    assert [row.verdict for row in found.rows] == ["failed runs", "no difference shown", "failed runs"]
    assert [failed for _, _, failed in found.schemes] == [0, 1, 0]
    assert [one.n for one in found.rows[0].on] == [5, 4, 4]
    assert found.notes[:2] == tuple(f"data {name}: 1 of 5 seeds lack a finished run" for name in ("d1", "d2"))
    complete = across(
        runs({name: np.delete(t, 2, 0) if name == "d1" else t for name, t in scores.items()}), "acc", by="data"
    )
    assert complete.rows[0].on[1] == found.rows[0].on[1]


def test_a_seed_or_two_data_sets_are_few():
    scores = {"a": [(1.0, 2.0)], "b": [(2.0, 4.0), (3.0, 4.0)]}
    found = across(runs(scores), "acc", by="data")
    (row,) = found.rows
    assert found.notes[0] == (
        "two values of data leave one degree of freedom, which shows next to nothing about further ones"
    )
    assert row.random.p == pytest.approx(stats.ttest_1samp([-1, -1.5], 0).pvalue)
    assert all(math.isnan(x) for x in (row.fixed.p, row.fixed.df, row.fixed.low, row.sd_within, row.sd_between))
    assert math.isnan(row.on[0].se)


def test_equal_scores():
    same = across(runs({"a": [(1, 1), (2, 2)], "b": [(3, 3), (5, 5)]}), "acc", by="data").rows[0]
    assert (same.verdict, same.random.p, same.fixed.p, same.sd_between) == ("identical", 1.0, 1.0, 0.0)
    assert (same.boot_low, same.boot_high) == (0.0, 0.0)
    constant = across(runs({"a": [(2, 1), (3, 2)], "b": [(4, 3), (6, 5)]}), "acc", by="data").rows[0]
    assert (constant.verdict, constant.difference, constant.random.se) == ("no difference shown", 1.0, 0.0)
    assert math.isnan(constant.random.p) and math.isnan(constant.fixed.low)


def test_bootstrap_resamples_both_stages():
    """With D data sets and n seeds, a resample's mean varies by (D - 1) / D of the means' variance, and by seeds."""
    scores = simulated(np.random.default_rng(7), [8] * 12, 1.0)
    (row,) = across(runs(scores), "acc", by="data").rows
    each = np.array([one.difference for one in row.on])
    inside = np.mean([np.var(t[:, 0] - t[:, 1]) / 8 for t in scores.values()])
    half = 1.96 * math.sqrt((np.var(each) + inside) / 12)
    assert (row.boot_low, row.boot_high) == pytest.approx((each.mean() - half, each.mean() + half), abs=0.1 * half)
    assert across(runs(scores), "acc", by="data").rows[0] == row
    assert across(runs(scores), "acc", by="data", seed=1).rows[0].boot_low != row.boot_low


def test_schemes_selected_by_these_scores_are_not_judged():
    frame = runs({name: table + np.array([2.0, 0, 0]) for name, table in simulated(
        np.random.default_rng(4), [5] * 6, 0.5, schemes=3).items()})  # fmt: skip
    found = across(frame.assign(selected_here=frame["scheme"] == "greedy"), "acc", by="data")
    assert [row.verdict for row in found.rows] == ["better", "not judged", "not judged"]
    assert [row.random for row in found.rows] == [row.random for row in across(frame, "acc", by="data").rows]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.integers(2, 5), st.integers(2, 4))
def test_swapping_schemes_changes_signs_only(seed, num, n):
    scores = simulated(np.random.default_rng(seed), [n] * num, 1.0)
    (row,) = across(runs(scores), "acc", by="data").rows
    (back,) = across(runs(scores), "acc", by="data", baseline="fair").rows
    assert (back.scheme, back.reference) == (row.reference, row.scheme)
    assert back.difference == pytest.approx(-row.difference)
    assert (back.boot_low, back.boot_high) == pytest.approx((-row.boot_high, -row.boot_low))
    for one, other in ((row.random, back.random), (row.fixed, back.fixed)):
        assert (other.p, other.se, other.low) == pytest.approx((one.p, one.se, -one.high))


def test_what_is_wrong_is_named():
    frame = runs(BY_HAND)
    with pytest.raises(
        ValueError, match="a claim about several data sets needs at least two, got 1; use compare for one"
    ):
        across(frame[frame["data"] == "a"], "acc", by="data")
    with pytest.raises(ValueError, match=r"no column of data sets 'dat'; did you mean 'data'\?"):
        across(frame, "acc", by="dat")
    with pytest.raises(ValueError, match="no column of data sets 'seed'; there are 'data'"):
        across(frame, "acc", by="seed")
    with pytest.raises(ValueError, match="a run has no data"):
        across(frame.assign(data=frame["data"].where(frame.index != 3)), "acc", by="data")
    with pytest.raises(ValueError, match="data b has no run of random; each data set needs all schemes"):
        across(frame[(frame["data"] != "b") | (frame["scheme"] != "random")], "acc", by="data")
    with pytest.raises(ValueError, match="a comparison needs at least two schemes, got 1"):
        across(frame[frame["scheme"] == "fair"], "acc", by="data")
    with pytest.raises(ValueError, match="data a has no seed that all schemes finished"):
        across(
            frame.assign(acc=frame["acc"].where((frame["data"] != "a") | (frame["scheme"] != "fair"))), "acc", by="data"
        )
    with pytest.raises(ValueError, match="no scheme 'rando'; did you mean 'random'"):
        across(frame, "acc", by="data", baseline="rando")
    with pytest.raises(ValueError, match="alpha must lie strictly between 0 and 1, got 5"):
        across(frame, "acc", by="data", alpha=5)
