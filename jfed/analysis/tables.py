"""What a table says: comparisons and summaries as text, with the notes that make them honest."""

import math
from dataclasses import dataclass, field

import pandas as pd

from jfed.analysis.comparison import Comparison, Comparisons, best_group
from jfed.analysis.numerals import (
    decimals_for,
    format_interval,
    format_number,
    format_p,
    format_seeds,
)
from jfed.analysis.omnibus import critical_difference
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
    flips = comparisons.test == "sign-flip"
    columns += [f"{level} interval", "p (t)", "p (F)" if flips else "p (W)", "won", "verdict"]
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
                format_p(row.p_t_adjusted, alpha) or "-",
                format_p(row.p_sign_flip_adjusted if flips else row.p_wilcoxon_adjusted, alpha)
                or _short(row.rank_note),
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
    rows, baseline = comparisons.rows, comparisons.baseline
    better = "higher" if comparisons.higher_is_better else "lower"
    sizes = sorted({row.n for row in rows})
    n = f"n = {sizes[0]}" if len(sizes) == 1 else f"n = {sizes[0]} to {sizes[-1]}"
    minus = f"scheme minus {baseline}" if baseline else "first minus second scheme"
    how = f"paired by seed, {n} seeds" if comparisons.paired else "of independent runs: the schemes share no seeds"
    won = "Won: share of seeds, ties half." if comparisons.paired else ""
    notes = [
        f"Primary metric: {comparisons.metric} ({better} is better). Difference: {minus}, {how}. {won}".rstrip(),
        _test_note(comparisons),
        _interval_note(comparisons),
    ]
    notes += [_pairing_note(rows)] if comparisons.paired else []
    notes += _omnibus_notes(comparisons)
    if baseline:
        mean = next(mean for scheme, mean, _ in comparisons.schemes if scheme == baseline)
        notes.append(f"Mean of {baseline}: {format_number(mean, decimals) or 'no finished run'}.")
    if any_bold:
        notes.append(f"Bold: better than {baseline}." if baseline else _bold_note(comparisons))
    notes += _exceptions(rows)
    notes += [f"Failed runs of {scheme}: {text}." for scheme, text in _failures(rows).items()]
    return tuple(notes)


TESTS = {"t": "t-test", "wilcoxon": "Wilcoxon test", "sign-flip": "sign-flip test"}
CORRECTED = {"holm": "Holm-corrected", "bh": "Benjamini-Hochberg-corrected"}


def _many(comparisons: Comparisons) -> str:
    return f"{len(comparisons.rows)} comparison{'s' if len(comparisons.rows) > 1 else ''}"


def _test_note(comparisons: Comparisons) -> str:
    tests = "paired t-test (t) and Wilcoxon signed-rank test (W)"
    if not comparisons.paired:
        tests = "Welch's t-test (t) and Mann-Whitney test (W)"
    elif comparisons.test == "sign-flip":
        tests = "paired t-test (t), sign-flip test of the mean (F)"
    these = "these " if len(comparisons.rows) > 1 else ""
    return (
        f"p: two-sided {tests}, each {CORRECTED[comparisons.correction]} over {these}{_many(comparisons)}."
        f" Verdict: {TESTS[comparisons.test]} at {comparisons.alpha:g}."
    )


def _interval_note(comparisons: Comparisons) -> str:
    level, many = f"{100 * (1 - comparisons.alpha):g} %", _many(comparisons)
    cut = "; a round bracket marks an end cut at 0 because the corrected test shows the sign"
    if comparisons.correction == "holm":
        return f"Interval: simultaneous {level}, Bonferroni over {many}{cut}."
    return f"Interval: {level} on average over the differences shown (false coverage rate), not simultaneous{cut}."


def _pairing_note(rows: tuple[Comparison, ...]) -> str:
    """What the common seeds were worth."""
    known = [(row.correlation, row.variance_saved) for row in rows if not math.isnan(row.correlation)]
    if not known:
        return "What pairing saves cannot be told: some scheme's scores never vary."
    correlations, shares = (sorted(column) for column in zip(*known, strict=True))
    spread = _range([f"{r:.2f}" for r in (correlations[0], correlations[-1])])
    saved = _range([f"{100 * share:.0f}" for share in (shares[0], shares[-1])])
    return (
        f"Pairing: two schemes' scores correlate by {spread} over seeds; it saves {saved} % of a difference's variance."
    )


def _range(ends: list[str]) -> str:
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _omnibus_notes(comparisons: Comparisons) -> list[str]:
    """Friedman's test, and how far mean ranks must lie apart."""
    found = comparisons.omnibus
    if found is None or comparisons.baseline is not None or math.isnan(found.p_f):
        return []
    names = [name for name, _, _ in comparisons.schemes]
    ranked = sorted(zip(found.mean_ranks, names, strict=True))
    ranks = ", ".join(f"{name} {r:.2f}" for r, name in ranked)
    cd = critical_difference(found.n, found.k, comparisons.alpha)
    return [
        f"Friedman's test (Iman-Davenport): F({found.df_f[0]}, {found.df_f[1]}) = {found.f:.3g}, p"
        f" {format_p(found.p_f, comparisons.alpha)}. Mean ranks: {ranks}; Nemenyi's critical difference {cd:.2f}.",
        "Seeds of one data set are not independent data sets: the ranks speak for this data set and its draws only.",
    ]


def _exceptions(rows: tuple[Comparison, ...]) -> list[str]:
    """What some row needs said about it, once."""
    notes = []
    needs = dict.fromkeys(row.rank_note for row in rows if row.rank_note)
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
        "Bold: the best mean, and all schemes not shown to be worse than it"
        f" ({CORRECTED[comparisons.correction]} {TESTS[comparisons.test]} over {_many(comparisons)} at"
        f" {comparisons.alpha:g})."
    )


def _short(note: str) -> str:
    """ "needs >= 8 seeds" as it fits a column of p-values."""
    return note.replace("needs ", "n ").replace(" seeds", "") or "-"


def _titled(title: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Rows that still say which table they are from when several files are stacked."""
    frame.insert(0, "table", title)
    return frame
