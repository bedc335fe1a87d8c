"""Verdicts from runs on smaller images."""

import pandas as pd
import pytest
from claimed import claim, table

from jfed.claims import judge, summary_table
from jfed.claims.finding import Finding

pytestmark = pytest.mark.check
A_OVER_B = {"order": ["a", "b"]}


def on(name, **schemes):
    return table(**schemes).assign(dataset=name)


def words(named, *frames):
    found = judge(named, pd.concat(frames, ignore_index=True))
    return [(v.word, v.setting) for v in found], found


def test_a_reduced_verdict_stands_beside_that_in_full():
    named = claim(A_OVER_B, data=("cifar10",))
    small = on("cifar10-16x16", a=0.0, b=1.0)
    assert words(named, on("cifar10", a=1.0, b=0.0), small)[0] == [
        ("supported", {}), ("contradicted (reduced)", {}),
    ]  # fmt: skip
    told, (full, reduced) = words(named, small)
    assert told == [("not run", {}), ("contradicted (reduced)", {})]
    assert full.finding == Finding(missing=("no runs on cifar10 at full size",)) and not full.reduced
    assert reduced.finding.seeds == 10 and reduced.reduced


def test_without_a_verdict_nothing_is_reduced():
    named = claim(A_OVER_B, data=("cifar10",), where={"k": 3})
    assert words(named, on("cifar10_16x16", a=1.0, b=0.0))[0] == [("not run", {})]
    assert words(claim(A_OVER_B, data=("mnist",)), on("cifar10_16x16", a=1.0, b=0.0))[0] == [("not run", {})]


def test_another_data_set_stays_as_it_is_where_a_claim_compares_two():
    named = claim({"gap": ["a", "b"], "between": {"dataset": ["cifar10", "mnist"]}}, data=("cifar10", "mnist"))
    wide, narrow = on("cifar10_16x16", a=2.0, b=0.0), on("mnist", a=1.0, b=0.0)
    told, _ = words(named, wide, narrow)
    assert [word for word, _ in told] == ["not run", "supported (reduced)"]
    each = claim(A_OVER_B, data=("cifar10", "mnist"), by=("dataset",))
    assert words(each, wide, narrow)[0] == [
        ("supported", {"dataset": "mnist"}), ("supported (reduced)", {"dataset": "cifar10"}),
    ]  # fmt: skip


def test_a_small_network_stands_for_the_papers():
    small = on("cifar10_16x16", a=1.0, b=0.0).assign(model="cnn")
    svm = on("mnist", a=0.0, b=1.0).assign(model="svm")
    named = claim(
        A_OVER_B, data=("cifar10", "mnist"), by=("model",), networks={"cifar10": "wang-cifar"},
        expects={"model": ["svm", "wang-cifar"]},
    )  # fmt: skip
    assert words(named, small, svm)[0] == [
        ("contradicted (in part)", {"model": "svm"}),
        ("not run", {}),
        ("supported (reduced)", {"model": "wang-cifar"}),
    ]


def test_the_summary_counts_them():
    _, found = words(claim(A_OVER_B, data=("cifar10",)), on("cifar10_16x16", a=1.0, b=0.0))
    counts = summary_table(found, "Verdicts").data.iloc[0]
    assert (counts["supported"], counts["not run"]) == ("1 (1 reduced)", "1")
