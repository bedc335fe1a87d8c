"""Contents of tables: comparisons and summaries as text, with the notes that qualify them (`notes`)."""

import math
from dataclasses import dataclass, field

import pandas as pd

from jfed.report.digits import format_p, is_noise, without_noise
from jfed.report.notes import bold_note, comparison_notes, short
from jfed.stats.comparison import Comparison, Comparisons, best_group
from jfed.stats.numerals import decimals_for, format_interval, format_number, format_seeds
from jfed.stats.summary import Summary

SHORT = {"no difference shown": "not shown"}  # in the column of verdicts


@dataclass(frozen=True)
class Table:
    """A table ready to be rendered (`jfed.report.formats`).

    Attributes:
        title: title, in one line.
        columns: names of the columns.
        align: one letter per column, "l" or "r".
        rows: cells as shown.
        notes: sentences below the table.
        bold: (row, column) positions of bold cells.
        data: numbers behind the rows at full precision, with more columns.
    """

    title: str
    columns: tuple[str, ...]
    align: str
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    bold: frozenset[tuple[int, int]] = frozenset()
    data: pd.DataFrame = field(default_factory=pd.DataFrame, compare=False)


def comparisons_table(comparisons: Comparisons, title: str) -> Table:
    """Lay out a family of comparisons.

    Against a baseline the verdict "better" is bold; for all pairs, the best scheme and those not shown
    to be worse (`best_group`).

    Args:
        comparisons: from `compare`.
        title: title, which must name the data set or world.
    """
    rows, alpha = comparisons.rows, comparisons.alpha
    scales = [(scale, row) for row in rows for scale in (row.high - row.low, row.sd)]
    decimals = decimals_for([scale for scale, row in scales if not is_noise(scale, *_scores(row))])
    level = f"{100 * (1 - alpha):g} %"
    all_pairs = comparisons.baseline is None
    equal_n = comparisons.paired and len({row.n for row in rows}) == 1

    columns = ["scheme", "against" if all_pairs else "mean", "n", "difference"]
    flips = comparisons.test == "sign-flip"
    columns += [f"{level} interval", "p (t)", "p (F)" if flips else "p (W)", "won", "verdict"]
    align = ("ll" if all_pairs else "lr") + "rrrrrrl"
    cells = []
    for row in rows:
        second = row.reference if all_pairs else format_number(row.mean_scheme, decimals)
        decided = row.verdict in ("better", "worse")
        known = () if decided else _scores(row)  # a sign that the verdict needs stays visible
        difference, low, high = (without_noise(x, decimals, *known) for x in (row.difference, row.low, row.high))
        interval = format_interval(low, high, decimals, row.open_at_zero)
        cells.append(
            [
                row.scheme,
                second,
                str(row.n) if comparisons.paired else f"{row.n}, {row.n_reference}",
                format_number(difference, decimals),
                interval or "-",
                format_p(row.p_t_adjusted, alpha) or "-",
                format_p(row.p_sign_flip_adjusted if flips else row.p_wilcoxon_adjusted, alpha) or short(row.rank_note),
                "-" if math.isnan(row.share_won) else f"{100 * row.share_won:.0f} %",
                SHORT.get(row.verdict, row.verdict),
            ]
        )
    if equal_n:  # n is in the notes
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
        notes=comparison_notes(comparisons, decimals, bool(bold)),
        bold=frozenset(bold),
        data=_titled(title, comparisons.frame()),
    )


def summary_table(summary: Summary, title: str, comparisons: Comparisons | None = None) -> Table:
    """Lay out each scheme's mean and interval; with `comparisons`, the best group's means are bold.

    Args:
        summary: from `summarise`.
        title: title, which must name the data set or world.
        comparisons: all pairs on the same metric. Without them nothing is bold.

    Raises:
        ValueError: `comparisons` is about another metric.
    """
    if comparisons is not None and comparisons.metric != summary.metric:
        raise ValueError(f"the summary is about {summary.metric!r}, comparisons about {comparisons.metric!r}")
    level = f"{100 * (1 - summary.alpha):g} %"
    decimals = decimals_for([row.sd for row in summary.rows if not is_noise(row.sd, row.mean)])
    cells = [
        (
            row.scheme,
            str(row.n),
            str(len(row.failed)),
            format_number(row.mean, decimals) or "-",
            format_number(without_noise(row.sd, decimals, row.mean), decimals) or "-",
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
        notes.append(bold_note(comparisons))
    return Table(
        title=title,
        columns=("scheme", "n", "failed", "mean", "sd", f"{level} interval"),
        align="lrrrrr",
        rows=tuple(cells),
        notes=tuple(notes),
        bold=frozenset((i, 3) for i, row in enumerate(summary.rows) if row.scheme in best),
        data=_titled(title, summary.frame()),
    )


def _scores(row: Comparison) -> tuple[float, float]:
    return row.mean_scheme, row.mean_reference


def _titled(title: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the table's title as first column, which tells stacked files apart."""
    frame.insert(0, "table", title)
    return frame
