"""Error, power and seeds of fixed and sequential designs, in simulated families that share a baseline."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from jfed.stats.anytime import anytime_p
from jfed.stats.looks import decide
from jfed.stats.spending import levels

pytestmark = pytest.mark.check

LOOKS, ALPHA = (8, 16, 24), 0.05
REPETITIONS, CHUNK = 20_000, 2_000
FOUR_ERRORS = 4 * math.sqrt(ALPHA * (1 - ALPHA) / REPETITIONS)
FAMILIES = {"one null": [0.0], "six null": [0.0] * 6, "one": [0.8], "one of six": [0.8] + [0.0] * 5, "six": [0.8] * 6}


class Rates(NamedTuple):
    """Share of studies with a false rejection, share of real differences found, and mean seeds that a scheme takes."""

    error: float
    power: float
    seeds: float


def simulate(effects, looks=LOOKS, repetitions=REPETITIONS, seed=0):
    """Return the rates of each design for schemes with effects d_z, shape (m,), that share a baseline."""
    effects, n, rng = np.array(effects), np.array(looks), np.random.default_rng(seed)
    sizes = range(len(effects), 0, -1)
    bars = {
        "fixed": np.array([[ALPHA / size] for size in sizes]),
        "obrien-fleming": np.array([levels(looks, looks[-1], ALPHA / size) for size in sizes]),
        "pocock": np.array([levels(looks, looks[-1], ALPHA / size, "pocock") for size in sizes]),
        "always valid": np.array([[ALPHA / size] * looks[-1] for size in sizes]),
    }
    ends = {name: [] for name in bars}
    for _ in range(repetitions // CHUNK):
        d = differences(rng, effects, looks[-1])
        p = t_tests(d, n)
        ends["fixed"].append(rejected_at(p[..., -1:], bars["fixed"], n[-1:]))
        for name in ("obrien-fleming", "pocock"):
            ends[name].append(rejected_at(p, bars[name], n))
        ends["always valid"].append(rejected_at(anytime_p(d), bars["always valid"], np.arange(1, looks[-1] + 1)))
    return {name: rates(np.concatenate(each), effects != 0, looks[-1]) for name, each in ends.items()}


def differences(rng, effects, n):
    runs = rng.normal(size=(CHUNK, len(effects) + 1, n))
    return (runs[:, 1:] - runs[:, :1]) / math.sqrt(2) + effects[:, None]


def t_tests(d, n):
    """Return two-sided p-values of the first n (K,) differences, shape (..., K)."""
    sums, squares = np.cumsum(d, axis=-1)[..., n - 1], np.cumsum(d**2, axis=-1)[..., n - 1]
    return 2 * stats.t.sf(np.abs(sums) / np.sqrt(n * (squares - sums**2 / n) / (n - 1)), n - 1)


def rejected_at(p, bars, n):
    """Return the seeds at which each comparison is rejected, 0 if never, shape (studies, m).

    Args:
        p: (studies, m, K).
        bars: (m, K), the levels once 0, 1, ..., m - 1 others are rejected.
        n: (K,) seeds at each look.
    """
    at = np.zeros(p.shape[:2], int)
    crossed = np.zeros((*at.shape, len(bars)), bool)
    for k, seeds in enumerate(n):
        crossed |= p[..., k, None] <= bars[:, k]
        for _ in bars:  # as each rejection may lead to another
            done = np.minimum((at > 0).sum(axis=1), len(bars) - 1)
            now = np.take_along_axis(crossed, done[:, None, None], axis=2)[..., 0]
            at = np.where((at == 0) & now, seeds, at)
    return at


def rates(at, real, n_max):
    power = np.mean(at[:, real] > 0) if real.any() else math.nan
    return Rates(np.mean((at[:, ~real] > 0).any(axis=1)), power, np.mean(np.where(at > 0, at, n_max)))


@pytest.fixture(scope="module")
def found():
    return {family: simulate(effects) for family, effects in FAMILIES.items()}


def test_the_designs_here_are_those_of_decide():
    d = differences(np.random.default_rng(1), np.array([0.8] * 3), 24)[:30]
    p, n = t_tests(d, np.array(LOOKS)), np.array(LOOKS)
    at = rejected_at(p, np.array([levels(LOOKS, 24, ALPHA / size) for size in (3, 2, 1)]), n)
    assert [[one.rejected_at or 0 for one in decide(study, LOOKS, 24)] for study in p] == at.tolist()


@pytest.mark.parametrize("family", ["one null", "six null", "one of six"])
def test_no_design_errs_more_than_it_promises(found, family):
    assert all(rates.error <= ALPHA + FOUR_ERRORS for rates in found[family].values())


@pytest.mark.parametrize("family", ["one", "one of six", "six"])
def test_power_is_paid_for_freedom(found, family):
    """The sooner and the more freely a design may stop, the less it finds by the last look."""
    power = [found[family][name].power for name in ("fixed", "obrien-fleming", "pocock", "always valid")]
    assert power == sorted(power, reverse=True)
    assert power[1] > power[0] - 0.02


@pytest.mark.parametrize("family", ["one", "one of six", "six"])
def test_real_differences_need_fewer_seeds(found, family):
    assert all(found[family][name].seeds < 24 for name in ("obrien-fleming", "pocock", "always valid"))
    assert found[family]["pocock"].seeds < found[family]["obrien-fleming"].seeds
