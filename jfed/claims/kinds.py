"""The kinds of test that a claim may consist of, each named by its first key.

- `order = [A, B, C]`: A > B > C in every step (one-sided paired tests; the largest p decides, Page's test is shown).
- `levels = { setting = [x, y] }`: the same for runs at x and y of each of `schemes`, by default of all.
- `trend = { setting = "up" }`: each of `schemes`, by default all, rises (or falls, "down") with a setting's values, by
  Page's test.
- `trend = [A, B, C]`: the metric falls from scheme to scheme, by Page's test, which does not show every step.
- `equal = [A, B]`: the means differ by less than `margin`, or their ratio from 1 by less than `relative_margin` (two
  one-sided tests).
- `near = { A = x }`: A's mean is within `margin` of x.
- `gap = [A, B]`, `between = { setting = [x, y] }`: A - B is larger at x than at y (or differs by less than `margin`);
  of logarithms with `log`.
- `at_most = x`, `at_least = x`: holds for the mean of each of `schemes` or `differences` of two, or `on_every_seed`.
- `every = x`: each of `schemes` has x on every seed.
- `identical = [A, B]`: the number is the same on every seed.
- `larger = column`, `than = [columns]`: on more than half of the seeds (sign test), for each of `schemes`.
- `ratio = [A, B]`, `reaches = x`: the ratio of medians is x or more (bootstrap over seeds).

`metric` is a column or an expression of columns, for which `name` stands in the numbers. `test = "sign-flip"` replaces
t-tests of steps where values are censored. A step of an order with a `margin` or `relative_margin` must be larger than
it. `at = [settings]` repeats the test at each value of these settings; `where = { setting = x }` restricts it to one.
"""

from collections.abc import Callable

from jfed.claims.bounds import bound, every, identical, ratio
from jfed.claims.equalities import equal, gap, near
from jfed.claims.finding import Finding
from jfed.claims.orders import larger, levels, order, trend
from jfed.claims.parts import Test
from jfed.claims.runs import Runs

KINDS: dict[str, Callable[[Test, Runs], Finding]] = {
    "order": order,
    "levels": levels,
    "trend": trend,
    "equal": equal,
    "near": near,
    "gap": gap,
    "at_most": bound,
    "at_least": bound,
    "every": every,
    "identical": identical,
    "larger": larger,
    "ratio": ratio,
}
FURTHER = {
    "metric", "margin", "relative_margin", "test", "schemes", "differences", "on_every_seed", "than", "between", "log",
    "reaches", "at", "where", "name",
}  # fmt: skip


def kind_of(test: Test) -> str:
    """Return the kind of a test.

    Raises:
        ValueError: it has no known kind or several, or a key that no test has.
    """
    found = [name for name in test if name in KINDS]
    if len(found) != 1 or set(test) - set(KINDS) - FURTHER:
        raise ValueError(f"a claim's test needs one of {', '.join(KINDS)} and no unknown key, found {', '.join(test)}")
    return found[0]


def evaluate(test: Test, runs: Runs) -> Finding:
    """Return the finding of one test.

    Raises:
        Missing: runs that it needs are missing.
        ValueError: the test is of no known kind.
    """
    return KINDS[kind_of(test)](test, runs)
