"""Simulate the type I error rates of the tests and the coverage of the intervals; write experiments/CALIBRATION.md.

Paired differences of n seeds with mean 0 are normal, skewed (exponential minus 1) or heavy-tailed (Student's t with 3
degrees of freedom, scaled to variance 1). A test errs if it rejects at 0.05; a 95 % interval should cover 0. Tests
of the scores themselves get scores of these shapes, the same for all schemes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from experiments.shared.common import command
from jfed.stats.bootstrap import bootstrap_interval, ratio_of_medians
from jfed.stats.equivalence import tost
from jfed.stats.intervals import holm, t_interval
from jfed.stats.omnibus import friedman
from jfed.stats.ordering import intersection_union, page
from jfed.stats.signflip import sign_flip
from jfed.stats.unpaired import unpaired

HERE = Path(__file__).parents[1] / "experiments"
LEVEL = 0.05
SEEDS = (5, 10, 30)
FIRST_STEP = np.array([100.0, 0.0, 0.0])  # makes the first step of an order of three certain
Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
SHAPES: dict[str, Draw] = {
    "normal": lambda rng, size: rng.normal(size=size),
    "skewed": lambda rng, size: rng.exponential(size=size) - 1,
    "heavy-tailed": lambda rng, size: rng.standard_t(3, size=size) / np.sqrt(3),
}
NOTES = """\
*Skewed differences* break what all paired tests here assume. The t-test, what is made of it (Holm, TOST) and its
interval err too often then, most with few seeds: look at the seeds, and at the Wilcoxon column beside t's, before
believing a narrow result. The Wilcoxon and sign-flip tests assume symmetry about 0, so that their hypothesis is false
there and a rejection is no error. Two schemes that are exchangeable on each seed have symmetric differences, whatever
their scores look like.

Welch, Mann-Whitney, Friedman, Page and intersection-union take scores: there skewed and heavy-tailed are the scores
of every scheme, and differences of two are symmetric. *Holm* is the chance of any rejection among six true
hypotheses; *intersection-union* that of an order of three of which one step is an equality; *TOST* is taken at a true
difference of exactly the margin, the worst case. With 5 seeds the exact tests by ranks and signs cannot reach 0.05
and never reject. *Friedman* is by permutation below ten seeds, where its F distribution errs in 7 % of cases with
five.

*Ratio of medians* is the interval of `ratio_of_medians`, for scores e^d. Bootstrap intervals are too short with few
seeds, and tables take t intervals. A table's simultaneous intervals miss together as often as Holm's test errs. Not
simulated here: the false discovery and coverage rates of Benjamini and Hochberg's procedure, and Nemenyi's critical
difference."""


def _holm(d: np.ndarray) -> bool:
    """Return whether any of Holm's tests rejects, for (n, 6) differences of six schemes from their baseline."""
    test: Any = stats.ttest_1samp(d, 0, axis=0)
    return bool(holm(test.pvalue).min() < LEVEL)


def _one_sample(d: np.ndarray) -> bool:
    test: Any = stats.ttest_1samp(d[:, 0], 0)
    return bool(test.pvalue < LEVEL)


def _signed_ranks(d: np.ndarray) -> bool:
    test: Any = stats.wilcoxon(d[:, 0], zero_method="pratt")
    return bool(test.pvalue < LEVEL)


# test: number of columns that it needs, and whether it rejects a true hypothesis on (n, columns)
TESTS: dict[str, tuple[int, Callable[[np.ndarray], bool]]] = {
    "paired t": (1, _one_sample),
    "Wilcoxon": (1, _signed_ranks),
    "sign flips": (1, lambda d: sign_flip(d[:, 0], resamples=10_000).p < LEVEL),
    "Holm over 6 t-tests": (6, _holm),
    "Welch": (2, lambda d: unpaired(d[:, 0], d[:, 1], higher_is_better=True).p_welch < LEVEL),
    "Mann-Whitney": (2, lambda d: unpaired(d[:, 0], d[:, 1], higher_is_better=True).p_mann_whitney < LEVEL),
    "Friedman, 4 schemes": (4, lambda d: friedman(d).p_f < LEVEL),
    "Page, 4 schemes": (4, lambda d: page(d).p < LEVEL),
    "intersection-union": (3, lambda d: intersection_union(d + FIRST_STEP, list("abc")).p < LEVEL),
    "TOST": (1, lambda d: tost(d[:, 0] + 1.0, -1.0, 1.0).p < LEVEL),
}


