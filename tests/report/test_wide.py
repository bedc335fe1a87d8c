"""Tests of the wide table: means in percent, marks of the columns' comparisons, and the family that is told."""

import numpy as np
import pandas as pd
import pytest

from jfed.analysis import Table, compare, compare_levels, compare_times, to_latex, to_markdown, wide_table

# Differences from "base" of 8 seeds with mean d and a standard deviation of 0.01.
WOBBLE = np.array([-1, 1, -1, 1, -1, 1, -1, 1]) * 0.01 * np.sqrt(7 / 8)


def runs(metric="final_accuracy", shifts=None, scale=1.0, n=8):
    base = np.linspace(0.70, 0.72, 8)
    shifts = shifts or {"base": 0.0, "good": 0.1, "bad": -0.1, "same": 0.001}
    rows = [
        (name, seed, scale * (base[seed] + shift + (WOBBLE[seed] if shift else 0)))
        for name, shift in shifts.items()
        for seed in range(n)
    ]
    return pd.DataFrame(rows, columns=["scheme", "seed", metric])


def cells(table: Table) -> dict[str, tuple[str, ...]]:
    return {row[0]: row[1:] for row in table.rows}


def test_means_are_in_percent_with_marks_and_one_family():
    found = compare_levels({"iid": runs(), "non-iid": runs(shifts={"base": 0, "good": 0.1})}, "final_accuracy",
                           baseline="base")  # fmt: skip
    table = wide_table(found, "Digits", name="Test accuracy")
    assert table.columns == ("scheme", "iid", "non-iid") and table.align == "lrr"
    # The base has the mean 0.71 and, of 8 equally spaced values over 0.02, the deviation 0.02 / 7 * sqrt(6) = 0.0070.
    assert cells(table)["base"] == ("71.0 ± 0.7", "71.0 ± 0.7") and table.rows[0][0] == "base"
    assert [cells(table)[s][0][-1] for s in ("good", "bad", "same")] == ["⁺", "⁻", cells(table)["same"][0][-1]]
    assert cells(table)["good"][0].startswith("81.0 ± ") and cells(table)["same"] == (cells(table)["same"][0], "-")
    assert not cells(table)["same"][0].endswith(("⁺", "⁻", "?"))
    assert {(table.rows[i][0], j) for i, j in table.bold} == {("good", 1), ("good", 2)}
    about, family, *_ = table.notes
    assert about == "Test accuracy (higher is better), in %: mean ± standard deviation over n = 8 seeds."
    assert "t-test at 0.05, Holm-corrected over all 4 comparisons of this table" in family
    assert "no difference shown, which does not mean that there is none" in family and "?" not in family
    assert table.data.columns[:3].tolist() == ["table", "column", "metric"]
    assert table.data["column"].tolist() == ["iid"] * 3 + ["non-iid"] and set(table.data["table"]) == {"Digits"}


def test_other_units_and_separate_families():
    alone = {name: compare(runs("loss"), "loss", baseline="base") for name in ("a", "b")}
    table = wide_table(alone, "Digits")
    assert cells(table)["base"] == ("0.710 ± 0.007",) * 2
    assert [cells(table)[s][0][-1] for s in ("good", "bad")] == ["⁻", "⁺"]  # of a loss, less is better
    assert "Holm-corrected each column by itself, so that the whole table has more false marks" in table.notes[1]
    assert table.notes[0].startswith("loss (lower is better): ")
    two = {k: compare_levels({k + "x": runs(), k + "y": runs()}, "final_accuracy", baseline="base") for k in "ab"}
    assert "in families of 6 comparisons" in wide_table({**two["a"], **two["b"]}, "Digits").notes[1]
    percent = wide_table({"a": compare(runs(scale=100), "final_accuracy", baseline="base")}, "Digits")
    assert cells(percent)["base"] == ("71.0 ± 0.7",) and "in %" not in percent.notes[0]  # 71 is no share of 1


def test_failed_runs_and_few_seeds_have_no_verdict():
    broken = runs()
    broken.loc[(broken.scheme == "good") & (broken.seed == 3), "final_accuracy"] = np.nan
    found = compare_levels({"iid": broken, "non-iid": runs(n=1)}, "final_accuracy", baseline="base")
    table = wide_table(found, "Digits")
    assert cells(table)["base"] == ("71.0 ± 0.7", "70.0")
    assert cells(table)["good"][0].endswith(" ?") and cells(table)["bad"][1].endswith(" ?")
    assert "?: no verdict" in table.notes[1]
    assert any(note.startswith("iid: Failed runs of good: seeds 3") for note in table.notes)
    two = wide_table({"iid": compare(runs(n=2), "final_accuracy", baseline="base")}, "Digits")
    assert any("with 2 seeds the t-test, corrected as here, can show hardly anything" in note for note in two.notes)


def test_targets_are_columns_too():
    times = runs("rounds to 70 %", {"base": 10, "good": -3, "bad": 20}).round(0)
    found = {"70 %": compare_times(times, "rounds to 70 %", 100, baseline="base")}
    table = wide_table(found | {"90 %": compare_times(times.assign(x=np.inf), "x", 100, baseline="base")}, "Digits")
    assert [row[2] for row in table.rows] == ["100 ± 0"] * 3


def test_columns_must_share_a_baseline():
    one, other = (compare(runs(), "final_accuracy", baseline=b) for b in ("base", "good"))
    words = "a wide table needs at least one column, and the same baseline in all of them"
    for columns in ({}, {"a": one, "b": other}, {"a": compare(runs(), "final_accuracy")}):
        with pytest.raises(ValueError, match=words):
            wide_table(columns, "Digits")


def test_marks_in_all_formats():
    table = wide_table({"iid": compare(runs(), "final_accuracy", baseline="base")}, "Digits")
    assert r"\textbf{81.0 $\pm$ " in to_latex(table) and "$^{+}$}" in to_latex(table)
    assert "**81.0 ± " in to_markdown(table) and "⁺** |" in to_markdown(table)
