"""Tests of the intervals of d_z and a12: their definitions, by hand, far out, and how often they cover."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from jfed.stats.effects import a12_interval, d_z_interval
from jfed.stats.paired import measure
from jfed.stats.unpaired import unpaired

INF = math.inf
FEW = settings(max_examples=25)
SCORES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=9)


@pytest.mark.parametrize("n", [2, 5, 30, 500])
@pytest.mark.parametrize("t", [-40.0, -2.0, 0.0, 0.7, 3.0, 20.0, 100.0])
def test_the_ends_make_the_observed_t_just_unlikely(n, t):
    low, high = np.array(d_z_interval(t / math.sqrt(n), n, 0.9)) * math.sqrt(n)
    # SciPy's noncentral t as the definition, where it is at its best: at positive t.
    at, sign = abs(t), 1 if t >= 0 else -1
    assert stats.nct.sf(at, n - 1, low if sign > 0 else -high) == pytest.approx(0.05, abs=1e-7)
    assert stats.nct.cdf(at, n - 1, high if sign > 0 else -low) == pytest.approx(0.05, abs=1e-7)


@pytest.mark.parametrize("n", [2, 3, 10, 100, 1000, 10_000])
def test_far_out_only_the_standard_deviation_varies(n):
    """For a huge t the ends are d_z s, where s^2 (n - 1) is a quantile of chi-squared."""
    for t in (1e5, 1e6):
        d_z = t / math.sqrt(n)
        s = np.sqrt(stats.chi2.ppf([0.025, 0.975], n - 1) / (n - 1))
        # The mean's own share of the variance is about 2 n / t^2.
        assert d_z_interval(d_z, n) == pytest.approx(tuple(d_z * s), rel=1e-6)
        assert d_z_interval(-d_z, n) == pytest.approx(tuple(-d_z * s[::-1]), rel=1e-6)


def test_no_effect_and_many_seeds():
    # At t = 0 the ends are normal quantiles, whatever s is.
    assert d_z_interval(0.0, 7) == pytest.approx((-1.959964 / math.sqrt(7), 1.959964 / math.sqrt(7)))
    # d_z of many seeds is nearly normal with variance (1 + d^2 / 2) / n.
    half = 1.959964 * math.sqrt((1 + 0.5**2 / 2) / 10_000)
    assert d_z_interval(0.5, 10_000) == pytest.approx((0.5 - half, 0.5 + half), abs=1e-4)


@FEW
@given(st.floats(-1e6, 1e6), st.integers(2, 10_000), st.floats(0.01, 0.9999))
def test_any_d_z_has_an_interval_around_it(t, n, level):
    d_z = t / math.sqrt(n)
    low, high = d_z_interval(d_z, n, level)
    assert low < high
    assert d_z_interval(-d_z, n, level) == pytest.approx((-high, -low), rel=1e-12)
    # 0 is outside exactly if the t-test rejects.
    p = 2 * stats.t.sf(abs(t), n - 1)
    if abs(p - (1 - level)) > 1e-9:
        assert (low > 0 or high < 0) == (p < 1 - level)


def test_d_z_covers():
    rng = np.random.default_rng(0)
    d = rng.normal(0.8, 1, (1000, 6))
    found = [d_z_interval(x, 6, 0.9) for x in d.mean(1) / d.std(1, ddof=1)]
    assert abs(np.mean([low <= 0.8 <= high for low, high in found]) - 0.9) < 4 * math.sqrt(0.09 / 1000)


def test_d_z_that_cannot_be():
    assert np.isnan(d_z_interval(math.nan, 1)).all()
    with pytest.raises(ValueError, match="d_z must be finite or NaN, got inf"):
        d_z_interval(INF, 5)
    with pytest.raises(ValueError, match="the interval of d_z needs at least 2 seeds, got 1"):
        d_z_interval(0.5, 1)
    with pytest.raises(ValueError, match="level must lie strictly between 0 and 1, got 95"):
        d_z_interval(0.5, 5, 95)


def test_a12_by_hand():
    """Of the scheme's runs 1, 2, 4 and the reference's 0, 3, 3, the scheme wins 1, 1 and 3 of 3: a12 = 5/9.

    Placements by seed: of the scheme 1/3, 1/3, 1; of the reference's runs 1, 1/3 and 1/3 of the scheme's beat them.
    Paired, the sums are 4/3, 2/3, 4/3 with variance 4/27, so the standard error is sqrt(4/81) = 2/9. On the logit
    scale log(5/4) that is (2/9) / (20/81) = 0.9, times t(0.9, 2) = 1.885618 at 80 %. Independent, each variance is
    4/27, divided by 3 and added 8/81, with 4 degrees of freedom: 9/7.07107 and t(0.9, 4) = 1.533206.
    """
    x, y = [1.0, 2.0, 4.0], [0.0, 3.0, 3.0]

    def ends(half):
        return tuple(1 / (1 + np.exp(-(np.log(5 / 4) + np.array([-half, half])))))

    assert a12_interval(x, y, 0.8, higher_is_better=True) == pytest.approx(ends(0.9 * 1.885618))
    se = math.sqrt(8 / 81) / (20 / 81)
    found = a12_interval(x, y, 0.8, higher_is_better=True, paired=False)
    assert found == pytest.approx(ends(se * 1.533206))


@FEW
@given(SCORES, st.booleans())
def test_a12_is_inside_and_the_reverse_mirrors_it(pairs, paired):
    x, y = np.array(pairs, float).T
    low, high = a12_interval(x, y, higher_is_better=True, paired=paired)
    a12 = (measure if paired else unpaired)(x, y, higher_is_better=True).a12
    assert np.isnan(low) or 0 <= low <= a12 <= high <= 1
    mirrored = pytest.approx((1 - high, 1 - low), nan_ok=True)
    assert a12_interval(x, y, higher_is_better=False, paired=paired) == mirrored
    assert a12_interval(y, x, higher_is_better=True, paired=paired) == mirrored
    # It depends on the order of scores only.
    assert a12_interval(np.exp(x), np.exp(y), higher_is_better=True, paired=paired) == pytest.approx(
        (low, high), nan_ok=True
    )


def test_pairing_takes_out_the_seeds():
    rng = np.random.default_rng(2)
    seed = rng.normal(0, 1, 12)
    x, y = seed + rng.normal(0.2, 0.2, 12), seed + rng.normal(0, 0.2, 12)
    low, high = a12_interval(x, y, higher_is_better=True)
    wide = a12_interval(x, y, higher_is_better=True, paired=False)
    assert wide[0] < low < high < wide[1] and high - low < 0.5 * (wide[1] - wide[0])


def test_all_pairs_won():
    """Newcombe's limit solves 1 - a = z^2 a (1 + 4 (1 - a) / (2 - a) + 4 a / (1 + a)) / 25 with 5 seeds: 0.6427."""
    low, high = a12_interval([5, 6, 7, 8, INF], [0, 1, 2, 3, 4], higher_is_better=True)
    assert high == 1.0
    assert low == pytest.approx(0.6427, abs=1e-4)
    right = 1.959964**2 * low * (1 + 4 * (1 - low) / (2 - low) + 4 * low / (1 + low)) / 25
    assert 1 - low == pytest.approx(right)
    assert a12_interval([0, 1, 2, 3, 4], [5, 6, 7, 8, 9], higher_is_better=True) == pytest.approx((0.0, 1 - low))
    assert a12_interval([5, 6], np.arange(5), higher_is_better=True, paired=False)[1] == 1.0


