"""Tests of the choice of a sweep's best point: tune seeds, report seeds, failed and missing runs."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jfed.analysis import compare
from jfed.comparisons.tuning import choose


def sweep(table, seeds=(0, 1, 2, 3)):
    """Return scores by (scheme, eta), one per seed, as a tidy frame."""
    rows = [(s, eta, seed, x) for (s, eta), xs in table.items() for seed, x in zip(seeds, xs, strict=True)]
    return pd.DataFrame(rows, columns=["scheme", "eta", "seed", "acc"])


# On seeds 0 and 1 the best of a is 0.1, of b 0.2; on all seeds, or on 2 and 3, the best of a is 0.2.
FRAME = sweep(
    {
        ("a", 0.1): [8, 9, 1, 2],
        ("a", 0.2): [7, 8, 9, 9],
        ("b", 0.1): [1, 1, 9, 9],
        ("b", 0.2): [2, 3, 4, 5],
    }
)


def test_chosen_and_reported_seeds_are_apart():
    choice = choose(FRAME, "acc", ["eta"], tune_seeds=[0, 1])
    assert choice.chosen == {"a": {"eta": 0.1}, "b": {"eta": 0.2}}
    assert choice.reported.columns.tolist() == ["scheme", "seed", "acc", "eta", "selected_here"]
    rows = choice.reported.to_dict("list")
    assert rows["scheme"] == ["a", "a", "b", "b"]
    assert rows["seed"] == [2, 3, 2, 3]
    assert rows["acc"] == [1, 2, 4, 5]
    assert rows["eta"] == [0.1, 0.1, 0.2, 0.2]
    assert choice.note == "Best of up to 2 settings, selected on 2 tune seeds and reported on 2 other seeds."
    assert compare(choice.reported, "acc").rows[0].n == 2
    assert choose(FRAME, "acc", ["eta"], tune_seeds=(2, 3)).chosen["a"] == {"eta": 0.2}


def test_the_order_of_rows_does_not_matter_and_the_frame_stays():
    before = FRAME.copy()
    shuffled = choose(FRAME.sample(frac=1, random_state=1), "acc", "eta", [1, 0, 1])
    assert shuffled.chosen == {"a": {"eta": 0.1}, "b": {"eta": 0.2}}
    assert sorted(shuffled.reported["acc"]) == [1, 2, 4, 5]
    pd.testing.assert_frame_equal(FRAME, before)


def test_on_all_seeds_the_note_warns():
    choice = choose(FRAME, "acc", ["eta"])
    assert choice.chosen == {"a": {"eta": 0.2}, "b": {"eta": 0.1}}
    assert choice.reported["seed"].tolist() == [0, 1, 2, 3] * 2
    assert "selected on the same seeds" in choice.note and "biased" in choice.note
    single = choose(FRAME[FRAME["eta"] == 0.1], "acc", ["eta"])
    assert single.note == "One setting per scheme: nothing was chosen."


def test_the_name_of_the_metric_says_which_mean_is_best():
    loss = FRAME.rename(columns={"acc": "loss"})
    assert choose(loss, "loss", ["eta"], [0, 1]).chosen == {"a": {"eta": 0.2}, "b": {"eta": 0.1}}
    with pytest.raises(ValueError, match="the name 'tau' does not say whether a higher or a lower value is better"):
        choose(FRAME.rename(columns={"acc": "tau"}), "tau", ["eta"])


def test_lower_may_be_better():
    choice = choose(FRAME, "acc", ["eta"], [0, 1], higher_is_better=False)
    assert choice.chosen == {"a": {"eta": 0.2}, "b": {"eta": 0.1}}


def test_several_settings_some_of_which_a_scheme_lacks():
    frame = pd.DataFrame(
        {
            "scheme": pd.Categorical(["a"] * 8 + ["b"] * 2),
            "eta": [0.1] * 4 + [0.2] * 4 + [math.nan] * 2,
            "k": [2, 2, 3, 3] * 2 + [2, 2],
            "seed": [0, 1] * 5,
            "acc": [1, 5, 2, 5, 4, 6, 3, 5, 7, 7],
        }
    )
    choice = choose(frame, "acc", ["eta", "k"], [0])
    assert choice.chosen["a"] == {"eta": 0.2, "k": 2}
    assert type(choice.chosen["a"]["k"]) is int
    assert choice.chosen["b"]["k"] == 2 and math.isnan(choice.chosen["b"]["eta"])
    assert choice.reported["acc"].tolist() == [6, 7]
    assert choice.note == "Best of up to 4 settings, selected on 1 tune seed and reported on 1 other seed."


def test_equal_means_go_to_the_first():
    frame = sweep({("a", 0.3): [2, 4, 0, 0], ("a", 0.1): [3, 3, 1, 1]})
    assert choose(frame, "acc", ["eta"], [0, 1]).chosen == {"a": {"eta": 0.3}}


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_failed_tune_run_rules_a_setting_out(bad):
    frame = FRAME.astype({"acc": float})
    frame.loc[(frame["scheme"] == "a") & (frame["eta"] == 0.1) & (frame["seed"] == 1), "acc"] = bad
    assert choose(frame, "acc", ["eta"], [0, 1]).chosen["a"] == {"eta": 0.2}
    # On the tune seeds it never failed, so it may be chosen, and the failed run is reported.
    choice = choose(frame, "acc", ["eta"], [0])
    assert choice.chosen["a"] == {"eta": 0.1}
    assert choice.reported["acc"].tolist()[:3] == pytest.approx([bad, 1, 2], nan_ok=True)
    frame.loc[(frame["scheme"] == "a") & (frame["seed"] == 1), "acc"] = bad
    # Where each setting has one, the other runs choose, and the note says so.
    choice = choose(frame, "acc", ["eta"], [0, 1])
    assert choice.chosen["a"] == {"eta": 0.1} and choice.reported["acc"].tolist()[:2] == [1, 2]
    assert choice.note.endswith(
        "All settings of these have failed runs, and that with the fewest is shown: a (1 of 2)."
    )
    frame.loc[(frame["scheme"] == "a") & (frame["eta"] == 0.1) & (frame["seed"] == 0), "acc"] = bad
    assert choose(frame, "acc", ["eta"], [0, 1]).chosen["a"] == {"eta": 0.2}


def test_means_over_different_seeds_are_refused():
    with pytest.raises(ValueError, match=r"b with eta 0\.2 lacks seed 1: means over different seeds"):
        choose(FRAME.drop(13), "acc", ["eta"], [0, 1])
    with pytest.raises(ValueError, match=r"a with eta 0\.1 lacks seed 3"):
        choose(FRAME.drop(3), "acc", ["eta"])
    # A seed that is only reported may be missing.
    choice = choose(FRAME.drop(3), "acc", ["eta"], [0, 1])
    assert choice.reported["seed"].tolist() == [2, 2, 3]
    assert choice.note.endswith("on 1 to 2 other seeds.")


def test_seeds_that_cannot_be_used():
    with pytest.raises(ValueError, match="tune seeds 7, 9 are not in the frame"):
        choose(FRAME, "acc", ["eta"], [0, 7, 9])
    with pytest.raises(ValueError, match="there are no tune seeds; give None to choose on all seeds"):
        choose(FRAME, "acc", ["eta"], [])
    with pytest.raises(ValueError, match=r"^a with eta 0\.2 has no seeds left to report: all were used to choose it$"):
        choose(FRAME, "acc", ["eta"], range(4))
    with pytest.raises(ValueError, match=r"^a has no seeds left to report: all were used to choose it$"):
        choose(FRAME[FRAME["eta"] == 0.1].assign(eta=np.nan), "acc", ["eta"], range(4))


def test_unusable_frames():
    with pytest.raises(ValueError, match="no column 'k'; there are scheme, eta, seed, acc"):
        choose(FRAME, "acc", ["k"])
    with pytest.raises(ValueError, match="name at least one setting to choose"):
        choose(FRAME, "acc", [])
    with pytest.raises(ValueError, match="scheme, seed, the metric and the settings must be different columns"):
        choose(FRAME, "acc", ["eta", "acc"])
    with pytest.raises(ValueError, match=r"2 rows repeat a run, the first is scheme a, seed 0, eta 0\.1"):
        choose(pd.concat([FRAME, FRAME.iloc[:2]]), "acc", ["eta"])
    with pytest.raises(ValueError, match="metric 'acc' is not numeric"):
        choose(FRAME.assign(acc="high"), "acc", ["eta"])
    with pytest.raises(ValueError, match="a row of the frame has no scheme or no seed"):
        choose(FRAME.assign(scheme=[None, *FRAME["scheme"][1:]]), "acc", ["eta"])


@pytest.mark.check
def test_the_bias_that_fresh_seeds_remove():
    """For ten equal settings the best mean of 5 seeds is 1.54 standard errors too good, that of fresh seeds 0.

    1.5388 is the expected largest of ten standard normal values (Harter 1961, Expected values of normal order
    statistics).
    """
    rng = np.random.default_rng(0)
    same, fresh = [], []
    for _ in range(80):
        frame = sweep({("a", eta): rng.normal(size=10) for eta in range(10)}, range(10))
        five = frame[frame["seed"] < 5]
        same.append(choose(five, "acc", ["eta"]).reported["acc"].mean())
        fresh.append(choose(frame, "acc", ["eta"], range(5)).reported["acc"].mean())
    error = 3 * (1 / 5 / 80) ** 0.5
    assert np.mean(same) == pytest.approx(1.5388 / 5**0.5, abs=error)
    assert np.mean(fresh) == pytest.approx(0, abs=error)


@settings(max_examples=30)
@given(st.lists(st.lists(st.integers(0, 20), min_size=4, max_size=4), min_size=1, max_size=5), st.integers(1, 3))
def test_no_setting_does_better_on_the_tune_seeds(scores, num_tune):
    frame = sweep({("a", eta): xs for eta, xs in enumerate(scores)})
    choice = choose(frame, "acc", ["eta"], range(num_tune))
    eta = choice.chosen["a"]["eta"]
    assert sum(scores[eta][:num_tune]) == max(sum(xs[:num_tune]) for xs in scores)
    assert choice.reported["acc"].tolist() == scores[eta][num_tune:]
