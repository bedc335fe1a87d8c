"""The table of comparisons over several data sets."""

import math

import numpy as np

from jfed.comparisons.across_data import Across, AcrossPair
from jfed.report.columns import SHORT
from jfed.report.digits import format_p
from jfed.report.tables import Table
from jfed.stats.numerals import decimals_for, format_interval, format_number
from jfed.stats.omnibus import Friedman

MOST_NAMED = 8  # rows that a note names


def across_table(found: Across, title: str, *, primary: str | None = None) -> Table:
    """Lay out each scheme's mean difference over data sets, for further ones and for these, with the ranks in notes.

    Args:
        found: from `jfed.analysis.across`.
        title: title, which must name the metric and the data sets.
        primary: the study's primary metric, for the notes; None if it is not told.
    """
    against = [] if found.baseline else ["against"]
    level = f"{100 * (1 - found.alpha):g} %"
    scales = [scale for row in found.rows for scale in (row.random.high - row.random.low, row.sd_within)]
    decimals = decimals_for(scales)
    means = {name: mean for name, mean, _ in found.schemes}
    rows, bold = [], set()
    if found.baseline:
        rows.append((found.baseline, format_number(means[found.baseline], decimals), *5 * ["-"], "baseline"))
    for row in found.rows:
        second = [row.reference] if against else [format_number(means[row.scheme], decimals)]
        if row.verdict == "better" and found.baseline:
            bold.add((len(rows), 7))
        rows.append(
            (
                row.scheme,
                *second,
                _difference(row.difference, decimals, found.relative),
                _interval(row.random.low, row.random.high, decimals, found.relative),
                format_p(row.random.p_adjusted, found.alpha) or "-",
                format_p(row.fixed.p_adjusted, found.alpha) or "-",
                f"{row.wins} of {len(row.on)}",
                SHORT.get(row.verdict, row.verdict),
            )
        )
    columns = ("scheme", *(against or ["mean"]), "ratio" if found.relative else "difference", f"{level} interval",
               "p (further)", "p (these)", "won", "verdict")  # fmt: skip
    data = found.frame()
    data.insert(0, "table", title)
    return Table(
        title, columns, "l" + ("l" if against else "r") + "rrrrrl", tuple(rows),
        _notes(found, decimals, level, primary), frozenset(bold), data,
    )  # fmt: skip


def _difference(value: float, decimals: int, relative: bool) -> str:
    return f"{math.exp(value):.3f}" if relative else format_number(value, decimals)


def _interval(low: float, high: float, decimals: int, relative: bool) -> str:
    ends = (math.exp(low), math.exp(high)) if relative else (low, high)
    return format_interval(*ends, 3 if relative else decimals) or "-"


def _notes(found: Across, decimals: int, level: str, primary: str | None) -> tuple[str, ...]:
    notes = [_metric_note(found, primary), _test_note(found, level)]
    decided = [
        row for row in found.rows if row.verdict in ("better", "worse") and row.random.low <= 0 <= row.random.high
    ]
    if decided:
        notes.append(
            f"For {', '.join(_name(found, row) for row in decided)} the interval contains 0 because it holds for all"
            " rows together (Bonferroni), which is stricter than Holm's test."
        )
    spread = [
        f"{_name(found, row)} {format_number(row.sd_between, decimals) or '-'} and"
        f" {format_number(row.sd_within, decimals) or '-'}"
        for row in found.rows[:MOST_NAMED]
    ]
    logs = "logarithmic ratio" if found.relative else "difference"
    notes.append(
        f"Standard deviation of a {logs} between values of {found.by}, and over seeds within one: {'; '.join(spread)}."
    )
    boots = [
        f"{_name(found, row)} {_interval(row.boot_low, row.boot_high, decimals, found.relative)}"
        for row in found.rows[:MOST_NAMED]
    ]
    alone = " for each row alone" if len(found.rows) > 1 else ""
    notes.append(f"Bootstrap over values of {found.by} and seeds, {level}{alone}: {'; '.join(boots)}.")
    if found.omnibus is not None and not math.isnan(found.omnibus.p_f):
        notes.append(_ranks(found, found.omnibus))
    failed = [f"{name} {count}" for name, _, count in found.schemes if count]
    if failed:
        notes.append(f"Failed runs: {', '.join(failed)}.")
    if any(row.verdict == "not judged" for row in found.rows):
        notes.append("Not judged: the scheme's setting was chosen by these very scores, which biases them.")
    return (*notes, *(f"{note[0].upper()}{note[1:]}." for note in found.notes))


def _name(found: Across, row: AcrossPair) -> str:
    return row.scheme if found.baseline else f"{row.scheme}/{row.reference}"


def _metric_note(found: Across, primary: str | None) -> str:
    what = {None: "Metric", found.metric: "Primary metric"}.get(primary, "Secondary metric")
    other = f" The primary metric is {primary}; no correction covers both." if what == "Secondary metric" else ""
    better = "higher" if found.higher_is_better else "lower"
    names, sizes = [one.name for one in found.rows[0].on], sorted({one.n for one in found.rows[0].on})
    n = f"n = {sizes[0]}" if len(sizes) == 1 else f"n = {sizes[0]} to {sizes[-1]}"
    minus = f"scheme minus {found.baseline}" if found.baseline else "first minus second scheme"
    difference = f"Difference: mean over values of {found.by} of {minus}"
    if found.relative:
        over = f"scheme to {found.baseline}" if found.baseline else "first to second scheme"
        difference = f"Ratio: geometric mean over values of {found.by} of {over}"
    return (
        f"{what}: {found.metric} ({better} is better), over {len(names)} values of {found.by} ({', '.join(names)})."
        f"{other} {difference}, paired by seed, {n} seeds for each value."
    )


def _test_note(found: Across, level: str) -> str:
    many = len(found.rows)
    simultaneous, corrected = (
        ("simultaneous ", f" Both Holm-corrected over {many} comparisons.") if many > 1 else ("", "")
    )
    return (
        f"p (further) and the {simultaneous}{level} interval: t-test for further values of {found.by} like these, with"
        f" seeds drawn anew; it decides the verdict. p (these): t-test for these values alone, over further seeds."
        f"{corrected}"
    )


def _ranks(found: Across, omnibus: Friedman) -> str:
    order = np.argsort(omnibus.mean_ranks, kind="stable")
    ranks = ", ".join(f"{found.schemes[i][0]} {omnibus.mean_ranks[i]:.2f}" for i in order)
    return (
        f"Friedman's test of the ranks on each value of {found.by} (Demsar 2006): p"
        f" {format_p(omnibus.p_f, found.alpha)}. Mean ranks: {ranks}; Nemenyi's critical difference"
        f" {found.critical_difference:.2f}. Ranks take these values as independent, which settings with the same seeds"
        " are not."
    )
