"""Tests of the Bayesian signed-rank test against distributions of its weights that are known in closed form."""

import math

import numpy as np
import pytest
from scipy import integrate, special

from jfed.stats.bayes import bayesian_signed_rank

DRAWS = 20_000
FOUR_ERRORS = 4 * 0.5 / math.sqrt(DRAWS)


@pytest.mark.parametrize("n", [1, 2, 6])
@pytest.mark.parametrize("sign", [1, -1])
def test_equal_differences(n, sign):
    """If all differences are equal, only the prior's weight w matters, which is Beta(0.5, n).

    Beyond twice the rope, a mean with the prior's 0 is still beyond the rope: "better" has 1 - w^2 of the weight, and
    "equivalent" the rest. Between the rope and twice the rope, "better" has (1 - w)^2.
    """
    chance = {"far": special.betainc(0.5, n, math.sqrt(0.5)), "near": special.betainc(0.5, n, 1 - math.sqrt(0.5))}
    for d, expected in ((2.5, chance["far"]), (1.5, chance["near"]), (0.7, 0.0)):
        found = bayesian_signed_rank([sign * d] * n, 1.0, draws=DRAWS)
        at = found.better if sign > 0 else found.worse
        assert at == pytest.approx(expected, abs=FOUR_ERRORS)
        assert (found.worse if sign > 0 else found.better) == 0.0
        assert found.equivalent == pytest.approx(1 - at)


def test_two_opposite_differences():
    """With 9 and -9 and a rope of 1 the weights a, b and w of 9, -9 and 0 decide: above is a^2 + 2 a w.

    Below is b^2 + 2 b w, and within is w^2 + 2 a b. Given w, a is uniform on [0, 1 - w], and w is Beta(0.5, 2).
    """

    def share(w):
        a = np.linspace(0, 1 - w, 4001)
        b = 1 - w - a
        above, below, within = a**2 + 2 * a * w, b**2 + 2 * b * w, w**2 + 2 * a * b
        return np.mean((above > below) & (above > within))

    # With w = u^2 the density 0.75 (1 - w) / sqrt(w) has no pole.
    better = integrate.quad(lambda u: 1.5 * (1 - u**2) * share(u**2), 0, 1, limit=200, epsabs=1e-4)[0]
    found = bayesian_signed_rank([9.0, -9.0], 1.0, draws=DRAWS)
    assert (found.worse, found.better) == pytest.approx((better, better), abs=FOUR_ERRORS + 1e-3)
    assert 0.2 < better < 0.5


def test_on_the_edge_is_equivalent():
    assert bayesian_signed_rank([0.5] * 4, 0.5, draws=100).equivalent == 1.0
    assert bayesian_signed_rank([0.0] * 4, 0.0, draws=100).equivalent == 1.0


def test_direction_and_unit():
    d = np.random.default_rng(0).normal(0.1, 1, 9)
    found = bayesian_signed_rank(d, 0.2, draws=500)
    assert found.better > found.worse > 0
    assert found.worse + found.equivalent + found.better == pytest.approx(1)
    lower = bayesian_signed_rank(-d, 0.2, higher_is_better=False, draws=500)
    assert lower == found == bayesian_signed_rank(1024 * d, 1024 * 0.2, draws=500)
    assert bayesian_signed_rank(d, 0.2, draws=500, seed=1) != found


def test_errors():
    for bad in ([], [[1.0]], [1.0, math.nan]):
        with pytest.raises(ValueError, match="differences must be a finite vector with at least one entry, got shape"):
            bayesian_signed_rank(bad, 1.0)
    for bad in (-0.1, math.inf, math.nan):
        with pytest.raises(ValueError, match=f"rope must be 0 or larger and finite, got {bad}"):
            bayesian_signed_rank([1.0], bad)
    with pytest.raises(ValueError, match="draws must be at least 1, got 0"):
        bayesian_signed_rank([1.0], 1.0, draws=0)
