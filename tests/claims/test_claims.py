"""Tests of claims: sound files, the verdicts of each kind of test, and the choice of the runs a claim is about."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from jfed.catalog import scheme as method
from jfed.claims import Claim, judge, judge_all, read, verdicts_table
from jfed.claims.finding import WORDS, Finding, settled, together
from jfed.claims.kinds import KINDS, evaluate
from jfed.claims.runs import Missing, Runs

pytestmark = pytest.mark.check

NUM_CLAIMS = {"E3CS": 19, "RBCS-F": 13, "CS-UCB": 11, "Eiffel": 11}
NOISE = np.array([0.3, -0.5, 0.1, 0.6, -0.4, 0.2, -0.1, -0.2, 0.5, -0.5])  # mean 0


def table(seeds=10, **schemes):
    """Return a per-run table: each scheme's scores are its mean plus its own noise."""
    rows = [
        {"scheme": name.replace("_", "-"), "seed": seed, "metric": mean + 0.1 * np.roll(NOISE, shift)[seed]}
        for shift, (name, mean) in enumerate(schemes.items())
        for seed in range(seeds)
    ]
    return pd.DataFrame(rows)


def verdict(test, frame):
    found = settled(evaluate({"metric": "metric", **test}, Runs(frame)))
    assert found.verdict in WORDS and found.seeds == frame.seed.nunique() and found.numbers
    return found.verdict


def test_every_file_is_sound():
    claims = read()
    assert {paper: sum(c.paper == paper for c in claims) for paper in NUM_CLAIMS} == NUM_CLAIMS
    assert len({c.id for c in claims}) == len(claims)
    for claim in claims:
        assert claim.claim and claim.place and claim.measure and claim.runs
        assert bool(claim.tests) != bool(claim.untestable), claim.id
        for test in claim.tests:
            assert sum(kind in test for kind in KINDS) == 1, claim.id
            known = {"metric", "margin", "relative_margin", "mode", "test", "schemes", "differences", "on_every_seed"}
            assert set(test) - known - set(KINDS) <= {"than", "between", "log", "reaches", "at", "where"}, claim.id
            assert "metric" in test or "larger" in test, claim.id
            if {"near", "equal"} & set(test):
                assert ("margin" in test) != ("relative_margin" in test), claim.id


def test_schemes_of_claims_are_schemes():
    for claim in read():
        if claim.paper != "Eiffel":
            for test in claim.tests:
                named = [
                    test.get(kind, []) for kind in ("order", "trend", "equal", "identical", "schemes", "gap", "ratio")
                ]
                names = [n for names in named if isinstance(names, list) for n in names] + list(test.get("near", {}))
                for name in (*names, *(n for pair in test.get("differences", []) for n in pair)):
                    assert method(name) is not None, (claim.id, name)


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
    found = evaluate({"metric": "metric", **test}, Runs(frame))
    assert 0.05 / 3 < p < 0.05 and found.opposite == pytest.approx(3 * p)
    assert settled(found).verdict != "contradicted"
    two = {"order": ["c", "d"]} if kind == "order" else {"levels": {"k": ["c", "d"]}}
    assert verdict(two, frame) == "contradicted"


def test_the_weakest_step_is_named():
    found = evaluate({"order": ["a", "b", "c"], "metric": "metric"}, Runs(table(a=3.0, b=1.02, c=1.0)))
    assert found.numbers.startswith("weakest step b > c: 0.02 (")


def test_equal_and_near():
    frame = table(a=1.0, b=1.01, c=1.2)
    assert verdict({"equal": ["a", "b"], "margin": 0.1}, frame) == "supported"
    assert verdict({"equal": ["a", "b"], "relative_margin": 0.1}, frame) == "supported"
    assert verdict({"equal": ["a", "c"], "margin": 0.1}, frame) == "contradicted"
    assert verdict({"equal": ["a", "b"], "margin": 0.011}, frame) == "underpowered"
    assert verdict({"near": {"a": 1.0, "c": 1.2}, "margin": 0.05}, frame) == "supported"
    assert verdict({"near": {"a": 1.0, "c": 1.0}, "margin": 0.05}, frame) == "contradicted"


def test_exact_statements():
    frame = table(a=1.0).assign(metric=2.0)
    twin = pd.concat([frame, frame.assign(scheme="b")])
    assert verdict({"every": 2.0, "schemes": ["a"]}, frame) == "supported"
    assert verdict({"identical": ["a", "b"]}, twin) == "supported"
    twin.iloc[-1, 2] = 2.5
    assert verdict({"identical": ["a", "b"]}, twin) == "contradicted"
    assert verdict({"every": 2.0, "schemes": ["b"]}, twin) == "contradicted"


