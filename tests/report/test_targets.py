"""Tests of rounds to a target, with runs that never reach it."""

import numpy as np
import pandas as pd
import pytest

from jfed.report.targets import compare_times, first_reached, targets_table

ROUNDS = [2, 4, 6]


def test_first_round_at_or_above_the_target():
    accuracy = [[0.1, 0.5, 0.4], [0.6, 0.7, 0.8], [0.1, 0.2, 0.3], [np.nan, np.nan, 0.9], [0.1, np.nan, np.nan]]
    np.testing.assert_array_equal(first_reached(ROUNDS, accuracy, 0.5), [4, 2, np.inf, 6, np.inf])


def test_never_counts_as_later_than_the_horizon():
    frame = pd.DataFrame(
        {
            "scheme": ["a"] * 4 + ["b"] * 3 + ["c"] * 2,
            "t": [4, 2, np.inf, 6, np.inf, np.inf, 2, np.inf, np.inf],
            "seed": [0, 1, 2, 3, 0, 1, 2, 0, 1],
        }
    )
    table = targets_table(frame, ["t"], 6, "rounds (some data)")
    assert table.rows == (("a", "4", "4 (2 to > 6; 3/4)"), ("b", "3", "> 6 (2 to > 6; 1/3)"), ("c", "2", "> 6"))
    assert list(table.data["reached"]) == [3, 1, 0]
    assert np.isinf(table.data["median"]).tolist() == [False, True, True]


def test_a_metric_of_which_higher_is_better_is_no_time():
    frame = pd.DataFrame({"scheme": ["a", "a", "b", "b"], "seed": [0, 1, 0, 1], "accuracy": [0.1, 0.2, 0.3, 0.5]})
    with pytest.raises(
        ValueError, match="the name 'accuracy' says that a higher value is better, and of times a lower"
    ):
        compare_times(frame, "accuracy", 1)
    assert len(compare_times(frame.rename(columns={"accuracy": "t"}), "t", 1).rows) == 1
