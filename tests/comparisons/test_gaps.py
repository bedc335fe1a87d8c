"""Tests of verdicts where runs failed, are missing, or were selected by their own scores."""

import math

import numpy as np
import pandas as pd
import pytest

from jfed.analysis import best_group, choose, compare, comparisons_table

NAN = math.nan
SEEDS = range(12)


def frame(**scores):
    """Return one row per finite or failed run; None leaves the row out."""
    rows = [(s, i, x) for s, values in scores.items() for i, x in enumerate(values) if x is not None]
    return pd.DataFrame(rows, columns=pd.Index(["scheme", "seed", "accuracy"]))


def scores(shift, at=(), what=NAN):
    """Return a shift with some spread, and `what` in the place of some seeds."""
    return [what if i in at else 10 * i + shift + 0.1 * ((7 * i) % 5) for i in SEEDS]


def the_row(runs, **choices):
    (row,) = compare(runs, "accuracy", baseline="base", **choices).rows
    return row


def test_a_crash_and_a_row_that_is_not_there_are_the_same():
    base = scores(0)
    for what, word in ((NAN, "failed runs"), (None, "missing runs")):
        one, three = (frame(base=base, new=scores(5, at, what)) for at in ((3,), (3, 4, 5)))
        # Of 12 seeds, 11 won and one lost by the most: rank sums 66 and 12, p = 0.034; with three lost, 0.62.
        row = the_row(one)
        assert row.verdict == "better" and row.sensitivity.startswith(
            "better if they are left out, better if they are the worst"
        )
        assert the_row(three).verdict == word
        assert the_row(one, failed="refuse").verdict == the_row(three, failed="refuse").verdict == word
        assert the_row(one, failed="drop").verdict == the_row(three, failed="drop").verdict == "better"
        assert not best_group(compare(three, "accuracy"))


def test_a_failed_baseline_does_not_silence_the_table():
    base, better, worse = scores(0, (3,)), scores(5), scores(-5)
    found = compare(frame(base=base, better=better, worse=worse), "accuracy", baseline="base")
    up, down = found.rows
    # As the worst of all runs the baseline's failure speaks for both: eleven losses and one large gain.
    assert (up.verdict, down.verdict) == ("better", "worse")
    assert up.sensitivity == "better if they are left out, better if they are the worst"
    three = compare(frame(base=scores(0, (3, 4, 5)), better=better, worse=worse), "accuracy", baseline="base")
    assert [row.verdict for row in three.rows] == ["better", "failed runs"]
    notes = " ".join(comparisons_table(three, "t").notes)
    assert (
        "Failed runs of base: seeds 3, 4, 5." in notes
        and "worse: worse if they are left out, not shown if they are the worst" in notes
    )


def test_missing_runs_of_the_loser_must_not_decide():
    # The reference lacks the seeds on which it may have been the best.
    row = the_row(frame(base=scores(0, (3, 4, 5), None), new=scores(5)))
    assert row.verdict == "missing runs" and row.missing_reference == (3, 4, 5)
    said = "better if they are left out, not shown if they are the worst, better if missing ones are the best"
    assert row.sensitivity == said


@pytest.mark.parametrize("lower", [True, False])
def test_direction_of_the_bounds(lower):
    sign = -1 if lower else 1
    runs = frame(base=[sign * x for x in scores(0)], new=[sign * x for x in scores(5, (3,))])
    assert the_row(runs, higher_is_better=not lower).verdict == "better"
    # A failure is the worst in either direction.
    assert the_row(runs, higher_is_better=lower).verdict == "worse"


def test_both_failed_is_a_tie():
    row = the_row(frame(base=scores(0, (3,)), new=scores(5, (3,))))
    assert row.verdict == "better" and row.n == 11


def test_independent_runs_that_fail():
    base, new = scores(0), scores(500, (3,))
    assert the_row(frame(base=base, new=new), paired=False).verdict == "better"
    assert the_row(frame(base=base, new=scores(500, (3, 4, 5, 6))), paired=False).verdict == "failed runs"


def test_a_point_chosen_by_its_own_scores_is_not_judged():
    rng = np.random.default_rng(0)
    rows = [("base", i, NAN, rng.normal()) for i in range(12)]
    rows += [("new", i, eta, rng.normal() + 3) for i in range(12) for eta in (0.1, 0.2)]
    swept = pd.DataFrame(rows, columns=["scheme", "seed", "eta", "accuracy"])
    same = compare(choose(swept, "accuracy", ["eta"]).reported, "accuracy", baseline="base")
    assert same.rows[0].verdict == "not judged" and not best_group(same)
    table = comparisons_table(same, "t")
    assert not table.bold and any(note.startswith("Not judged") for note in table.notes)
    fresh = compare(choose(swept, "accuracy", ["eta"], range(4)).reported, "accuracy", baseline="base")
    assert fresh.rows[0].verdict == "better"


@pytest.mark.check
def test_the_chance_to_look_better_by_choice_alone():
    """Of ten equal points the best one looks better than an equal baseline in 14.6 % of experiments; none is judged."""
    rng = np.random.default_rng(1)
    judged = looks = 0
    for _ in range(60):
        rows = [("base", i, NAN, rng.normal()) for i in range(10)]
        rows += [("new", i, float(eta), rng.normal()) for i in range(10) for eta in range(10)]
        swept = pd.DataFrame(rows, columns=["scheme", "seed", "eta", "accuracy"])
        reported = choose(swept, "accuracy", ["eta"]).reported
        judged += compare(reported, "accuracy", baseline="base").rows[0].verdict == "better"
        looks += (
            compare(reported.drop(columns="selected_here"), "accuracy", baseline="base").rows[0].verdict == "better"
        )
    assert judged == 0 and looks >= 5


def test_unknown_choice():
    with pytest.raises(ValueError, match="failed must be one of worst, drop, refuse, got 'ignore'"):
        compare(frame(base=scores(0), new=scores(1)), "accuracy", failed="ignore")


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_failed_runs_are_listed_and_left_out_of_numbers(bad):
    a, b = [9.0, 8.0, bad, 9.5, 9.1], [1.0, 1.1, 1.2, 1.3, bad]
    result = compare(frame(**{"a": a, "b": b}), "accuracy")
    row = result.rows[0]
    assert (row.failed_scheme, row.failed_reference) == ((2,), (4,))
    assert row.n == 3
    assert row.mean_scheme == pytest.approx(np.mean([9.0, 8.0, 9.5]))
    assert row.p_t_adjusted < 0.05
    assert row.verdict == "failed runs"
    assert result.schemes[0] == ("a", pytest.approx(8.9), 1)
    assert result.frame().loc[0, "failed_scheme"] == "2"


def test_a_scheme_that_never_finished():
    result = compare(frame(**{"a": [math.nan] * 3, "b": [1.0, 2.0, 3.0]}), "accuracy")
    assert result.rows[0].verdict == "failed runs"
    assert result.rows[0].n == 0
    assert best_group(result) == frozenset()
