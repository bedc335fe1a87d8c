"""Orders, trends and signs: the verdict of every step, against a margin where there is one."""

import numpy as np
import pandas as pd
import pytest
from claimed import NOISE, finding, of_scores, table, verdict
from scipy import stats

from jfed.claims.means import above, at_least, at_most, p_without

pytestmark = pytest.mark.check


def test_order():
    frame = table(a=3.0, b=2.0, c=1.0)
    assert verdict({"order": ["a", "b", "c"]}, frame) == "supported"
    assert verdict({"order": ["a", "b", "c"], "test": "sign-flip"}, frame) == "supported"
    assert verdict({"order": ["a", "c", "b"]}, frame) == "contradicted"
    assert verdict({"order": ["a", "b"]}, table(seeds=3, a=1.01, b=1.0)) == "underpowered"
    many = pd.concat([table(a=1.0, b=1.0).assign(seed=lambda x, i=i: x.seed + 10 * i) for i in range(6)])
    assert verdict({"order": ["a", "b"]}, many) == "not supported"  # no difference over 60 seeds


def test_a_trend_over_schemes():
    frame = table(a=3.0, b=2.99, c=1.0)
    assert verdict({"trend": ["a", "b", "c"]}, frame) == "supported"
    assert verdict({"trend": ["c", "b", "a"]}, frame) == "contradicted"
    same = pd.concat([table(a=1.0).assign(scheme=name) for name in "abc"])
    assert verdict({"trend": ["a", "b", "c"]}, same) == "not supported"  # the same number on every seed: no effect


@pytest.mark.parametrize("kind", ["order", "levels"])
def test_a_reversed_step_is_one_of_several(kind):
    """Any step may be the reversed one, so its p-value is multiplied by the number of steps (Bonferroni)."""
    lifted = {"a": 3.0, "b": 2.0, "c": 1.0, "d": 1.055}
    if kind == "order":
        frame, test = table(**lifted), {"order": [*lifted]}
    else:
        frame = pd.concat([table(**{s: x}).assign(scheme="x", k=s) for s, x in lifted.items()])
        frame["metric"] = table(**lifted)["metric"].to_numpy()
        test = {"levels": {"k": [*lifted]}}
    c, d = (frame.metric[frame["scheme" if kind == "order" else "k"] == s].to_numpy() for s in "cd")
    p = stats.ttest_rel(d, c, alternative="greater").pvalue
    found = finding(test, frame)
    assert 0.05 / 3 < p < 0.05 and found.opposite == pytest.approx(p) and found.tests == 3
    assert found.verdict != "contradicted" and "reversed" not in found.numbers
    two = {"order": ["c", "d"]} if kind == "order" else {"levels": {"k": ["c", "d"]}}
    assert verdict(two, frame) == "contradicted"


def test_the_weakest_step_is_named():
    found = finding({"order": ["a", "b", "c"]}, table(a=3.0, b=1.02, c=1.0))
    assert found.numbers.startswith("weakest step b > c: 0.02 (≥ ")
    assert finding({"order": ["a", "b"]}, table(a=3.0, b=1.0)).numbers.startswith("a > b: 2 (≥ ")


def test_a_step_within_the_margin_is_neither_shown_nor_reversed():
    """A difference of 0.002 that the same claim calls equal at a margin of 0.02 contradicts nothing."""
    less = of_scores(a=0.87 + 0.01 * NOISE, b=0.872 + 0.01 * NOISE + 0.001 * np.roll(NOISE, 1))
    step = {"order": ["a", "b"]}
    assert verdict(step, less) == "contradicted"
    assert verdict({**step, "margin": 0.02}, less) == "not supported"
    assert verdict({"order": ["b", "a"]}, less) == "supported"
    assert verdict({"order": ["b", "a"], "margin": 0.02}, less) == "not supported"
    assert verdict({"equal": ["a", "b"], "margin": 0.02}, less) == "supported"
    assert verdict({**step, "margin": 0.0005}, less) == "contradicted"
    assert "margin 0.02" in finding({**step, "margin": 0.02}, less).numbers


def test_the_three_directions_by_hand():
    """Mean 1, standard error sqrt(2.5 / 5) = 0.7071, four degrees of freedom."""
    d = np.array([-1.0, 0, 1, 2, 3])
    found = above(d, margin=0.5)
    tail = stats.t(4).sf
    assert found.shown == pytest.approx(tail(0.5 / 0.5**0.5))
    assert found.opposite == pytest.approx(tail(-1.5 / 0.5**0.5))
    assert found.absent == pytest.approx(tail(-0.5 / 0.5**0.5))
    # 2.131847 is the tabled quantile of t for 0.95: 1 -+ 1.507.
    assert at_least(d) == "1 (≥ -0.5074)" and at_most(d) == "1 (≤ 2.507)"


