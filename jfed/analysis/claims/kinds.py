"""The kinds of test that a claim may consist of; the key that names the kind stands first.

- `order = [A, B, C]`: A > B > C, every step (one-sided paired tests, the largest p counts; Page's trend beside it).
- `levels = { setting = [x, y] }`: the same for one scheme's runs at x and y; each scheme of the table.
- `trend = { setting = "up" }`: rises (or falls, "down") with a setting's values, by Page's test; each scheme.
- `equal = [A, B]`: means closer than `margin`, or than `relative_margin` times B's mean (two one-sided tests).
- `near = { A = x }`: A's mean within `margin` of x.
- `identical = [A, B]`: the same number on every seed.
- `every = x`: each of `schemes` has x on every seed.
- `at_most = x`, `at_least = x`: for the mean of each of `schemes`, or of `differences` of two; or `on_every_seed`.
- `larger = column`, `than = [columns]`: on more than half of the seeds (sign test); each of `schemes`.
- `gap = [A, B]`, `between = { setting = [x, y] }`: A - B is larger at x than at y (or no different, with `margin`);
  of logarithms with `log`.
- `ratio = [A, B]`, `reaches = x`: the ratio of medians is x or more (bootstrap over seeds).

`metric` is a column or an expression of columns. `test = "sign-flip"` replaces t-tests where values are censored.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats

from jfed.analysis.bootstrap import ratio_of_medians
from jfed.analysis.claims.finding import Finding, p_text, together
from jfed.analysis.claims.runs import Missing, Runs
from jfed.analysis.equivalence import tost
from jfed.analysis.intervals import t_interval
from jfed.analysis.ordering import intersection_union, page

LEVEL = 0.05
ROUNDING = 1e-12  # relative; less than that is no variation
WORTH_CLAIMING = 0.5  # standard deviations of the paired differences
Test = Mapping[str, Any]


def evaluate(test: Test, runs: Runs) -> Finding:
    """What one test says.

    Raises:
        Missing: runs that it needs are not there.
        ValueError: a test of no kind.
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
    return _each(runs.schemes(), lambda s: _ordered(_at_levels(test, runs, s, setting, values), names, test))


def _trend(test: Test, runs: Runs) -> Finding:
    ((setting, way),) = test["trend"].items()
    if setting not in runs.frame.columns:
        raise Missing(f"no setting {setting!r}")
    values = sorted(runs.frame[setting].dropna().unique(), reverse=way == "up")
    if len(values) < 3:
        raise Missing(f"fewer than 3 values of {setting}")

    def one(scheme: str) -> Finding:
        scores = _at_levels(test, runs, scheme, setting, values)
        p, back = page(scores).p, page(scores[:, ::-1]).p
        verdict = _verdict(p, back, scores[:, 0] - scores[:, -1])
        return Finding(verdict, f"trend over {setting}: Page {p_text(p)}", len(scores))

    return _each(runs.schemes(), one)


def _at_levels(test: Test, runs: Runs, scheme: str, setting: str, values: Sequence[Any]) -> np.ndarray:
    columns = [runs.where({setting: value}).scores(scheme, test["metric"]) for value in values]
    common = sorted(set.intersection(*(set(c.index) for c in columns)))
    if len(common) < 2:
        raise Missing(f"fewer than 2 seeds of {scheme} at all values of {setting}")
    return np.stack([c.loc[common].to_numpy() for c in columns], 1)


def _ordered(scores: np.ndarray, names: Sequence[str], test: Test) -> Finding:
    """Columns from largest to smallest."""
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
    reverse = [intersection_union(scores[:, [i + 1, i]], [b, a], test=how) for i, (a, b) in _steps(names)]
    against = [i for i, r in enumerate(reverse) if r.p < LEVEL]
    if against:
        a, b = names[against[0]], names[against[0] + 1]
        numbers += f"; reversed {a} > {b}: {_size(scores[:, against[0]] - scores[:, against[0] + 1])}"
        return Finding("contradicted", numbers, len(scores))
    failing = [scores[:, i] - scores[:, i + 1] for i, s in enumerate(found.steps) if s.p >= LEVEL]
    words = [_without(d) for d in failing]
    return Finding("not supported" if "not supported" in words else "underpowered", numbers, len(scores))


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
    """Mean difference inside (-margin, margin)."""
    found = tost(differences, -margin, margin, LEVEL)
    beyond = min(_greater(differences - margin), _greater(-differences - margin))
    verdict = "supported" if found.p < LEVEL else "contradicted" if beyond < LEVEL else "underpowered"
    return Finding(verdict, f"{what}: {_size(differences)}, margin {margin:.3g}, {p_text(found.p)}", len(differences))


def _identical(test: Test, runs: Runs) -> Finding:
    a, b = test["identical"]
    scores = runs.paired([a, b], test["metric"])
    same = np.mean(scores[:, 0] == scores[:, 1])
    verdict = "supported" if same == 1 else "contradicted"
    return Finding(verdict, f"{a} is {b} on {100 * same:.0f} % of seeds", len(scores))


