"""What a table says: comparisons and summaries as text, with the notes that make them honest."""

import math
from dataclasses import dataclass, field

import pandas as pd

from jfed.analysis.numerals import (
    decimals_for,
    format_interval,
    format_number,
    format_p,
    format_seeds,
)
from jfed.analysis.stats import Comparison, Comparisons, best_group
from jfed.analysis.summary import Summary


@dataclass(frozen=True)
class Table:
    """A table ready to be rendered (`jfed.analysis.formats`).

    `rows` are text as shown; `data` holds the same rows, with more columns, at full precision.
    `align` has one letter per column, "l" or "r". `bold` holds (row, column) positions.
    """

    title: str
    columns: tuple[str, ...]
    align: str
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    bold: frozenset[tuple[int, int]] = frozenset()
    data: pd.DataFrame = field(default_factory=pd.DataFrame, compare=False)


def comparisons_table(comparisons: Comparisons, title: str) -> Table:
    """Lay out paired comparisons.

    Bold, against a baseline: the verdict "better". Bold, for all pairs: the best scheme and those
    not shown to be worse (`best_group`).

    Args:
        comparisons: from `compare`.
        title: must name the data set or world.
    """
    rows, alpha = comparisons.rows, comparisons.alpha
    decimals = decimals_for([row.high - row.low for row in rows] + [row.sd for row in rows])
    level = f"{100 * (1 - alpha):g} %"
    all_pairs = comparisons.baseline is None
    equal_n = len({row.n for row in rows}) == 1

    columns = ["scheme", "against" if all_pairs else "mean", "n", "difference"]
    columns += [f"{level} interval", "p (t)", "p (W)", "won", "verdict"]
    align = ("ll" if all_pairs else "lr") + "rrrrrrl"
    cells = []
    for row in rows:
        second = row.reference if all_pairs else format_number(row.mean_scheme, decimals)
        interval = format_interval(row.low, row.high, decimals, row.open_at_zero)
        cells.append(
            [
                row.scheme,
                second,
                str(row.n),
                format_number(row.difference, decimals),
                interval or "-",
                format_p(row.p_t_holm, alpha) or "-",
                format_p(row.p_wilcoxon_holm, alpha) or _short(row.wilcoxon_note),
                "-" if math.isnan(row.share_won) else f"{100 * row.share_won:.0f} %",
                row.verdict,
            ]
        )
    if equal_n:  # the notes say it once
        columns.pop(2)
        align = align[:2] + align[3:]
        for line in cells:
            line.pop(2)

    if all_pairs:
        best = best_group(comparisons)
        bold = {(i, j) for i, line in enumerate(cells) for j in (0, 1) if line[j] in best}
    else:
        last = len(columns) - 1
        bold = {(i, last) for i, row in enumerate(rows) if row.verdict == "better"}
    return Table(
        title=title,
        columns=tuple(columns),
        align=align,
        rows=tuple(tuple(line) for line in cells),
        notes=_comparison_notes(comparisons, decimals, bool(bold)),
        bold=frozenset(bold),
        data=_titled(title, comparisons.frame()),
    )


def summary_table(summary: Summary, title: str, comparisons: Comparisons | None = None) -> Table:
    """Lay out each scheme's mean; with `comparisons`, the best and its equals are bold.

    Args:
        summary: from `summarise`.
        title: must name the data set or world.
        comparisons: all pairs on the same metric. Without them nothing is bold.

    Raises:
        ValueError: `comparisons` is about another metric.
    """
    if comparisons is not None and comparisons.metric != summary.metric:
        raise ValueError(f"the summary is about {summary.metric!r}, comparisons about {comparisons.metric!r}")
    level = f"{100 * (1 - summary.alpha):g} %"
    decimals = decimals_for([row.sd for row in summary.rows])
    cells = [
        (
            row.scheme,
            str(row.n),
            str(len(row.failed)),
            format_number(row.mean, decimals) or "-",
            format_number(row.sd, decimals) or "-",
            format_interval(row.low, row.high, decimals) or "-",
        )
        for row in summary.rows
    ]
    notes = [
        f"Metric: {summary.metric}. Mean and standard deviation over seeds; n: finished runs.",
        f"Interval: pointwise {level} t interval of each mean; it says nothing about differences.",
    ]
    notes += [
        f"Failed runs of {row.scheme}, left out: seeds {format_seeds(row.failed)}."
        for row in summary.rows
        if row.failed
    ]
    best = best_group(comparisons) if comparisons is not None else frozenset()
    if best and comparisons is not None:
        notes.append(_bold_note(comparisons))
    return Table(
        title=title,
        columns=("scheme", "n", "failed", "mean", "sd", f"{level} interval"),
        align="lrrrrr",
        rows=tuple(cells),
        notes=tuple(notes),
        bold=frozenset((i, 3) for i, row in enumerate(summary.rows) if row.scheme in best),
        data=_titled(title, summary.frame()),
    )


