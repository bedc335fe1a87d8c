"""Claims that two numbers are the same up to a margin: equal, near, and gaps that do not change.

The numbers show from which margin on a claim would be supported, and below which it would be contradicted, if this were
its only part.
"""

from functools import partial

import numpy as np

from jfed.claims import ratios
from jfed.claims.finding import LEVEL, Finding, p_text
from jfed.claims.means import above, between, limits, p_above, sized
from jfed.claims.parts import Test, alone, common, each
from jfed.claims.runs import Runs
from jfed.stats.equivalence import tost
from jfed.stats.intervals import t_interval


def equal(test: Test, runs: Runs) -> Finding:
    """Test `equal = [A, B]`."""
    a, b = test["equal"]
    scores = runs.paired([a, b], test["metric"])
    if "relative_margin" in test:
        return within_share(scores[:, 0], scores[:, 1], test["relative_margin"]).named(f"{a} over {b}")
    return within(scores[:, 0] - scores[:, 1], test["margin"]).named(f"{a} minus {b}")


def near(test: Test, runs: Runs) -> Finding:
    """Test `near = { A = x }`."""

    def one(scheme: str, value: float) -> Finding:
        return within(alone(runs, scheme, test["metric"]) - value, test["margin"])

    near = test["near"].items()
    return each({f"{s} minus {x:g}" if x else s: partial(one, s, x) for s, x in near})


def within(differences: np.ndarray, margin: float) -> Finding:
    """Test whether the mean difference lies within (-margin, margin), by two one-sided t-tests."""
    found = tost(differences, -margin, margin, LEVEL)
    beyond = 2 * min(p_above(differences - margin), p_above(-differences - margin))
    low, high = t_interval(differences.mean(), differences.std(ddof=1), len(differences), 1 - LEVEL)
    flips = _flips(found.p, max(map(abs, limits(differences))), max(low, -high))
    numbers = f"{between(differences)}, margin {margin:g}, {p_text(found.p)}, {flips}"
    return Finding(numbers, len(differences), shown=found.p, opposite=min(1.0, beyond), tests=1)


def within_share(a: np.ndarray, b: np.ndarray, share: float) -> Finding:
    """Test whether the ratio of means lies within (1 - share, 1 + share); see `ratios`."""
    found = ratios.within(a, b, share)
    (low, high), (least, most) = ratios.interval(a, b, 1 - LEVEL), ratios.limits(a, b)
    flips = _flips(found.shown, max(most - 1, 1 - least), max(low - 1, 1 - high), percent=True)
    size = f"{a.mean() / b.mean():.4g} ({low:.4g} to {high:.4g})"
    numbers = f"{size}, margin {100 * share:g} %, {p_text(found.shown)}, {flips}"
    return Finding(numbers, found.seeds, shown=found.shown, opposite=found.opposite, tests=1)


def gap(test: Test, runs: Runs) -> Finding:
    """Test `gap = [A, B]`, `between = { setting = [x, y] }`: larger at x or, with a margin, the same at both."""
    ((setting, (x, y)),) = test["between"].items()
    scale = np.log if test.get("log") else np.asarray
    columns = [runs.where({setting: v}).scores(s, test["metric"]) for s in test["gap"] for v in (x, y)]
    at = scale(common(columns, f"{' and '.join(test['gap'])} at both values of {setting}"))
    differences = (at[:, 0] - at[:, 1]) - (at[:, 2] - at[:, 3])
    what = f"gap {' - '.join(test['gap'])} at {x} over that at {y}"
    if "margin" in test:
        return within(differences, test["margin"]).named(what)
    return sized(above(differences), differences).named(what)


def _flips(p: float, holds: float, beyond: float, percent: bool = False) -> str:
    """Return the margins at which the verdict on this part alone would flip."""
    supported, contradicted = (f"{100 * x:.3g} %" if percent else f"{x:.3g}" for x in (holds, beyond))
    text = f"holds from {supported}"
    return text if p < LEVEL or beyond <= 0 else f"{text}, contradicted below {contradicted}"
