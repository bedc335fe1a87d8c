"""The table of a sweep: its points by their means, and how far each is behind the best."""

from typing import Any

from jfed.comparisons.comparison import UNDECIDED
from jfed.comparisons.ranking import BEST, RankedPoint, Ranking
from jfed.report.digits import is_noise, without_noise
from jfed.report.notes import PROCEDURES, TESTS
from jfed.report.tables import Table
from jfed.stats.numerals import decimals_for, format_interval, format_number, format_seeds

MOST_ROWS = 20  # of the printed table


def ranking_table(ranking: Ranking, title: str, most_rows: int = MOST_ROWS) -> Table:
    """Lay out the first points of a sweep; the means of the best, and of those not shown to be worse, are bold.

    Args:
        ranking: from `rank`.
        title: title, which must name the data set or world.
        most_rows: number of points that are shown; the table's data have all.
    """
    level, rows = f"{100 * (1 - ranking.alpha):g} %", ranking.rows[:most_rows]
    interval = f"{level} interval"
    decimals = decimals_for([row.summary.sd for row in rows if not is_noise(row.summary.sd, row.summary.mean)])
    axes = [name for name in ranking.axes if any(row.settings[name] != "" for row in rows)]
    failing = any(row.summary.failed for row in rows)
    cells = [_cells(i + 1, row, axes, decimals, failing) for i, row in enumerate(rows)]
    counts, data = ("n",) if failing else (), ranking.frame()
    mean = 2 + len(axes) + len(counts)
    data.insert(0, "table", title)
    return Table(
        title=title,
        columns=("rank", "scheme", *axes, *counts, "mean", interval, "behind", f"its {interval}", "standing"),
        align="rl" + "r" * (mean + 2) + "l",
        rows=tuple(cells),
        notes=_notes(ranking, level, most_rows),
        bold=frozenset((i, mean) for i, row in enumerate(rows) if row in ranking.best),
        data=data,
    )


def _cells(place: int, row: RankedPoint, axes: list[str], decimals: int, failing: bool) -> tuple[str, ...]:
    own = row.summary
    behind = without_noise(row.behind, decimals, own.mean) if row.behind == row.behind else row.behind
    return (
        str(place),
        row.scheme,
        *(_text(row.settings[name]) for name in axes),
        *([str(own.n)] if failing else []),
        format_number(own.mean, decimals) or "-",
        format_interval(own.low, own.high, decimals) or "-",
        format_number(behind, decimals) or "-",
        format_interval(row.low, row.high, decimals) or "-",
        row.standing,
    )


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value) or "-"


def _notes(ranking: Ranking, level: str, most_rows: int) -> tuple[str, ...]:
    points, found = len(ranking.rows), ranking.comparisons
    better = "higher" if ranking.higher_is_better else "lower"
    notes = [
        f"Metric: {ranking.metric} ({better} is better), mean over {ranking.seeds} seed{'s'[: ranking.seeds != 1]} of"
        f" each point, with its pointwise {level} t interval."
    ]
    if ranking.left_out:
        notes.append(f"{ranking.left_out} seeds that only some points have are left out.")
    if found is not None:
        group = len(ranking.best)
        corrected = f", {PROCEDURES[found.correction]}-corrected over {found.family}" if found.family > 1 else ""
        notes.append(
            f"Behind: mean minus that of the best, with a simultaneous {level} interval. Standing by the"
            f" {TESTS[found.test]} at {ranking.alpha:g}{corrected}."
        )
        if any(row.standing == "worse" and row.low <= 0 <= row.high for row in ranking.rows):
            notes.append("An interval of a worse point may contain 0: it is stricter than the test (Bonferroni).")
        if group:
            notes.append(f"Bold: {group} of {points} points, the best and those not shown to be worse.")
        unsure = sum(row.standing in UNDECIDED for row in ranking.rows)
        if unsure:
            notes.append(f"{unsure} of the points have no verdict, and may be as good as the best.")
        notes.append(
            f"The best of {points} points looks better here than on other seeds, since these chose it: a claim about it"
            " needs seeds of its own, as --tune-seeds leaves them."
        )
    if points > most_rows:
        notes.append(f"Shown: the first {most_rows} of {points} points. The CSV file has all.")
    failed = [row for row in ranking.rows if row.summary.failed]
    notes += [
        f"Failed runs of {row.scheme} {', '.join(f'{k} = {_text(v)}' for k, v in row.settings.items() if v != '')}:"
        f" seeds {format_seeds(row.summary.failed)}."
        for row in failed[:MOST_ROWS]
    ]
    if not found and not any(row.standing == BEST for row in ranking.rows):
        notes.append("Each point has failed runs: none is compared.")
    return tuple(notes)
