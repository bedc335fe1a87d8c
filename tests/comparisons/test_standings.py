"""Standings of schemes over crossed worlds, data sets and seeds."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from jfed.comparisons.standings import standings
from jfed.stats.crossed import crossed

WORLDS, DATA, SEEDS = ("calm", "stormy"), ("one", "two", "three"), range(4)


def frame(score, schemes=("random", "good", "bad"), worlds=WORLDS, data=DATA, seeds=SEEDS):
    """Return a run for each combination, with the score of (scheme, world, data, seed), all as numbers from 0."""
    rows = [
        {"scheme": scheme, "world": world, "data": kind, "seed": seed, "accuracy": score(i, w, d, s)}
        for i, scheme in enumerate(schemes)
        for w, world in enumerate(worlds)
        for d, kind in enumerate(data)
        for s, seed in enumerate(seeds)
    ]
    return pd.DataFrame(rows).sample(frac=1, random_state=0)


def test_three_schemes_by_hand():
    noise = np.random.default_rng(0).normal(size=(3, 2, 3, 4)) * 0.1
    gain = np.array([0.0, 1.0, -0.5])
    # `bad` is the best in one cell of six.
    found = standings(
        frame(lambda i, w, d, s: gain[i] + noise[i, w, d, s] + 9 * (i == 2 and w == 1 and d == 2)), "accuracy",
        ("world", "data"), baseline="random",
    )  # fmt: skip
    assert found.factors == (("world", 2), ("data", 3), ("seed", 4)) and found.higher_is_better
    good, random, bad = (next(row for row in found.rows if row.scheme == name) for name in ("good", "random", "bad"))
    assert [row.scheme for row in found.rows] == ["good", "random", "bad"]
    assert good.rank == pytest.approx((5 * 1 + 2) / 6) and bad.rank == pytest.approx((5 * 3 + 1) / 6)
    assert random.rank == pytest.approx((5 * 2 + 3) / 6)
    assert (good.wins, random.wins, bad.wins) == (5, 0, 1)
    assert random.verdict == "baseline" and np.isnan(random.p) and random.difference == 0
    grid = 1 + noise[1] - noise[0]
    alone = crossed(grid, ("world", "data", "seed"))
    assert good.p == pytest.approx(alone.p) and good.difference == pytest.approx(grid.mean())
    assert good.p_adjusted == pytest.approx(min(1, 2 * alone.p))
    assert good.low < 0 < grid.mean() < good.high  # two worlds tell little of further ones
    assert good.verdict == bad.verdict == "no difference shown"
    cell = found.cells.set_index(["world", "data", "scheme"])
    assert cell.loc[("stormy", "three", "bad"), "rank"] == 1
    assert cell.loc[("calm", "one", "good"), "mean"] == pytest.approx(1 + noise[1, 0, 0].mean())


def test_lower_can_be_better_and_ties_share_ranks():
    found = standings(frame(lambda i, w, d, s: (0.0, 0.0, 1.0)[i] + s), "accuracy", ("world", "data"),
                      baseline="random", higher_is_better=False)  # fmt: skip
    by = {row.scheme: row for row in found.rows}
    assert by["good"].rank == by["random"].rank == 1.5 and by["bad"].rank == 3
    assert by["good"].verdict == "identical" and by["good"].wins == by["random"].wins == 6
    assert by["bad"].difference == 1
    assert by["bad"].rank_low == by["bad"].rank_high == 3 and by["good"].among_best == 1
    two = standings(frame(lambda i, w, d, s: (0.0, 0.0, 1.0)[i] + s), "accuracy", ("world", "data"),
                    baseline="random", higher_is_better=False, best=2)  # fmt: skip
    assert [round(row.among_best, 3) for row in two.rows] == [1, 1, 0]


def test_schemes_whose_gains_and_losses_cancel_are_not_identical():
    found = standings(frame(lambda i, w, d, s: i * (-1.0) ** s, ("random", "good")), "accuracy", ("world", "data"),
                      baseline="random")  # fmt: skip
    good = next(row for row in found.rows if row.scheme == "good")
    assert good.difference == 0 and good.p == 1 and good.verdict == "no difference shown"


def test_a_failed_run_counts_as_the_worst_of_its_cell_and_seed():
    scores = np.random.default_rng(1).normal(size=(3, 2, 3, 4))
    broken = scores.copy()
    broken[1, 0, 0, 0] = np.nan
    filled = scores.copy()
    filled[1, 0, 0, 0] = min(scores[0, 0, 0, 0], scores[2, 0, 0, 0])
    a, b = (standings(frame(lambda *at, x=x: x[at]), "accuracy", ("world", "data"), baseline="random")
            for x in (broken, filled))  # fmt: skip
    assert [row.failed for row in a.rows if row.scheme == "good"] == [1]
    pd.testing.assert_frame_equal(a.frame().drop(columns="failed"), b.frame().drop(columns="failed"))


def test_one_world_is_no_factor():
    scores = np.random.default_rng(2).normal(size=(3, 1, 3, 4))
    found = standings(frame(lambda *at: scores[at], worlds=("calm",)), "accuracy", ("world", "data"), baseline="bad")
    good = next(row for row in found.rows if row.scheme == "good")
    assert good.p == pytest.approx(crossed(scores[1, 0] - scores[2, 0], ("data", "seed")).p)
    only = standings(frame(lambda *at: scores[at], worlds=("calm",)).query("data == 'one'"), "accuracy",
                     ("world", "data"), baseline="bad")  # fmt: skip
    good = next(row for row in only.rows if row.scheme == "good")
    assert good.p == pytest.approx(stats.ttest_rel(scores[1, 0, 0], scores[2, 0, 0]).pvalue)


def test_the_bootstrap_tells_sure_ranks_from_unsure_ones():
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(5, 4, 4, 6))
    gain = np.array([3.0, 0.0, 0.0, 0.0, -3.0])
    names = ("top", "random", "b", "c", "last")
    found = standings(frame(lambda i, w, d, s: gain[i] + noise[i, w, d, s], names, "wxyz", "abcd", range(6)),
                      "accuracy", ("world", "data"), baseline="random", best=1)  # fmt: skip
    by = {row.scheme: row for row in found.rows}
    assert by["top"].among_best == 1 and by["last"].among_best == 0
    assert [by[name].verdict for name in names] == ["better", "baseline", *["no difference shown"] * 2, "worse"]
    assert by["top"].rank_high - by["top"].rank_low < 0.2 < by["b"].rank_high - by["b"].rank_low
    assert by["top"].rank_low <= by["top"].rank <= by["top"].rank_high


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda runs: runs.drop(columns="world"), "the frame has no column 'world'"),
        (lambda runs: runs[~((runs.scheme == "good") & (runs.world == "calm") & (runs.seed == 2))],
         "good lacks world calm, data one, seed 2: every scheme needs each combination once"),
        (lambda runs: pd.concat([runs, runs.head(1)]), "has more than one run at world .* needs each combination once"),
        (lambda runs: runs[runs.seed == 0], "standings need two schemes and two seeds, found 3 and 1"),
        (lambda runs: runs.assign(accuracy=np.nan), "no scheme has a finite 'accuracy' in some cell"),
        (lambda runs: runs[runs.scheme != "random"], "no scheme 'random'; there are 'good', 'bad'"),
    ],
)  # fmt: skip
def test_frames_that_cannot_be_used(spoil, sentence):
    runs = frame(lambda i, w, d, s: float(i))
    with pytest.raises(ValueError, match=sentence):
        standings(spoil(runs), "accuracy", ("world", "data"), baseline="random")
