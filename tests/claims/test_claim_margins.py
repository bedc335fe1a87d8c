"""Equality up to a margin: two one-sided tests, ratios of paired means, and the margins at which verdicts flip."""

import numpy as np
import pandas as pd
import pytest
from claimed import NOISE, finding, of_scores, table, verdict
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from jfed.claims import equalities, ratios
from jfed.claims.means import p_above
from jfed.claims.runs import Missing
from jfed.stats.equivalence import tost

pytestmark = pytest.mark.check
SCORES = hnp.arrays(float, 8, elements=st.floats(-2, 2), unique=True)


def test_equal_and_near():
    frame = table(a=1.0, b=1.01, c=1.2)
    assert verdict({"equal": ["a", "b"], "margin": 0.1}, frame) == "supported"
    assert verdict({"equal": ["a", "b"], "relative_margin": 0.1}, frame) == "supported"
    assert verdict({"equal": ["a", "c"], "margin": 0.1}, frame) == "contradicted"
    assert verdict({"equal": ["a", "c"], "relative_margin": 0.1}, frame) == "contradicted"
    assert verdict({"equal": ["a", "b"], "margin": 0.011}, frame) == "underpowered"
    assert verdict({"near": {"a": 1.0, "c": 1.2}, "margin": 0.05}, frame) == "supported"
    assert verdict({"near": {"a": 1.0, "c": 1.0}, "margin": 0.05}, frame) == "contradicted"
    assert finding({"near": {"a": 1.0}, "margin": 0.05}, frame).numbers.startswith("a minus 1: ")


def test_two_sided_tests_show_intervals():
    """Mean 1, standard error 0.7071; 2.776445 and 2.131847 are the tabled quantiles of t for 0.975 and 0.95."""
    frame = of_scores(a=np.array([-1.0, 0, 1, 2, 3]), b=np.zeros(5))
    text = finding({"equal": ["a", "b"], "margin": 5.0}, frame).numbers
    assert text.startswith("a minus b: 1 (-0.9632 to 2.963), margin 5, p = 0.0") and text.endswith(", holds from 2.51")


@given(SCORES, st.floats(0.5, 3))
def test_the_verdict_flips_at_the_margins_that_are_said(d, shift):
    d = d / max(np.std(d), 1e-3) + shift  # of standard deviation 1, so that rounding decides nothing
    half = stats.t.ppf([0.95, 0.975], 7) * d.std(ddof=1) / 8**0.5
    holds, beyond = abs(d.mean()) + half[0], d.mean() - half[1]
    assert equalities.within(d, 1.001 * holds).verdict == "supported"
    below = equalities.within(d, 0.999 * holds)
    assert below.verdict != "supported" and f"holds from {holds:.3g}" in below.numbers
    if beyond > 0.01:
        assert equalities.within(d, 0.999 * beyond).verdict == "contradicted"
        assert equalities.within(d, 1.001 * beyond).verdict != "contradicted"
        assert f"contradicted below {beyond:.3g}" in below.numbers


def test_a_ratio_is_two_paired_tests():
    a, b = 102 + NOISE, 100 + np.roll(NOISE, 1)
    found = ratios.within(a, b, 0.03)
    upper = stats.ttest_rel(a, 1.03 * b, alternative="less").pvalue
    assert found.shown == pytest.approx(max(upper, stats.ttest_rel(a, 0.97 * b, alternative="greater").pvalue))
    assert ratios.within(a, b, 0.01).opposite == pytest.approx(
        2 * stats.ttest_rel(a, 1.01 * b, alternative="greater").pvalue
    )
    text = finding({"equal": ["a", "b"], "relative_margin": 0.03}, of_scores(a=a, b=b)).numbers
    low, high = ratios.interval(a, b, 0.95)
    assert text.startswith(f"a over b: 1.02 ({low:.4g} to {high:.4g}), margin 3 %, p ")
    assert text.endswith(f"holds from {100 * (ratios.limits(a, b)[1] - 1):.3g} %")
    with pytest.raises(Missing, match="a relative margin needs positive means"):
        ratios.within(a, -b, 0.03)


