"""Tests of variance components: by hand, against statsmodels' mean squares, and on simulated components."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.anova import anova_lm

from jfed.stats.variance import SEEDS, components

pytestmark = pytest.mark.check

TWO = ("data_seed", "model_seed")


def crossed(scores, names=SEEDS):
    """Return a frame with one row per entry of an array that has one axis per factor."""
    scores = np.asarray(scores, float)
    rows = [(*cell, scores[cell]) for cell in itertools.product(*map(range, scores.shape))]
    return pd.DataFrame(rows, columns=[*names[: scores.ndim], "acc"])


def numbers(row):
    return row.mean_square, row.variance, row.share


def test_two_by_two_by_hand():
    # Means of rows 1.5 and 4.5, of columns 2 and 4; squares 9, 4 and 1 on one degree of freedom each.
    found = components(crossed([[1, 2], [3, 6]]), "acc", TWO)
    data, model = found.rows
    assert (data.name, data.levels, data.truncated) == ("data_seed", 2, False)
    assert numbers(data) == pytest.approx((9, (9 - 1) / 2, 4 / 6.5))
    assert numbers(model) == pytest.approx((4, (4 - 1) / 2, 1.5 / 6.5))
    assert (found.residual, found.residual_df, found.total, found.n) == (1.0, 1, 6.5, 4)
    assert found.left_out == ()


def test_two_by_three_by_hand():
    # Means of rows 3 and 7, of columns 1, 6 and 8: sums of squares 24, 52 and 4 on 1, 2 and 2 degrees of freedom.
    found = components(crossed([[0, 3, 6], [2, 9, 10]]), "acc", TWO)
    data, model = found.rows
    total = 22 / 3 + 12 + 2
    assert numbers(data) == pytest.approx((24, (24 - 2) / 3, 22 / 3 / total))
    assert numbers(model) == pytest.approx((26, (26 - 2) / 2, 12 / total))
    assert (found.residual, found.residual_df, found.n) == (pytest.approx(2), 2, 6)
    table = found.frame()
    assert table["name"].tolist() == ["data_seed", "model_seed", "residual"]
    assert table["share"].sum() == pytest.approx(1)
    assert table["variance"].sum() == pytest.approx(found.total) == pytest.approx(total)


def test_negative_estimates_are_truncated_and_flagged():
    # Equal means of rows, means of columns 2, 3 and 4; nearly everything is interaction: squares 0, 2 and 6.
    found = components(crossed([[1, 2, 6], [3, 4, 2]]), "acc", TWO)
    assert [row.mean_square for row in found.rows] == pytest.approx([0, 2])
    assert [(row.variance, row.share, row.truncated) for row in found.rows] == [(0.0, 0.0, True)] * 2
    assert found.residual == found.total == pytest.approx(6)


@pytest.mark.parametrize("shape", [(2, 2), (4, 3), (2, 3, 4), (5, 2, 3)])
def test_mean_squares_equal_statsmodels(shape):
    frame = crossed(np.random.default_rng(sum(shape)).normal(0.6, 0.1, shape))
    factors = SEEDS[: len(shape)]
    table = anova_lm(smf.ols("acc ~ " + " + ".join(f"C({name})" for name in factors), frame).fit())
    found = components(frame.sample(frac=1, random_state=0), "acc", factors)
    assert [row.name for row in found.rows] == list(factors)
    assert [row.mean_square for row in found.rows] == pytest.approx([table.mean_sq[f"C({f})"] for f in factors])
    assert found.residual == pytest.approx(table.mean_sq["Residual"])
    assert found.residual_df == table.df["Residual"]


def test_finds_simulated_components():
    """The mean of 300 estimates is within 4 standard errors of the variances 4, 1 and 9 and the residual 2.25."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(300):
        scores = rng.normal(0, 1.5, (6, 7, 5))
        for axis, sd in enumerate((2, 1, 3)):
            scores += np.expand_dims(rng.normal(0, sd, scores.shape[axis]), [i for i in range(3) if i != axis])
        one = components(crossed(scores), "acc")
        found.append([row.variance for row in one.rows] + [one.residual])
    error = np.std(found, axis=0, ddof=1) / 300**0.5
    assert (np.abs(np.mean(found, axis=0) - [4, 1, 9, 2.25]) < 4 * error).all()
    assert (error < 0.4).all()


