"""The notes below a table of comparisons: the tests used, and remarks on particular rows."""

import math

from jfed.report.digits import format_p
from jfed.stats.comparison import Comparison, Comparisons
from jfed.stats.numerals import format_number, format_seeds
from jfed.stats.omnibus import FEW, Friedman, critical_difference
from jfed.stats.power import MOST_SEEDS, detectable

TESTS = {"t": "t-test", "wilcoxon": "Wilcoxon test", "sign-flip": "sign-flip test"}
CORRECTED = {"holm": "Holm-corrected", "bh": "Benjamini-Hochberg-corrected"}


def comparison_notes(comparisons: Comparisons, decimals: int, any_bold: bool) -> tuple[str, ...]:
    """Return all notes, the metric and the tests first.

    Args:
        comparisons: from `compare`.
        decimals: decimals of the metric in the table.
        any_bold: whether something in the table is bold.
    """
    rows, baseline = comparisons.rows, comparisons.baseline
    better = "higher" if comparisons.higher_is_better else "lower"
    sizes = sorted({row.n for row in rows})
    n = f"n = {sizes[0]}" if len(sizes) == 1 else f"n = {sizes[0]} to {sizes[-1]}"
    minus = f"scheme minus {baseline}" if baseline else "first minus second scheme"
    how = f"paired by seed, {n} seeds" if comparisons.paired else "of independent runs, not paired by seed"
    won = "Won: share of seeds, ties counted half." if comparisons.paired else ""
    notes = [
        f"Primary metric: {comparisons.metric} ({better} is better). Difference: {minus}, {how}. {won}".rstrip(),
        _test_note(comparisons),
        _interval_note(comparisons),
    ]
    notes += [_pairing_note(rows)] if comparisons.paired and sizes[-1] > 1 else []
    notes += _omnibus_notes(comparisons)
    if baseline:
        means = sorted({row.mean_reference for row in rows if not math.isnan(row.mean_reference)})
        ends = _range([format_number(means[i], decimals) for i in (0, -1)]) if means else "no finished run"
        notes.append(f"Mean of {baseline}: {ends}{', by the seeds of the row' if len(means) > 1 else ''}.")
    if any_bold:
        notes.append(f"Bold: better than {baseline}." if baseline else bold_note(comparisons))
    notes += _power_notes(comparisons)
    notes += _exceptions(comparisons)
    notes += [f"Failed runs of {scheme}: {text}." for scheme, text in _failures(rows).items()]
    return (*notes, *comparisons.remarks)


def _many(comparisons: Comparisons) -> str:
    return f"{len(comparisons.rows)} comparison{'s' if len(comparisons.rows) > 1 else ''}"


def _test_note(comparisons: Comparisons) -> str:
    tests = "paired t-test (t) and Wilcoxon signed-rank test (W)"
    if not comparisons.paired:
        tests = "Welch's t-test (t) and Mann-Whitney test (W)"
    elif comparisons.test == "sign-flip":
        tests = "paired t-test (t), sign-flip test (F)"
    shown = " (not shown: no difference shown)" if any("shown" in row.verdict for row in comparisons.rows) else ""
    these = "these " if len(comparisons.rows) > 1 else ""
    return (
        f"p: two-sided {tests}, each {CORRECTED[comparisons.correction]} over {these}{_many(comparisons)}."
        f" Verdict by the {TESTS[comparisons.test]} at {comparisons.alpha:g}{shown}."
    )


def _interval_note(comparisons: Comparisons) -> str:
    level, many = f"{100 * (1 - comparisons.alpha):g} %", _many(comparisons)
    cut = "; a round bracket marks an end cut at 0 because the corrected test shows the sign"
    cut = cut if any(row.open_at_zero for row in comparisons.rows) else ""
    if comparisons.correction == "holm":
        return f"Interval: simultaneous {level}, Bonferroni over {many}{cut}."
    return f"Interval: {level} on average over the differences shown (false coverage rate), not simultaneous{cut}."


def _pairing_note(rows: tuple[Comparison, ...]) -> str:
    """Return how much variance pairing by seed saves."""
    known = [(row.correlation, row.variance_saved) for row in rows if not math.isnan(row.correlation)]
    if not known:
        return "Pairing: no correlation is defined, since some scheme's scores never vary."
    correlations, shares = (sorted(column) for column in zip(*known, strict=True))
    spread = _range([f"{r:z.2f}" for r in (correlations[0], correlations[-1])])
    saved = _range([f"{100 * share:z.0f}" for share in (shares[0], shares[-1])])
    return (
        f"Pairing: two schemes' scores correlate by {spread} over seeds; it saves {saved} % of a difference's variance."
    )


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


