"""Logs with several rounds per run: the round that counts, runs that end early, and exports with a column per run."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jfed.results.frames import read_csv

# Evaluated every second round; seed 1 of b ends early.
LOG = """scheme,seed,round,x,loss
a,0,1,,9
a,0,2,0.5,8
b,0,2,0.25,8
a,0,4,0.75,7
b,0,4,0.5,7
a,0,6,0.5,6
b,0,6,1,6
b,1,2,0.75,5
b,1,4,0.25,5
a,1,6,2,1
a,1,2,1,1
a,1,4,3,1
"""
RUNS = [("a", 0), ("b", 0), ("b", 1), ("a", 1)]
SHORT = "scheme b, seed 1 (4)"


def read(tmp_path, content, metric="x", **options):
    path = tmp_path / "FILE"
    path.write_text(content)
    return read_csv(path, metric, **options)


@pytest.mark.parametrize(
    ("options", "scores", "notes"),
    [
        ({"at": "last"}, [0.5, 1, 0.25, 2], ["value at the last round of each run", "whose last round counts"]),
        ({"at": 4}, [0.75, 0.5, 0.25, 3], ["value at round 4"]),
        ({"at": 6}, [0.5, 1, None, 2], ["value at round 6", "which count as failed"]),
        (
            {"at": "best", "higher_is_better": True},
            [0.75, 1, 0.75, 3],
            ["best value over the rounds of each run", "with fewer rounds"],
        ),
        ({"at": "best", "higher_is_better": False}, [0.5, 0.25, 0.25, 1], ["best value over", "with fewer rounds"]),
        ({"window": 2}, [0.625, 0.75, 0.5, 2.5], ["mean of 2 logged values at the last round", "whose last round"]),
        ({"at": 4, "window": 2}, [0.625, 0.375, 0.5, 2], ["mean of 2 logged values at round 4"]),
        (
            {"at": "best", "window": 2, "higher_is_better": True},
            [0.625, 0.75, 0.5, 2.5],
            ["best mean of 2 logged values", "with fewer rounds"],
        ),
    ],
)
def test_the_round_that_counts_by_hand(tmp_path, options, scores, notes):
    frame = read(tmp_path, LOG, **options)
    assert list(frame.columns) == ["scheme", "seed", "x"]
    assert list(frame[["scheme", "seed"]].itertuples(index=False, name=None)) == RUNS
    np.testing.assert_array_equal(frame["x"], np.array(scores, float))
    found = frame.attrs["notes"]
    assert [note in text for note, text in zip(notes, found, strict=True)] == [True] * len(notes)
    assert found[0].endswith("Rounds are in the column 'round'.")
    assert all(text.endswith(f"{SHORT}.") and "end before round 6" in text for text in found[1:])


@pytest.mark.parametrize(
    ("content", "options", "sentence"),
    [
        (
            LOG,
            {},
            "FILE has several rounds of a run (column 'round'): choose the one that counts with --at last, --at best or"
            " --at ROUND, or average the last ten with --window 10",
        ),
        (LOG, {"at": 3}, "round 3 of scheme a, seed 0 was not logged: take 2 or 4"),
        (LOG, {"at": 1}, "round 1 of scheme a, seed 0 was not logged: take 2"),
        (LOG, {"at": 7}, "no run has logged round 7: the last is 6"),
        (LOG, {"window": 3}, "scheme b, seed 1 has too few logged values up to there (2) for a window of 3"),
        (LOG, {"window": 0}, "--window must be at least 1, got 0"),
        (LOG, {"at": "lst"}, "--at is last, best or a round, got 'lst'"),
        (LOG + "a,1,4,5,1\n", {"at": "last"}, "FILE: line 14 repeats scheme a, seed 1, round 4"),
        (LOG + "a,1,,5,1\n", {"at": "last"}, "FILE: line 14 has no round"),
        (LOG + "a,1,ten,5,1\n", {"at": "last"}, "FILE: line 14: round is 'ten', not a number"),
        (LOG + "a,1,8,five,1\n", {"at": "last"}, "FILE: line 14: x is 'five', not a number"),
        (
            LOG.replace("round", "t"),
            {"at": "last"},
            "FILE has no column of rounds for --at and --window: name it round, server_round, step, _step, epoch,"
            " iteration",
        ),
        ("scheme,seed,round,x\na,0,1,\n", {"at": 1}, "no run has a value of 'x' in any round"),
    ],
)
def test_a_log_that_cannot_be_read_is_one_sentence(tmp_path, content, options, sentence):
    with pytest.raises(ValueError, match=f"{re.escape(sentence)}$"):
        read(tmp_path, content, **options)


def test_the_best_round_needs_a_direction(tmp_path):
    assert read(tmp_path, LOG, "loss", at="best")["loss"].tolist() == [6, 6, 5, 1]
    with pytest.raises(ValueError, match="the name 'x' does not say whether a higher or a lower value is better"):
        read(tmp_path, LOG, at="best")


def test_a_run_that_broke_has_failed_and_a_round_without_a_value_is_not_one(tmp_path):
    text = "scheme,seed,step,x\na,0,1,1\na,0,2,NaN\na,1,1,1\na,1,2,\nb,0,1,inf\nb,0,2,3\nb,1,1,\nb,1,2,\nc,0,2,nan\n"
    np.testing.assert_array_equal(read(tmp_path, text, at="last")["x"], [np.nan, 1, 3, np.nan, np.nan])
    np.testing.assert_array_equal(
        read(tmp_path, text, at="best", higher_is_better=True)["x"], [1, 1, 3, np.nan, np.nan]
    )
    assert read(tmp_path, text, at="last").attrs["notes"][1].endswith("counts: scheme a, seed 1 (1).")


@pytest.mark.parametrize("header", ["server_round", "_step", "Iteration", "Server Round", "EPOCH"])
def test_names_of_rounds(tmp_path, header):
    frame = read(tmp_path, LOG.replace("round", header), at="last")
    assert frame["x"].tolist()[0] == 0.5 and f"the column {header!r}" in frame.attrs["notes"][0]


def test_of_several_columns_of_rounds_the_one_without_repetitions_counts(tmp_path):
    text = "scheme,seed,epoch,_step,round,x\na,0,1,10,0,1\na,0,1,20,0,2\na,0,2,30,0,3\n"
    frame = read(tmp_path, text, at=20)
    assert frame["x"].tolist() == [2] and "'_step'" in frame.attrs["notes"][0]


def test_swept_settings_and_seeds_of_factors_tell_runs_apart(tmp_path):
    text = "scheme,seed,eta,epoch,x\na,0,0.1,1,1\na,0,0.1,2,2\na,0,,1,3\na,0,,2,4\n"
    frame = read(tmp_path, text, at="last", apart=("eta", "nothing"))
    assert frame["x"].tolist() == [2, 4] and list(frame.columns) == ["scheme", "seed", "eta", "x"]
    assert len(read(tmp_path, text, apart=("eta", "epoch"))) == 4
    text = "scheme,data_seed,model_seed,round,x\na,0,0,1,1\na,0,1,1,2\na,0,1,2,3\n"
    assert read(tmp_path, text, at="last").to_dict("list") == {
        "scheme": ["a", "a"], "data_seed": [0, 0], "model_seed": [0, 1], "x": [1, 3],
    }  # fmt: skip


def test_a_row_per_run_is_no_log(tmp_path):
    text = "scheme,seed,round,setting,x\na,0,100,s,1\na,1,90,s,2\n"
    assert len(read(tmp_path, text).columns) == 5
    assert read(tmp_path, text, at="last")["setting"].tolist() == ["s", "s"]
    assert len(read(tmp_path, text + "a,1,90,s,2\n")) == 3  # refused where it is compared
    assert len(read(tmp_path, LOG, metric=None)) == 12


@given(
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=5),
    window=st.integers(1, 6),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=40)
def test_any_order_of_rows_gives_the_scores_of_pandas(tmp_path_factory, lengths, window, seed):
    rng = np.random.default_rng(seed)
    runs = [(f"s{i % 2}", i, t + 1) for i, length in enumerate(lengths) for t in range(length + 5)]
    frame = pd.DataFrame(runs, columns=["scheme", "seed", "round"])
    frame["x"] = rng.normal(size=len(frame))
    path = tmp_path_factory.mktemp("csv") / "log.csv"
    frame.sample(frac=1, random_state=int(seed % 1000)).to_csv(path, index=False)
    rolling = frame.groupby("seed")["x"].rolling(window).mean()
    for at, expected in (
        ("last", rolling.groupby("seed").last()),
        ("best", rolling.groupby("seed").max()),
        (6, frame[frame["round"] <= 6].groupby("seed")["x"].apply(lambda x: x.tail(window).mean())),
    ):
        scores = read_csv(path, "x", at=at, window=window, higher_is_better=True).set_index("seed")["x"].sort_index()
        np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=1e-12)


WIDE = (
    '"Step","e3cs-0.5-seed0 - acc","e3cs-0.5-seed0 - acc__MIN","e3cs-0.5-seed0 - acc__MAX","uniform_seed_0 - acc",'
    '"e3cs-0.5-seed1 - loss"\n"0","0.5","0.5","0.5","0.25",""\n"10","0.75","0.75","0.75","","3"\n"20","","","","1",""\n'
)


def test_an_export_with_a_column_per_run(tmp_path):
    frame = read(tmp_path, WIDE, "acc", at="last")
    assert list(frame.itertuples(index=False, name=None))[:2] == [("e3cs-0.5", 0, 0.75), ("uniform", 0, 1.0)]
    assert frame.iloc[2]["scheme"] == "e3cs-0.5" and np.isnan(frame.iloc[2]["acc"])
    assert "Runs that end before round 20" in frame.attrs["notes"][1]
    assert read(tmp_path, WIDE, "loss", at=10)["loss"].tolist()[2] == 3
    with pytest.raises(ValueError, match="FILE: line 3: acc is 'x', not a number"):
        read(tmp_path, WIDE.replace('"0.75"', '"x"', 1), "acc", at="last")


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (
            ("uniform-seed0 - acc", "fast run - acc"),
            "FILE: the column 'fast run - acc' does not name scheme and seed as 'uniform-seed0 - accuracy' does:"
            " rename it, or write a row per run and round with columns scheme, seed and round",
        ),
        (("seed0 - acc", "seed1 - acc"), "the column 'seed0 - acc' does not name scheme and seed"),
        (("u-seed0-lr1 - acc", "u-seed1-lr1 - acc"), "the column 'u-seed0-lr1 - acc' does not name scheme and seed"),
        (("u-seed0 - acc", "u_seed0 - acc"), "FILE: 'u-seed0 - acc' and 'u_seed0 - acc' are the same run: rename one"),
    ],
)
def test_columns_of_runs_without_doubt(tmp_path, names, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        read(tmp_path, f"Step,{','.join(names)}\n0,1,2\n", "acc", at="last")
