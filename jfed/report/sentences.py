"""A sentence for each comparison that can go into a paper: difference, interval, test, p, effect size and seeds."""

import math

from jfed.comparisons.comparison import Comparison, Comparisons
from jfed.report.notes import PROCEDURES
from jfed.results.names import plain
from jfed.stats.effects import d_z_interval
from jfed.stats.numerals import decimals_for, format_interval, format_number, format_p

NAMES = {"t": "paired t-test", "wilcoxon": "Wilcoxon signed-rank test", "sign-flip": "sign-flip test"}
UNPAIRED = {"t": "Welch's t-test", "wilcoxon": "Mann-Whitney test"}
MARGINS = {"equal within margin": "two one-sided t-tests", "not worse": "one-sided t-test"}
FIELDS = {"equal within margin": "p_equal_adjusted", "not worse": "p_not_worse_adjusted"}


def sentences(comparisons: Comparisons) -> tuple[str, ...]:
    """Return one sentence per row, with the numbers of the test that decided it."""
    rows = comparisons.rows
    decimals = decimals_for([scale for row in rows for scale in (row.high - row.low, row.sd)])
    return tuple(plain(_sentence(comparisons, row, decimals)) for row in rows)


def _sentence(comparisons: Comparisons, row: Comparison, decimals: int) -> str:
    of = f"{comparisons.metric} of {row.scheme}"
    if math.isnan(row.difference):
        return f"The {of} was not compared with that of {row.reference} ({row.verdict})."
    means = f"{format_number(row.mean_scheme, decimals)} against {format_number(row.mean_reference, decimals)}"
    evidence = "; ".join(
        filter(None, [_interval(comparisons, row, decimals), _test(comparisons, row), _size(comparisons, row)])
    )
    return f"The mean {of} was {_claim(comparisons, row, decimals)} {row.reference} ({means}; {evidence})."


def _claim(comparisons: Comparisons, row: Comparison, decimals: int) -> str:
    """Return what the verdict allows to be said, up to the name of the reference."""
    size = format_number(abs(row.difference), decimals)
    side = "higher" if row.difference > 0 else "lower"
    better = (row.verdict == "better") == comparisons.higher_is_better
    if row.verdict in ("better", "worse") and better != (row.difference > 0):
        return f"{size} {side}, but {row.verdict} by the deciding test, than that of"
    margin = "" if comparisons.margin is None else format_number(comparisons.margin, decimals)
    match row.verdict:
        case "better" | "worse":
            return f"{size} {side} than that of"
        case "equal within margin":
            return f"within {margin} of that of"
        case "not worse":
            return f"not worse by {margin} or more than that of"
        case "identical":
            return "identical to that of"
        case "failed runs" | "missing runs" | "not judged" | "too few seeds" | "not yet decided":
            return f"{size} {side}, without a verdict ({row.verdict}), than that of"
        case _:
            return f"not shown to differ (difference {format_number(row.difference, decimals)}) from that of"


def _interval(comparisons: Comparisons, row: Comparison, decimals: int) -> str:
    if math.isnan(row.low):
        return ""
    level = f"{100 * (1 - comparisons.alpha):g} %"
    kind = f"simultaneous {level}" if comparisons.correction == "holm" and comparisons.family > 1 else level
    of = " of the Hodges-Lehmann difference" if row.decided_by == "wilcoxon" else ""
    return f"{kind} interval{of} {format_interval(row.low, row.high, decimals)}"


def _test(comparisons: Comparisons, row: Comparison) -> str:
    name = (NAMES if comparisons.paired else UNPAIRED)[row.decided_by]
    if row.design in ("crossed", "clustered"):
        name = f"t-test for {row.design} seeds"
    if comparisons.anytime:
        name = "always-valid t-test"
    if math.isnan(row.p_adjusted):
        return f"{name}: {row.t_note or row.rank_note}".rstrip(": ")
    statistic = f", t({row.df:.4g}) = {row.t:.3g}" if row.decided_by == "t" and not math.isnan(row.t) else ""
    value = row.p_adjusted
    if row.verdict in MARGINS:
        name, statistic, value = MARGINS[row.verdict], "", getattr(row, FIELDS[row.verdict])
    p = format_p(value, comparisons.alpha)
    over = (
        [f"{PROCEDURES[comparisons.correction]}-corrected over {comparisons.family}"] if comparisons.family > 1 else []
    )
    if comparisons.looks:
        over.append(f"corrected for looks at {', '.join(map(str, row.looked)) or 'no'} seeds")
    p = p if p.startswith("<") else f"= {p}"
    return f"{name}{statistic}, p {p} {' and '.join(over)}".rstrip()


def _size(comparisons: Comparisons, row: Comparison) -> str:
    n = (
        f"n = {row.n} {'seeds' if row.design == 'paired' else 'runs'}"
        if comparisons.paired
        else f"n = {row.n} and {row.n_reference} runs"
    )
    if math.isnan(row.d_z):
        return n
    ends = d_z_interval(row.d_z, row.n, 1 - comparisons.alpha)
    if comparisons.looks or comparisons.anytime or math.isnan(ends[0]):  # the interval is that of a single look
        return f"d_z = {row.d_z:.2f}, {n}"
    return f"d_z = {row.d_z:.2f}, {100 * (1 - comparisons.alpha):g} % interval {format_interval(*ends, 2)}; {n}"
