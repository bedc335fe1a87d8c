"""Bounds of means, of every run and of ratios of medians; and the theorems that are bounds."""

import numpy as np
import pandas as pd
import pytest
from claimed import finding, table, verdict
from scipy import stats

from jfed.claims import judge, read
from jfed.claims.bounds import excluded
from jfed.claims.runs import Missing

pytestmark = pytest.mark.check
CLAIMS = {claim.id: claim for claim in read()}


def test_bounds():
    frame = table(a=1.0, b=1.5)
    assert verdict({"at_most": 1.2, "schemes": ["a"]}, frame) == "supported"
    assert verdict({"at_most": 1.2, "schemes": ["a", "b"]}, frame) == "contradicted"
    assert verdict({"at_least": 1.2, "schemes": ["b"]}, frame) == "supported"
    assert verdict({"at_least": 0.4, "differences": [["b", "a"]]}, frame) == "supported"
    assert verdict({"at_least": 0.6, "differences": [["b", "a"]]}, frame) == "contradicted"
    assert verdict({"at_most": 1.06, "schemes": ["a"], "on_every_seed": True}, frame) == "supported"
    assert verdict({"at_most": 1.05, "schemes": ["a"], "on_every_seed": True}, frame) == "contradicted"


def test_a_bound_shows_the_limit_on_its_side():
    frame = table(a=1.0)
    half = stats.t.ppf(0.95, 9) * frame.metric.std() / 10**0.5
    assert finding({"at_most": 1.2, "schemes": ["a"]}, frame).numbers.startswith(
        f"a: 1 (≤ {1 + half:.4g}), at most 1.2"
    )
    assert finding({"at_least": 0.2, "schemes": ["a"]}, frame).numbers.startswith(f"a: 1 (≥ {1 - half:.4g}), at least")


def test_exact_statements():
    frame = table(a=1.0).assign(metric=2.0)
    twin = pd.concat([frame, frame.assign(scheme="b")])
    assert verdict({"every": 2.0, "schemes": ["a"]}, frame) == "supported"
    assert verdict({"identical": ["a", "b"]}, twin) == "supported"
    twin.iloc[-1, 2] = 2.5
    assert verdict({"identical": ["a", "b"]}, twin) == "contradicted"
    assert verdict({"every": 2.0, "schemes": ["b"]}, twin) == "contradicted"
    assert "2 on 9 of 10 seeds (2 to 2.5)" in finding({"every": 2.0, "schemes": ["b"]}, twin).numbers


@pytest.mark.parametrize("n", [1, 3, 45, 100])
def test_what_no_failure_in_n_seeds_excludes(n):
    rate = excluded(n) / 100
    assert stats.binom.pmf(0, n, rate) == pytest.approx(0.05)
    assert rate == pytest.approx(stats.binomtest(0, n, alternative="less").proportion_ci(0.95).high)
    assert n < 45 or rate == pytest.approx(3 / n, rel=0.04)  # the rule of three


def test_a_statement_about_every_seed_says_what_it_excludes():
    found = finding({"at_most": 2.0, "schemes": ["a"], "on_every_seed": True}, table(a=1.0))
    assert found.numbers == "a: at most 2 on all 10 seeds (0.95 to 1.06; failures < 26 %)" and found.tests == 0


def test_ratio_of_medians():
    frame = table(a=4.0, b=2.0)
    assert verdict({"ratio": ["a", "b"], "reaches": 1.8}, frame) == "supported"
    assert verdict({"ratio": ["a", "b"], "reaches": 2.5}, frame) == "contradicted"
    assert verdict({"ratio": ["a", "b"], "reaches": 2.0}, frame) == "underpowered"
    assert ": 2.00 (≥ 1." in finding({"ratio": ["a", "b"], "reaches": 1.8}, frame).numbers
    assert ": 2.00 (≤ 2." in finding({"ratio": ["a", "b"], "reaches": 2.5}, frame).numbers
    assert verdict({"ratio": ["a", "b"], "reaches": 1.8}, table(seeds=5, a=4.0, b=2.0)) == "underpowered"