def _comparison_notes(comparisons: Comparisons, decimals: int, any_bold: bool) -> tuple[str, ...]:
    rows, alpha, baseline = comparisons.rows, comparisons.alpha, comparisons.baseline
    better = "higher" if comparisons.higher_is_better else "lower"
    sizes = sorted({row.n for row in rows})
    n = f"n = {sizes[0]}" if len(sizes) == 1 else f"n = {sizes[0]} to {sizes[-1]}"
    minus = f"scheme minus {baseline}" if baseline else "first minus second scheme"
    many = f"{len(rows)} comparison{'s' if len(rows) > 1 else ''}"
    notes = [
        f"Primary metric: {comparisons.metric} ({better} is better). Difference: {minus}, paired "
        f"by seed, {n} seeds. Won: share of seeds, ties half.",
        "p: two-sided paired t-test (t) and Wilcoxon signed-rank test (W), each Holm-corrected "
        f"over {'these ' if len(rows) > 1 else ''}{many}. Verdict: t-test at {alpha:g}.",
        f"Interval: simultaneous {100 * (1 - alpha):g} %, Bonferroni over {many}; a round bracket "
        "marks an end cut at 0 because Holm's test shows the sign.",
    ]
    if baseline:
        mean = next(mean for scheme, mean, _ in comparisons.schemes if scheme == baseline)
        notes.append(f"Mean of {baseline}: {format_number(mean, decimals) or 'no finished run'}.")
    if any_bold:
        notes.append(f"Bold: better than {baseline}." if baseline else _bold_note(comparisons))
    notes += _exceptions(rows)
    notes += [f"Failed runs of {scheme}: {text}." for scheme, text in _failures(rows).items()]
    return tuple(notes)


def _exceptions(rows: tuple[Comparison, ...]) -> list[str]:
    """What some row needs said about it, once."""
    notes = []
    needs = dict.fromkeys(row.wilcoxon_note for row in rows if row.wilcoxon_note)
    for need in needs:
        what = "a test" if need == "needs >= 2 seeds" else "the Wilcoxon test"
        notes.append(f"{_short(need)}: {what} {need}, for fewer cannot reach the level.")
    if any(not row.wilcoxon_exact and not math.isnan(row.p_wilcoxon) for row in rows):
        notes.append("Some Wilcoxon p-values are normal approximations (ties, or n > 50).")
    if any(row.t_note == "constant difference" for row in rows):
        notes.append("No interval: the difference is constant; the Wilcoxon test decides there.")
    dropped = tuple(f"{row.num_dropped} ({row.scheme}, {row.reference})" for row in rows if row.num_dropped)
    if dropped:
        notes.append(f"Seeds that only one of the two has, left out: {format_seeds(dropped)}.")
    return notes


def _failures(rows: tuple[Comparison, ...]) -> dict[str, str]:
    failed = {row.reference: row.failed_reference for row in rows}
    failed |= {row.scheme: row.failed_scheme for row in rows}
    return {scheme: f"seeds {format_seeds(seeds)}" for scheme, seeds in failed.items() if seeds}


def _bold_note(comparisons: Comparisons) -> str:
    return (
        "Bold: the best mean, and all schemes not shown to be worse than it (Holm-corrected paired "
        f"t-test over {len(comparisons.rows)} comparisons at {comparisons.alpha:g})."
    )


def _short(note: str) -> str:
    """ "needs >= 8 seeds" as it fits a column of p-values."""
    return note.replace("needs ", "n ").replace(" seeds", "") or "-"


def _titled(title: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Rows that still say which table they are from when several files are stacked."""
    frame.insert(0, "table", title)
    return frame
