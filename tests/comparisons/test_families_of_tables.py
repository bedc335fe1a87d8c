"""Tests of families over several tables, margins, crossed seeds in tables, directions, and sentences."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from jfed.analysis import compare, compare_levels, comparisons_table, direction, sentences, summarise, tost
from jfed.report.columns import COLUMNS
from jfed.stats.intervals import holm


def tidy(shifts, n=10, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    common = rng.normal(size=n)
    rows = [(s, i, common[i] + shift + noise * rng.normal()) for s, shift in shifts.items() for i in range(n)]
    return pd.DataFrame(rows, columns=pd.Index(["scheme", "seed", "accuracy"]))


def test_tables_that_belong_together_are_one_family():
    frames = {k: tidy({"base": 0.0, "a": 1.0, "b": 0.5}, seed=k) for k in (1, 2, 3)}
    together = compare_levels(frames, "accuracy", baseline="base")
    alone = {k: compare(frame, "accuracy", baseline="base") for k, frame in frames.items()}
    raw = np.array([row.p_t for found in alone.values() for row in found.rows])
    assert [row.p_adjusted for found in together.values() for row in found.rows] == pytest.approx(list(holm(raw)))
    for k, found in together.items():
        assert found.family == 6 and len(found.rows) == 2
        assert [row.scheme for row in found.rows] == ["a", "b"]
        assert found.rows[0].high - found.rows[0].low > alone[k].rows[0].high - alone[k].rows[0].low
        assert any("6 comparisons, of which this table has a part" in n for n in comparisons_table(found, "t").notes)


def test_a_margin_splits_what_is_not_shown():
    frame = tidy({"base": 0.0, "same": 0.0, "better": 3.0, "worse": -3.0}, n=30, noise=0.3)
    rng = np.random.default_rng(5)
    wild = [("wild", i, 5 * rng.normal()) for i in range(30)]
    frame = pd.concat([frame, pd.DataFrame(wild, columns=frame.columns)])
    found = compare(frame, "accuracy", baseline="base", margin=0.5)
    words = {row.scheme: row.verdict for row in found.rows}
    assert words == {"same": "equal within margin", "better": "better", "worse": "worse", "wild": "open"}
    same = found.rows[0]
    raw = [tost(row.scores_scheme - row.scores_reference, -0.5, 0.5).p for row in found.rows]
    assert same.p_equal_adjusted == pytest.approx(holm(np.array(raw))[0])
    table = comparisons_table(found, "t")
    assert "p (equal)" in table.columns and any(note.startswith("Margin: 0.50") for note in table.notes)
    tight = compare(frame[frame.scheme.isin(["base", "same"])], "accuracy", baseline="base", margin=1e-3)
    assert tight.rows[0].verdict == "open"
    with pytest.raises(ValueError, match="the margin must be positive and finite, got 0"):
        compare(frame, "accuracy", margin=0)


@pytest.mark.parametrize("lower", [True, False])
def test_not_worse_is_about_the_worse_side_only(lower):
    sign = -1 if lower else 1
    rng = np.random.default_rng(0)
    d = sign * (0.35 + rng.normal(0, 1.0, 25))
    base = rng.normal(size=25)
    rows = [("base", i, x) for i, x in enumerate(base)] + [("new", i, x) for i, x in enumerate(base + d)]
    frame = pd.DataFrame(rows, columns=["scheme", "seed", "accuracy"])
    (row,) = compare(frame, "accuracy", baseline="base", margin=0.4, higher_is_better=not lower).rows
    p = stats.ttest_1samp(d, -sign * 0.4, alternative="less" if lower else "greater").pvalue
    assert row.p_not_worse_adjusted == pytest.approx(p) and row.verdict == "not worse"


def test_crossed_seeds_are_no_independent_pairs():
    rng = np.random.default_rng(3)
    effects = {s: (rng.normal(size=5), rng.normal(size=5)) for s in ("base", "new")}
    rows = [
        (s, a, b, d[a] + m[b] + 0.3 * rng.normal()) for s, (d, m) in effects.items() for a in range(5) for b in range(5)
    ]
    frame = pd.DataFrame(rows, columns=["scheme", "data_seed", "model_seed", "accuracy"])
    found = compare(frame, "accuracy", baseline="base")
    (row,) = found.rows
    assert (row.design, row.n, row.rank_note) == ("crossed", 25, "crossed seeds")
    assert row.df < 20 and row.p_t > stats.ttest_1samp(row.scores_scheme - row.scores_reference, 0).pvalue
    assert "Runs cross 5 levels of data_seed with 5 levels of model_seed." in comparisons_table(found, "t").notes
    apart = frame.drop(columns=["data_seed", "model_seed"]).assign(seed=[*range(25), *range(25)])
    naive = summarise(apart, "accuracy")
    for wide, narrow in zip(summarise(frame, "accuracy").rows, naive.rows, strict=True):
        assert wide.mean == pytest.approx(narrow.mean) and wide.high - wide.low > 1.5 * (narrow.high - narrow.low)
    gone = frame.assign(accuracy=frame.accuracy.where(np.arange(50) != 30))
    assert compare(gone, "accuracy", baseline="base").rows[0].verdict == "failed runs"
    assert compare(gone.dropna(), "accuracy", baseline="base").rows[0].verdict == "missing runs"
    with pytest.raises(ValueError, match="only the t-test has a form for such runs"):
        compare(frame, "accuracy", test="wilcoxon")


def test_one_rule_says_which_direction_is_better():
    lower = ["final_loss", "rounds to 65 %", "round_time_s", "regret / bound", "test_error", "validationLoss", "RMSE"]
    higher = ["accuracy", "test_acc", "num_succeeded", "jain", "F1", "testAccuracy"]
    unknown = ["x", "accuracy_loss", "num_selected", "tau", ""]
    assert [direction(m) for m in lower] == [False] * len(lower)
    assert [direction(m) for m in higher] == [True] * len(higher)
    assert [direction(m) for m in unknown] == [None] * len(unknown)
    frame = tidy({"base": 0.0, "new": 3.0}).rename(columns={"accuracy": "final_loss"})
    assert compare(frame, "final_loss", baseline="base").rows[0].verdict == "worse"
    unnamed = frame.rename(columns={"final_loss": "x"})
    with pytest.raises(ValueError, match="the name 'x' does not say whether a higher or a lower value is better: say"):
        compare(unnamed, "x", baseline="base")
    assert compare(unnamed, "x", baseline="base", higher_is_better=False).rows[0].verdict == "worse"


def test_a_sentence_for_a_paper():
    rows = [("base", i, 2.0 * i) for i in range(5)] + [("new", i, 2.0 * i + x) for i, x in enumerate([3, 4, 5, 4, 4])]
    frame = pd.DataFrame(rows, columns=["scheme", "seed", "accuracy"])
    (said,) = sentences(compare(frame, "accuracy", baseline="base"))
    # d has mean 4 and sd 1 / sqrt 2, so t = 4 sqrt 10 with 4 degrees of freedom, and 2.776445 / sqrt 10 = 0.878.
    assert said.startswith("The mean accuracy of new was 4.00 higher than that of base (8.00 against 4.00; 95 %")
    assert "interval [3.12, 4.88]; paired t-test, t(4) = 12.6, p = 0.00022; d_z = 5.66, 95 % interval [" in said
    assert said.endswith("n = 5 seeds).")


@pytest.mark.parametrize("name", COLUMNS)
def test_every_column_can_be_chosen(name):
    found = compare(tidy({"base": 0.0, "a": 1.0}), "accuracy", baseline="base", margin=0.1)
    table = comparisons_table(found, "t", columns=["scheme", name])
    assert len(table.columns) == 2 and len(table.rows) == 2 and table.rows[1][1]
    assert set(COLUMNS[name].numbers(found.rows[0], None) if name in ("mean", "p") else ()) <= set(table.data.columns)


def test_a_column_that_does_not_exist():
    with pytest.raises(ValueError, match="no column 'media'; there are scheme, against, mean"):
        comparisons_table(compare(tidy({"base": 0.0, "a": 1.0}), "accuracy"), "t", columns=["media"])
