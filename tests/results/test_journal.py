"""Tests of what a directory remembers of its tables."""

from dataclasses import replace

import pandas as pd
import pytest

from jfed.analysis import compare, inflation
from jfed.report.memory import remembered
from jfed.results import journal

PLAN = journal.Plan((10, 20), "base", 0.05, "t", "holm", "obrien-fleming")


def found(n, metric="accuracy", schemes=("base", "other"), **choices):
    rows = [(s, i, i + (i * len(s)) % 3) for s in schemes for i in range(n)]
    return compare(pd.DataFrame(rows, columns=["scheme", "seed", metric]), metric, baseline="base", **choices)


def test_an_experiments_name_of_a_score_and_the_scores_own_are_one_metric(tmp_path):
    assert remembered(tmp_path, found(10, "cep"))[0] == "cep"  # the primary metric
    assert remembered(tmp_path, found(10, "num_succeeded"))[0] == "num_succeeded"  # is the same
    assert remembered(tmp_path, found(10, "final_accuracy"))[0] == "cep"
    assert remembered(tmp_path, found(10, "test_accuracy"))[0] == "num_succeeded"  # which `jfed table` knows


def test_looking_again_says_what_it_costs(tmp_path):
    assert remembered(tmp_path, found(10)) == ("accuracy", ())
    assert remembered(tmp_path, found(10)) == ("accuracy", ())  # the same table is no new look
    primary, (note,) = remembered(tmp_path, found(20))
    rate = 100 * inflation([10, 20], 0.05)
    assert primary == "accuracy" and note.startswith(
        "Looked at 10 seeds before: over these looks a comparison of equal"
    )
    assert f"a difference in up to {rate:.1f} % of studies, not in 5 %" in note
    assert remembered(tmp_path, found(20))[1] == (note,)  # made again
    assert "Looked at 10, 20 seeds before" in remembered(tmp_path, found(30))[1][0]
    assert remembered(tmp_path, found(30), ["k = 3"]) == ("accuracy", ())  # another table of the same metric
    assert remembered(tmp_path, found(30, "loss")) == ("accuracy", ())  # another metric, which is secondary


def test_the_cost_is_that_of_a_family(tmp_path):
    schemes = ("base", "other", "fourth1", "a", "bb")
    for n in (10, 20):
        _, notes = remembered(tmp_path, found(n, schemes=schemes))
    each = inflation([10, 20], 0.05 / 4)
    assert notes[0].startswith(
        "Looked at 10 seeds before: if all schemes are equal, a comparison, at level 1.2 %, shows a difference over"
        f" these looks in {100 * each:.1f} % of studies, and one or more of the family's 4 in up to"
        f" {400 * each:.1f} %, not in 5 %."
    )
    for n in (10, 20):  # an exploration's correction tests single comparisons at up to alpha
        _, notes = remembered(tmp_path, found(n, schemes=schemes, correction="bh"), ["bh"])
    assert f"shows a difference in up to {100 * inflation([10, 20], 0.05):.1f} % of studies" in notes[0]


@pytest.mark.parametrize("m", [2, 4, 10])
def test_the_familys_cost_is_a_bound_where_that_at_alpha_is_none(m):
    """With independent comparisons the exact rate is 1 - (1 - each)^m, above that of one comparison at alpha."""
    looks = range(10, 60, 10)
    each = inflation(looks, 0.05 / m)
    assert inflation(looks, 0.05) < 1 - (1 - each) ** m < m * each


def test_a_plan_cannot_be_changed_after_results_are_seen(tmp_path):
    assert journal.planned(tmp_path, "accuracy") is None
    journal.plan(tmp_path, "accuracy", PLAN)
    journal.plan(tmp_path, "accuracy", PLAN)
    assert journal.planned(tmp_path, "accuracy") == PLAN and journal.planned(tmp_path, "loss") is None
    others = {"looks": (10, 30), "baseline": "all", "alpha": 0.1, "test": "wilcoxon", "correction": "bh",
              "spending": "pocock"}  # fmt: skip
    for name, value in others.items():
        other = replace(PLAN, **{name: value})
        said = "looks at 10, 30 seeds" if name == "looks" else f"{name} {value}"
        with pytest.raises(ValueError, match=rf"looks\.json has a plan for accuracy .*; this command asks for {said}$"):
            journal.plan(tmp_path, "accuracy", other)
    assert journal.planned(tmp_path, "accuracy") == PLAN


def test_a_plan_knows_of_earlier_tables(tmp_path):
    for n, words in ((10, ["k = 3"]), (20, ["k = 4"]), (20, ["k = 3"])):
        remembered(tmp_path, found(n), words)
    remembered(tmp_path, found(15, "accuracy | loss", higher_is_better=True))  # another metric, whatever its name
    journal.plan(tmp_path, "accuracy", PLAN)
    remembered(tmp_path, found(30))
    journal.plan(tmp_path, "accuracy", PLAN)
    assert journal.planned(tmp_path, "accuracy") == replace(PLAN, after=(10, 20))
    late = "Planned after tables at 10, 20 seeds had been made: the level holds only if the plan did not depend on it."
    assert remembered(tmp_path, found(20, looks=(10, 20))) == ("accuracy", (late,))


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"looks": {"a": {"b": ["x"]}}, "plans": {}}', '{"looks": 3, "plans": {}}',
     '{"looks": {}, "plans": {"a": [5]}}', '{"looks": {}, "plans": {"a": {"looks": [5], "after": []}}}'],
)  # fmt: skip
def test_a_damaged_file_is_named(tmp_path, text):
    (tmp_path / journal.FILE).write_text(text)
    with pytest.raises(ValueError, match=r"looks\.json is damaged: it remembers .* Delete it to begin anew"):
        remembered(tmp_path, found(5))


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file.csv").write_text("")
    with pytest.raises(
        ValueError, match=r"^The record of looks cannot be written to .*file\.csv/x/looks\.json: Not a directory\.$"
    ):
        journal.plan(tmp_path / "file.csv" / "x", "accuracy", PLAN)