def test_a12_without_an_interval():
    for x, y in (([1], [0]), ([1, math.nan, 3], [0, 1, 2]), ([1, 2, 3], [1, 2, 3]), ([2, 2], [2, 2])):
        assert np.isnan(a12_interval(x, y, higher_is_better=True)).all()
    with pytest.raises(ValueError, match="paired scores need both values of each seed, got 3 and 2"):
        a12_interval([1, 2, 3], [1, 2], higher_is_better=True)
    with pytest.raises(ValueError, match=r"one value per run, got shapes \(1, 2\) and \(2,\)"):
        a12_interval([[1, 2]], [1, 2], higher_is_better=True)
    with pytest.raises(ValueError, match="level must lie strictly between 0 and 1, got 1"):
        a12_interval([1, 2], [1, 2], 1.0, higher_is_better=True)


@pytest.mark.check
@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("correlation", [0.0, 0.8])
@pytest.mark.parametrize("n", [5, 10, 30])
def test_a12_covers(n, correlation, rounded):
    """At 95 % at least 94 % are covered, the lowest figure of the docstring, less 4 standard errors."""
    rng = np.random.default_rng(n)
    y = rng.normal(size=(1000, n))
    x = 1 + correlation * y + math.sqrt(1 - correlation**2) * rng.normal(size=y.shape)
    truth = stats.norm.cdf(1 / math.sqrt(2))
    if rounded:
        x, y = np.round(2 * x) / 2, np.round(2 * y) / 2
        points = np.arange(-20, 21) / 2
        chance, moved = (
            stats.norm.cdf(points + 0.25 - mean) - stats.norm.cdf(points - 0.25 - mean) for mean in (0.0, 1.0)
        )
        truth = moved @ (np.cumsum(chance) - chance / 2)
    found = [a12_interval(a, b, higher_is_better=True) for a, b in zip(x, y, strict=True)]
    assert np.mean([low <= truth <= high for low, high in found]) > 0.94 - 4 * math.sqrt(0.94 * 0.06 / 1000)
