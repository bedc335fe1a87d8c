"""The kinds of test that a claim may consist of, each named by its first key.

- `order = [A, B, C]`: A > B > C in every step (one-sided paired tests; the largest p decides, Page's test is shown).
- `levels = { setting = [x, y] }`: the same for runs at x and y of each of `schemes`, by default of all.
- `trend = { setting = "up" }`: each of `schemes`, by default all, rises (or falls, "down") with a setting's values, by
  Page's test.
- `trend = [A, B, C]`: the metric falls from scheme to scheme, by Page's test, which does not show every step.
- `equal = [A, B]`: the means differ by less than `margin`, or `relative_margin` times B's mean (two one-sided tests).
- `near = { A = x }`: A's mean is within `margin` of x.
- `identical = [A, B]`: the number is the same on every seed.
- `every = x`: each of `schemes` has x on every seed.
- `at_most = x`, `at_least = x`: holds for the mean of each of `schemes` or `differences` of two, or `on_every_seed`.
- `larger = column`, `than = [columns]`: on more than half of the seeds (sign test), for each of `schemes`.
- `gap = [A, B]`, `between = { setting = [x, y] }`: A - B is larger at x than at y (or differs by less than `margin`);
  of logarithms with `log`.
- `ratio = [A, B]`, `reaches = x`: the ratio of medians is x or more (bootstrap over seeds).

`metric` is a column or an expression of columns. `test = "sign-flip"` replaces t-tests where values are censored. `at =
[settings]` repeats the test at each value of these settings; `where = { setting = x }` restricts it to one.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from jfed.claims.finding import LEVEL, Finding, p_text, together
from jfed.claims.runs import Missing, Runs
from jfed.stats.bootstrap import ratio_of_medians
from jfed.stats.equivalence import tost
from jfed.stats.intervals import t_interval
from jfed.stats.ordering import intersection_union, page

ROUNDING = 1e-12  # relative spread up to which differences count as constant
FAR = 0.01  # stricter level at which a ratio's opposite is also tested, for claims of several parts
FEWEST_FOR_RATIO = 6  # with fewer seeds a percentile bootstrap of medians has too low a coverage
WORTH_CLAIMING = 0.5  # standard deviations of the paired differences
Test = Mapping[str, Any]


def evaluate(test: Test, runs: Runs) -> Finding:
    """Return the finding of one test.

    Raises:
        Missing: runs that it needs are missing.
        ValueError: the test is of no known kind.
    """
    for name, kind in KINDS.items():
        if name in test:
            return kind(test, runs)
    raise ValueError(f"a claim's test needs one of {', '.join(KINDS)}, found {', '.join(test)}")


def _order(test: Test, runs: Runs) -> Finding:
    return _ordered(runs.paired(test["order"], test["metric"]), test["order"], test)


def _levels(test: Test, runs: Runs) -> Finding:
    ((setting, values),) = test["levels"].items()
    names = [f"{setting} {value}" for value in values]
    return _each(
        test.get("schemes", runs.schemes()), lambda s: _ordered(_at_levels(test, runs, s, setting, values), names, test)
    )


def _trend(test: Test, runs: Runs) -> Finding:
    if isinstance(test["trend"], list):
        return _page(runs.paired(test["trend"], test["metric"]), " > ".join(test["trend"]))
    ((setting, way),) = test["trend"].items()
    if setting not in runs.frame.columns:
        raise Missing(f"no setting {setting!r}")
    values = sorted(runs.frame[setting].dropna().unique(), reverse=way == "up")
    if len(values) < 3:
        raise Missing(f"fewer than 3 values of {setting}")

    def one(scheme: str) -> Finding:
        return _page(_at_levels(test, runs, scheme, setting, values), f"trend over {setting}")

    return _each(test.get("schemes", runs.schemes()), one)


def _page(scores: np.ndarray, what: str) -> Finding:
    """Test whether columns fall from first to last."""
    p, back = page(scores).p, page(scores[:, ::-1]).p
    verdict = _verdict(p, scores[:, 0] - scores[:, -1])
    return Finding(verdict, f"{what}: Page {p_text(p)}", len(scores), back)


def _at_levels(test: Test, runs: Runs, scheme: str, setting: str, values: Sequence[Any]) -> np.ndarray:
    columns = [runs.where({setting: value}).scores(scheme, test["metric"]) for value in values]
    return _common(columns, f"{scheme} at all values of {setting}")


def _common(columns: Sequence[pd.Series], what: str) -> np.ndarray:
    """Return scores on the common seeds, (seeds, columns)."""
    both = pd.concat(list(columns), axis=1, join="inner").to_numpy(float)
    if len(both) < 2:
        raise Missing(f"fewer than 2 seeds of {what}")
    return both


def _ordered(scores: np.ndarray, names: Sequence[str], test: Test) -> Finding:
    """Test whether each column is larger than the next."""
    how = test.get("test", "t")
    found = intersection_union(scores, names, test=how)
    weakest = max(range(len(found.steps)), key=lambda i: found.steps[i].p)
    step = found.steps[weakest]
    numbers = f"weakest step {step.better} > {step.worse}: {_size(scores[:, weakest] - scores[:, weakest + 1])}"
    numbers += f", {p_text(step.p)}"
    if len(names) > 2:
        numbers += f" (Page {p_text(page(scores).p)})"
    if found.p < LEVEL:
        return Finding("supported", numbers, len(scores))
    reverse = [intersection_union(scores[:, [i + 1, i]], [b, a], test=how).p for i, (a, b) in _steps(names)]
    opposite, most = min(1.0, len(reverse) * min(reverse)), int(np.argmin(reverse))  # any step: Bonferroni
    if opposite < LEVEL:
        numbers += f"; reversed {names[most]} > {names[most + 1]}: {_size(scores[:, most] - scores[:, most + 1])}"
    failing = [scores[:, i] - scores[:, i + 1] for i, s in enumerate(found.steps) if s.p >= LEVEL]
    words = [_without(d) for d in failing]
    verdict = "not supported" if "not supported" in words else "underpowered"
    return Finding(verdict, numbers, len(scores), opposite)


def _steps(names: Sequence[str]) -> list[tuple[int, tuple[str, str]]]:
    return list(enumerate(itertools.pairwise(names)))


def _equal(test: Test, runs: Runs) -> Finding:
    scores = runs.paired(test["equal"], test["metric"])
    margin = test["margin"] if "margin" in test else test["relative_margin"] * abs(scores[:, 1].mean())
    a, b = test["equal"]
    return _within(scores[:, 0] - scores[:, 1], margin, f"{a} minus {b}")


def _near(test: Test, runs: Runs) -> Finding:
    def one(scheme: str) -> Finding:
        value = test["near"][scheme]
        return _within(_alone(runs, scheme, test) - value, test["margin"], f"{scheme} minus {value:g}")

    return _each(list(test["near"]), one, label=False)


def _within(differences: np.ndarray, margin: float, what: str) -> Finding:
    """Test whether the mean difference is within (-margin, margin)."""
    found = tost(differences, -margin, margin, LEVEL)
    beyond = min(_greater(differences - margin), _greater(-differences - margin))
    verdict = "supported" if found.p < LEVEL else "underpowered"
    numbers = f"{what}: {_size(differences)}, margin {margin:.3g}, {p_text(found.p)}"
    return Finding(verdict, numbers, len(differences), min(1.0, 2 * beyond))


def _identical(test: Test, runs: Runs) -> Finding:
    a, b = test["identical"]
    scores = runs.paired([a, b], test["metric"])
    same = np.mean(scores[:, 0] == scores[:, 1])
    return _certain(bool(same == 1), f"{a} is {b} on {100 * same:.0f} % of seeds", len(scores))


def _every(test: Test, runs: Runs) -> Finding:
    def one(scheme: str) -> Finding:
        scores, value = _alone(runs, scheme, test), test["every"]
        share = np.mean(scores == value)
        spread = f"mean {scores.mean():.4g}, {scores.min():g} to {scores.max():g}"
        numbers = f"{value:g} on {100 * share:.0f} % of seeds ({spread})"
        return _certain(bool(share == 1), numbers, len(scores))

    return _each(test["schemes"], one)


def _bound(test: Test, runs: Runs) -> Finding:
    sign, bound = (1, test["at_most"]) if "at_most" in test else (-1, test["at_least"])
    words = "at most" if sign > 0 else "at least"

    def one(values: np.ndarray) -> Finding:
        below = sign * (bound - values)
        if test.get("on_every_seed"):
            share, spread = 100 * np.mean(below >= 0), f"{values.min():.3g} to {values.max():.3g}"
            numbers = f"{words} {bound:g} on {share:.0f} % of seeds ({spread})"
            return _certain(bool((below >= 0).all()), numbers, len(values))
        p, back = _greater(below), _greater(-below)
        return Finding(_verdict(p, below), f"{_size(values)}, {words} {bound:g}: {p_text(p)}", len(values), back)

    if "differences" in test:
        parts = {f"{a} minus {b}": runs.paired([a, b], test["metric"]) for a, b in test["differences"]}
        return together([_named(what, one(x[:, 0] - x[:, 1])) for what, x in parts.items()])
    return _each(test["schemes"], lambda scheme: one(_alone(runs, scheme, test)))


def _larger(test: Test, runs: Runs) -> Finding:
    def one(scheme: str) -> Finding:
        column = runs.scores(scheme, test["larger"])
        others = np.max([runs.scores(scheme, name).to_numpy() for name in test["than"]], axis=0)
        more, less = int((column.to_numpy() > others).sum()), int((column.to_numpy() < others).sum())
        if not more + less:
            return Finding("underpowered", "ties on every seed", len(column))
        p = stats.binomtest(more, more + less, alternative="greater").pvalue
        back = stats.binomtest(less, more + less, alternative="greater").pvalue
        verdict = "supported" if p < LEVEL else "underpowered"
        return Finding(verdict, f"on {100 * more / len(column):.0f} % of seeds", len(column), float(back))

    return _each(test["schemes"], one)


def _gap(test: Test, runs: Runs) -> Finding:
    ((setting, (x, y)),) = test["between"].items()
    scale = np.log if test.get("log") else np.asarray
    columns = [runs.where({setting: v}).scores(s, test["metric"]) for s in test["gap"] for v in (x, y)]
    at = scale(_common(columns, f"{' and '.join(test['gap'])} at both values of {setting}"))
    differences = (at[:, 0] - at[:, 1]) - (at[:, 2] - at[:, 3])
    what = f"gap {' - '.join(test['gap'])} at {x} over that at {y}"
    if "margin" in test:
        return _within(differences, test["margin"], what)
    p, back = _greater(differences), _greater(-differences)
    return Finding(_verdict(p, differences), f"{what}: {_size(differences)}, {p_text(p)}", len(differences), back)


def _ratio(test: Test, runs: Runs) -> Finding:
    scores, reaches = runs.paired(test["ratio"], test["metric"], censored=True), test["reaches"]
    medians = np.median(scores, 0)
    what = f"{test['ratio'][0]} over {test['ratio'][1]}"
    if len(scores) < FEWEST_FOR_RATIO:
        return Finding("underpowered", f"{what}: a ratio needs {FEWEST_FOR_RATIO} seeds", len(scores))
    low, high = ratio_of_medians(scores[:, 0], scores[:, 1], 1 - LEVEL)
    if np.isnan(low):
        return Finding("underpowered", f"{what}: neither median run reaches the target", len(scores))
    ratio = float(medians[0] / medians[1]) if medians[1] > 0 else math.inf
    numbers = f"{what}: {ratio:.2f} ({low:.2f} to {high:.2f}), claimed {reaches:g}"
    verdict = "supported" if low >= reaches else "underpowered"
    wider = ratio_of_medians(scores[:, 0], scores[:, 1], 1 - FAR)[1]
    opposite = FAR / 2 if wider < reaches else LEVEL / 2 if high < reaches else 1.0
    return Finding(verdict, numbers, len(scores), opposite)


KINDS: dict[str, Callable[[Test, Runs], Finding]] = {
    "order": _order,
    "levels": _levels,
    "trend": _trend,
    "equal": _equal,
    "near": _near,
    "identical": _identical,
    "every": _every,
    "at_most": _bound,
    "at_least": _bound,
    "larger": _larger,
    "gap": _gap,
    "ratio": _ratio,
}


def _each(schemes: Sequence[str], one: Callable[[str], Finding], *, label: bool = True) -> Finding:
    return together([_named(s, one(s)) if label and len(schemes) > 1 else one(s) for s in schemes])


def _named(what: str, finding: Finding) -> Finding:
    return replace(finding, numbers=f"{what} {finding.numbers}")


def _alone(runs: Runs, scheme: str, test: Test) -> np.ndarray:
    scores = runs.scores(scheme, test["metric"]).to_numpy()
    if len(scores) < 2:
        raise Missing(f"fewer than 2 seeds of {scheme}")
    return scores


def _greater(differences: np.ndarray) -> float:
    """Return the one-sided p-value for a mean above 0, by the t-test, or the sign test for constant differences."""
    if np.ptp(differences) <= ROUNDING * np.abs(differences).max():
        return 0.5 ** len(differences) if differences[0] > 0 else 1.0
    result: Any = stats.ttest_1samp(differences, 0, alternative="greater")
    return float(result.pvalue)


def _verdict(p: float, differences: np.ndarray) -> str:
    """Return the verdict for a claim's p-value and its differences."""
    return "supported" if p < LEVEL else _without(differences)


def _certain(holds: bool, numbers: str, seeds: int) -> Finding:
    """Return the finding on a claim about every run, which a single run refutes."""
    return Finding("supported" if holds else "not supported", numbers, seeds, 1.0 if holds else 0.0)


def _without(differences: np.ndarray) -> str:
    """Return the verdict where no effect is shown: "not supported" if one worth claiming is excluded."""
    mean, sd = float(differences.mean()), float(differences.std(ddof=1))
    _, high = t_interval(mean, sd, len(differences), 1 - LEVEL)
    excluded = high < WORTH_CLAIMING * sd if sd > 0 else mean <= 0
    return "not supported" if excluded else "underpowered"


def _size(differences: np.ndarray) -> str:
    mean = float(differences.mean())
    low, high = t_interval(mean, float(differences.std(ddof=1)), len(differences), 1 - LEVEL)
    return f"{mean:.4g} ({low:.4g} to {high:.4g})"
