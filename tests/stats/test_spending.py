"""Levels of repeated looks: published boundaries, the multivariate normal distribution, and simulated paths."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from jfed.stats.spending import critical, inflation, levels, spent

FUNCTIONS = ("obrien-fleming", "pocock")
LOOKS = st.lists(st.integers(2, 60), min_size=1, max_size=5, unique=True).map(sorted)


def simulated_t(looks, size, seed):
    """Return t statistics of normal differences with mean 0 at each look, shape (size, K)."""
    d = np.random.default_rng(seed).normal(size=(size, looks[-1]))
    return np.stack([stats.ttest_1samp(d[:, :n], 0, axis=1).statistic for n in looks], axis=1)


def test_published_boundaries_for_five_equal_steps():
    """Two-sided 0.05: the boundaries that programs for the Lan-DeMets method print (Reboussin and others 2000)."""
    five = (10, 20, 30, 40, 50)
    assert critical(five, 50) == pytest.approx((4.8769, 3.3570, 2.6803, 2.2898, 2.0310), abs=6e-5)
    assert critical(five, 50, spending="pocock") == pytest.approx((2.4380, 2.4268, 2.4102, 2.3966, 2.3860), abs=6e-5)
    assert levels((7, 14, 21), 21) == tuple(2 * stats.norm.sf(critical((7, 14, 21), 21)))


def test_repeated_tests_of_armitage_mcpherson_and_rowe():
    """Their table 2 for the 5 % level."""
    table = {1: 0.050, 2: 0.083, 3: 0.107, 4: 0.126, 5: 0.142, 10: 0.193, 20: 0.248, 50: 0.320}
    for k, rate in table.items():
        assert inflation(range(5, 5 * k + 1, 5)) == pytest.approx(rate, abs=6e-4)
    assert inflation([9], 0.01) == pytest.approx(0.01, rel=1e-12)


@pytest.mark.parametrize("spending", FUNCTIONS)
@pytest.mark.parametrize("looks", [(10, 25, 40), (3, 5, 6), (2, 50, 51)])
@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_each_look_uses_what_the_function_gives(looks, alpha, spending):
    """All paths that stay within the boundaries, from SciPy's multivariate normal distribution."""
    c, n = np.array(critical(looks, 60, alpha, spending)), np.array(looks)
    correlations = np.sqrt(np.minimum.outer(n, n) / np.maximum.outer(n, n))
    for k in range(1, len(looks) + 1):
        normal = stats.multivariate_normal(np.zeros(k), correlations[:k, :k], seed=0, abseps=1e-7, maxpts=10**6)
        used = 1 - normal.cdf(c[:k], lower_limit=-c[:k])
        assert used == pytest.approx(spent(looks[k - 1] / 60, alpha, spending), abs=2e-6)


def test_spending_by_hand():
    # Half-way, 0.05 ln(1 + 1.71828 / 2) = 0.0310; 4 (1 - Phi(2.2414 sqrt(2))) = 4 (1 - Phi(3.1698)) = 0.00305.
    assert spent(0.5, spending="pocock") == pytest.approx(0.0310, abs=5e-5)
    assert spent(0.5) == pytest.approx(0.00305, abs=5e-6)
    for spending in FUNCTIONS:
        assert spent(1.0, 0.02, spending) == pytest.approx(0.02)


@settings(max_examples=50)
@given(LOOKS, st.integers(0, 40), st.sampled_from([1e-9, 0.001, 0.05, 0.5]), st.sampled_from(FUNCTIONS))
def test_levels_depend_on_the_looks_so_far(looks, further, alpha, spending):
    n_max = looks[-1] + further
    found = levels(looks, n_max, alpha, spending)
    for k in range(1, len(looks)):
        assert levels(looks[:k], n_max, alpha, spending) == pytest.approx(found[:k], rel=1e-9)
    used = [spent(n / n_max, alpha, spending) for n in looks]
    for level, total, before in zip(found, used, [0.0, *used], strict=False):
        # The boundary of 30 standard errors, at most, has a level of 1e-197.
        assert (total - before) * (1 - 1e-6) <= level <= total * (1 + 1e-6) + 1e-196
    assert found[0] == pytest.approx(used[0])


@settings(max_examples=50)
@given(LOOKS, st.floats(1e-6, 0.99), st.floats(1.01, 3), st.sampled_from(FUNCTIONS))
def test_levels_grow_with_alpha(looks, alpha, factor, spending):
    """Holm's procedure over looks needs this."""
    low = levels(looks, looks[-1], alpha, spending)
    high = levels(looks, looks[-1], min(alpha * factor, 0.995), spending)
    assert all(a <= b * (1 + 1e-9) for a, b in zip(low, high, strict=True))


def test_one_look_is_an_ordinary_test_and_an_early_one_is_hopeless():
    for spending in FUNCTIONS:
        assert levels([12], 12, 0.03, spending) == pytest.approx((0.03,))
    first, last = levels([2, 1000], 1000)
    assert 0 < first < 1e-190 and last == pytest.approx(0.05)


@pytest.mark.parametrize(("looks", "known"), [((10, 20, 30, 40, 50), 0.145), ((2, 4, 6, 8, 10), 0.161)])
def test_unplanned_looks_with_t_tests(looks, known):
    """As in the docstring of `inflation`, more than with normal statistics."""
    p = 2 * stats.t.sf(np.abs(simulated_t(looks, 20_000, 1)), np.array(looks) - 1)
    rate = np.mean((p < 0.05).any(axis=1))
    assert rate == pytest.approx(known, abs=4 * np.sqrt(known * (1 - known) / 20_000))
    assert rate > inflation(looks) - 4 * np.sqrt(0.142 * 0.858 / 20_000)


@pytest.mark.check
@pytest.mark.parametrize("spending", FUNCTIONS)
def test_planned_looks_with_t_tests(spending):
    """As in the docstring of the module, 5.1 and 5.2 % with looks at 10, 20, ..., 50 seeds."""
    looks, known = (10, 20, 30, 40, 50), {"obrien-fleming": 0.051, "pocock": 0.052}[spending]
    p = 2 * stats.t.sf(np.abs(simulated_t(looks, 40_000, 2)), np.array(looks) - 1)
    rate = np.mean((p <= levels(looks, 50, 0.05, spending)).any(axis=1))
    assert rate == pytest.approx(known, abs=4 * np.sqrt(known * (1 - known) / 40_000))


def test_errors():
    for bad in ([], [1], [10, 10], [20, 10], [10.0, 20.0], ["a"]):
        for call in (inflation, lambda looks: levels(looks, 50)):
            with pytest.raises(
                ValueError, match="looks must be increasing whole numbers of seeds, each at least 2, got"
            ):
                call(bad)
    with pytest.raises(ValueError, match="n_max must be at least the last look, at 20 seeds, got 19"):
        levels([10, 20], 19)
    for alpha in (0.0, 1.0):
        with pytest.raises(ValueError, match=f"alpha must lie strictly between 0 and 1, got {alpha}"):
            levels([10, 20], 20, alpha)
        with pytest.raises(ValueError, match=f"alpha must lie strictly between 0 and 1, got {alpha}"):
            inflation([10, 20], alpha)
    with pytest.raises(ValueError, match="spending must be one of obrien-fleming, pocock, got 'linear'"):
        levels([10, 20], 20, spending="linear")  # type: ignore[arg-type]
