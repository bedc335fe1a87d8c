"""Claims that schemes, or one scheme's values at several settings, come in an order.

Every step must hold, unless only a trend is claimed. With a margin, a step is a difference of more than the margin, and
a reversed step one of more than the margin in the other direction. Steps are shown with 95 % limits, lower ones (≥)
where the step is claimed and upper ones (≤) where it is reversed: the margins at which the verdict on it would flip.
"""

import itertools
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import stats

from jfed.claims import ratios
from jfed.claims.finding import LEVEL, Finding, p_text, together
from jfed.claims.means import WORTH_CLAIMING, above, at_least, at_most, p_without
from jfed.claims.parts import Test, alone, at_levels, each
from jfed.claims.runs import Missing, Runs
from jfed.stats.ordering import page


class Step(NamedTuple):
    """One step of an order.

    Attributes:
        name: such as "a > b".
        larger: scores that are claimed to be larger.
        smaller: the others, on the same seeds.
        finding: on the step.
    """

    name: str
    larger: np.ndarray
    smaller: np.ndarray
    finding: Finding


def order(test: Test, runs: Runs) -> Finding:
    """Test `order = [A, B, C]`: A > B > C in every step."""
    return ordered(runs.paired(test["order"], test["metric"]), test["order"], test)


def levels(test: Test, runs: Runs) -> Finding:
    """Test `levels = { setting = [x, y] }`: the same for one scheme's runs at x and y."""
    ((setting, values),) = test["levels"].items()
    names = [f"{setting} {value}" for value in values]

    def one(scheme: str) -> Finding:
        return ordered(at_levels(test, runs, scheme, setting, values), names, test)

    return each({s: partial(one, s) for s in test.get("schemes", runs.schemes())})


def trend(test: Test, runs: Runs) -> Finding:
    """Test `trend = { setting = "up" }` or `trend = [A, B, C]`, by Page's test, which does not show every step."""
    if isinstance(test["trend"], list):
        return falling(runs.paired(test["trend"], test["metric"])).named(" > ".join(test["trend"]))
    ((setting, way),) = test["trend"].items()
    if setting not in runs.frame.columns:
        raise Missing(f"no setting {setting!r}")
    values = sorted(runs.frame[setting].dropna().unique(), reverse=way == "up")
    if len(values) < 3:
        raise Missing(f"fewer than 3 values of {setting}")

    def one(scheme: str) -> Finding:
        return falling(at_levels(test, runs, scheme, setting, values)).named(f"{way} with {setting}")

    return each({s: partial(one, s) for s in test.get("schemes", runs.schemes())})


def larger(test: Test, runs: Runs) -> Finding:
    """Test `larger = column`, `than = [columns]`: on more than half of the seeds, by the sign test.

    An effect worth claiming is the share of seeds on which a normal difference of half a standard deviation is above 0.
    """

    def one(scheme: str) -> Finding:
        column = alone(runs, scheme, test["larger"])
        others = np.max([alone(runs, scheme, name) for name in test["than"]], axis=0)
        more, less = int((column > others).sum()), int((column < others).sum())
        if not more + less:
            return Finding("ties on every seed", len(column), tests=1)
        found = stats.binomtest(more, more + less, alternative="greater")
        worth = float(stats.norm.cdf(WORTH_CLAIMING))
        return Finding(
            f"on {more} of {more + less} seeds (≥ {100 * found.proportion_ci(1 - LEVEL).low:.3g} %)",
            len(column),
            shown=float(found.pvalue),
            opposite=float(stats.binomtest(less, more + less, alternative="greater").pvalue),
            absent=float(stats.binomtest(more, more + less, worth, alternative="less").pvalue),
            tests=1,
        )

    return each({s: partial(one, s) for s in test["schemes"]})


def ordered(scores: np.ndarray, names: Sequence[str], test: Test) -> Finding:
    """Return the finding on "each column is larger than the next"."""
    steps = []
    for i, (a, b) in enumerate(itertools.pairwise(names)):
        x, y = scores[:, i], scores[:, i + 1]
        if "relative_margin" in test:
            found = ratios.above(x, y, test["relative_margin"])
        else:
            found = above(x - y, test.get("margin", 0.0), test.get("test", "t"))
        steps.append(Step(f"{a} > {b}", x, y, found))
    whole = together([step.finding for step in steps])
    weakest = max(steps, key=lambda step: step.finding.shown)
    numbers = f"weakest step {weakest.name}" if len(steps) > 1 else weakest.name
    numbers += f": {_size(weakest, test)}{_margin(test)}, {p_text(weakest.finding.shown)}"
    if len(steps) > 1:
        numbers += f" (Page {p_text(page(scores).p)})"
    if len(steps) * whole.opposite < LEVEL:
        back = min(steps, key=lambda step: step.finding.opposite)
        numbers += f"; reversed {back.name}: {_size(back, test, back=True)}"
    return Finding(numbers, whole.seeds, whole.shown, whole.opposite, whole.absent, whole.tests)


def falling(scores: np.ndarray) -> Finding:
    """Return the finding on "columns fall from first to last", by Page's test."""
    down, up = page(scores).p, page(scores[:, ::-1]).p
    absent = p_without(scores[:, 0] - scores[:, -1])
    return Finding(f"Page {p_text(down)}", len(scores), shown=down, opposite=up, absent=absent, tests=1)


def _size(step: Step, test: Test, back: bool = False) -> str:
    """Return a step's size with its one-sided limit: a ratio under a relative margin; without limits by sign flips."""
    difference = step.larger - step.smaller
    if "relative_margin" in test:
        low, high = ratios.limits(step.larger, step.smaller)
        limit = f"≤ {high:.4g}" if back else f"≥ {low:.4g}"
        return f"ratio {step.larger.mean() / step.smaller.mean():.4g} ({limit})"
    if test.get("test", "t") == "sign-flip":
        return f"{difference.mean():.4g}"
    return at_most(difference) if back else at_least(difference)


def _margin(test: Test) -> str:
    """Return the margin as text, if there is one."""
    if "relative_margin" in test:
        return f", margin {100 * test['relative_margin']:g} %"
    return f", margin {test['margin']:g}" if "margin" in test else ""
