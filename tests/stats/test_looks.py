"""Group-sequential Holm: by hand, against a direct step-down by levels, and its corrected p-values."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jfed.stats.intervals import holm
from jfed.stats.looks import Decision, decide, next_look, plan_looks
from jfed.stats.spending import critical, levels

NAN = math.nan
P = st.one_of(st.just(NAN), st.floats(-6, 0).map(lambda exponent: 10.0**exponent))
FUNCTIONS = st.sampled_from(["obrien-fleming", "pocock"])


@st.composite
def studies(draw):
    """Return p-values of m comparisons at K looks, the looks and the most seeds."""
    looks = sorted(draw(st.lists(st.integers(2, 40), min_size=1, max_size=4, unique=True)))
    rows = st.lists(P, min_size=len(looks), max_size=len(looks))
    return np.array(draw(st.lists(rows, min_size=1, max_size=4))), looks, looks[-1] + draw(st.sampled_from([0, 10]))


def stepped_down(p, looks, n_max, alpha, spending):
    """Return the look at which each is rejected, testing the open ones at alpha / (m - r) until none falls."""
    rejected = [None] * len(p)
    for k, n in enumerate(looks, start=1):
        while True:
            still = [i for i, at in enumerate(rejected) if at is None]
            bars = levels(looks[:k], n_max, alpha / len(still), spending) if still else ()
            fallen = [i for i in still if any(p[i, :k] <= bars)]
            if not fallen:
                break
            for i in fallen:
                rejected[i] = n
    return rejected


@settings(max_examples=30)
@given(studies(), FUNCTIONS)
def test_decisions_are_those_of_stepping_down_by_levels(study, spending):
    p, looks, n_max = study
    found = decide(p, looks, n_max, 0.1, spending)
    assert [one.rejected_at for one in found] == stepped_down(p, looks, n_max, 0.1, spending)


@settings(max_examples=20)
@given(studies(), FUNCTIONS)
def test_corrected_p_is_the_smallest_alpha_that_rejects(study, spending):
    p, looks, n_max = study
    for i, one in enumerate(decide(p, looks, n_max, 0.05, spending)):
        assert math.isnan(one.p) == np.isnan(p[i]).all()
        if one.p < 0.99:
            assert stepped_down(p, looks, n_max, one.p * (1 + 1e-6), spending)[i] is not None
            assert stepped_down(p, looks, n_max, one.p * (1 - 1e-6), spending)[i] is None
            assert (one.rejected_at is not None) == (one.p < 0.05)


@settings(max_examples=30)
@given(studies(), FUNCTIONS)
def test_what_is_rejected_stays_rejected(study, spending):
    p, looks, n_max = study
    final = decide(p, looks, n_max, 0.1, spending)
    for k in range(1, len(looks)):
        for before, after in zip(decide(p[:, :k], looks[:k], n_max, 0.1, spending), final, strict=True):
            assert before.rejected_at is None or before.rejected_at == after.rejected_at
            assert math.isnan(before.p) or after.p <= before.p


@given(st.lists(P, min_size=1, max_size=6), FUNCTIONS)
def test_a_single_look_at_the_end_is_holm(p, spending):
    found = [one.p for one in decide(np.array(p)[:, None], [30], 30, spending=spending)]
    assert found == pytest.approx(np.where(holm(np.array(p)) > 0.9999, 1.0, holm(np.array(p))), rel=1e-6, nan_ok=True)


def test_family_by_hand():
    """Levels of two looks of 10 and 20 seeds at 0.05 / 3, 0.05 / 2 and 0.05, of Pocock's kind."""
    one, two, three = (levels([10, 20], 20, 0.05 / m, "pocock") for m in (1, 2, 3))
    just = 1 - 1e-6
    # At 10 seeds the first is rejected at alpha / 3, which lets the second be rejected at alpha / 2, and not the third.
    p = np.array([[three[0] * just, NAN], [two[0] * just, NAN], [0.9, one[1] / just]])
    found = decide(p, [10, 20], 20, spending="pocock")
    assert [d.rejected_at for d in found] == [10, 10, None]
    assert found[0].p == pytest.approx(0.05, rel=1e-5) and found[1].p == pytest.approx(0.05, rel=1e-5)
    assert found[2].p == pytest.approx(0.05, rel=1e-5) and found[2].p > 0.05
    # A stopped comparison without later p-values stays rejected, and frees its share for the others.
    p[2, 1] = one[1] * just
    assert [d.rejected_at for d in decide(p, [10, 20], 20, spending="pocock")] == [10, 10, 20]


