"""The notes below a table of comparisons: the metric, the tests and intervals used, and what the seeds can show."""

import math
from collections.abc import Sequence

from jfed.comparisons.comparison import Comparison, Comparisons
from jfed.report.digits import format_p
from jfed.report.exceptions import approximations, exceptions, name_of
from jfed.stats.numerals import format_number
from jfed.stats.omnibus import FEW, Friedman, critical_difference
from jfed.stats.power import detectable, seeds_for

TESTS = {"t": "t-test", "wilcoxon": "Wilcoxon test", "sign-flip": "sign-flip test"}
PROCEDURES = {"holm": "Holm", "bh": "Benjamini-Hochberg"}
SPENDING = {"obrien-fleming": "O'Brien-Fleming-like", "pocock": "Pocock-like"}
MOST_WANTED = 500  # seeds; an estimate of more says only that there are too many
HUGE = 3.0  # standard deviations (d_z): seeds that do not show such a difference show hardly anything
MOST_NAMED = 8  # schemes that a note names


def comparison_notes(
    comparisons: Comparisons, decimals: int, any_bold: bool, columns: Sequence[str], primary: str | None = None
) -> tuple[str, ...]:
    """Return all notes, the metric and the tests first.

    Args:
        comparisons: from `compare`.
        decimals: decimals of the metric in the table.
        any_bold: whether something in the table is bold.
        columns: names of the table's columns.
        primary: the study's primary metric, None if the table is not told.
    """
    baseline = comparisons.baseline
    notes = [
        _metric_note(comparisons, columns, primary),
        _test_note(comparisons, columns),
        _interval_note(comparisons),
        *_plan_notes(comparisons),
        *_margin_notes(comparisons, decimals),
        *_own_levels(columns),
        *_pairing_notes(comparisons),
        *_omnibus_notes(comparisons),
        *_means(comparisons, decimals),
    ]
    if any_bold:
        notes.append(f"Bold: better than {baseline}." if baseline else bold_note(comparisons))
    notes += [*_power_notes(comparisons), *approximations(comparisons)]
    return (*notes, *exceptions(comparisons), *comparisons.remarks)


def _many(comparisons: Comparisons) -> str:
    return f"{comparisons.family} comparison{'s' if comparisons.family > 1 else ''}"


def _metric_note(comparisons: Comparisons, columns: Sequence[str], primary: str | None) -> str:
    metric, better = comparisons.metric, "higher" if comparisons.higher_is_better else "lower"
    sizes = sorted({row.n for row in comparisons.rows})
    n = f"n = {sizes[0]}" if len(sizes) == 1 else f"n = {sizes[0]} to {sizes[-1]}"
    what = {None: "Metric", metric: "Primary metric"}.get(primary, "Secondary metric")
    other = f" The primary metric is {primary}; no correction covers both." if what == "Secondary metric" else ""
    minus = f"scheme minus {comparisons.baseline}" if comparisons.baseline else "first minus second scheme"
    unit = ("seed" if comparisons.design == "paired" else "run") + ("" if sizes == [1] else "s")
    how = f"paired by seed, {n} {unit}" if comparisons.paired else "of independent runs, not paired by seed"
    won = " Won: share of seeds, ties counted half." if "won" in columns else ""
    return f"{what}: {metric} ({better} is better).{other} Difference: {minus}, {how}.{won}"


def _test_note(comparisons: Comparisons, columns: Sequence[str]) -> str:
    names = {
        "p-t": "paired t-test (t)" if comparisons.paired else "Welch's t-test (t)",
        "p-wilcoxon": "Wilcoxon signed-rank test (W)" if comparisons.paired else "Mann-Whitney test (W)",
        "p-sign-flip": "sign-flip test (S)",
    }
    if comparisons.paired and comparisons.design != "paired":
        names["p-t"] = f"t-test with the standard error of {comparisons.design} seeds (t)"
    tests = " and ".join(name for column, name in names.items() if column in columns)
    shown = " (not shown: no difference shown)" if any("shown" in row.verdict for row in comparisons.rows) else ""
    these = "these " if len(comparisons.rows) > 1 else ""
    more = ", of which this table has a part" if comparisons.family > len(comparisons.rows) else ""
    corrected = f"{PROCEDURES[comparisons.correction]}-corrected over {these}{_many(comparisons)}{more}"
    corrected = "" if comparisons.family == 1 else f", each {corrected}" if tests else f" {corrected}"
    return (
        f"p: two-sided{' ' if tests else ''}{tests}{corrected}."
        f" Verdict by the {TESTS[comparisons.test]} at {comparisons.alpha:g}{shown}."
    )


