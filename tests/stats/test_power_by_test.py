"""Tests of the power of rank, sign and unpaired tests against simulations with SciPy's tests and closed forms."""

import itertools
import math
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import TTestIndPower

from jfed.stats.power import detectable, plan, power, seeds_for
from jfed.stats.power_by_test import Test as Name
from jfed.stats.power_by_test import _null, least_p
from jfed.stats.signflip import sign_flip

pytestmark = pytest.mark.check

TESTS = get_args(Name)
OTHERS = TESTS[1:]
PAIRED = ("wilcoxon", "sign-flip")


def rejections(test, n, effect, level, size):
    """Return the share of `size` simulated experiments in which the test has p < level."""
    rng = np.random.default_rng(n)
    x, y = rng.normal(effect, 1, (size, n)), rng.normal(0, 1, (size, n))
    if test == "wilcoxon":
        p = stats.wilcoxon(x, axis=1, method="exact").pvalue
    elif test == "sign-flip":
        p = np.array([sign_flip(one).p for one in x])
    elif test == "welch":
        p = stats.ttest_ind(x, y, axis=1, equal_var=False).pvalue
    else:
        p = stats.mannwhitneyu(x, y, axis=1, method="exact").pvalue
    return float(np.mean(p < level))


@pytest.mark.parametrize(
    ("test", "n", "effect", "level", "size"),
    [
        ("wilcoxon", 6, 1.4, 0.05, 20_000),
        ("wilcoxon", 8, 1.65, 0.05 / 6, 20_000),
        ("wilcoxon", 20, 0.0, 0.05, 20_000),
        ("wilcoxon", 25, 0.7, 0.05 / 3, 20_000),
        ("wilcoxon", 40, 0.5, 0.05, 5_000),  # beyond what is simulated
        ("sign-flip", 8, 1.65, 0.05 / 6, 4_000),
        ("sign-flip", 11, 0.9, 0.05, 4_000),
        ("sign-flip", 18, 0.7, 0.05, 2_000),  # likewise
        ("welch", 2, 4.0, 0.05, 20_000),
        ("welch", 3, 2.5, 0.05 / 6, 20_000),
        ("welch", 12, 1.2, 0.05, 20_000),
        ("mann-whitney", 4, 2.2, 0.05, 20_000),
        ("mann-whitney", 7, 2.0, 0.05 / 6, 20_000),
        ("mann-whitney", 20, 0.0, 0.05, 5_000),
    ],
)
def test_power_equals_a_simulation(test, n, effect, level, size):
    """The bound is 4 standard errors of the simulation, and 0.5 points for those of `power` itself."""
    share = rejections(test, n, effect, level, size)
    error = math.sqrt(share * (1 - share) / size)
    assert power(n, effect, level, test=test) == pytest.approx(share, abs=4 * error + 0.005)
    assert power(n, -effect, level, test=test) == power(n, effect, level, test=test)


def test_effects_that_t_detects_and_ranks_do_not():
    """8 seeds and 6 comparisons, 10 seeds and 15: the t-test's 80 % are two thirds and 55 % with ranks."""
    eight, ten = detectable(8, num_comparisons=6), detectable(10, num_comparisons=15)
    assert power(8, eight, 0.05 / 6, test="wilcoxon") == pytest.approx(0.666, abs=0.006)
    assert power(10, ten, 0.05 / 15, test="wilcoxon") == pytest.approx(0.55, abs=0.008)
    # Here no p-value but the smallest is below the level, and that is the same for both: all differences of one sign.
    assert power(8, eight, 0.05 / 6, test="sign-flip") == power(8, eight, 0.05 / 6, test="wilcoxon")


def test_t_is_the_default():
    assert power(7, 1.0, test="t") == power(7, 1.0)
    assert detectable(7, test="t") == detectable(7)
    assert seeds_for(0.7, test="t") == seeds_for(0.7)
    assert plan([1.0, 2.0, 0.5, 1.5], test="t") == plan([1.0, 2.0, 0.5, 1.5])


@pytest.mark.parametrize("n", [20, 60, 200])
def test_welch_approaches_the_pooled_test(n):
    theirs = TTestIndPower().power(0.3, n, 0.05)
    assert power(n, 0.3, test="welch") == pytest.approx(theirs, abs=0.04 / n)


@pytest.mark.parametrize(("test", "n"), [("wilcoxon", 5), ("sign-flip", 5), ("mann-whitney", 3)])
def test_too_few_seeds_show_nothing(test, n):
    assert least_p(test, n) >= 0.05
    assert power(n, 9.0, test=test) == 0.0 < power(n + 1, 9.0, test=test)
    assert detectable(n, test=test) == math.inf > detectable(n + 1, test=test)
    assert seeds_for(50.0, test=test) == n + 1


