"""Tests of simulated type I errors and coverage against the nominal levels; `make proof`."""

import math
from pathlib import Path

import pytest

from tools import calibration

pytestmark = pytest.mark.proof

REPETITIONS = 500
FOUR_ERRORS = 4 * math.sqrt(0.05 * 0.95 / REPETITIONS)
SYMMETRIC = ("normal", "heavy-tailed")


@pytest.fixture(scope="module")
def rates():
    return calibration.simulate(REPETITIONS).set_index(["what", "name", "shape", "n"]).rate


@pytest.mark.parametrize("name", calibration.TESTS)
@pytest.mark.parametrize("n", calibration.SEEDS)
@pytest.mark.parametrize("shape", SYMMETRIC)
def test_no_test_errs_more_than_it_promises(rates, name, n, shape):
    assert rates["type I error", name, shape, n] <= 0.05 + FOUR_ERRORS


@pytest.mark.parametrize("name", ["paired t", "Welch", "Friedman, 4 schemes", "intersection-union", "TOST"])
def test_none_is_idle(rates, name):
    assert rates["type I error", name, "normal", 30] >= 0.05 - FOUR_ERRORS


@pytest.mark.parametrize("name", ["Wilcoxon", "sign flips"])
def test_too_few_seeds_never_reject(rates, name):
    assert all(rates["type I error", name, shape, 5] == 0 for shape in calibration.SHAPES)


@pytest.mark.parametrize("n", calibration.SEEDS)
def test_t_intervals_cover_and_bootstrap_intervals_of_few_seeds_do_not(rates, n):
    assert abs(rates["coverage", "t", "normal", n] - 0.95) <= FOUR_ERRORS
    assert rates["coverage", "t", "heavy-tailed", n] >= 0.95 - FOUR_ERRORS
    if n == 5:
        assert rates["coverage", "percentile bootstrap", "normal", n] < 0.9


def test_the_document_has_every_cell():
    text = (Path(calibration.HERE) / "CALIBRATION.md").read_text()
    for name in (*calibration.TESTS, *calibration.INTERVALS):
        (line,) = [x for x in text.splitlines() if x.startswith(f"| {name} |")]
        assert len(line.split("|")) == 3 + len(calibration.SHAPES) * len(calibration.SEEDS)
