"""The ranking of a sweep's points, and those not shown to be worse than the best."""

import numpy as np
import pandas as pd
import pytest

from jfed.analysis import compare
from jfed.comparisons.ranking import AMONG, BEST, rank


def frame(means, seeds=range(10), noise=0.1):
    """Return runs of points (scheme, eta) with these means; the noise of a seed is its own and sums to 0."""
    rng = np.random.default_rng(0)
    rows = []
    for (scheme, eta), mean in means.items():
        values = rng.normal(size=len(seeds))
        values = mean + noise * (values - values.mean())
        rows += [(scheme, eta, seed, value) for seed, value in zip(seeds, values, strict=True)]
    return pd.DataFrame(rows, columns=["scheme", "eta", "seed", "accuracy"])


MEANS = {("a", 0.1): 1.0, ("a", 1.0): 5.0, ("b", 0.1): 4.999, ("b", 1.0): 2.0, ("uniform", np.nan): 0.5}


def test_points_by_their_means():
    found = rank(frame(MEANS), "accuracy", ["eta"])
    assert [(row.scheme, row.settings["eta"]) for row in found.rows] == [
        ("a", 1.0), ("b", 0.1), ("b", 1.0), ("a", 0.1), ("uniform", "")
    ]  # fmt: skip
    assert [row.standing for row in found.rows] == [BEST, AMONG, "worse", "worse", "worse"]
    assert [round(row.behind, 3) for row in found.rows[1:]] == [-0.001, -3.0, -4.0, -4.5]
    assert np.isnan(found.rows[0].behind) and found.rows[1].low < -0.001 < found.rows[1].high
    assert found.best == found.rows[:2] and found.seeds == 10 and found.comparisons.family == 4


def test_less_may_be_better():
    found = rank(frame(MEANS).rename(columns={"accuracy": "loss"}), "loss", ["eta"])
    assert found.rows[0].scheme == "uniform" and found.rows[1].standing == "worse" and found.rows[1].behind == 0.5


def test_standings_are_those_of_comparisons_with_the_best():
    runs = frame(MEANS)
    named = runs.assign(scheme=[f"{scheme}{eta}" for scheme, eta in zip(runs.scheme, runs.eta, strict=True)])
    by_hand = {row.scheme: row.verdict for row in compare(named, "accuracy", baseline="a1.0").rows}
    found = rank(runs, "accuracy", ["eta"])
    assert {f"{r.scheme}{r.settings['eta'] or 'nan'}": r.standing for r in found.rows[2:]} == {
        name: verdict for name, verdict in by_hand.items() if verdict == "worse"
    }


def test_failed_points_are_last_and_never_best():
    runs = frame(MEANS)
    runs.loc[(runs.scheme == "a") & (runs.eta == 1.0) & (runs.seed == 3), "accuracy"] = np.nan
    found = rank(runs, "accuracy", ["eta"])
    assert (found.rows[0].scheme, found.rows[0].settings["eta"]) == ("b", 0.1)
    last = found.rows[-1]
    assert (last.scheme, last.settings["eta"], last.summary.failed, last.summary.n) == ("a", 1.0, (3,), 9)
    assert last not in found.best
    none = rank(runs.assign(accuracy=np.nan), "accuracy", ["eta"])
    assert none.best == () and none.comparisons is None and {row.standing for row in none.rows} == {"failed runs"}


def test_points_are_ranked_on_the_seeds_that_all_have():
    runs = frame(MEANS)
    runs = runs[(runs.scheme != "b") | (runs.seed < 6)]
    found = rank(runs, "accuracy", ["eta"])
    assert (found.seeds, found.left_out) == (6, 4) and {row.summary.n for row in found.rows} == {6}


def test_one_point_is_the_best_of_one():
    found = rank(frame({("a", 0.1): 1.0}), "accuracy", ["eta"])
    assert [row.standing for row in found.rows] == [BEST] and found.comparisons is None


def test_numbers_at_full_precision():
    made = rank(frame(MEANS), "accuracy", ["eta"]).frame()
    assert made.columns[:5].tolist() == ["metric", "rank", "scheme", "eta", "n"] and len(made) == 5
    assert made["mean"].tolist() == pytest.approx([5.0, 4.999, 2.0, 1.0, 0.5]) and made["standing"][0] == BEST