def _interval_note(comparisons: Comparisons) -> str:
    level, many = f"{100 * (1 - comparisons.alpha):g} %", _many(comparisons)
    of = "difference of the means"
    if comparisons.test == "wilcoxon":
        of = "median of all averages of two differences (Hodges-Lehmann), which the Wilcoxon test is about"
        if not comparisons.paired:
            of = "median of all differences of two runs (Hodges-Lehmann), which the Mann-Whitney test is about"
    how = f"simultaneous {level}, Bonferroni over {many}" if comparisons.family > 1 else level
    if comparisons.correction == "bh":
        how = f"{level} on average over the differences shown (false coverage rate), not simultaneous"
    note = f"Interval: {how}; of the {of}."
    decided = [row for row in comparisons.rows if row.verdict in ("better", "worse") and row.low <= 0 <= row.high]
    if decided:
        names = _listed([name_of(comparisons, row) for row in decided])
        stricter = "which is stricter than Holm's test" if comparisons.correction == "holm" else "unlike the test"
        note += f" For {names} the interval contains 0 because it holds for all rows together (Bonferroni), {stricter}."
    return note


def _plan_notes(comparisons: Comparisons) -> list[str]:
    """Return what p-values and intervals hold for beside a single look at the data."""
    if comparisons.anytime:
        return [
            "p (t) and intervals are always valid (a confidence sequence): they hold at every number of seeds, taken in"
            " order, however often one looks and whenever one stops."
        ]
    if not comparisons.looks:
        return []
    reached = max(len(row.looked) for row in comparisons.rows)
    here = f"the looks up to {comparisons.looks[reached - 1]}" if reached else "none of them yet"
    return [
        f"Planned looks at {', '.join(map(str, comparisons.looks))} seeds, {SPENDING[comparisons.spending]} spending;"
        f" this table has {here}. p and intervals are corrected for all looks so far; what was"
        " shown at a look stays shown."
    ]


def _margin_notes(comparisons: Comparisons, decimals: int) -> list[str]:
    if comparisons.margin is None:
        return []
    margin = format_number(comparisons.margin, decimals)
    small = [r for r in comparisons.rows if r.verdict in ("better", "worse") and r.p_equal_adjusted < comparisons.alpha]
    note = (
        f"Margin: {margin}. Equal within margin: two one-sided t-tests exclude a difference of the margin or more on"
        " either side; not worse: on the worse side; open: otherwise. Whether schemes differ, are equal, or not worse"
        f" are three questions, each {PROCEDURES[comparisons.correction]}-corrected by itself."
    )
    if small:
        note += f" The difference is shown to be smaller than the margin: {_listed([r.scheme for r in small])}."
    return [note]


def _own_levels(columns: Sequence[str]) -> list[str]:
    names = [head for name, head in (("d_z", "d_z"), ("a12", "A12"), ("iqm", "IQM")) if name in columns]
    return [f"Intervals of {' and '.join(names)} hold for each row alone (pointwise), at one look."] if names else []


def _pairing_notes(comparisons: Comparisons) -> list[str]:
    """Return how much variance pairing by seed saves."""
    rows = comparisons.rows
    if comparisons.design != "paired" or max(row.n for row in rows) < 2:
        return []
    known = [(row.correlation, row.variance_saved) for row in rows if not math.isnan(row.correlation)]
    if not known:
        return ["Pairing: no correlation is defined, since some scheme's scores never vary."]
    correlations, shares = (sorted(column) for column in zip(*known, strict=True))
    spread = _range([f"{r:z.2f}" for r in (correlations[0], correlations[-1])])
    saved = _range([f"{100 * share:z.0f}" for share in (shares[0], shares[-1])])
    return [
        f"Pairing: two schemes' scores correlate by {spread} over seeds; it saves {saved} % of a difference's variance."
    ]