@given(SCORES, SCORES, st.sampled_from([0.5, 0.9, 0.95]))
def test_fieller_s_ends_are_the_ratios_that_a_t_test_just_rejects(x, y, level):
    a, b = 3 + x, 6 + y
    low, high = ratios.interval(a, b, level)
    assert low <= a.mean() / b.mean() <= high
    for end in (low, high):
        if np.ptp(a - end * b) > 1e-6:
            assert stats.ttest_rel(a, end * b).pvalue == pytest.approx(1 - level, abs=1e-6)


def test_a_ratio_over_a_mean_near_0_has_no_ends():
    assert ratios.interval(1 + NOISE, 0.1 + NOISE, 0.95) == (-np.inf, np.inf)


def test_the_type_i_error_of_a_relative_margin():
    """At the edge, a mean of 1.1 times the other's, the ratio's test errs in 5 %, that of the observed margin in 16 %.

    The observed margin, 0.1 times the mean of b, varies more than the difference does.
    """
    rng, runs = np.random.default_rng(7), 4000
    b = rng.normal(1.0, 0.3, (runs, 12))
    a = b + 0.1 + rng.normal(0, 0.02, b.shape)
    ratio = stats.ttest_1samp(a - 1.1 * b, 0, axis=1, alternative="less").pvalue
    assert ratio[:20] == pytest.approx([p_above(1.1 * y - x) for x, y in zip(a[:20], b[:20], strict=True)])
    error = 4 * (0.05 * 0.95 / runs) ** 0.5
    assert abs(np.mean(ratio < 0.05) - 0.05) < error
    observed = [tost(x - y, -0.1 * y.mean(), 0.1 * y.mean()).p < 0.05 for x, y in zip(a, b, strict=True)]
    assert abs(np.mean(observed) - 0.16) < 4 * (0.16 * 0.84 / runs) ** 0.5


def test_gaps():
    rows = [("x", table(a=3.0, b=1.0)), ("y", table(a=2.0, b=1.0))]
    frame = pd.concat([part.assign(data=name) for name, part in rows])
    gap = {"gap": ["a", "b"], "between": {"data": ["x", "y"]}}
    assert verdict(gap, frame) == "supported"
    assert verdict({**gap, "log": True}, frame) == "supported"
    assert verdict({**gap, "between": {"data": ["y", "x"]}}, frame) == "contradicted"
    assert verdict({**gap, "margin": 0.5}, frame) == "contradicted"
    assert verdict({**gap, "margin": 2.0}, frame) == "supported"


def test_a_gap_of_logarithms_is_one_of_ratios():
    """The gap from 100 to 80 is larger than that from 10 to 1 in numbers, and smaller in logarithms."""
    rows = [("x", table(a=100.0, b=80.0)), ("y", table(a=10.0, b=1.0))]
    frame = pd.concat([part.assign(data=name) for name, part in rows])
    gap = {"gap": ["a", "b"], "between": {"data": ["x", "y"]}}
    assert verdict(gap, frame) == "supported"
    assert verdict({**gap, "log": True}, frame) == "contradicted"
    by_hand = np.log(frame.metric.to_numpy().reshape(2, 2, 10))
    mean = ((by_hand[0, 0] - by_hand[0, 1]) - (by_hand[1, 0] - by_hand[1, 1])).mean()
    assert f": {mean:.4g} (≥ " in finding({**gap, "log": True}, frame).numbers


def test_gaps_are_of_the_same_seed():
    rows = [(s, k, i, 100.0 * i + 10 * (k == 2) * (s == "a")) for s in "ab" for k in (1, 2) for i in range(4)]
    frame = pd.DataFrame(rows, columns=["scheme", "k", "seed", "metric"])
    frame = frame[~((frame.scheme == "a") & (frame.seed == 3)) & ~((frame.scheme == "b") & (frame.seed == 0))]
    found = finding({"gap": ["a", "b"], "between": {"k": [2, 1]}}, frame)
    assert found.seeds == 2 and ": 10 (≥ 10)" in found.numbers
