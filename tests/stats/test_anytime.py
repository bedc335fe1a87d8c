"""Always-valid p-values and confidence sequences: marginal likelihoods, the martingale, inversion and coverage."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import integrate, stats

from jfed.stats.anytime import anytime, anytime_p

DIFFERENCES = hnp.arrays(float, st.integers(1, 12), elements=st.integers(-9, 9))


def evidence(d, g, mean=0.0):
    """Return E_n against a mean of the differences, from SciPy's t."""
    n, ratio = len(d), stats.ttest_1samp(d, mean).statistic ** 2 / (len(d) - 1)
    return ((1 + ratio) / (1 + ratio / (1 + n * g))) ** (n / 2) / math.sqrt(1 + n * g)


@pytest.mark.parametrize("g", [0.3, 1.0])
def test_evidence_is_a_ratio_of_likelihoods(g):
    """Likelihoods are integrated over the effect and, with density 1 / sd, over the sd."""
    d = np.array([0.4, 1.3, -0.2, 0.9, 0.7])

    def likelihood(log_sd, effect):
        return np.prod(stats.norm.pdf(d, effect * math.exp(log_sd), math.exp(log_sd)))

    none = integrate.quad(lambda s: likelihood(s, 0.0), -6, 6, limit=200)[0]
    effects, weights = np.polynomial.hermite_e.hermegauss(40)
    each = [integrate.quad(lambda s, e=e: likelihood(s, e * math.sqrt(g)), -6, 6, limit=200)[0] for e in effects]
    assert evidence(d, g) == pytest.approx(weights @ each / math.sqrt(2 * math.pi) / none, rel=1e-4)


@pytest.mark.parametrize("d", [[0.5, -0.3], [1.0, 1.1, 0.8, 1.4], [-2.0, 0.1, 0.0, 0.4, 0.3, -0.2]])
def test_evidence_is_expected_to_stay_as_it_is(d):
    """It is a martingale: whatever the path, the next difference over the root mean square has a t distribution."""
    scale, n = math.sqrt(np.mean(np.square(d))), len(d)
    for g in (0.3, 1.0):
        following = integrate.quad(lambda x, g=g: evidence([*d, scale * x], g) * stats.t.pdf(x, n), -np.inf, np.inf)[0]
        assert following == pytest.approx(evidence(d, g), rel=1e-6)


@given(DIFFERENCES, st.sampled_from([0.3, 1.0]))
def test_p_is_the_least_so_far(d, g):
    found, least = anytime_p(d, g), 1.0
    for n in range(1, len(d) + 1):
        if np.ptp(d[:n]) > 0:
            least = min(least, 1 / evidence(d[:n], g))
        assert found[n - 1] == pytest.approx(least, rel=1e-9)


@given(DIFFERENCES, st.sampled_from([0.3, 1.0]))
def test_units_and_signs_do_not_matter_and_many_paths_are_taken_at_once(d, g):
    assert anytime_p(np.stack([d, -0.001 * d, 7 * d]), g) == pytest.approx(np.tile(anytime_p(d, g), (3, 1)))


@settings(max_examples=50)
@given(DIFFERENCES, st.sampled_from([0.05, 0.3]))
def test_the_interval_holds_what_is_not_rejected(d, alpha):
    found = anytime(d, alpha)
    assert np.array_equal(found.p, anytime_p(d))
    for n, (p, low, high) in enumerate(zip(found.p, found.low, found.high, strict=True), start=1):
        assume(abs(p - alpha) > 1e-9)
        assert (low < 0 < high) == (p > alpha)
        if math.isfinite(low):
            # Of all intervals so far the ends are the tightest: where E of some k <= n is 1 / alpha.
            for end in (low, high):
                most = max(evidence(d[:k], 1.0, end) for k in range(2, n + 1) if np.ptp(d[:k]) > 0)
                assert most == pytest.approx(1 / alpha, rel=1e-6)


def test_by_hand():
    # Mean 1, s^2 = 0.5 and t = sqrt(10) for 5 seeds: E = (3.5 / (1 + 2.5 / 6))^2.5 / sqrt(6).
    d = np.array([2.0, 1.0, 0.0, 1.0, 1.0])
    p = math.sqrt(6) * ((1 + 2.5 / 6) / 3.5) ** 2.5
    assert anytime(d).p[-1] == pytest.approx(p)
    c = (math.sqrt(6) / 0.3) ** 0.4
    half = math.sqrt(2.0 / 5 * (c - 1) / (1 - c / 6))
    found = anytime(d, 0.3)
    assert (found.low[-1], found.high[-1]) == pytest.approx((1 - half, 1 + half))
    # No number of seeds below 5 can show anything at 0.05, since E <= (1 + n)^((n - 1) / 2) = 11.2 for 4.
    assert np.isinf(anytime(d).low[:4]).all() and np.isfinite(anytime(d).low[4])


def test_a_constant_difference_is_no_evidence():
    for d in (np.zeros(8), np.full(8, 0.01), [0.3 - 0.2, 0.1, 0.1]):
        found = anytime(d)
        assert (found.p == 1).all() and np.isinf(found.low).all() and np.isinf(found.high).all()
    assert anytime_p([1.0, 1.0, 1.0, 1.0, 1.0, 1.01])[-1] < 0.02


def test_no_mean_is_left_where_seeds_disagree():
    drift = np.repeat([0.0, 50.0], [30, 300]) + np.resize([0.1, -0.1], 330)
    found = anytime(drift)
    assert np.isfinite(found.low[29])
    assert np.isnan(found.low[-1]) and np.isnan(found.high[-1]) and found.p[-1] < 0.05


def test_an_early_spread_near_rounding_has_an_interval():
    found = anytime([0.1, 0.1 + 1e-14, 0.1, 0.1, 0.1, 0.1, 0.5])
    assert found.low[5] == pytest.approx(0.1) and found.high[5] == pytest.approx(0.1)


def test_large_means_lose_no_digits():
    d = np.random.default_rng(0).normal(size=20)
    near, far = anytime(d), anytime(d + 1e6)
    assert far.high[6:] - 1e6 == pytest.approx(near.high[6:], abs=1e-6)


@pytest.mark.parametrize("true", [0.0, 0.8])
def test_errors_and_coverage_over_all_numbers_of_seeds(true):
    """Of 1000 paths of 100 seeds, no more than 5 % ever exclude the true mean, within 4 standard errors."""
    d = np.random.default_rng(3).normal(true, 1, (1000, 100))
    missed = np.mean(anytime_p(d - true)[:, -1] <= 0.05)
    assert 0.01 < missed <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / 1000)
    ends = [(found.low[-1], found.high[-1]) for found in map(anytime, d[:200])]
    assert [low < true < high for low, high in ends] == [p > 0.05 for p in anytime_p(d[:200] - true)[:, -1]]


def test_errors():
    for bad in ([], [[]], [1.0, math.nan], [math.inf], 1.0):
        with pytest.raises(ValueError, match="differences must be finite, with at least one seed, got shape"):
            anytime_p(bad)
    with pytest.raises(ValueError, match="differences must be a finite vector with at least one entry, got shape"):
        anytime([[1.0, 2.0]])
    for g in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match=f"g must be positive and finite, got {g}"):
            anytime_p([1.0, 2.0], g)
    with pytest.raises(ValueError, match=r"alpha must lie strictly between 0 and 1, got 1\.0"):
        anytime([1.0, 2.0], 1.0)
