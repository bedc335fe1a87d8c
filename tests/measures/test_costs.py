"""Tests of values against cost: the last value known at a given cost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jfed.measures.costs import against, cost_grid, mean_until

NAN = float("nan")


def test_by_hand():
    costs, values = [[2, 4, 8], [1, 1, 3]], [[0.1, 0.2, 0.3], [0.5, 0.6, 0.7]]
    found = against(costs, values, [0, 1, 2, 3, 5, 8, 9])
    np.testing.assert_array_equal(found[0], [NAN, NAN, 0.1, 0.1, 0.2, 0.3, NAN])
    np.testing.assert_array_equal(found[1], [NAN, 0.6, 0.6, 0.7, NAN, NAN, NAN])  # of two at one cost, the later
    np.testing.assert_array_equal(cost_grid(costs, 8), np.arange(1, 9))


@given(st.lists(st.floats(0.1, 9), min_size=1, max_size=12), st.floats(-1, 50))
def test_no_value_from_the_future(steps, cost):
    spent = np.cumsum(steps)[None]
    (found,) = against(spent, np.arange(len(steps), dtype=float)[None], [cost])[0]
    before = np.flatnonzero(spent[0] <= cost)
    if len(before) == 0 or cost > spent[0, -1]:
        assert np.isnan(found)
    else:
        assert found == before[-1]


def test_equal_costs_are_a_change_of_axis():
    rounds, values = np.arange(1, 6.0), np.random.default_rng(0).normal(size=(3, 5))
    np.testing.assert_array_equal(against(np.tile(20 * rounds, (3, 1)), values, 20 * rounds), values)


@pytest.mark.parametrize(
    ("costs", "values", "sentence"),
    [
        ([[1, 2]], [[1.0]], r"must both be \(runs, evaluations\), got \(1, 2\) and \(1, 1\)"),
        ([1, 2], [1.0, 2.0], r"must both be \(runs, evaluations\), got \(2,\) and \(2,\)"),
        ([[]], [[]], r"must both be \(runs, evaluations\), got \(1, 0\) and \(1, 0\)"),
        ([[2, 1]], [[0.0, 1.0]], "costs must be cumulative: one of them decreases"),
    ],
)
def test_refused(costs, values, sentence):
    with pytest.raises(ValueError, match=sentence):
        against(costs, values, [0.0])


def test_mean_until_by_hand():
    costs, values = [[2, 4, 8], [1, 1, 3]], [[0.1, 0.2, 0.3], [0.5, 0.6, 0.7]]
    found = mean_until(costs, values, [5, 10])
    np.testing.assert_allclose(found, [(2 * 0.1 + 1 * 0.2) / 5, (2 * 0.6 + 7 * 0.7) / 10])
    np.testing.assert_allclose(mean_until(costs, values, [1, 1]), [0, 0])
    assert np.isnan(mean_until(costs, [[0.1, NAN, NAN], [0.5, 0.6, 0.7]], [5, 10])).tolist() == [True, False]
    with pytest.raises(ValueError, match="until must be one positive limit for each of the 2 runs"):
        mean_until(costs, values, [0, 1])


@given(st.lists(st.tuples(st.floats(0.1, 9), st.floats(0, 1)), min_size=1, max_size=12), st.floats(0.5, 50))
def test_mean_until_is_the_area_under_the_curve(steps, until):
    costs, values = np.cumsum([s for s, _ in steps]), np.array([v for _, v in steps])
    grid = (np.arange(20_000) + 0.5) * until / 20_000
    read = np.append(0.0, values)[np.searchsorted(costs, grid, side="right")]
    np.testing.assert_allclose(mean_until([costs], [values], [until]), read.mean(), atol=len(steps) / 20_000)
