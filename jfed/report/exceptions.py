"""The remarks on particular rows of a table of comparisons: missing tests, failed runs, odd differences."""

from jfed.comparisons.comparison import Comparison, Comparisons
from jfed.stats.numerals import format_seeds
from jfed.stats.shape import shape_note

RULES = {
    "worst": "a verdict stands only if it is the same by ranks, with failed runs as the worst and missing ones as any",
    "drop": "they are left out, which favours the scheme that lacks them",
    "refuse": "such a comparison has no verdict",
}


def exceptions(comparisons: Comparisons) -> list[str]:
    """Return the remarks, each once."""
    return [*_tests(comparisons), *_odd_differences(comparisons), *_gaps(comparisons), *_unjudged(comparisons)]


def name_of(comparisons: Comparisons, row: Comparison) -> str:
    """Return the name of a row."""
    return row.scheme if comparisons.baseline else f"{row.scheme}/{row.reference}"


def _tests(comparisons: Comparisons) -> list[str]:
    """Return which tests do not exist."""
    notes, rows, flips = [], comparisons.rows, comparisons.test == "sign-flip"
    ranks = "sign-flip test" if flips else "Wilcoxon test" if comparisons.paired else "Mann-Whitney test"
    lacking = () if comparisons.looks or comparisons.anytime else (row.rank_note for row in rows)
    for need in dict.fromkeys(note for note in lacking if note.startswith("needs")):
        notes.append(
            f"n {need.removeprefix('needs ')}: with fewer the {ranks} cannot reach the level.".replace(" seeds", "")
        )
    for need in dict.fromkeys(row.t_note for row in rows if row.t_note.startswith("needs")):
        number = need.removeprefix("needs >= ").removesuffix(" seeds")
        first = f"The first look is at {number} seeds." if comparisons.looks else "A t-test needs at least 2 seeds."
        notes.append(first)
    for note in dict.fromkeys(row.design_note for row in rows if row.design_note):
        names = [name_of(comparisons, row) for row in rows if row.design_note == note]
        notes.append(f"{', '.join(names[:8])}: {note}.")
    constant = [row for row in rows if row.t_note == "constant difference"]
    if constant:
        by_ranks = all(row.decided_by == "wilcoxon" and not row.rank_note for row in constant)
        decided = f"; the {ranks} decides there" if by_ranks else ""
        notes.append(f"No interval where the difference is constant{decided}.")
    return notes


def _odd_differences(comparisons: Comparisons) -> list[str]:
    """Return which differences mislead the mean or the t-test."""
    notes = []
    torn = [name_of(comparisons, row) for row in comparisons.rows if _torn(row, comparisons.higher_is_better)]
    if torn:
        notes.append(f"The verdict and the mean difference point in opposite directions: {', '.join(torn)}.")
    odd = {}
    for row in comparisons.rows:
        if row.design == "paired" and row.decided_by == "t" and row.n > 1 and not row.constant:
            note = shape_note(row.scores_scheme - row.scores_reference, row.seeds)
            odd |= {name_of(comparisons, row): note} if note else {}
    if odd:
        words = [f"{name} ({note})" for name, note in list(odd.items())[:8]]
        more = f" and {len(odd) - 8} more" if len(odd) > 8 else ""
        notes.append(
            f"Differences that are far from normal: {'; '.join(words)}{more}. The t-test may err too often with such,"
            " most with few seeds: look at each seed's difference, and at the tests by ranks."
        )
    return notes


def _torn(row: Comparison, higher_is_better: bool) -> bool:
    sign = {"better": 1, "worse": -1}.get(row.verdict, 0) * (1 if higher_is_better else -1)
    return sign * row.difference < 0


def _gaps(comparisons: Comparisons) -> list[str]:
    """Return the failed and missing runs, and what verdicts make of them."""
    failed, missing, said = {}, {}, []
    for row in comparisons.rows:
        failed.setdefault(row.scheme, set()).update(row.failed_scheme)
        failed.setdefault(row.reference, set()).update(row.failed_reference)
        missing.setdefault(row.scheme, set()).update(row.missing_scheme)
        missing.setdefault(row.reference, set()).update(row.missing_reference)
        if row.sensitivity:
            said.append(f"{name_of(comparisons, row)}: {row.sensitivity}")
    notes = [
        f"Failed runs of {name}: seeds {format_seeds(tuple(sorted(seeds)))}." for name, seeds in failed.items() if seeds
    ]
    notes += [
        f"Seeds that {name} lacks and others have: {format_seeds(tuple(sorted(seeds)))}."
        for name, seeds in missing.items()
        if seeds
    ]
    if said:
        more = f"; and {len(said) - 8} more" if len(said) > 8 else ""
        notes.append(f"With failed or missing runs, {RULES[comparisons.failed]}. {'; '.join(said[:8])}{more}.")
    return notes


def _unjudged(comparisons: Comparisons) -> list[str]:
    if not any(row.verdict == "not judged" for row in comparisons.rows):
        return []
    return [
        "Not judged: the scheme's setting was chosen by these very scores, which biases them: name seeds to choose on"
        " (tune seeds)."
    ]


def approximations(comparisons: Comparisons) -> list[str]:
    """Return which p-values are approximate, for a table that prints them."""
    rows = comparisons.rows
    if comparisons.test == "sign-flip":
        sampled = any(not row.sign_flip_exact and row.p_sign_flip > 0 for row in rows)
        return ["Some p (S) count a random sample of sign patterns."] * sampled
    why = "n > 50" if comparisons.paired else "ties, or more than 8 runs of both"
    normal = any(not row.wilcoxon_exact and row.p_wilcoxon > 0 for row in rows)
    return [f"Some p (W) are normal approximations ({why})."] * normal
