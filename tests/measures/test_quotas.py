"""Tests of quotas: selection rates so far, and the last round in which a quota is broken."""

import numpy as np

from jfed.measures.quotas import last_broken, rates_so_far

SELECTED = np.array([[1, 0], [0, 0], [1, 1], [1, 1], [0, 1]], bool)


def test_by_hand():
    rates = rates_so_far(SELECTED)
    np.testing.assert_allclose(rates[:, 0], [1, 1 / 2, 2 / 3, 3 / 4, 3 / 5])
    np.testing.assert_allclose(rates[:, 1], [0, 0, 1 / 3, 2 / 4, 3 / 5])
    assert last_broken(rates, [0.6, 0.4]).tolist() == [2, 3]
    assert last_broken(rates, [0.61, 0.0]).tolist() == [5, 0]  # broken at the end; never broken
    assert last_broken(rates, 0.5).tolist() == [0, 3]


def test_many_runs_at_once_and_rates_that_are_exact():
    rng = np.random.default_rng(0)
    selected = rng.random((3, 40, 4)) < 0.5
    rates = rates_so_far(selected)
    assert rates.shape == selected.shape
    for i in range(3):
        np.testing.assert_array_equal(last_broken(rates, 0.4)[i], last_broken(rates[i], 0.4))
    tenth = rates_so_far(np.tile([[True], *[[False]] * 9], (30, 1)))
    assert last_broken(tenth, 0.1).tolist() == [0]  # 30 of 300 keeps 0.1 despite rounding