def _t(d: np.ndarray) -> tuple[float, float]:
    return t_interval(float(d.mean()), float(d.std(ddof=1)), len(d), 1 - LEVEL)


def _percentiles(d: np.ndarray) -> tuple[float, float]:
    return bootstrap_interval(d[:, 0], level=1 - LEVEL, method="percentile", resamples=999)


def _ratio(d: np.ndarray) -> tuple[float, float]:
    """Return the interval of the logarithm of the ratio of medians, for (n, 2) logarithms of two schemes' scores."""
    low, high = ratio_of_medians(np.exp(d[:, 0]), np.exp(d[:, 1]), 1 - LEVEL, resamples=999)
    return float(np.log(low)), float(np.log(high))


# interval: number of columns that it needs, and its ends on (n, columns), where the true value is 0
INTERVALS: dict[str, tuple[int, Callable[[np.ndarray], tuple[float, float]]]] = {
    "t": (1, lambda d: _t(d[:, 0])),
    "BCa bootstrap": (1, lambda d: bootstrap_interval(d[:, 0], level=1 - LEVEL, resamples=999)),
    "percentile bootstrap": (1, _percentiles),
    "ratio of medians": (2, _ratio),
}


def simulate(repetitions: int, seed: int = 0) -> pd.DataFrame:
    """Return rates of rejection and of coverage.

    Args:
        repetitions: simulations per cell; the Monte Carlo standard error of a rate r is sqrt(r (1 - r) / repetitions).
        seed: seed of all draws.

    Returns:
        One row per column `what` ("type I error" or "coverage"), name, shape and n, with its rate.
    """
    rows = []
    for shape, draw in SHAPES.items():
        for n in SEEDS:
            for name, (columns, rejects) in TESTS.items():
                rng = np.random.default_rng([seed, n, len(rows)])
                samples = draw(rng, (repetitions, n, columns))
                rate = float(np.mean([rejects(sample) for sample in samples]))
                rows.append(("type I error", name, shape, n, rate))
            for name, (columns, interval) in INTERVALS.items():
                rng = np.random.default_rng([seed, n, len(rows)])
                ends = np.array([interval(sample) for sample in draw(rng, (repetitions, n, columns))])
                rows.append(("coverage", name, shape, n, float(np.mean((ends[:, 0] <= 0) & (ends[:, 1] >= 0)))))
    return pd.DataFrame(rows, columns=pd.Index(["what", "name", "shape", "n", "rate"]))


def document(rates: pd.DataFrame, repetitions: int) -> str:
    """Return the tables of type I error rates and of coverage as Markdown."""
    error = 100 * np.sqrt(LEVEL * (1 - LEVEL) / repetitions)
    text = ["# Calibration", ""]
    text += [f"Generated by `python -m tools.calibration --repetitions {repetitions}`; do not edit by hand."]
    text += [f"Percent; the Monte Carlo standard error near the nominal rate is {error:.1f}.", ""]
    for what, nominal in (("type I error", "at most 5"), ("coverage", "at least 95")):
        part = rates[rates.what == what]
        heads = [f"{shape}, n = {n}" for shape in SHAPES for n in SEEDS]
        text += [f"## {what[0].upper()}{what[1:]} ({nominal} wanted)", ""]
        text += [f"| | {' | '.join(heads)} |", "|---|" + "---|" * len(heads)]
        for name, cells in part.groupby("name", sort=False):
            text.append(f"| {name} | {' | '.join(f'{100 * rate:.1f}' for rate in cells.rate)} |")
        text.append("")
    return "\n".join([*text, NOTES, ""])


@dataclass(frozen=True)
class Settings:
    """Command-line settings."""

    repetitions: int = 4000
    """Simulated experiments per cell."""


def main(settings: Settings) -> None:
    """Write experiments/CALIBRATION.md."""
    text = document(simulate(settings.repetitions), settings.repetitions)
    (HERE / "CALIBRATION.md").write_text(text)
    print(text)


if __name__ == "__main__":
    command(main, Settings)