def _range(ends: list[str]) -> str:
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _omnibus_notes(comparisons: Comparisons) -> list[str]:
    """Return Friedman's test and the critical difference of mean ranks."""
    found = comparisons.omnibus
    if found is None or comparisons.baseline is not None or math.isnan(found.p_f):
        return []
    names = [name for name, _, _ in comparisons.schemes]
    ranked = sorted(zip(found.mean_ranks, names, strict=True))
    ranks = ", ".join(f"{name} {r:.2f}" for r, name in ranked)
    cd = critical_difference(found.n, found.k, comparisons.alpha)
    statistic = f"F({found.df_f[0]}, {found.df_f[1]}) = {found.f:.3g}" if math.isfinite(found.f) else _degenerate(found)
    how = "Iman-Davenport" if found.n >= FEW else "p by permutation"
    return [
        f"Friedman's test ({how}): {statistic}, p"
        f" {format_p(found.p_f, comparisons.alpha)}. Mean ranks: {ranks}; Nemenyi's critical difference {cd:.2f}.",
        "Seeds of one data set are not independent data sets: the ranks hold for this data set and its draws only.",
    ]


def _degenerate(found: Friedman) -> str:
    return found.note or "all seeds rank the schemes alike"


def _means(comparisons: Comparisons, decimals: int) -> list[str]:
    """Return each scheme's mean and standard deviation where a row has two schemes."""
    if comparisons.baseline is not None:
        several = len({row.mean_reference for row in comparisons.rows if not math.isnan(row.mean_reference)}) > 1
        return ["Rows have different seeds: a difference is not that of the two means above it."] if several else []
    own: dict[str, tuple[float, float]] = {}
    for row in comparisons.rows:
        own.setdefault(row.scheme, (row.mean_scheme, row.sd_scheme))
        own.setdefault(row.reference, (row.mean_reference, row.sd_reference))
    words = [
        f"{name} {format_number(m, decimals) or '-'} ({format_number(sd, decimals) or '-'})"
        for name, (m, sd) in own.items()
    ]
    return [f"Mean (sd) of each scheme: {_listed(words, 30)}."]


def power_note(comparisons: Comparisons) -> str:
    """Return the sentence on the differences that these seeds can show, "" if all differences are shown."""
    rows = _open(comparisons)
    if not rows:
        return ""
    row = min(rows, key=lambda row: row.n)
    least, test = detectable(row.n, alpha=row.next_alpha, test=row.decided_by), TESTS[row.decided_by]
    if least > HUGE:
        return (
            f"Power: with {row.n} seeds the {test}, corrected as here, can show hardly anything: it misses even a"
            f" difference of {HUGE:g} standard deviations (d_z) with a probability above 20 %."
        )
    return (
        f"Power: with {row.n} seeds the {test}, corrected as here, shows a difference of {least:.2f} standard"
        " deviations (d_z) with a probability of 80 %."
    )


def _power_notes(comparisons: Comparisons) -> list[str]:
    """Return the effect that these seeds can show, and the seeds that the differences not shown would need."""
    rows = _open(comparisons)
    if not rows:
        return []
    wanted = [f"{name_of(comparisons, row)} {_seeds_wanted(row)}" for row in rows[:MOST_NAMED]]
    more = f" and {len(rows) - MOST_NAMED} more" if len(rows) > MOST_NAMED else ""
    return [
        f"{power_note(comparisons)} If the differences not shown are as large as they look, new runs need this many"
        f" seeds to show them: {', '.join(wanted)}{more}."
    ]


def _open(comparisons: Comparisons) -> list[Comparison]:
    """Return the rows whose differences are not shown; none where power is not that of a single look at pairs."""
    words = ("no difference shown", "open")
    single = comparisons.design == "paired" and not comparisons.anytime and not comparisons.looks
    return [row for row in comparisons.rows if single and row.verdict in words and not math.isnan(row.d_z)]


def _seeds_wanted(row: Comparison) -> str:
    try:
        wanted = seeds_for(row.d_z, alpha=row.next_alpha, test=row.decided_by)
    except ValueError:  # d_z is 0, or too small for any number of seeds tried
        return f"> {MOST_WANTED}"
    return str(wanted) if wanted <= MOST_WANTED else f"> {MOST_WANTED}"


def bold_note(comparisons: Comparisons) -> str:
    """Return the meaning of bold where the best group is bold."""
    return (
        "Bold: the best mean, and all schemes not shown to be worse than it"
        f" ({PROCEDURES[comparisons.correction]}-corrected {TESTS[comparisons.test]} over {_many(comparisons)} at"
        f" {comparisons.alpha:g})."
    )


def _listed(names: list[str], most: int = MOST_NAMED) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
