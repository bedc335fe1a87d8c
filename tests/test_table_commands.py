"""`jfed table`: data sets, families, columns and sentences."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def scores(tmp_path):
    rng = np.random.default_rng(2)
    rows = [
        (data, scheme, seed, 0.5 + shift + 0.01 * rng.normal())
        for data in ("mnist", "emnist", "cifar")
        for scheme, shift in (("old", 0.0), ("new", 0.1), ("same", 0.0))
        for seed in range(12)
    ]
    path = tmp_path / "scores.csv"
    pd.DataFrame(rows, columns=["dataset", "scheme", "seed", "accuracy"]).to_csv(path, index=False)
    one = tmp_path / "one.csv"
    pd.read_csv(path).query("dataset == 'mnist'").drop(columns="dataset").to_csv(one, index=False)
    return path, one


def test_over_several_data_sets(told, scores, tmp_path):
    asked = ("--metric", "accuracy", "--baseline", "old", "--out", tmp_path / "o")
    said = told("table", scores[0], *asked, "--over", "dataset")
    assert "over 3 values of dataset (mnist, emnist, cifar)" in said and "p (further)" in said
    written = pd.read_csv(tmp_path / "o" / "scores_accuracy.csv").set_index("scheme")
    assert written.loc["new", "verdict"] == "better" and written.loc["same", "verdict"] == "no difference shown"


LEAVE = "leave out {}.$"
TOGETHER = "--looks and --anytime exclude each other: looks are planned beforehand, and --anytime needs no plan"


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ("--over dataset --test wilcoxon", LEAVE.format("--test")),
        ("--over dataset --failed drop --tune-over eta --margin 1", LEAVE.format("--failed, --margin and --tune-over")),
        ("--over dataset --looks 5 10 --spending pocock", LEAVE.format("--looks and --spending")),
        ("--over dataset --horizon 5 --sentences", LEAVE.format("--sentences and --horizon")),
        ("--horizon 5 --test t", LEAVE.format("--test")),
        ("--horizon 5 --failed drop --family sweep", LEAVE.format("--family and --failed")),
        ("--horizon 5 --correction bh --better higher", "--better higher contradicts the name 'loss'"),
        ("--better higher", "--better higher contradicts the name 'loss', which says that lower is better: leave it"),
        ("--looks 5 10 --anytime", TOGETHER),
        ("--spending pocock", "--spending spreads the level over planned looks: give them with --looks."),
        ("--alpha 1e-320", "--alpha must be at least 1e-12, found"),
        ("--alpha 0", "alpha must lie strictly between 0 and 1"),
    ],
)
def test_flags_that_do_not_go_together(told, scores, flags, sentence):
    frame = pd.read_csv(scores[1]).rename(columns={"accuracy": "loss"})
    frame.to_csv(scores[1], index=False)
    with pytest.raises(SystemExit, match=sentence):
        told("table", scores[1], "--metric", "loss", "--baseline", "old", *flags.split())


def test_only_what_a_test_fixes_is_refused(told, scores):
    pd.read_csv(scores[1]).rename(columns={"accuracy": "t"}).to_csv(scores[1], index=False)
    asked = ("table", scores[1], "--metric", "t", "--baseline", "old")
    assert "p (S)" in told(*asked, "--horizon", 2, "--test", "sign-flip", "--better", "lower", "--alpha", 0.1)
    with pytest.raises(SystemExit, match=LEAVE.format("--better")):
        told(*asked, "--horizon", 2, "--better", "higher")


def test_a_csv_without_a_metric(told, scores):
    with pytest.raises(SystemExit, match=r"Name the column to compare with --metric: .* has dataset, accuracy\.$"):
        told("table", scores[0])


def test_a_column_that_tells_rows_apart(told, scores):
    with pytest.raises(SystemExit, match=r"72 rows repeat .* the column dataset tells them apart; compare over its"):
        told("table", scores[0], "--metric", "accuracy", "--baseline", "old")


def test_columns_and_sentences(told, scores, tmp_path):
    asked = ("--metric", "accuracy", "--baseline", "old", "--margin", 0.02, "--sentences", "--out", tmp_path / "o")
    said = told("table", scores[1], *asked, "--columns", "scheme", "d_z", "a12", "verdict")
    assert "equal within margin" in said and "A12, 95 % pointwise" in said and "p (t)" not in said
    sentences = (tmp_path / "o" / "one_accuracy.txt").read_text().splitlines()
    assert len(sentences) == 2 and sentences[0].startswith("The mean accuracy of new was 0.1")
    assert {"d_z_low", "a12_high", "p_equal_adjusted"} <= set(pd.read_csv(tmp_path / "o" / "one_accuracy.csv").columns)
    with pytest.raises(SystemExit, match="--columns has no media; there are scheme, against, mean"):
        told("table", scores[1], *asked, "--columns", "media")


def test_primary_and_secondary_metrics(told, scores):
    frame = pd.read_csv(scores[1]).assign(loss=lambda f: 1 - f.accuracy, odd=1.0)
    frame.to_csv(scores[1], index=False)
    said = told("table", scores[1], "--metric", "accuracy", "loss", "--baseline", "old")
    assert "Primary metric: accuracy (higher is better)" in said
    assert "Secondary metric: loss (lower is better). The primary metric is accuracy" in said
    with pytest.raises(SystemExit, match="the name 'odd' does not say whether a higher or a lower value is better"):
        told("table", scores[1], "--metric", "odd", "--baseline", "old")
    said = told("table", scores[1], "--metric", "loss", "accuracy", "odd", "--baseline", "old", "--better", "higher")
    assert "metric: loss (lower is better)" in said and "metric: accuracy (higher is better)" in said
    assert "metric: odd (higher is better)" in said  # --better is for the name that is silent


@pytest.mark.check
def test_a_sweep_as_one_family(told, tmp_path):
    small = ("--num-clients", 12, "--cohort-size", 3, "--num-rounds", 20, "--seeds", 6, "--out", tmp_path)
    said = told("run", *small, "--schemes", "uniform", "fedcs", "--sweep", "cohort_size=2,4")
    assert said.count("One of 2 tables of this command, each corrected by itself") == 2
    said = told("table", tmp_path, "--family", "sweep")
    assert said.count("2 comparisons, of which this table has a part") == 2 and "One of 2 tables" not in said