def _every(test: Test, runs: Runs) -> Finding:
    def one(scheme: str) -> Finding:
        scores, value = _alone(runs, scheme, test), test["every"]
        share = np.mean(scores == value)
        spread = f"mean {scores.mean():.4g}, {scores.min():g} to {scores.max():g}"
        numbers = f"{value:g} on {100 * share:.0f} % of seeds ({spread})"
        return Finding("supported" if share == 1 else "contradicted", numbers, len(scores))

    return _each(test["schemes"], one)


def _bound(test: Test, runs: Runs) -> Finding:
    sign, bound = (1, test["at_most"]) if "at_most" in test else (-1, test["at_least"])
    words = "at most" if sign > 0 else "at least"

    def one(values: np.ndarray) -> Finding:
        below = sign * (bound - values)
        if test.get("on_every_seed"):
            share, spread = 100 * np.mean(below >= 0), f"{values.min():.3g} to {values.max():.3g}"
            numbers = f"{words} {bound:g} on {share:.0f} % of seeds ({spread})"
            return Finding("supported" if (below >= 0).all() else "contradicted", numbers, len(values))
        p, back = _greater(below), _greater(-below)
        verdict = _verdict(p, back, below)
        return Finding(verdict, f"{_size(values)}, {words} {bound:g}: {p_text(p)}", len(values))

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
        verdict = "supported" if p < LEVEL else "contradicted" if back < LEVEL else "underpowered"
        return Finding(verdict, f"on {100 * more / len(column):.0f} % of seeds", len(column))

    return _each(test["schemes"], one)


def _gap(test: Test, runs: Runs) -> Finding:
    ((setting, (x, y)),) = test["between"].items()
    scale = np.log if test.get("log") else np.asarray
    at = [_at_levels(test, runs, scheme, setting, [x, y]) for scheme in test["gap"]]
    if len(at[0]) != len(at[1]):
        raise Missing("the two schemes have different seeds")
    differences = (scale(at[0]) - scale(at[1])) @ [1.0, -1.0]
    what = f"gap {' - '.join(test['gap'])} at {x} over that at {y}"
    if "margin" in test:
        return _within(differences, test["margin"], what)
    p, back = _greater(differences), _greater(-differences)
    verdict = _verdict(p, back, differences)
    return Finding(verdict, f"{what}: {_size(differences)}, {p_text(p)}", len(differences))


def _ratio(test: Test, runs: Runs) -> Finding:
    scores, reaches = runs.paired(test["ratio"], test["metric"]), test["reaches"]
    low, high = ratio_of_medians(scores[:, 0], scores[:, 1], 1 - LEVEL)
    ratio = float(np.median(scores[:, 0]) / np.median(scores[:, 1]))
    what = f"{test['ratio'][0]} over {test['ratio'][1]}: {ratio:.2f}"
    if not np.isfinite([low, high]).all():
        return Finding("underpowered", f"{what}, no interval", len(scores))
    verdict = "supported" if low >= reaches else "contradicted" if high < reaches else "underpowered"
    return Finding(verdict, f"{what} ({low:.2f} to {high:.2f}), claimed {reaches:g}", len(scores))


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


def _named(what: str, found: Finding) -> Finding:
    return Finding(found.verdict, f"{what} {found.numbers}", found.seeds)


def _alone(runs: Runs, scheme: str, test: Test) -> np.ndarray:
    scores = runs.scores(scheme, test["metric"]).to_numpy()
    if len(scores) < 2:
        raise Missing(f"fewer than 2 seeds of {scheme}")
    return scores


def _greater(differences: np.ndarray) -> float:
    """One-sided p-value for a mean above 0; a difference that never varies is a sign on every seed."""
    if np.ptp(differences) <= ROUNDING * np.abs(differences).max():
        return 0.5 ** len(differences) if differences[0] > 0 else 1.0
    result: Any = stats.ttest_1samp(differences, 0, alternative="greater")
    return float(result.pvalue)


def _verdict(p: float, back: float, differences: np.ndarray) -> str:
    """From the p-values of a claim and of its opposite."""
    return "supported" if p < LEVEL else "contradicted" if back < LEVEL else _without(differences)


def _without(differences: np.ndarray) -> str:
    """Of an effect that was not shown: would one worth claiming have been?"""
    sd = float(differences.std(ddof=1))
    _, high = t_interval(float(differences.mean()), sd, len(differences), 1 - LEVEL)
    return "not supported" if high < WORTH_CLAIMING * sd or sd == 0 else "underpowered"


def _size(differences: np.ndarray) -> str:
    mean = float(differences.mean())
    low, high = t_interval(mean, float(differences.std(ddof=1)), len(differences), 1 - LEVEL)
    return f"{mean:.4g} ({low:.4g} to {high:.4g})"