def test_a_later_rejection_helps_an_earlier_near_miss():
    first = levels([10, 20], 20, 0.05 / 2, "pocock")[0]
    assert first < 0.03 < levels([10], 20, 0.05, "pocock")[0]
    p = np.array([[0.03, 0.5], [0.9, 1e-4]])
    assert [d.rejected_at for d in decide(p[:, :1], [10], 20, spending="pocock")] == [None, None]
    assert [d.rejected_at for d in decide(p, [10, 20], 20, spending="pocock")] == [20, 20]


def test_comparisons_without_p_count():
    p = np.array([[NAN, NAN], [0.001, 0.03]])
    found = decide(p, [10, 20], 20, spending="pocock")
    assert found[0].rejected_at is None and math.isnan(found[0].p)
    assert found[1].p == pytest.approx(2 * decide(p[1:], [10, 20], 20, spending="pocock")[0].p)
    # A test that was impossible at the first look does not hinder the second.
    assert decide([[NAN, 1e-5]], [10, 20], 20) == decide([[1.0, 1e-5]], [10, 20], 20)


def test_extreme_p_values():
    assert decide(np.ones((2, 3)), [2, 3, 4], 9) == (Decision(None, 1.0),) * 2
    for one in decide(np.zeros((2, 2)), [2, 30], 90):
        assert one.rejected_at == 2 and 0 < one.p < 1e-2


def test_plan():
    plan = plan_looks([10, 20, 50], 0.01, "pocock")
    assert (plan.seeds, plan.alpha, plan.spending) == ((10, 20, 50), 0.01, "pocock")
    assert plan.levels == levels([10, 20, 50], 50, 0.01, "pocock")
    assert plan.critical == critical([10, 20, 50], 50, 0.01, "pocock")
    assert plan.spent == pytest.approx([0.01 * math.log1p((math.e - 1) * t) for t in (0.2, 0.4, 1)])
    assert [next_look(plan, n) for n in (0, 9, 10, 37, 50, 60)] == [10, 10, 20, 50, None, None]


def test_errors():
    for bad in ([0.1, 0.2], [[0.1]], np.ones((0, 2)), [[0.1, 0.2, 0.3]]):
        with pytest.raises(ValueError, match="p_values must have a row for each comparison and 2 looks, got shape"):
            decide(bad, [10, 20], 20)
    for bad in (-0.1, 1.1, math.inf):
        with pytest.raises(ValueError, match="p_values must lie between 0 and 1, or be NaN"):
            decide([[0.5, bad]], [10, 20], 20)
    with pytest.raises(ValueError, match="n_max must be at least the last look, at 20 seeds, got 19"):
        decide([[0.5, 0.5]], [10, 20], 19)
    with pytest.raises(ValueError, match=r"alpha must lie strictly between 0 and 1, got 1\.0"):
        decide([[0.5, 0.5]], [10, 20], 20, 1.0)
    with pytest.raises(ValueError, match="looks must be increasing whole numbers of seeds, each at least 2, got"):
        plan_looks([])
    with pytest.raises(ValueError, match="spending must be one of obrien-fleming, pocock, got 'linear'"):
        plan_looks([10, 20], spending="linear")  # type: ignore[arg-type]
