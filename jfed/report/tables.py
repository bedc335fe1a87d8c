"""Contents of tables: comparisons and summaries as text, with the notes that qualify them (`notes`)."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from jfed.comparisons.comparison import Comparisons, best_group
from jfed.comparisons.summary import Summary
from jfed.report.columns import COLUMNS, Name, Shown, default
from jfed.report.digits import is_noise, without_noise
from jfed.report.notes import bold_note, comparison_notes
from jfed.results.names import plain
from jfed.stats.numerals import decimals_for, format_interval, format_number, format_seeds


@dataclass(frozen=True)
class Table:
    """A table ready to be rendered (`jfed.report.formats`); control characters of names are not in it.

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

    def __post_init__(self) -> None:
        """Remove what would steer a terminal."""
        object.__setattr__(self, "title", plain(self.title))
        for name in ("columns", "notes"):
            object.__setattr__(self, name, tuple(map(plain, getattr(self, name))))
        object.__setattr__(self, "rows", tuple(tuple(map(plain, row)) for row in self.rows))


def comparisons_table(
    comparisons: Comparisons, title: str, *, columns: Sequence[Name] | None = None, primary: str | None = None
) -> Table:
    """Lay out a family of comparisons, with the baseline's own mean in a row of its own.

    Against a baseline the verdict "better" is bold; for all pairs, the best scheme and those not shown
    to be worse (`best_group`).

    Args:
        comparisons: from `compare`.
        title: title, which must name the data set or world.
        columns: names of the columns (`columns.COLUMNS`), beside those of schemes; by default `columns.default`.
        primary: the study's primary metric, for the notes; None if it is not told.

    Raises:
        ValueError: there is no such column.
    """
    rows = comparisons.rows
    chosen: tuple[Name, ...] = tuple(columns or default(comparisons))
    for name in chosen:
        if name not in COLUMNS:
            raise ValueError(f"no column {name!r}; there are {', '.join(COLUMNS)}")
    named: tuple[Name, ...] = ("scheme",) if comparisons.baseline else ("scheme", "against")
    chosen = (*(name for name in named if name not in chosen), *chosen)
    scales = [(scale, row) for row in rows for scale in (row.high - row.low, row.sd)]
    decimals = decimals_for(
        [scale for scale, row in scales if not is_noise(scale, row.mean_scheme, row.mean_reference)]
    )
    shown = Shown(comparisons, decimals)
    made = [COLUMNS[name] for name in chosen]
    cells = [[column.text(row, shown) or "-" for column in made] for row in rows]
    bold = _bold(comparisons, chosen)
    if comparisons.baseline is not None:
        # The mean on the seeds of most rows, which differ only where runs failed or are missing.
        most = max(rows, key=lambda row: row.n_reference)
        cells.insert(0, [column.own(most, shown) or "-" for column in made])
        bold = {(i + 1, j) for i, j in bold}
    data = comparisons.frame()
    for column in made:
        more = [column.numbers(row, shown) for row in rows]
        data = data.assign(**{name: [numbers[name] for numbers in more] for name in more[0]})
    return Table(
        title=title,
        columns=tuple(column.head(shown) for column in made),
        align="".join(column.align for column in made),
        rows=tuple(map(tuple, cells)),
        notes=comparison_notes(comparisons, decimals, bool(bold), chosen, primary),
        bold=frozenset(bold),
        data=_titled(title, data),
    )


def _bold(comparisons: Comparisons, columns: Sequence[Name]) -> set[tuple[int, int]]:
    rows = list(enumerate(comparisons.rows))
    if comparisons.baseline is not None:
        return {(i, j) for i, row in rows for j, name in enumerate(columns)
                if name == "verdict" and row.verdict == "better"}  # fmt: skip
    best = best_group(comparisons)
    named = {"scheme": "scheme", "against": "reference"}
    return {(i, j) for i, row in rows for j, name in enumerate(columns)
            if name in named and getattr(row, named[name]) in best}  # fmt: skip


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


def _titled(title: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the table's title as first column, which tells stacked files apart."""
    frame.insert(0, "table", title)
    return frame
