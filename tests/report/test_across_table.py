"""Tests of tables over several data sets: rows, and notes that name the setting, the schemes, seeds and tests."""

import numpy as np
import pandas as pd
import pytest

from jfed.analysis import across, across_table


def table(baseline=None, effects=(0.0, 0.3), primary=None, **more):
    rng = np.random.default_rng(1)
    rows = [
        (size, scheme, seed, 0.5 + effect + 0.01 * rng.normal())
        for size in (10, 20, 50, 100)
        for scheme, effect in zip(("uniform", "oort", "power"), effects, strict=False)
        for seed in range(6)
    ]
    frame = pd.DataFrame(rows, columns=["cohort_size", "scheme", "seed", "accuracy"]).assign(**more)
    found = across(frame, "accuracy", by="cohort_size", baseline=baseline)
    return found, across_table(found, "Accuracy over cohort_size", primary=primary)


def test_baseline_has_its_own_row():
    found, made = table("uniform")
    assert len(made.rows) == 2 and len(made.data) == 1
    assert made.rows[0] == ("uniform", made.rows[0][1], "-", "-", "-", "-", "-", "baseline")
    assert float(made.rows[0][1]) == pytest.approx(found.schemes[0][1], abs=1e-3)
    assert made.rows[1][0] == "oort" and made.rows[1][-1] == "better"
    assert made.bold == {(1, 7)}


def test_notes_of_one_comparison():
    _, made = table("uniform")
    assert made.notes[0] == (
        "Metric: accuracy (higher is better), over 4 values of cohort_size (10, 20, 50, 100). Difference: mean over"
        " values of cohort_size of scheme minus uniform, paired by seed, n = 6 seeds for each value."
    )
    assert "p (further) and the 95 % interval: t-test for further values of cohort_size like these" in made.notes[1]
    text = " ".join(made.notes)
    assert "Holm" not in text and "simultaneous" not in text and "each row" not in text and "data set" not in text


def test_notes_of_all_pairs_name_both_schemes():
    _, made = table(effects=(0.0, 0.3, 0.0))
    assert made.columns[:2] == ("scheme", "against") and len(made.rows) == 3
    assert "simultaneous 95 % interval" in made.notes[1]
    assert made.notes[1].endswith("Both Holm-corrected over 3 comparisons.")
    for start in ("Standard deviation of a difference between values of cohort_size", "Bootstrap over values of"):
        (note,) = [note for note in made.notes if note.startswith(start)]
        assert all(f"{pair} " in note for pair in ("uniform/oort", "uniform/power", "oort/power"))


def test_metric_is_primary_or_secondary():
    assert table(primary="accuracy")[1].notes[0].startswith("Primary metric: accuracy (higher is better), over")
    note = table(primary="loss")[1].notes[0]
    assert note.startswith("Secondary metric: accuracy") and "primary metric is loss; no correction covers both" in note


def test_intervals_that_are_stricter_than_the_verdict_are_named():
    # So small an effect is shown by Holm's last step, at 5 %, but not at 2.5 %.
    found, made = table("uniform", (0.0, 0.3, 0.007))
    assert found.rows[1].random.low <= 0
    assert found.rows[1].verdict == "better" and made.rows[2][-1] == "better"
    assert (
        "For power the interval contains 0 because it holds for all rows together (Bonferroni), which is stricter than"
        " Holm's test."
    ) in made.notes
    assert "contains 0" not in " ".join(table("uniform", (0.0, 0.3, 0.2))[1].notes)


def test_rows_that_are_not_judged():
    _, made = table("uniform", selected_here=4 * (6 * [False] + 6 * [True]))  # oort's
    assert made.rows[1][-1] == "not judged" and not made.bold
    assert "Not judged: the scheme's setting was chosen by these very scores, which biases them." in made.notes
