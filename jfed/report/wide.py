"""The wide table of papers: schemes in rows, settings in columns, in each cell a mean and what is shown of it."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from jfed.comparisons.comparison import UNDECIDED, Comparisons
from jfed.report.digits import without_noise
from jfed.report.exceptions import approximations, exceptions
from jfed.report.notes import PROCEDURES, TESTS, power_note
from jfed.report.tables import Table
from jfed.results.meaning import axis, possible
from jfed.stats.numerals import decimals_for, format_number

MOST_NAMED = 4  # columns that a note names
BETTER, WORSE, NO_VERDICT = "⁺", "⁻", " ?"


class _Cell(NamedTuple):
    mean: float
    sd: float
    verdict: str = ""


def wide_table(columns: Mapping[str, Comparisons], title: str, *, name: str | None = None) -> Table:
    """Lay out the means of all schemes in several settings, the baseline first, and what is shown against it.

    Accuracies and other shares are in percent.

    Args:
        columns: heading of each setting, such as "iid, fedavg", to its comparisons, all with one baseline. Those of
            `compare_levels` are corrected together; others each by themselves, which the notes say.
        title: title, which must name the data set or world.
        name: the metric in words, with its unit; by default those of a variable (`jfed.results.meaning`).

    Raises:
        ValueError: there are no columns, or they have no common baseline.
    """
    baselines = {found.baseline for found in columns.values()}
    baseline = next(iter(baselines), None)
    if len(baselines) != 1 or baseline is None:
        raise ValueError("a wide table needs at least one column, and the same baseline in all of them")
    cells = {heading: _cells(found) for heading, found in columns.items()}
    schemes = list(dict.fromkeys(scheme for found in cells.values() for scheme in found))
    texts, shares = {}, []
    for heading, found in columns.items():
        percent = _is_share(found)
        shares.append(percent)
        texts[heading] = _texts(cells[heading], 100.0 if percent else 1.0)
    marked = [
        (i, j + 1)
        for i, scheme in enumerate(schemes)
        for j, found in enumerate(cells.values())
        if scheme in found and found[scheme].verdict == "better"
    ]
    frames = [found.frame().assign(column=heading) for heading, found in columns.items()]
    data = pd.concat(frames, ignore_index=True)
    data.insert(0, "column", data.pop("column"))
    data.insert(0, "table", title)
    return Table(
        title=title,
        columns=("scheme", *columns),
        align="l" + "r" * len(columns),
        rows=tuple((scheme, *(found.get(scheme, "-") for found in texts.values())) for scheme in schemes),
        notes=(_about(columns, name, shares), _family(columns, baseline), *_power(columns), *_exceptions(columns)),
        bold=frozenset(marked),
        data=data,
    )


def _cells(found: Comparisons) -> dict[str, _Cell]:
    """Return the cell of each scheme, the baseline's first."""
    most = max(found.rows, key=lambda row: row.n_reference)
    own = {most.reference: _Cell(most.mean_reference, most.sd_reference)}
    return own | {row.scheme: _Cell(row.mean_scheme, row.sd_scheme, row.verdict) for row in found.rows}


def _is_share(found: Comparisons) -> bool:
    """Return whether the metric is a share in [0, 1]."""
    scores = [one for row in found.rows for one in (row.scores_scheme, row.scores_reference)]
    return possible(found.metric, *map(np.asarray, scores)) == (0.0, 1.0)


def _texts(cells: Mapping[str, _Cell], unit: float) -> dict[str, str]:
    sds = [unit * cell.sd for cell in cells.values() if cell.sd > 0]
    decimals = decimals_for([float(np.median(sds))] if sds else [])
    if unit != 1:
        decimals = max(1, decimals - 1) if sds else 1
    elif not sds and all(cell.mean == round(cell.mean) for cell in cells.values() if not np.isnan(cell.mean)):
        decimals = 0
    marks = {"better": BETTER, "worse": WORSE} | dict.fromkeys(UNDECIDED, NO_VERDICT)
    return {
        scheme: _text(unit * cell.mean, unit * cell.sd, decimals) + marks.get(cell.verdict, "")
        for scheme, cell in cells.items()
    }


def _text(mean: float, sd: float, decimals: int) -> str:
    if np.isnan(mean):
        return "-"
    spread = "" if np.isnan(sd) else f" ± {format_number(without_noise(sd, decimals, mean), decimals)}"
    return format_number(mean, decimals) + spread


def _about(columns: Mapping[str, Comparisons], name: str | None, shares: list[bool]) -> str:
    found = list(columns.values())
    metrics = [name] if name else list(dict.fromkeys(axis(one.metric) for one in found))
    sizes = sorted({size for one in found for row in one.rows for size in (row.n, row.n_reference)})
    n = " to ".join(map(str, dict.fromkeys((sizes[0], sizes[-1]))))
    better = {one.higher_is_better for one in found}
    which = "" if len(better) > 1 else f" ({'higher' if better.pop() else 'lower'} is better)"
    unit = ", in %" if all(shares) else ", shares in %" if any(shares) else ""
    spread = "mean ± standard deviation" if sizes[-1] > 1 else "value"
    return f"{'; '.join(metrics)}{which}{unit}: {spread} over n = {n} {'seeds' if sizes[-1] > 1 else 'seed'}."


def _family(columns: Mapping[str, Comparisons], baseline: str) -> str:
    found = list(columns.values())
    rules = sorted({f"{TESTS[one.test]} at {one.alpha:g}, {PROCEDURES[one.correction]}-corrected" for one in found})
    total, sizes = sum(len(one.rows) for one in found), sorted({one.family for one in found})
    over = f"over all {total} comparisons of this table"
    if sizes != [total]:
        own = all(one.family == len(one.rows) for one in found)
        over = "each column by itself" if own else f"in families of {', '.join(map(str, sizes))} comparisons"
        over += ", so that the whole table has more false marks"
    several = any(row.verdict in UNDECIDED for one in found for row in one.rows)
    unjudged = (
        " ?: no verdict: too few seeds, failed or missing runs, or a setting that these scores chose."
        if several
        else ""
    )
    return (
        f"{BETTER}, bold: shown to be better than {baseline}; {WORSE}: shown to be worse; {'; '.join(rules)} {over}."
        f" No mark: no difference shown, which does not mean that there is none.{unjudged}"
    )


def _power(columns: Mapping[str, Comparisons]) -> list[str]:
    """Return what the fewest seeds can show."""
    by_seeds = sorted(columns.values(), key=lambda found: min(row.n for row in found.rows))
    return list(filter(None, map(power_note, by_seeds)))[:1]


def _exceptions(columns: Mapping[str, Comparisons]) -> list[str]:
    """Return the remarks on rows, each once, after the columns that it holds for unless it holds for all."""
    holds: dict[str, list[str]] = {}
    for heading, found in columns.items():
        of_test = [] if found.test == "t" else approximations(found)  # the t-test's table prints no p by ranks
        for note in (*of_test, *exceptions(found), *found.remarks):
            holds.setdefault(note, []).append(heading)
    return [_where(headings, len(columns)) + note for note, headings in holds.items()]


def _where(headings: list[str], total: int) -> str:
    if len(headings) == total:
        return ""
    return f"{'; '.join(headings)}: " if len(headings) <= MOST_NAMED else f"{len(headings)} of {total} columns: "
