"""The table of the standing of schemes over crossed worlds, data sets and seeds."""

from jfed.comparisons.standings import Standing, Standings
from jfed.report.columns import SHORT
from jfed.report.digits import format_p
from jfed.report.tables import Table
from jfed.stats.numerals import decimals_for, format_interval, format_number


def standings_table(found: Standings, title: str) -> Table:
    """Lay out each scheme's mean, its difference to the baseline and its mean rank, best mean rank first.

    Args:
        found: from `jfed.analysis.standings`.
        title: title, which must name the metric and what was compared.
    """
    decimals = decimals_for([row.se for row in found.rows if row.se > 0])  # intervals are wide where levels are few
    rows, bold = [], set()
    for row in found.rows:
        if row.verdict == "better":
            bold.add((len(rows), 5))
        rows.append((row.scheme, format_number(row.mean, decimals), *_difference(row, found, decimals), *_rank(row)))
    level = f"{100 * (1 - found.alpha):g} %"
    columns = (
        "scheme", "mean", "difference", f"{level} interval", "p", "verdict", "mean rank", f"{level} of rank",
        f"best {found.best}", "won",
    )  # fmt: skip
    data = found.frame()
    data.insert(0, "table", title)
    return Table(title, columns, "lrrrrlrrrr", tuple(rows), _notes(found, level), frozenset(bold), data)


def _difference(row: Standing, found: Standings, decimals: int) -> tuple[str, str, str, str]:
    if row.scheme == found.baseline:
        return "-", "-", "-", "baseline"
    return (
        format_number(row.difference, decimals),
        format_interval(row.low, row.high, decimals) or "-",
        format_p(row.p_adjusted, found.alpha) or "-",
        SHORT.get(row.verdict, row.verdict),
    )


def _rank(row: Standing) -> tuple[str, str, str, str]:
    return (
        f"{row.rank:.1f}",
        f"{row.rank_low:.1f} to {row.rank_high:.1f}",
        f"{100 * row.among_best:.0f} %",
        f"{row.wins}",
    )


def _notes(found: Standings, level: str) -> tuple[str, ...]:
    better = "higher" if found.higher_is_better else "lower"
    sizes = ", ".join(f"{many} of {name}" for name, many in found.factors)
    cells = 1
    for _, many in found.factors[:-1]:
        cells *= many
    others = len(found.rows) - 1
    drawn = " and ".join([", ".join(name for name, _ in found.factors[:-1]), found.factors[-1][0]])
    notes = [
        f"Metric: {found.metric} ({better} is better), over all combinations of levels ({sizes}). Difference: scheme"
        f" minus {found.baseline}, mean over all of them.",
        f"p, the simultaneous {level} interval and the verdict are for further levels of every factor ({drawn}) like"
        f" these, which are crossed random effects; Holm's correction over {others} comparisons.",
        f"Mean rank: over {cells} cells (all factors but the seed), 1 is best; its interval is a bootstrap's over the"
        f" levels of every factor, for each scheme alone. Best {found.best}: share of its resamples in which the mean"
        f" rank is among the best {found.best}. Won: cells with the best mean.",
    ]
    single = [name for name, many in found.factors if many == 1]
    if single:
        notes.append(f"There is one level of {' and '.join(single)}: nothing is said about further ones.")
    failed = [f"{row.scheme} {row.failed}" for row in found.rows if row.failed]
    if failed:
        notes.append(f"Failed runs count with the worst score of their cell and seed: {', '.join(failed)}.")
    return tuple(notes)