def test_never_counts_as_the_last_round():
    frame = table(a=100.0, b=50.0)
    frame.loc[frame.scheme == "a", "metric"] = np.inf
    with pytest.raises(Missing, match=r"'metric' is infinite in 10 run\(s\) of a"):
        finding({"order": ["a", "b"]}, frame)
    times = frame.rename(columns={"metric": "rounds to 65 %"})
    order = {"order": ["a", "b"], "metric": "rounds to 65 %", "test": "sign-flip"}
    with pytest.raises(Missing, match="has no column num_rounds"):
        finding(order, times)
    late = finding(order, times.assign(num_rounds=120))
    assert late.verdict == "supported" and "70" in late.numbers
    ratio = {"ratio": ["a", "b"], "reaches": 2, "metric": "rounds to 65 %"}
    assert verdict(ratio, times.assign(num_rounds=120)) == "supported"  # inf over 50
    nobody = times.assign(num_rounds=120, **{"rounds to 65 %": np.inf})
    for test in (order, ratio, {"equal": ["a", "b"], "margin": 1.0, "metric": "rounds to 65 %"}):
        with pytest.raises(Missing, match="no run of a, b reaches 65 %"):
            finding(test, nobody)


def shares(early, late, v=("5", "10", "20", "50", "100")):
    """Return RBCS-F's table with this lowest share minus beta after 500 and 5000 rounds, give or take a rounding."""
    rows = [
        (f"rbcs-f-{x}", "corrected", seed, rounds, slack + 1e-4 * (seed % 3))
        for x in v
        for seed in range(12)
        for rounds, slack in ((500, early), (5000, late))
    ]
    return pd.DataFrame(rows, columns=["scheme", "reading", "seed", "num_rounds", "slack"])


@pytest.mark.parametrize(
    ("early", "late", "word"),
    [
        (-0.148, -0.015, "supported"),  # short at any finite T, by less and less
        (-0.02, -0.02, "not supported"),  # a share that stays below beta
        (-0.148, -0.12, "contradicted"),  # shorter than sqrt(40 * 1.0225 / 5000) = 0.0904
    ],
)
def test_a_limit_is_not_contradicted_by_a_finite_run_that_is_on_its_way(early, late, word):
    (found,) = judge(CLAIMS["R-5"], shares(early, late))
    assert found.finding.verdict == word
    assert (
        "with allowance: rbcs-f-5: " in found.finding.numbers
        and "share: rbcs-f-5: num_rounds 5000 > " in found.finding.numbers
    )


@pytest.mark.parametrize(("gap", "word"), [(5000.0, "supported"), (102206.0, "supported"), (102207.0, "contradicted")])
def test_an_upper_bound_on_regret_holds_or_not_however_regret_grows(gap, word):
    """5 s times 4 N (N + 1) K ln T is 102206.3 s for N = 5, K = 20 and T = 5000."""
    frame = table(**{"cs-ucb": 1.0}).assign(model_bits=5e3, num_rounds=5000, num_channels=5, gap=gap, regret=gap)
    (found,) = judge(CLAIMS["U-3"], frame)
    assert found.finding.verdict == word


def test_a_success_ratio_converges_where_it_stops_changing():
    """The ratio of rounds 626 to 2500 holds that of the last 500: 1375 rounds are left."""
    rows = [(f"e3cs-{q}", seed, at + 0.001 * (seed % 4)) for q, at in (("0", 0.88), ("0.5", 0.68), ("0.8", 0.55))
            for seed in range(12)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["scheme", "seed", "ratio_last"]).assign(tuned=False)
    still = frame.assign(ratio_after_turn=frame.ratio_last)
    (found,) = judge(CLAIMS["E-3"], still)
    assert found.finding.verdict == "supported" and found.finding.numbers.startswith("change: e3cs-0: ")
    (found,) = judge(CLAIMS["E-3"], frame.assign(ratio_after_turn=frame.ratio_last - 0.02 * 1375 / 1875))
    assert found.finding.verdict == "contradicted" and "change: e3cs-0: 0.02 (" in found.finding.numbers