def test_bounds():
    frame = table(a=1.0, b=1.5)
    assert verdict({"at_most": 1.2, "schemes": ["a"]}, frame) == "supported"
    assert verdict({"at_most": 1.2, "schemes": ["a", "b"]}, frame) == "contradicted"
    assert verdict({"at_least": 1.2, "schemes": ["b"]}, frame) == "supported"
    assert verdict({"at_least": 0.4, "differences": [["b", "a"]]}, frame) == "supported"
    assert verdict({"at_least": 0.6, "differences": [["b", "a"]]}, frame) == "contradicted"
    assert verdict({"at_most": 1.06, "schemes": ["a"], "on_every_seed": True}, frame) == "supported"
    assert verdict({"at_most": 1.05, "schemes": ["a"], "on_every_seed": True}, frame) == "contradicted"


def test_larger_on_more_than_half_of_the_seeds():
    frame = table(a=1.0).assign(more=2.0, less=0.0)
    test = {"larger": "more", "than": ["metric", "less"], "schemes": ["a"]}
    assert verdict(test, frame) == "supported"
    assert verdict({**test, "larger": "less", "than": ["more"]}, frame) == "contradicted"
    assert verdict({**test, "than": ["more"]}, frame) == "underpowered"  # ties only
    # Larger than all of them, not than some.
    assert verdict({**test, "than": ["metric", "most"]}, frame.assign(most=3.0)) == "contradicted"


def test_settings():
    def at(name, means):
        return pd.concat([table(**schemes).assign(**{name: value}) for value, schemes in means.items()])

    frame = at("k", {10: {"a": 1.0}, 20: {"a": 2.0}, 30: {"a": 3.0}})
    assert verdict({"trend": {"k": "up"}}, frame) == "supported"
    assert verdict({"trend": {"k": "down"}}, frame) == "contradicted"
    assert verdict({"levels": {"k": [30, 10]}}, frame) == "supported"
    frame = at("data", {"x": {"a": 3.0, "b": 1.0}, "y": {"a": 2.0, "b": 1.0}})
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
    found = evaluate({**gap, "log": True, "metric": "metric"}, Runs(frame))
    by_hand = np.log(frame.metric.to_numpy().reshape(2, 2, 10))
    mean = ((by_hand[0, 0] - by_hand[0, 1]) - (by_hand[1, 0] - by_hand[1, 1])).mean()
    assert f": {mean:.4g} (" in found.numbers


def test_ratio_of_medians():
    frame = table(a=4.0, b=2.0)
    assert verdict({"ratio": ["a", "b"], "reaches": 1.8}, frame) == "supported"
    assert verdict({"ratio": ["a", "b"], "reaches": 2.5}, frame) == "contradicted"
    assert verdict({"ratio": ["a", "b"], "reaches": 2.0}, frame) == "underpowered"


def test_never_counts_as_the_last_round():
    frame = table(a=100.0, b=50.0)
    frame.loc[frame.scheme == "a", "metric"] = np.inf
    with pytest.raises(Missing, match=r"'metric' is infinite in 10 run\(s\) of a"):
        evaluate({"order": ["a", "b"], "metric": "metric"}, Runs(frame))
    times = frame.rename(columns={"metric": "rounds to 65 %"})
    order = {"order": ["a", "b"], "metric": "rounds to 65 %", "test": "sign-flip"}
    with pytest.raises(Missing, match="has no column num_rounds"):
        evaluate(order, Runs(times))
    late = evaluate(order, Runs(times.assign(num_rounds=120)))
    assert late.verdict == "supported" and "70" in late.numbers
    ratio = {"ratio": ["a", "b"], "reaches": 2, "metric": "rounds to 65 %"}
    assert settled(evaluate(ratio, Runs(times.assign(num_rounds=120)))).verdict == "supported"  # inf over 50
    nobody = times.assign(num_rounds=120, **{"rounds to 65 %": np.inf})
    for test in (order, ratio, {"equal": ["a", "b"], "margin": 1.0, "metric": "rounds to 65 %"}):
        with pytest.raises(Missing, match="no run of a, b reaches 65 %"):
            evaluate(test, Runs(nobody))


def test_modes_tell_apart_only_schemes_that_have_two():
    e3cs = table(e3cs=2.0)
    frame = pd.concat([table(uniform=1.0).assign(mode="faithful"), e3cs.assign(mode="faithful")])
    frame = pd.concat([frame, e3cs.assign(mode="corrected", metric=0.5)])
    claim = Claim("X-1", "X", "", "", "", "x", ({"order": ["e3cs", "uniform"], "metric": "metric"},))
    found = {v.mode: v.finding.verdict for v in judge(claim, frame)}
    assert found == {"faithful": "supported", "corrected": "contradicted"}
    other = Claim("X-1", "X", "", "", "", "x", ({**claim.tests[0], "mode": "faithful"}, *claim.tests))
    assert [v.finding.verdict for v in judge(other, frame)] == ["supported", "contradicted"]


