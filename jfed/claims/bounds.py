"""Claims about a bound: of a mean, of every run, and of a ratio of medians."""

from collections.abc import Callable
from functools import partial

import numpy as np

from jfed.claims.finding import LEVEL, Finding, certain, p_text
from jfed.claims.means import above, at_least, at_most
from jfed.claims.parts import Test, alone, each
from jfed.claims.runs import Runs
from jfed.stats.bootstrap import ratio_of_medians

FEWEST_FOR_RATIO = 6  # with fewer seeds a percentile bootstrap of medians has too low a coverage
STEPS = (0.05, 0.025, 0.01, 0.005, 0.001)  # one-sided levels at which a bootstrap limit is looked up


def bound(test: Test, runs: Runs) -> Finding:
    """Test `at_most = x` or `at_least = x`, of means or `on_every_seed`, of `schemes` or `differences` of two."""
    sign, x = (1, test["at_most"]) if "at_most" in test else (-1, test["at_least"])
    words = f"at most {x:g}" if sign > 0 else f"at least {x:g}"

    def one(values: np.ndarray) -> Finding:
        within = sign * (x - values)
        if test.get("on_every_seed"):
            return on_every_seed(within >= 0, words, values)
        found, size = above(within), at_most(values) if sign > 0 else at_least(values)
        numbers = f"{size}, {words}, {p_text(found.shown)}"
        return Finding(numbers, found.seeds, found.shown, found.opposite, found.absent, found.tests)

    def difference(a: str, b: str) -> np.ndarray:
        scores = runs.paired([a, b], test["metric"])
        return scores[:, 0] - scores[:, 1]

    parts: dict[str, Callable[[], Finding]] = {}
    for a, b in test.get("differences", []):
        parts[f"{a} minus {b}"] = lambda a=a, b=b: one(difference(a, b))
    for scheme in test.get("schemes", []):
        parts[scheme] = lambda s=scheme: one(alone(runs, s, test["metric"]))
    return each(parts)


def every(test: Test, runs: Runs) -> Finding:
    """Test `every = x`: each of `schemes` has x on every seed."""

    def one(scheme: str) -> Finding:
        scores = alone(runs, scheme, test["metric"])
        return on_every_seed(scores == test["every"], f"{test['every']:g}", scores)

    return each({s: partial(one, s) for s in test["schemes"]})


def identical(test: Test, runs: Runs) -> Finding:
    """Test `identical = [A, B]`: the number is the same on every seed."""
    a, b = test["identical"]
    scores = runs.paired([a, b], test["metric"])
    difference = scores[:, 0] - scores[:, 1]
    return on_every_seed(difference == 0, "0", difference).named(f"{a} minus {b}")


def on_every_seed(holds: np.ndarray, what: str, values: np.ndarray) -> Finding:
    """Return the finding on a statement about every run, with the rate of failures that so many seeds exclude."""
    n, failures = len(holds), int((~holds).sum())
    spread = f"{values.min():.3g} to {values.max():.3g}"
    if failures:
        return certain(False, f"{what} on {n - failures} of {n} seeds ({spread})", n)
    return certain(True, f"{what} on all {n} seeds ({spread}; failures < {excluded(n):.2g} %)", n)


def excluded(seeds: int) -> float:
    """Return the percentage of failing runs that no failure in so many seeds excludes at 95 %: at about 3 / seeds.

    Source: Hanley and Lippman-Hand (1983), If nothing goes wrong, is everything all right? Interpreting zero
    numerators.
    """
    return 100 * (1 - LEVEL ** (1 / seeds))


def ratio(test: Test, runs: Runs) -> Finding:
    """Test `ratio = [A, B]`, `reaches = x`: the ratio of medians is x or more, by a bootstrap over seeds.

    The p-values are the smallest of `STEPS` at which a one-sided limit lies on the right side.
    """
    (a, b), reaches = test["ratio"], test["reaches"]
    scores = runs.paired([a, b], test["metric"], censored=True)
    medians = np.median(scores, 0)
    if len(scores) < FEWEST_FOR_RATIO:
        return Finding(f"a ratio needs {FEWEST_FOR_RATIO} seeds", len(scores), tests=1).named(f"{a} over {b}")
    ends = {p: ratio_of_medians(scores[:, 0], scores[:, 1], 1 - 2 * p) for p in STEPS}
    low, high = ends[LEVEL]
    if np.isnan(low):
        return Finding("neither median run reaches the target", len(scores), tests=1).named(f"{a} over {b}")
    observed = float(medians[0] / medians[1]) if medians[1] > 0 else np.inf
    shown = min((p for p, (lowest, _) in ends.items() if lowest >= reaches), default=1.0)
    opposite = min((p for p, (_, highest) in ends.items() if highest < reaches), default=1.0)
    limit = f"≤ {high:.2f}" if opposite < 1 else f"≥ {low:.2f}"
    numbers = f"{observed:.2f} ({limit}), claimed {reaches:g}"
    # p is at most the step, so that a limit at the level itself counts as shown.
    return Finding(numbers, len(scores), shown * (1 - 1e-9), opposite * (1 - 1e-9), tests=1).named(f"{a} over {b}")