@settings(max_examples=30)
@given(st.lists(st.integers(-9, 9), min_size=12, max_size=12))
def test_scale_and_shift(values):
    scores = np.array(values).reshape(3, 4)
    one, other = (components(crossed(s), "acc", TWO) for s in (scores, 100 - 10 * scores))
    assert other.residual == pytest.approx(100 * one.residual, abs=1e-9)
    for a, b in zip(one.rows, other.rows, strict=True):
        assert b.mean_square == pytest.approx(100 * a.mean_square, abs=1e-9)
    parts = sum(row.variance for row in one.rows) + one.residual
    assert one.total == pytest.approx(parts)
    # Sums of squares add up to the total.
    squares = sum(row.mean_square * (row.levels - 1) for row in one.rows) + one.residual * one.residual_df
    assert squares == pytest.approx(((scores - scores.mean()) ** 2).sum(), abs=1e-9)


def test_equal_scores_have_no_variance_and_no_shares():
    found = components(crossed(np.full((2, 3), 0.1)), "acc", TWO)
    assert (found.residual, found.total) == (0.0, 0.0)
    assert all(row.variance == 0 and not row.truncated and math.isnan(row.share) for row in found.rows)


def test_a_single_level_is_left_out():
    frame = crossed([[[0], [3], [6]], [[2], [9], [10]]])
    found = components(frame, "acc")
    assert found.left_out == ("environment_seed",)
    assert found.rows == components(frame, "acc", TWO).rows


def test_what_is_missing_is_named():
    frame = crossed(np.arange(6).reshape(2, 3))
    message = "2 of 6 combinations have no run, the first is data_seed 0, model_seed 2; the design must be balanced "
    with pytest.raises(ValueError, match=message):
        components(frame.drop([2, 4]), "acc", TWO)
    with pytest.raises(ValueError, match="data_seed 1, model_seed 0 has 3 runs instead of one"):
        components(pd.concat([frame, frame.iloc[[3, 3]]]), "acc", TWO)
    for bad in (math.nan, math.inf):
        failed = frame.assign(acc=frame["acc"].where(frame.index != 5, bad))
        with pytest.raises(ValueError, match="run of data_seed 1, model_seed 2 has failed"):
            components(failed, "acc", TWO)
    # Factor seeds that all equal the run's seed are no crossed design, however many there are.
    alike = pd.DataFrame(dict.fromkeys(SEEDS, range(500)) | {"acc": 0.5})
    with pytest.raises(ValueError, match="124999500 of 125000000 combinations have no run, the first is data_seed 0"):
        components(alike, "acc")


def test_unusable_frames():
    frame = crossed(np.arange(6).reshape(2, 3))
    with pytest.raises(ValueError, match="no column 'environment_seed'; there are data_seed, model_seed, acc"):
        components(frame, "acc", SEEDS)
    with pytest.raises(ValueError, match="got model_seed among data_seed, model_seed, environment_seed"):
        components(frame.drop(columns="data_seed"), "acc")
    assert components(frame, "acc") == components(frame, "acc", TWO)  # factors that are absent are left out
    with pytest.raises(ValueError, match="two factors that vary, got model_seed among data_seed, model_seed"):
        components(frame[frame["data_seed"] == 0], "acc", TWO)
    with pytest.raises(ValueError, match="two factors that vary, got none among data_seed, model_seed"):
        components(frame.iloc[:1], "acc", TWO)
    with pytest.raises(ValueError, match="the frame has several schemes; select one, whose variance is to be"):
        components(frame.assign(scheme=["a", "b"] * 3), "acc", TWO)
    with pytest.raises(ValueError, match="metric 'acc' is not numeric"):
        components(frame.assign(acc="high"), "acc", TWO)
    with pytest.raises(ValueError, match="no value of data_seed or model_seed"):
        components(frame.assign(data_seed=[0, 0, 0, 1, 1, math.nan]), "acc", TWO)