def test_smallest_p_values():
    # 2 / 2^6, 2 / C(8, 4), and a level that exactly equals it is not undercut.
    assert (least_p("wilcoxon", 6), least_p("mann-whitney", 4)) == (1 / 32, 2 / 70)
    assert power(6, 9.0, 1 / 32, test="wilcoxon") == power(6, 9.0, 1 / 32, test="sign-flip") == 0.0
    assert power(4, 9.0, 2 / 70, test="mann-whitney") == 0.0
    assert least_p("mann-whitney", 10_000) > 0
    # 40 seeds are beyond what is simulated, but not beyond a floor.
    assert power(40, 9.0, 2.0**-39, test="wilcoxon") == 0.0
    assert power(20, 9.0, 2.0**-18, test="sign-flip") > 0.99


@pytest.mark.parametrize("test", OTHERS)
@pytest.mark.parametrize("n", [7, 12])
def test_without_effect_the_level_is_attained_and_not_exceeded(test, n):
    level = 0.05
    null = {"wilcoxon": 0.046875 if n == 7 else 0.042480, "sign-flip": 0.046875 if n == 7 else 204 / 4096}
    if test in null:  # 6 / 2^7 and 174 / 2^12 from tables of the signed-rank test; 2 floor(0.05 2^n / 2) / 2^n
        assert power(n, 0.0, level, test=test) == pytest.approx(null[test], abs=0.003)
    assert power(n, 0.0, level, test=test) < level + 0.001


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(OTHERS), st.integers(4, 12), st.floats(0.0, 3.0), st.floats(0.01, 1.0), st.integers(1, 15))
def test_power_grows_with_the_effect(test, n, effect, more, m):
    assert power(n, effect, 0.05 / m, test=test) <= power(n, effect + more, 0.05 / m, test=test) + 1e-12


@pytest.mark.parametrize("test", OTHERS)
def test_power_grows_with_seeds_where_it_is_high(test):
    grown = [power(n, 1.2, 0.05 / 6, test=test) for n in (9, 10, 12, 14, 15, 20, 29, 30, 31, 40)]
    assert grown == sorted(grown)


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(OTHERS), st.floats(0.3, 5), st.floats(0.3, 0.95), st.sampled_from([1, 6, 15]))
def test_seeds_are_the_fewest(test, effect, wanted, m):
    n = seeds_for(effect, power=wanted, num_comparisons=m, test=test)
    assert power(n, effect, 0.05 / m, test=test) >= wanted
    assert n == 2 or power(n - 1, effect, 0.05 / m, test=test) < wanted


@pytest.mark.parametrize("test", OTHERS)
@pytest.mark.parametrize(("n", "m"), [(9, 6), (13, 15), (40, 1)])
def test_detectable_is_the_inverse(test, n, m):
    effect = detectable(n, num_comparisons=m, test=test)
    assert power(n, effect, 0.05 / m, test=test) == pytest.approx(0.8, abs=1e-5)
    assert detectable(n, power=0.001, test=test) == 0.0


def test_seeds_for_ranks_exceed_those_for_t():
    for m in (1, 6, 15):
        for effect in (0.1, 0.5, 1.0, 2.0):
            t, wilcoxon, flips, welch, whitney = (seeds_for(effect, num_comparisons=m, test=test) for test in TESTS)
            assert t <= flips <= wilcoxon
            assert t < welch <= whitney
    # Far out, the asymptotic efficiency: 3142 seeds by t, pi / 3 as many by ranks.
    assert seeds_for(0.05) == 3142
    assert seeds_for(0.05, test="wilcoxon") == math.ceil(3141.5 * math.pi / 3)
    with pytest.raises(ValueError, match="needs more than 100000 seeds"):
        seeds_for(0.001, test="mann-whitney")


def test_plan_for_another_test():
    pilot = [1.0, 2.0, 0.5, 1.5, 3.0]
    by_t, by_ranks = plan(pilot, num_comparisons=6), plan(pilot, num_comparisons=6, test="wilcoxon")
    assert (by_t.d_z, by_t.d_z_low) == (by_ranks.d_z, by_ranks.d_z_low)
    assert by_ranks.seeds == seeds_for(by_t.d_z, num_comparisons=6, test="wilcoxon") == 9 > by_t.seeds == 8
    with pytest.raises(ValueError, match="paired differences plan a paired test, not welch; use seeds_for"):
        plan(pilot, test="welch")


def test_unknown_test():
    for call in (lambda: power(5, 1.0, test="z"), lambda: seeds_for(1.0, test="z"), lambda: detectable(5, test="z")):
        with pytest.raises(
            ValueError, match="test must be one of t, wilcoxon, sign-flip, welch, mann-whitney, got 'z'"
        ):
            call()


def test_null_distributions_by_counting():
    signs = np.array(list(itertools.product((0, 1), repeat=5)))
    expected = np.bincount(signs @ np.arange(1, 6)) / 32
    assert _null("wilcoxon", 5) == pytest.approx(expected)
    above = [
        sum(a > b for a in first for b in set(range(8)) - set(first)) for first in itertools.combinations(range(8), 4)
    ]
    assert _null("mann-whitney", 4) == pytest.approx(np.bincount(above) / 70)