def test_half_a_standard_deviation_is_excluded_by_the_noncentral_t():
    """Against an integral over the standard deviation: P(T <= t) = E Phi(t sqrt(chi2 / nu) - delta)."""
    d = np.array([0.1, -0.2, 0.3, 0.0, -0.3, 0.05])
    t, nu, delta = d.mean() / (d.std(ddof=1) / 6**0.5), 5, 0.5 * 6**0.5
    x = np.linspace(1e-9, 60, 200001)
    expected = np.trapezoid(stats.norm.cdf(t * np.sqrt(x / nu) - delta) * stats.chi2.pdf(x, nu), x)
    assert p_without(d) == pytest.approx(expected, abs=1e-6)
    assert p_without(np.zeros(5)) == 0.5**5 and p_without(np.ones(5)) == 1


def test_a_relative_margin_is_one_of_the_ratio():
    frame = of_scores(a=102 + NOISE, b=100 + np.roll(NOISE, 1))
    assert verdict({"order": ["a", "b"], "relative_margin": 0.01}, frame) == "supported"
    assert verdict({"order": ["b", "a"], "relative_margin": 0.01}, frame) == "contradicted"
    assert verdict({"order": ["a", "b"], "relative_margin": 0.03}, frame) == "not supported"
    assert "ratio 1.02 (≥ 1.0" in finding({"order": ["a", "b"], "relative_margin": 0.01}, frame).numbers
    assert "; reversed b > a: ratio 0.98" in finding({"order": ["b", "a"], "relative_margin": 0.01}, frame).numbers


def test_larger_on_more_than_half_of_the_seeds():
    frame = table(a=1.0).assign(more=2.0, less=0.0)
    test = {"larger": "more", "than": ["metric", "less"], "schemes": ["a"]}
    assert verdict(test, frame) == "supported"
    assert finding(test, frame).numbers == "a: on 10 of 10 seeds (≥ 74.1 %)"  # 0.05^(1/10)
    assert verdict({**test, "larger": "less", "than": ["more"]}, frame) == "contradicted"
    assert verdict({**test, "than": ["more"]}, frame) == "underpowered"  # ties only
    # Larger than all of them, not than some.
    assert verdict({**test, "than": ["metric", "most"]}, frame.assign(most=3.0)) == "contradicted"
    # 20 of 40 seeds: a share of Phi(0.5) = 0.69 is excluded, at 0.009 by the binomial distribution.
    even = pd.DataFrame({"scheme": "a", "seed": range(40), "more": [0, 1] * 20, "less": 0.5})
    found = finding({**test, "than": ["less"]}, even)
    assert found.verdict == "not supported" and found.absent == pytest.approx(
        stats.binom.cdf(20, 40, 0.691462), abs=1e-6
    )


def test_settings():
    frame = pd.concat([table(a=float(k)).assign(k=10 * k) for k in (1, 2, 3)])
    assert verdict({"trend": {"k": "up"}}, frame) == "supported"
    assert verdict({"trend": {"k": "down"}}, frame) == "contradicted"
    assert verdict({"levels": {"k": [30, 10]}}, frame) == "supported"


def test_no_spread_is_no_evidence_against():
    frame = table(seeds=3, a=2.0, b=1.0)
    flat = frame.assign(metric=np.where(frame.scheme == "a", 3.0, 2.0))
    assert verdict({"order": ["a", "b"], "test": "sign-flip"}, flat) == "underpowered"


@pytest.mark.proof
@pytest.mark.parametrize(("effect", "word"), [(0.0, "contradicted"), (0.5 * 2**0.5, "not supported")])
def test_a_chance_in_one_of_many_parts_is_no_verdict(effect, word):
    """Uncorrected, a fifth to a third of these orders would have the word: each of six steps could have it by chance.

    The steps are 0, or half a standard deviation of the paired differences.
    """
    rng, names, wrong = np.random.default_rng(3), list("abcdefg"), 0
    for _ in range(200):
        frame = of_scores(**{s: rng.normal(-i * effect, 1, 10) for i, s in enumerate(names)})
        wrong += finding({"order": names}, frame).verdict == word
    assert wrong <= 200 * 0.05 + 4 * np.sqrt(200 * 0.05 * 0.95)