def _power_notes(comparisons: Comparisons) -> list[str]:
    """Return the effect that these seeds can show, and the seeds that the differences not shown would need."""
    open_rows = [row for row in comparisons.rows if row.verdict == "no difference shown" and not math.isnan(row.d_z)]
    if not open_rows or not comparisons.paired:
        return []
    n, of = min(row.n for row in open_rows), len(comparisons.rows)
    least = detectable(n, alpha=comparisons.alpha, num_comparisons=of)
    wanted = ", ".join(f"{_name(comparisons, row)} {_wanted(row)}" for row in open_rows)
    return [
        f"Power: {n} seeds show a difference of {least:.2f} standard deviations (d_z) with a probability of 80 %. If"
        f" the differences not shown are as large as they look, new runs need this many seeds to show them: {wanted}."
    ]


def _name(comparisons: Comparisons, row: Comparison) -> str:
    return row.scheme if comparisons.baseline else f"{row.scheme}/{row.reference}"


def _wanted(row: Comparison) -> str:
    return f"> {MOST_SEEDS}" if math.isnan(row.seeds_wanted) else f"{row.seeds_wanted:g}"


def _exceptions(comparisons: Comparisons) -> list[str]:
    """Return the remarks on particular rows, each once."""
    notes, rows, flips = [], comparisons.rows, comparisons.test == "sign-flip"
    ranks = "sign-flip test" if flips else TESTS["wilcoxon"] if comparisons.paired else "Mann-Whitney test"
    for need in dict.fromkeys(row.rank_note for row in rows if row.rank_note):
        what = "any test" if need == "needs >= 2 seeds" else f"the {ranks}"
        notes.append(f"{short(need)}: with fewer seeds {what} cannot reach the level.")
    if flips and any(not row.sign_flip_exact and not math.isnan(row.p_sign_flip) for row in rows):
        notes.append("Some p (F) count a random sample of sign patterns.")
    if not flips and any(not row.wilcoxon_exact and not math.isnan(row.p_wilcoxon) for row in rows):
        why = "ties, or n > 50" if comparisons.paired else "ties, or more than 8 runs of both"
        notes.append(f"Some p (W) are normal approximations ({why}).")
    constant = [row for row in rows if row.t_note == "constant difference"]
    if constant:
        decided = f"; the {ranks} decides there" if all(not row.rank_note for row in constant) else ""
        notes.append(f"No interval where the difference is constant{decided}.")
    torn = [_name(comparisons, row) for row in rows if _torn(comparisons, row)]
    if torn:
        notes.append(
            f"Ranks and means point in opposite directions, and the interval is of the mean: {', '.join(torn)}."
        )
    dropped = tuple(f"{row.num_dropped} ({row.scheme}, {row.reference})" for row in rows if row.num_dropped)
    if dropped:
        notes.append(f"Seeds that only one of the two has, left out: {format_seeds(dropped)}.")
    return notes


def _torn(comparisons: Comparisons, row: Comparison) -> bool:
    by_ranks = comparisons.test == "wilcoxon" and row.verdict in ("better", "worse")
    return by_ranks and row.rank_direction * row.difference < 0


def _failures(rows: tuple[Comparison, ...]) -> dict[str, str]:
    failed = {row.reference: row.failed_reference for row in rows}
    failed |= {row.scheme: row.failed_scheme for row in rows}
    return {scheme: f"seeds {format_seeds(seeds)}" for scheme, seeds in failed.items() if seeds}


def bold_note(comparisons: Comparisons) -> str:
    """Return the meaning of bold where the best group is bold."""
    return (
        "Bold: the best mean, and all schemes not shown to be worse than it"
        f" ({CORRECTED[comparisons.correction]} {TESTS[comparisons.test]} over {_many(comparisons)} at"
        f" {comparisons.alpha:g})."
    )


def short(note: str) -> str:
    """Return a note such as "needs >= 8 seeds" as "n >= 8", which fits a column of p-values."""
    return note.replace("needs ", "n ").replace(" seeds", "") or "-"
