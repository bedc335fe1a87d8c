"""The choice of the runs that a claim is about: modes, settings, levels, and those that were not run."""

import numpy as np
import pandas as pd
import pytest
from claimed import claim, table

from jfed.claims import Claim, judge, read, table_of
from jfed.claims.finding import Finding

pytestmark = pytest.mark.check
A_OVER_B = {"order": ["a", "b"]}


def missing(*reasons):
    return Finding(missing=reasons)


def test_modes_tell_apart_only_schemes_that_have_two():
    e3cs = table(e3cs=2.0)
    frame = pd.concat([table(uniform=1.0).assign(mode="faithful"), e3cs.assign(mode="faithful")])
    frame = pd.concat([frame, e3cs.assign(mode="corrected", metric=0.5)])
    found = {v.mode: v.finding.verdict for v in judge(claim({"order": ["e3cs", "uniform"]}), frame)}
    assert found == {"faithful": "supported", "corrected": "contradicted"}


def test_what_is_missing_is_not_run():
    frame = table(a=1.0)
    assert judge(claim({"order": ["a", "z"]}), None)[0].finding == Finding()
    assert judge(claim({"order": ["a", "z"]}), frame)[0].finding == missing("no runs of z")
    for change, sentence in (({"where": {"k": 3}}, "no setting 'k'"), ({"by": ("k",)}, "no setting 'k'")):
        (found,) = judge(claim({"order": ["a", "z"]}, **change), frame)
        assert found.finding.verdict == "not run" and found.finding.text == sentence
    (found,) = judge(claim({"order": ["a", "a"], "metric": "a +"}), frame)
    assert found.finding == missing("no metric 'a +'")
    failed = table(a=1.0, z=0.0)
    failed.loc[3, "metric"] = np.nan
    assert judge(claim({"order": ["a", "z"]}), failed)[0].finding == missing("1 failed run(s) of a")
    (found,) = judge(claim(A_OVER_B), pd.concat([frame, frame]))
    assert "a has several runs of a seed: name the setting" in found.finding.text
    text = table(a=1.0, b=0.0).assign(metric="x")
    for metric in ("metric", "metric / seed"):
        (found,) = judge(claim({**A_OVER_B, "metric": metric}), text)
        assert found.finding == missing(f"{metric!r} is not numeric")
    (found,) = judge(Claim("X-1", "X", "", "", "", "x", untestable="why"), frame)
    assert found.word == "untestable as printed" and found.finding.text == "why"


def test_a_part_without_runs_does_not_hide_the_others():
    (found,) = judge(claim(A_OVER_B, {"order": ["b", "z"]}), table(a=3.0, b=1.0))
    assert (found.word, found.finding.seeds) == ("supported (in part)", 10)
    assert found.finding.text.endswith("; not run: no runs of z")
    (found,) = judge(claim({"at_most": 2.0, "schemes": ["b", "z"]}), table(a=3.0, b=1.0))
    assert found.word == "supported (in part)" and found.finding.missing == ("no runs of z",)


def test_settings_come_by_size_and_names_as_in_the_table():
    parts = [table(a=3.0, b=1.0).assign(k=k, part=part) for part in ("primary", "iid") for k in (10, 2, 6)]
    found = judge(claim(A_OVER_B, by=("part", "k")), pd.concat(parts))
    each = [(name, k) for name in ("primary", "iid") for k in (2, 6, 10)]
    assert [v.where for v in found] == [f"part = {name}, k = {k}" for name, k in each]


