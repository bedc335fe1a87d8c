"""Tests of crossed seeds: by hand, against statsmodels and SciPy, and simulated type I errors."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.anova import anova_lm

import jfed
from jfed.stats.crossed import crossed, factors
from jfed.stats.variance import SEEDS

pytestmark = pytest.mark.check

NAMES = ["data_seed", "model_seed"]


def runs(cells, names=SEEDS):
    """Return a frame of runs of two schemes, whose seeds 0, 1, ... have the given levels."""
    rows = [(scheme, seed, *cell) for scheme in ("a", "b") for seed, cell in enumerate(cells)]
    return pd.DataFrame(rows, columns=["scheme", "seed", *names[: len(cells[0])]])


def grid(*sizes):
    return list(itertools.product(*map(range, sizes)))


def test_two_by_two_by_hand():
    # Mean squares 9 of rows, 4 of columns and 1 on one degree of freedom each: 9 + 4 - 1 = 12 over 4 cells.
    found = crossed([[1, 2], [3, 6]])
    assert (found.estimate, found.n_cells, found.truncated, found.notes) == (3, 4, (), ())
    assert found.levels == (("data_seed", 2), ("model_seed", 2))
    expected = [(math.sqrt(12 / 4), 12**2 / (9**2 + 4**2 + 1)), (math.sqrt(9 / 4), 1), (math.sqrt(4 / 4), 1)]
    assert np.array(found.candidates) == pytest.approx(np.array(expected))
    # t = 2 on one degree of freedom says least: p = 1 - 2 atan(2) / pi.
    assert (found.se, found.df, found.t) == (1.5, 1, 2)
    assert found.p == pytest.approx(1 - 2 * math.atan(2) / math.pi)
    assert max(2 * stats.t.sf(3 / se, df) for se, df in expected) == pytest.approx(found.p)
    assert found.interval(0.95) == pytest.approx((3 - 12.706 * 1.5, 3 + 12.706 * 1.5), abs=1e-3)


def test_truncation_by_hand():
    # Equal means of rows, means of columns 2, 3 and 4: mean squares 0, 2 and 6, and the residual's is the largest.
    found = crossed([[1, 2, 6], [3, 4, 2]], ["world", "seed"])
    assert found.truncated == ("world", "seed")
    assert found.notes == ("no variance is seen between levels of world and seed: the test is conservative",)
    assert np.array(found.candidates) == pytest.approx(np.array([(1, 2), (math.sqrt(2 / 6), 2)]))
    assert (found.estimate, found.se, found.df, found.t) == pytest.approx((3, 1, 2, 3))


@pytest.mark.parametrize("shape", [(4, 3), (5, 5), (3, 4, 5), (2, 3, 2, 3)])
def test_variance_equals_statsmodels_mean_squares(shape):
    names = ["one", "two", "three", "four"][: len(shape)]
    rng = np.random.default_rng(1)
    d = rng.normal(0.5, 0.1, shape)
    for axis in range(len(shape)):
        d += rng.normal(0, 0.3, [size if i == axis else 1 for i, size in enumerate(shape)])
    frame = pd.DataFrame(grid(*shape), columns=names).assign(d=d.ravel())
    # All interactions but the highest, which is statsmodels' residual.
    formula = "d ~ (" + " + ".join(f"C({name})" for name in names) + f") ** {len(names) - 1}"
    table = anova_lm(smf.ols(formula, frame).fit())
    order = np.where(table.index == "Residual", len(shape), table.index.str.count(":") + 1)
    terms = -((-1.0) ** order) * table.mean_sq.to_numpy()
    found = crossed(d, names)
    se, df = found.candidates[0]
    assert found.truncated == ()
    assert se == pytest.approx(math.sqrt(terms.sum() / d.size))
    assert df == pytest.approx(terms.sum() ** 2 / np.sum(terms**2 / table.df))
    for (se, df), name in zip(found.candidates[1:], names, strict=True):
        assert se == pytest.approx(math.sqrt(table.mean_sq[f"C({name})"] / d.size))
        assert df == table.df[f"C({name})"]


def test_one_factor_is_the_t_test():
    d = np.random.default_rng(2).normal(0.4, 1, 9)
    found, theirs = crossed(d, ["seed"]), stats.ttest_1samp(d, 0)
    assert (found.t, found.p, found.df) == pytest.approx((theirs.statistic, theirs.pvalue, 8))
    ends = theirs.confidence_interval(0.9)
    assert found.interval(0.9) == pytest.approx((ends.low, ends.high))


def simulate(shape, shares, repetitions=2000, mean=0.0):
    """Yield grids of variance 1, of which factors have the given shares."""
    rng = np.random.default_rng(3)
    for _ in range(repetitions):
        d = rng.normal(mean, math.sqrt(1 - sum(shares)), shape)
        for axis, share in enumerate(shares):
            d += rng.normal(0, math.sqrt(share), [size if i == axis else 1 for i, size in enumerate(shape)])
        yield d


@pytest.mark.parametrize(
    ("shape", "shares", "rate"),
    [
        ((5, 5), (0.3, 0.2), 0.032),
        ((5, 5), (0.0, 0.0), 0.008),
        ((10, 10), (0.5, 0.3), 0.048),
        ((3, 10), (0.5, 0.3), 0.046),
        ((2, 10), (0.5, 0.3), 0.037),
        ((4, 4, 4), (0.3, 0.2, 0.1), 0.033),
    ],
)
def test_type_one_error_is_that_of_the_docstring(shape, shares, rate):
    wrong = np.mean([crossed(d).p < 0.05 for d in simulate(shape, shares)])
    assert wrong == pytest.approx(rate, abs=4 * math.sqrt(rate * (1 - rate) / 2000))


def test_crossed_runs_taken_as_independent_are_not():
    """The paired t-test of 25 runs has 27 % false alarms; the bound is 4 standard errors."""
    p = stats.ttest_1samp([d.ravel() for d in simulate((5, 5), (0.3, 0.2))], 0, axis=1).pvalue
    assert np.mean(p < 0.05) == pytest.approx(0.267, abs=4 * math.sqrt(0.267 * 0.733 / 2000))


def test_variance_of_the_mean_is_unbiased():
    """The first candidate, where it is not replaced, estimates v_A / a + v_B / b + v_AB / (a b) = 0.164."""
    means = [d.mean() for d in simulate((5, 6), (0.5, 0.3), mean=2.0)]
    squares = [c.candidates[0][0] ** 2 for c in map(crossed, simulate((5, 6), (0.5, 0.3), 500))]
    true = 0.5 / 5 + 0.3 / 6 + 0.2 / 30
    assert np.var(means, ddof=1) == pytest.approx(true, abs=4 * true * math.sqrt(2 / 2000))
    assert np.mean(squares) == pytest.approx(true, abs=4 * np.std(squares) / math.sqrt(500))


@settings(max_examples=60)
@given(st.lists(st.integers(-9, 9), min_size=12, max_size=12), st.sampled_from([0.513, 0.9, 0.95, 0.999]))
def test_interval_agrees_with_p(values, level):
    found = crossed(np.reshape(values, (3, 4)))
    low, high = found.interval(level)
    if math.isnan(found.t):
        assert math.isnan(low) and len(set(values)) == 1
        return
    assert low <= found.estimate <= high
    assert (low > 0 or high < 0) == (found.p < 1 - level)
    assert found.p == pytest.approx(2 * stats.t.sf(abs(found.t), found.df))


@settings(max_examples=30)
@given(st.lists(st.integers(-9, 9), min_size=24, max_size=24).filter(lambda v: len(set(v)) > 1))
def test_order_of_factors_and_unit_do_not_matter(values):
    d = np.reshape(values, (2, 3, 4))
    one, other = crossed(d), crossed(-100.0 * d.transpose(2, 0, 1), [SEEDS[2], SEEDS[0], SEEDS[1]])
    assert other.estimate == pytest.approx(-100 * one.estimate)
    assert other.p == pytest.approx(one.p)
    assert np.diff(other.interval()) == pytest.approx(100 * np.diff(one.interval()))
    assert set(other.truncated) == set(one.truncated)


def test_no_variance():
    same, zero = crossed(np.full((2, 3), 0.1)), crossed(np.zeros((2, 3)))
    assert (same.notes, zero.notes) == (("constant difference",), ("identical",))
    assert (same.estimate, same.se, zero.p) == (pytest.approx(0.1), 0.0, 1.0)
    assert all(math.isnan(x) for x in (same.p, same.t, same.df, zero.t, *same.interval()))


def test_errors_of_crossed():
    with pytest.raises(ValueError, match="a test needs at least two levels of model_seed, got 1"):
        crossed([[1.0], [2.0]])
    with pytest.raises(
        ValueError, match="differences must be finite, with one axis per factor in data_seed, model_seed"
    ):
        crossed([[1.0, math.nan], [2.0, 1.0]])
    with pytest.raises(ValueError, match="differences must be finite"):
        crossed(np.ones((2, 2)), ["data_seed"])
    with pytest.raises(ValueError, match="level must lie strictly between 0 and 1, got 95"):
        crossed([[1, 2], [3, 6]]).interval(95)


def test_crossed_seeds_are_found():
    cells = [(s.data, s.model, s.environment) for s in jfed.crossed_seeds(data=4, model=3)]
    design = factors(runs(cells).sample(frac=1, random_state=0))
    assert (design.kind, design.levels) == ("crossed", (("data_seed", 4), ("model_seed", 3)))
    assert design.notes == ("all runs share environment_seed 0: the conclusion holds for it only",)
    d = np.random.default_rng(4).normal(size=(4, 3))
    by_seed = pd.Series(d.ravel()).sample(frac=1, random_state=1)
    assert design.test(by_seed) == crossed(d, NAMES, design.notes)
    # On part of the grid, as where one scheme has fewer runs.
    part = by_seed[by_seed.index < 6].sort_index()
    assert design.test(part) == crossed(d[:2], NAMES, design.notes)
    three = factors(runs(grid(2, 3, 2)))
    assert three.levels == (("data_seed", 2), ("model_seed", 3), ("environment_seed", 2))


def test_independent_runs():
    d = pd.Series(np.random.default_rng(5).normal(1, 1, 6))
    for frame in (runs([(i, i, i) for i in range(6)]), runs([(i, 5 - i) for i in range(6)]), runs([()] * 6)):
        design = factors(frame)
        assert (design.kind, design.levels, design.notes) == ("independent", (("seed", 6),), ())
        assert design.test(d).p == pytest.approx(stats.ttest_1samp(d, 0).pvalue)
    one_world = factors(runs([(7, i) for i in range(6)]))
    assert one_world.kind == "independent"
    assert one_world.notes == ("all runs share data_seed 7: the conclusion holds for it only",)
    assert factors(runs([(0, 0, 0)])).notes == ()


def test_clustered_runs_are_averaged():
    # Three data seeds with two runs each, all with model seeds of their own, which are nested.
    design = factors(runs([(0, 0), (0, 1), (1, 2), (1, 3), (2, 4), (2, 5)]))
    assert (design.kind, design.levels, design.notes) == ("clustered", (("data_seed", 3),), ())
    found = design.test(pd.Series([1.0, 2.0, 4.0, 5.0, 2.0, 4.0]))
    theirs = stats.ttest_1samp([1.5, 4.5, 3.0], 0)
    assert (found.t, found.p, found.df) == pytest.approx((theirs.statistic, theirs.pvalue, 2))
    uneven = factors(runs([(0, 0), (0, 1), (0, 2), (1, 3), (2, 4)]))
    assert uneven.notes == ("1 to 3 runs per level of data_seed are averaged: the test is approximate",)


def test_a_copy_is_one_factor():
    copied = [(data, model, 10 - data) for data, model in grid(3, 2)]
    design = factors(runs(copied))
    assert design.levels == (("data_seed", 3), ("model_seed", 2))
    assert design.notes == ("environment_seed always changes with data_seed: they are one factor",)
    # Two environment seeds, each with two data seeds of its own, crossed with model seeds: the outer one counts.
    nested = factors(runs([(data, model, data // 2) for data, model in grid(4, 3)]))
    assert nested.levels == (("model_seed", 3), ("environment_seed", 2))


def test_what_is_wrong_is_named():
    message = (
        "2 of 6 combinations of data_seed and model_seed have no run, the first is data_seed 0, model_seed 2; runs"
    )
    with pytest.raises(ValueError, match=message):
        factors(runs([cell for cell in grid(2, 3) if cell not in ((0, 2), (1, 1))]))
    design = factors(runs(grid(2, 3)))
    with pytest.raises(ValueError, match="1 of 6 combinations of data_seed and model_seed have no run"):
        design.test(pd.Series(np.arange(5.0)))
    with pytest.raises(ValueError, match="there are no differences to test"):
        design.test(pd.Series([], dtype=float))
    frame = runs(grid(2, 3))
    with pytest.raises(ValueError, match="the frame has no column 'seed'"):
        factors(frame.drop(columns="seed"))
    with pytest.raises(ValueError, match="a run has no value of data_seed or model_seed, though others have"):
        factors(frame.assign(model_seed=frame["model_seed"].where(frame.index != 3)))
    with pytest.raises(ValueError, match="seed 1 has model_seed 1 in one run and 5 in another"):
        factors(frame.assign(model_seed=frame["model_seed"].where(frame.index != 7, 5)))