def test_what_is_missing_is_not_run():
    claim = Claim("X-1", "X", "", "", "", "x", ({"order": ["a", "z"], "metric": "metric"},))
    frame = table(a=1.0)
    assert judge(claim, None)[0].finding == Finding("not run", "")
    assert judge(claim, frame)[0].finding.numbers == "no runs of z"
    for change, sentence in (({"where": {"k": 3}}, "no setting 'k'"), ({"by": ("k",)}, "no setting 'k'")):
        (found,) = judge(Claim("X-1", "X", "", "", "", "x", claim.tests, **change), frame)
        assert found.finding.verdict == "not run" and found.finding.numbers == sentence
    (found,) = judge(Claim("X-1", "X", "", "", "", "x", ({"order": ["a", "a"], "metric": "a +"},)), frame)
    assert found.finding.numbers == "no metric 'a +'"
    failed = table(a=1.0, z=0.0)
    failed.loc[3, "metric"] = np.nan
    assert judge(claim, failed)[0].finding == Finding("not run", "1 failed run(s) of a")
    twice = pd.concat([frame, frame])
    (found,) = judge(Claim("X-1", "X", "", "", "", "x", ({"order": ["a", "b"], "metric": "metric"},)), twice)
    assert "a has several runs of a seed: name the setting" in found.finding.numbers
    text = table(a=1.0, b=0.0).assign(metric="x")
    for metric in ("metric", "metric / seed"):
        (found,) = judge(Claim("X-1", "X", "", "", "", "x", ({"order": ["a", "b"], "metric": metric},)), text)
        assert found.finding == Finding("not run", f"{metric!r} is not numeric")
    assert (
        judge(Claim("X-1", "X", "", "", "", "x", untestable="why"), frame)[0].finding.verdict == "untestable as printed"
    )


def test_a_claim_is_as_good_as_its_worst_part():
    parts = [Finding("supported", "a", 10), Finding("underpowered", "b", 5), Finding("supported", "", 20)]
    assert together(parts) == Finding("underpowered", "a; b", 5)
    assert settled(together([*parts, Finding("underpowered", "c", 7, 0.012)])).verdict == "contradicted"
    assert (
        settled(together([*parts, Finding("underpowered", "c", 7, 0.013)])).verdict == "underpowered"
    )  # of four parts


@pytest.mark.proof
def test_equal_schemes_are_rarely_called_contradicted():
    """Any of six steps could be reversed: without a correction about a third of the orders would be contradicted."""
    rng = np.random.default_rng(3)
    names, wrong = list("abcdefg"), 0
    for _ in range(200):
        frame = pd.DataFrame(
            [(s, i, rng.normal()) for s in names for i in range(10)], columns=["scheme", "seed", "metric"]
        )
        wrong += settled(evaluate({"order": names, "metric": "metric"}, Runs(frame))).verdict == "contradicted"
    assert wrong <= 200 * 0.05 + 4 * np.sqrt(200 * 0.05 * 0.95)


def test_a_setting_that_a_scheme_lacks_counts_at_every_value():
    frame = pd.concat([table(a=2.0).assign(k=1.0), table(a=3.0).assign(k=2.0), table(b=1.0)])
    claim = Claim("X-1", "X", "", "", "", "x", ({"order": ["a", "b"], "metric": "metric"},), by=("k",))
    assert [(v.setting, v.finding.verdict) for v in judge(claim, frame)] == [
        ({"k": 1}, "supported"),
        ({"k": 2}, "supported"),
    ]
    once = Claim("X-1", "X", "", "", "", "x", ({"order": ["a", "b"], "metric": "metric", "at": ["k"]},))
    assert [v.finding.verdict for v in judge(once, frame)] == ["supported"]


def test_gaps_are_of_the_same_seed():
    rows = [(s, k, i, 100.0 * i + 10 * (k == 2) * (s == "a")) for s in "ab" for k in (1, 2) for i in range(4)]
    frame = pd.DataFrame(rows, columns=["scheme", "k", "seed", "metric"])
    frame = frame[~((frame.scheme == "a") & (frame.seed == 3)) & ~((frame.scheme == "b") & (frame.seed == 0))]
    found = evaluate({"gap": ["a", "b"], "between": {"k": [2, 1]}, "metric": "metric"}, Runs(frame))
    assert found.seeds == 2 and ": 10 (10 to 10)" in found.numbers


def test_no_spread_is_no_evidence_against():
    frame = table(seeds=3, a=2.0, b=1.0)
    flat = frame.assign(metric=np.where(frame.scheme == "a", 3.0, 2.0))
    assert verdict({"order": ["a", "b"], "test": "sign-flip"}, flat) == "underpowered"


def test_all_claims_on_no_runs():
    verdicts = judge_all({})
    assert {v.finding.verdict for v in verdicts} == {"not run", "untestable as printed"}
    made = verdicts_table(verdicts, "Claims")
    assert len(made.rows) == len(made.data) == sum(NUM_CLAIMS.values())
