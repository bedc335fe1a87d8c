"""Tests of `compare`: worked examples, equality with SciPy and statsmodels, properties, failed runs, bad input."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels_quietly import multipletests

from jfed.analysis import best_group, compare, comparisons_table, seeds_needed
from jfed.stats import paired

FEW = settings(deadline=None, max_examples=30)


def tidy(scores: dict, metric: str = "accuracy") -> pd.DataFrame:
    rows = [
        {"scheme": scheme, "seed": seed, metric: value}
        for scheme, values in scores.items()
        for seed, value in enumerate(values)
    ]
    return pd.DataFrame(rows)


def noisy(effects: list[float], n: int, seed: int, noise: float = 1.0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    common = rng.normal(size=n)
    return tidy({f"s{i}": common + e + noise * rng.normal(size=n) for i, e in enumerate(effects)})


def test_by_hand():
    row = compare(tidy({"a": [2.0, 4.0, 6.0], "b": [1.0, 2.0, 3.0]}), "accuracy").rows[0]
    # d = 1, 2, 3: mean 2, sd 1, t = 2 sqrt(3), and with 2 degrees p = 1 - t / sqrt(2 + t^2).
    assert (row.n, row.mean_scheme, row.mean_reference) == (3, 4.0, 2.0)
    assert (row.difference, row.sd, row.d_z, row.share_won) == (2.0, 1.0, 2.0, 1.0)
    assert row.t == pytest.approx(2 * math.sqrt(3))
    assert row.p_t == pytest.approx(1 - math.sqrt(12 / 14))
    # t quantile 0.975 with 2 degrees: 4.302653.
    assert row.low == pytest.approx(2 - 4.302653 / math.sqrt(3), abs=1e-6)
    assert row.high == pytest.approx(2 + 4.302653 / math.sqrt(3), abs=1e-6)
    assert row.correlation == pytest.approx(1.0)
    assert row.variance_saved == pytest.approx(1 - 1 / (4 + 1))
    assert row.verdict == "no difference shown"
    assert row.rank_note == "needs >= 6 seeds"
    assert math.isnan(row.p_wilcoxon)


def test_wilcoxon_by_hand():
    # Seven positive differences of distinct size: the extreme of 2^7 sign patterns, two-sided.
    b = np.zeros(7)
    row = compare(tidy({"a": [1, 2, 3, 4, 5, 6, 7], "b": b}), "accuracy").rows[0]
    assert row.p_wilcoxon == pytest.approx(2 / 128)
    assert row.wilcoxon_exact
    # One negative, of the least rank: patterns with rank sum <= 1 are two of 128 on each side.
    row = compare(tidy({"a": [-1, 2, 3, 4, 5, 6, 7], "b": b}), "accuracy").rows[0]
    assert row.p_wilcoxon == pytest.approx(4 / 128)
    assert row.share_won == pytest.approx(6 / 7)


def test_zeros_are_ranked_before_they_are_left_out():
    # One zero takes rank 1, so the negatives hold ranks 2 and 3. Of the subsets of {2, ..., 7}, six
    # sum to at most 5: none, 2, 3, 4, 5 and {2, 3}. Discarding the zero first would give 10 / 64.
    row = compare(tidy({"a": [0, -1, -2, 3, 4, 5, 6], "b": [0] * 7}), "accuracy").rows[0]
    assert row.p_wilcoxon == pytest.approx(2 * 6 / 64)
    assert row.share_won == pytest.approx(4.5 / 7)


@pytest.mark.parametrize("n", [8, 20, 60])
@pytest.mark.parametrize("baseline", [None, "s1"])
def test_equals_scipy_and_statsmodels(n, baseline):
    frame = noisy([0, 0.3, 0.9, 0.5], n, seed=n)
    result = compare(frame, "accuracy", baseline=baseline)
    wide = frame.pivot(index="seed", columns="scheme", values="accuracy")
    assert len(result.rows) == (6 if baseline is None else 3)
    for row in result.rows:
        a, b = wide[row.scheme].to_numpy(), wide[row.reference].to_numpy()
        test = stats.ttest_rel(a, b)
        assert row.t == pytest.approx(test.statistic)
        assert row.p_t == pytest.approx(test.pvalue)
        ci = test.confidence_interval(0.95)
        assert (row.pointwise_low, row.pointwise_high) == pytest.approx((ci.low, ci.high))
        ci = test.confidence_interval(1 - 0.05 / len(result.rows))
        assert (row.low, row.high) == pytest.approx((ci.low, ci.high))
        if row.n >= seeds_needed(len(result.rows)):
            assert row.p_wilcoxon == pytest.approx(stats.wilcoxon(a - b).pvalue)
        assert row.d_z == pytest.approx(row.t / math.sqrt(n))
        assert row.correlation == pytest.approx(stats.pearsonr(a, b).statistic)
    for raw, adjusted in (("p_t", "p_t_adjusted"), ("p_wilcoxon", "p_wilcoxon_adjusted")):
        p = np.array([getattr(row, raw) for row in result.rows])
        if not np.isnan(p).any():
            expected = multipletests(p, method="holm")[1]
            assert [getattr(r, adjusted) for r in result.rows] == pytest.approx(list(expected))


@FEW
@given(
    effects=st.lists(st.sampled_from([0.0, 0.3, 0.6, 1.0, 2.0]), min_size=2, max_size=6),
    n=st.integers(2, 12),
    seed=st.integers(0, 2**32 - 1),
    alpha=st.sampled_from([0.01, 0.05, 0.3]),
    versus=st.booleans(),
)
def test_the_interval_never_shows_more_than_the_test(effects, n, seed, alpha, versus):
    result = compare(noisy(effects, n, seed), "accuracy", baseline="s0" if versus else None, alpha=alpha)
    for row in result.rows:
        shown = row.p_t_adjusted < alpha
        assert (row.verdict in ("better", "worse")) == shown
        assert not (row.low > 0 or row.high < 0) or shown
        assert row.low <= row.pointwise_low <= row.difference <= row.pointwise_high <= row.high
        assert (row.difference > 0) == (row.verdict != "worse") or not shown


@FEW
@given(
    test=st.sampled_from(["t", "wilcoxon", "sign-flip"]),
    n=st.integers(2, 9),
    seed=st.integers(0, 2**32 - 1),
    correction=st.sampled_from(["holm", "bh"]),
)
def test_a_single_comparison_is_shown_exactly_if_its_interval_leaves_out_zero(test, n, seed, correction):
    (row,) = compare(noisy([0.0, 1.0], n, seed), "accuracy", test=test, correction=correction, alpha=0.1).rows
    assert (row.low > 0 or row.high < 0) == (row.verdict in ("better", "worse"))
    assert row.decided_by == test and math.isnan(row.low) == (row.verdict == "too few seeds")


def test_too_few_seeds_have_no_interval():
    rows = compare(noisy([0.0] * 5, 8, 0), "accuracy", test="wilcoxon").rows
    assert {row.verdict for row in rows} == {"too few seeds"} and all(math.isnan(row.low) for row in rows)


def test_holm_shows_a_sign_that_the_simultaneous_interval_does_not():
    # Of two p-values, about 1e-12 and 0.045, Holm keeps the larger; Bonferroni doubles it.
    d = np.array([-1.0, 0, 1, 2, 3, 1, 2, 0, 1, -0.2])
    frame = tidy({"far": np.linspace(5, 5.9, 10), "near": d, "none": np.zeros(10)})
    result = compare(frame, "accuracy", baseline="none")
    far, near = result.rows
    assert 0.025 < near.p_t < 0.05 and near.p_t_adjusted == near.p_t
    assert near.verdict == "better" and near.low < 0 < near.high and far.low > 0
    (note,) = [n for n in comparisons_table(result, "x").notes if n.startswith("Interval")]
    assert "For near the interval contains 0 because it holds for all rows together (Bonferroni)" in note


@FEW
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 9))
def test_symmetries(seed, n):
    frame = noisy([0, 1, 2], n, seed)
    there = compare(frame, "accuracy")
    shuffled = compare(frame.sample(frac=1, random_state=seed % 1000), "accuracy", baseline="s0")
    by_name = {row.scheme: row for row in shuffled.rows}
    for row in there.rows[:2]:  # s0 against s1 and s2
        back = by_name[row.reference]
        assert back.difference == pytest.approx(-row.difference)
        assert back.p_t == pytest.approx(row.p_t)
        assert back.share_won == pytest.approx(1 - row.share_won)
    lower = compare(frame, "accuracy", higher_is_better=False)
    swap = {"better": "worse", "worse": "better"}
    for up, down in zip(there.rows, lower.rows, strict=True):
        assert down.verdict == swap.get(up.verdict, up.verdict)
        assert down.share_won == pytest.approx(1 - up.share_won)
        assert (down.difference, down.p_t_adjusted) == (up.difference, up.p_t_adjusted)
        assert up.p_t_adjusted >= up.p_t


def test_identical_schemes():
    same = [0.1, 0.5, 0.3, 0.2]
    row = compare(tidy({"a": same, "b": same}), "accuracy").rows[0]
    assert row.verdict == row.t_note == "identical"
    assert (row.p_t, row.p_wilcoxon, row.difference, row.share_won) == (1, 1, 0, 0.5)
    assert math.isnan(row.t) and math.isnan(row.low)


@pytest.mark.parametrize("n", [2, 5, 9])
def test_wilcoxon_with_ties_and_zeros_is_that_of_scipy(n):
    rng = np.random.default_rng(n)
    for _ in range(4):
        steps = rng.integers(-2, 4, n).astype(float)
        steps[:2] = 1.0, -1.0  # a tie, and not all are zero
        row = paired.measure(steps, np.zeros(n), higher_is_better=True)
        wanted = stats.wilcoxon(steps, zero_method="pratt", method="auto").pvalue
        assert row.p_wilcoxon == pytest.approx(float(wanted), abs=1e-12) and row.wilcoxon_exact


def test_constant_difference_has_no_t_but_an_exact_wilcoxon():
    few = np.array([0.1, 0.2, 0.7])
    row = compare(tidy({"a": few + 0.1, "b": few}), "accuracy").rows[0]
    assert row.t_note == "constant difference"
    assert (row.sd, row.difference) == (0.0, pytest.approx(0.1))
    assert all(math.isnan(x) for x in (row.t, row.p_t, row.p_t_adjusted, row.low, row.high, row.d_z))
    assert row.verdict == "too few seeds"
    many = np.linspace(0, 1, 9)
    row = compare(tidy({"a": many + 0.1, "b": many}), "accuracy").rows[0]
    assert row.p_wilcoxon == pytest.approx(2 / 2**9)
    assert row.verdict == "better"
    row = compare(tidy({"a": many + 0.1, "b": many}), "accuracy", higher_is_better=False).rows[0]
    assert row.verdict == "worse"


def test_one_common_seed_is_no_test():
    row = compare(tidy({"a": [1.0], "b": [2.0]}), "accuracy").rows[0]
    assert (row.t_note, row.rank_note) == ("needs >= 2 seeds", "needs >= 6 seeds")
    assert row.verdict == "too few seeds"
    assert all(math.isnan(x) for x in (row.p_t, row.p_wilcoxon, row.low, row.sd))
    assert row.difference == -1.0


def test_untestable_rows_stay_in_the_family():
    scores = {"base": [1.0, 2.0, 4.0, 3.0], "x": [2.0, 4.0, 5.0, 5.5], "y": [1.0]}
    rows = compare(tidy(scores), "accuracy", baseline="base").rows
    assert rows[0].p_t_adjusted == pytest.approx(2 * rows[0].p_t)
    assert math.isnan(rows[1].p_t_adjusted)


def test_best_group():
    rng = np.random.default_rng(0)
    base = rng.normal(size=12)
    scores = {
        "good": base + 2 + 0.1 * rng.normal(size=12),
        "as good": base + 2 + 0.1 * rng.normal(size=12),
        "bad": base + 0.1 * rng.normal(size=12),
        "broken": np.where(np.arange(12) == 3, np.nan, base + 9),
    }
    frame = tidy(scores)
    assert best_group(compare(frame, "accuracy")) == {"good", "as good"}
    assert best_group(compare(frame, "accuracy", higher_is_better=False)) == {"bad"}
    assert best_group(compare(frame, "accuracy", baseline="bad")) == frozenset()


def test_bad_input_says_what_is_wrong():
    frame = tidy({"uniform": [1.0, 2.0], "fedcs": [2.0, 3.0]})
    cases = [
        (frame, {"metric": "acuracy"}, "no metric 'acuracy'; did you mean 'accuracy'"),
        (frame, {"metric": "zzz"}, "no metric 'zzz'; there are 'accuracy'"),
        (frame, {"metric": "seed"}, "no metric 'seed'; there are 'accuracy'"),
        (frame, {"baseline": "uniforn"}, "no scheme 'uniforn'; did you mean 'uniform'"),
        (frame, {"alpha": 1.0}, "alpha must lie strictly between 0 and 1"),
        (frame[frame.scheme == "fedcs"], {}, "at least two schemes, got 1"),
        (frame.iloc[:0], {}, "at least two schemes, got 0"),
        (pd.concat([frame, frame.iloc[[3]]]), {}, "1 row repeats a .*'fedcs', 1"),
        (frame.drop(columns="seed"), {}, "no column 'seed'"),
        (frame.assign(accuracy="high"), {}, "'accuracy' is not numeric"),
        (frame.assign(seed=[0, 1, None, 1]), {}, "no scheme or no seed"),
    ]
    for bad, options, message in cases:
        with pytest.raises(ValueError, match=message):
            compare(bad, **{"metric": "accuracy", **options})


def test_integer_boolean_and_nullable_metrics():
    frame = tidy({"a": [3, 4, 5], "b": [1, 2, 2]})
    assert compare(frame, "accuracy").rows[0].difference == pytest.approx(7 / 3)
    nullable = frame.assign(accuracy=pd.array([3, 4, None, 1, 2, 2], dtype="Int64"))
    assert compare(nullable, "accuracy").rows[0].failed_scheme == (2,)
    truth = frame.assign(accuracy=[True, True, False, False, False, False])
    assert compare(truth, "accuracy").rows[0].difference == pytest.approx(2 / 3)
