"""Tests of the power of the paired t-test (statsmodels, tables, simulation) and of plans from pilots."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from statsmodels.stats.power import TTestPower

from jfed.stats.power import detectable, plan, power, seeds_for

pytestmark = pytest.mark.check

FAMILIES = (1, 6, 15, 21)
# Seeds for power 0.8 and 0.9, by d_z, for each size of family at alpha 0.05.
TABLE = {
    0.5: ((34, 44), (52, 65), (62, 76), (65, 80)),
    0.8: ((15, 19), (23, 28), (27, 33), (29, 34)),
    1.0: ((10, 13), (16, 19), (19, 23), (20, 24)),
    1.5: ((6, 7), (9, 11), (11, 13), (12, 13)),
    2.0: ((5, 5), (7, 8), (8, 9), (9, 10)),
}


@pytest.mark.parametrize("n", [2, 3, 8, 30, 200])
@pytest.mark.parametrize("d_z", [0.05, 0.4, 1.0, 3.0])
@pytest.mark.parametrize("alpha", [0.05, 0.001])
def test_power_equals_statsmodels(n, d_z, alpha):
    theirs = TTestPower().power(d_z, n, alpha)
    if math.isnan(theirs):  # SciPy's noncentral t has no far tail here: integrate over the standard deviation
        theirs = _by_integration(n, d_z, alpha)
    assert power(n, d_z, alpha) == pytest.approx(theirs, abs=1e-7)
    assert power(n, -d_z, alpha) == power(n, d_z, alpha)


@pytest.mark.parametrize(("n", "d_z"), [(40, 5.0), (1000, 1.0), (5, 8.0), (3, 1e-9), (2, 4000.0)])
def test_power_where_noncentral_distributions_are_weak(n, d_z):
    assert power(n, d_z, 0.01) == pytest.approx(_by_integration(n, d_z, 0.01), abs=1e-7)


def test_power_of_no_effect_and_of_a_sure_one():
    for n in (2, 7, 5000):
        assert power(n, 0.0, 0.03) == pytest.approx(0.03)
    assert power(5, 1e6) == 1.0
    # The two forms agree where they meet, at a noncentrality of 1e4.
    assert power(4, 4999.9, 1e-12) == pytest.approx(power(4, 5000.1, 1e-12), rel=1e-3)


def test_power_in_simulation():
    d = np.random.default_rng(6).normal(0.8, 1, (4000, 12))
    share = np.mean(stats.ttest_1samp(d, 0, axis=1).pvalue < 0.05)
    assert power(12, 0.8) == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 4000))


def test_table_of_seeds():
    for d_z, row in TABLE.items():
        for m, (eighty, ninety) in zip(FAMILIES, row, strict=True):
            assert seeds_for(d_z, num_comparisons=m) == eighty
            assert seeds_for(-d_z, power=0.9, num_comparisons=m) == ninety


@settings(max_examples=40)
@given(st.floats(0.02, 5), st.floats(0.06, 0.99), st.sampled_from([0.05, 0.01]), st.integers(1, 20))
def test_seeds_are_the_fewest(d_z, wanted, alpha, m):
    n = seeds_for(d_z, power=wanted, alpha=alpha, num_comparisons=m)
    assert power(n, d_z, alpha / m) >= wanted
    assert n == 2 or power(n - 1, d_z, alpha / m) < wanted


@settings(max_examples=40)
@given(st.integers(2, 300), st.floats(0.06, 0.99), st.sampled_from([0.05, 0.01]), st.integers(1, 20))
def test_detectable_is_the_inverse(n, wanted, alpha, m):
    d_z = detectable(n, power=wanted, alpha=alpha, num_comparisons=m)
    assert power(n, d_z, alpha / m) == pytest.approx(wanted, abs=1e-6)
    assert seeds_for(d_z * (1 + 1e-6), power=wanted, alpha=alpha, num_comparisons=m) <= n


def test_detectable_known_values():
    """10 seeds detect d_z = 0.9960 with power 0.8 (statsmodels), so 1.0 needs 10."""
    theirs = TTestPower().solve_power(effect_size=None, nobs=10, alpha=0.05, power=0.8)
    assert detectable(10) == pytest.approx(theirs, abs=1e-6)
    assert round(detectable(10), 3) == 0.996
    assert detectable(10, power=0.05) == 0.0


def test_plan_by_hand():
    # Mean 3, sd sqrt(2.5): d_z = 1.897, t = 4.2426 on 4 degrees of freedom.
    result = plan([-5, -4, -3, -2, -1], num_comparisons=6)
    assert result.d_z == pytest.approx(3 / math.sqrt(2.5))
    # With d_z at the limit, a fifth of pilots have a |t| this large: power() at the level whose quantile is 4.2426.
    level = 2 * stats.t.sf(math.sqrt(18), 4)
    assert power(5, result.d_z_low, level) == pytest.approx(0.2)
    assert 0 < result.d_z_low < result.d_z
    assert result.seeds == seeds_for(result.d_z, num_comparisons=6)
    assert result.seeds_safe == seeds_for(result.d_z_low, num_comparisons=6) > result.seeds
    assert result.note == ""
    strict = plan([-5, -4, -3, -2, -1], power=0.9, alpha=0.01)
    assert strict.seeds == seeds_for(result.d_z, power=0.9, alpha=0.01)


def test_plan_from_a_pilot_that_shows_nothing():
    nothing = plan([1.0, -1.0, 3.0, -2.0, 2.0])
    assert (nothing.d_z_low, nothing.seeds_safe) == (0.0, None)
    assert nothing.seeds == seeds_for(nothing.d_z)
    flat = plan([1.0, -1.0])
    assert (flat.d_z, flat.seeds, flat.seeds_safe) == (0.0, None, None)
    # d_z = 0.001 needs about 7.8 million seeds.
    assert plan([1.001, -0.999, 1.001, -0.999]).seeds is None


def test_limit_is_positive_exactly_below_a_p_of_one_fifth():
    rng = np.random.default_rng(9)
    for d in rng.normal(0.5, 1, (100, 6)):
        assert (plan(d).d_z_low > 0) == (stats.ttest_1samp(d, 0).pvalue < 0.2)


@pytest.mark.parametrize("true", [0.0, 0.7])
def test_limit_covers_the_true_effect(true):
    """The limit is at most |d_z| in 80 % of pilots, within 4 standard errors, even without effect."""
    d = np.random.default_rng(7).normal(-true, 1, (200, 5))
    covered = np.mean([plan(one).d_z_low <= true for one in d])
    assert abs(covered - 0.8) < 4 * np.sqrt(0.16 / 200)


def test_the_point_estimate_is_optimistic():
    """As in the docstring of `plan`, d_z is 25 % too large on average with 5 seeds and 9 % with 10."""
    rng = np.random.default_rng(3)
    for n, ratio in ((5, 1.25), (10, 1.09)):
        d = rng.normal(2, 1, (20_000, n))
        assert np.mean(d.mean(1) / d.std(1, ddof=1)) / 2 == pytest.approx(ratio, abs=0.02)
    # Planned by the point estimate, experiments fall short of the wanted power more often than by the limit.
    plans = [plan(one) for one in rng.normal(1, 1, (150, 6))]
    point = np.mean([p.seeds is not None and power(p.seeds, 1.0) < 0.8 for p in plans])
    safe = np.mean([p.seeds_safe is not None and power(p.seeds_safe, 1.0) < 0.8 for p in plans])
    assert point > 0.4
    assert safe == pytest.approx(0.2, abs=4 * np.sqrt(0.16 / 150))


def test_plan_without_spread():
    constant = plan([0.3 - 0.2, 0.1, 0.1])
    assert math.isnan(constant.d_z) and math.isnan(constant.d_z_low)
    assert (constant.seeds, constant.seeds_safe, constant.note) == (None, None, "constant difference")
    assert plan([0.0, 0.0]).note == "identical"
    assert plan([1.0]).note == "needs >= 2 seeds"
    # Almost constant: a huge, but finite effect.
    assert (plan([1.0, 1.0 + 1e-9, 1.0]).seeds, plan([1.0, 1.0 + 1e-9, 1.0]).seeds_safe) == (2, 2)


def test_errors():
    for call in (lambda **k: seeds_for(1.0, **k), lambda **k: plan([1.0, 2.0], **k), lambda **k: detectable(5, **k)):
        for name, bad in (("power", 1.0), ("power", 0.0), ("alpha", 0.0)):
            with pytest.raises(ValueError, match=f"{name} must lie strictly between 0 and 1, got {bad}"):
                call(**{name: bad})
        with pytest.raises(ValueError, match="num_comparisons must be at least 1, got 0"):
            call(num_comparisons=0)
    for d_z in (0.0, math.nan, math.inf):
        with pytest.raises(ValueError, match=f"d_z must be finite and not 0, got {d_z}"):
            seeds_for(d_z)
    with pytest.raises(ValueError, match=r"an effect of d_z = 0\.001 needs more than 100000 seeds"):
        seeds_for(0.001)
    for call in (lambda: power(1, 1.0), lambda: detectable(1)):
        with pytest.raises(ValueError, match="a test needs at least 2 seeds, got 1"):
            call()
    with pytest.raises(ValueError, match="d_z must be finite, got nan"):
        power(5, math.nan)
    with pytest.raises(ValueError, match=r"alpha must lie strictly between 0 and 1, got 1\.0"):
        power(5, 1.0, 1.0)
    for bad in ([], [[1.0]], [1.0, math.nan]):
        with pytest.raises(ValueError, match="differences must be a finite vector with at least one entry, got shape"):
            plan(bad)


def _by_integration(n: int, d_z: float, alpha: float) -> float:
    """Return the power: a normal probability given the sample standard deviation s, averaged over s."""
    critical = stats.t.isf(alpha / 2, n - 1)
    shift = d_z * math.sqrt(n)

    def missed(s: float) -> float:
        between = stats.norm.cdf(critical * s - shift) - stats.norm.cdf(-critical * s - shift)
        return float(between * stats.chi.pdf(s * math.sqrt(n - 1), n - 1) * math.sqrt(n - 1))

    ends = stats.chi.ppf([1e-13, 1 - 1e-13], n - 1) / math.sqrt(n - 1)
    points = sorted({float(np.clip(shift / critical * factor, *ends)) for factor in (0.9, 1.0, 1.1)})
    return 1 - integrate.quad(missed, *ends, points=points, limit=500, epsabs=1e-11)[0]