def test_settings_that_the_paper_claims_and_nobody_ran():
    frame = table(a=3.0, b=1.0).assign(data="x", k=1)
    expects = {"data": ["x", "y"], "k": [1, 2, float("inf")]}
    ran, rest = judge(claim(A_OVER_B, by=("data", "k"), expects=expects), frame)
    assert (ran.word, ran.where) == ("supported (in part)", "data = x, k = 1") and not ran.finding.missing
    assert (rest.word, rest.finding.text) == ("not run", "data = y; k = 2 or inf")
    every = pd.concat([frame.assign(data=data, k=k) for data in "xy" for k in (1, 2) if (data, k) != ("y", 2)])
    *found, rest = judge(claim(A_OVER_B, by=("data", "k"), expects={"data": ["x", "y"], "k": [1, 2]}), every)
    assert len(found) == 3 and rest.finding.text == "data = y, k = 2"
    *found, rest = judge(claim(A_OVER_B, expects={"model": ["svm", "cnn"]}), frame)  # a setting that is no column
    assert [v.word for v in found] == ["supported (in part)"] and rest.finding.text == "model = svm or cnn"
    (whole,) = judge(claim(A_OVER_B, by=("data",), expects={"data": ["x"]}), frame)
    assert whole.word == "supported"


def test_a_setting_that_a_scheme_lacks_counts_at_every_value():
    frame = pd.concat([table(a=2.0).assign(k=1.0), table(a=3.0).assign(k=2.0), table(b=1.0)])
    assert [(v.setting, v.finding.verdict) for v in judge(claim(A_OVER_B, by=("k",)), frame)] == [
        ({"k": 1}, "supported"),
        ({"k": 2}, "supported"),
    ]
    (once,) = judge(claim({**A_OVER_B, "at": ["k"]}), frame)
    assert once.finding.verdict == "supported"


def test_parts_name_their_level_and_what_they_measure():
    frame = pd.concat([table(a=2.0, b=1.0).assign(k=k, other=lambda x: 2 * x.metric) for k in (10, 20)])
    (found,) = judge(claim({**A_OVER_B, "at": ["k"]}, {**A_OVER_B, "where": {"k": 20}}), frame)
    assert [part.split(": ")[:2] for part in found.finding.numbers.split("; ")] == [
        ["k = 10", "a > b"], ["k = 20", "a > b"], ["k = 20", "a > b"]
    ]  # fmt: skip
    several = ({**A_OVER_B, "at": ["k"]}, {**A_OVER_B, "at": ["k"], "metric": "other / 2", "name": "half"})
    (found,) = judge(claim(*several), frame)
    assert [part.split(": ")[0] for part in found.finding.numbers.split("; ")] == [
        "k = 10, metric", "k = 20, metric", "k = 10, half", "k = 20, half"
    ]  # fmt: skip
    (found,) = judge(claim({"order": ["a", "z"], "at": ["k"]}), frame)
    assert found.finding.missing == ("k = 10: no runs of z", "k = 20: no runs of z")


def test_runs_on_other_data_decide_nothing():
    about = claim(A_OVER_B, data=("mnist", "cifar10"))
    frame = table(a=3.0, b=1.0).assign(dataset="digits")
    (found,) = judge(about, frame)
    assert (found.word, found.other_data) == ("not run", True)
    assert found.finding == missing("the runs are on digits, and the claim is about mnist or cifar10")
    (found,) = judge(about, pd.concat([frame, table(a=1.0, b=3.0).assign(dataset="mnist")]))
    assert (found.word, found.other_data, found.finding.seeds) == ("contradicted", False, 10)
    for named in (
        claim(A_OVER_B, where={"dataset": "mnist"}),
        claim(A_OVER_B, by=("dataset",), expects={"dataset": ["mnist"]}),
    ):
        assert judge(named, frame)[0].finding == missing("the runs are on digits, and the claim is about mnist")
    for no_matter in (judge(claim(A_OVER_B), frame), judge(about, table(a=3.0, b=1.0))):
        assert [v.word for v in no_matter] == ["supported"]


def test_an_experiment_is_known_on_other_data():
    mine = {"digits_e3cs": table(a=1.0), "x_fairness": table(b=1.0), "eiffel_fairness": table(c=1.0)}
    e12, f1, r7 = (next(c for c in read() if c.id == name) for name in ("E-12", "F-1", "R-7"))
    assert table_of(e12, mine) is mine["digits_e3cs"] and table_of(f1, mine) is mine["eiffel_fairness"]
    assert table_of(r7, mine) is None
