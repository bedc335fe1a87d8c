"""The verdict on a scheme: what the deciding test says, and what failed and missing runs leave of it."""

import math
from dataclasses import dataclass

from jfed.comparisons.comparison import Failed
from jfed.comparisons.pairs import Bound, Pair


@dataclass(frozen=True)
class Case:
    """Facts of a comparison that its verdict is made from.

    Attributes:
        pair: the comparison.
        direction: 1 if the scheme had the larger scores at the look that decided, -1 if the reference had.
        higher_is_better: whether a larger score is better.
        alpha: level.
        failed: what becomes of failed and missing runs, see `compare`.
        judged: False if the schemes were selected by these very scores.
        p: corrected p-value of the deciding test.
        worst: the same with failed and missing runs as the worst, by ranks.
        best: the same with missing runs as the best.
        equal: corrected p-value of "they differ by the margin or more".
        not_worse: corrected p-value of "the scheme is worse by the margin or more".
        has_margin: whether a margin was stated.
        is_last: whether no planned look is left.
    """

    pair: Pair
    direction: int
    higher_is_better: bool
    alpha: float
    failed: Failed
    judged: bool
    p: float
    worst: float
    best: float
    equal: float
    not_worse: float
    has_margin: bool
    is_last: bool


def verdict(d: Case) -> tuple[str, str]:
    """Return the verdict on the scheme, and its sensitivity to failed and missing runs ("" without any)."""
    if not d.judged:
        return "not judged", ""
    dropped = _without_gaps(d)
    if not d.pair.gaps:
        return dropped, ""
    words = [dropped, _by_ranks(d, d.worst, d.pair.worst), _by_ranks(d, d.best, d.pair.best)]
    if d.pair.worst is None:  # crossed seeds have no ranks
        return "failed runs" if any(d.pair.failed) else "missing runs", ""
    missing = f", {words[2]} if missing ones are the best" if any(d.pair.missing) else ""
    said = f"{words[0]} if they are left out, {words[1]} if they are the worst{missing}"
    if d.failed == "drop" and not math.isnan(d.p):
        return dropped, said
    stands = d.failed == "worst" and words[0] in ("better", "worse") and len(set(words)) == 1
    return (dropped if stands else "failed runs" if any(d.pair.failed) else "missing runs"), said


def _without_gaps(d: Case) -> str:
    """Return the verdict by the runs that both have and finished."""
    numbers = d.pair.numbers
    if numbers.identical:
        return "identical"
    if math.isnan(d.p):
        return "too few seeds" if d.is_last else "not yet decided"
    if d.p < d.alpha:
        return _word(d.direction, d.higher_is_better)
    if not d.is_last:
        return "not yet decided"
    if not d.has_margin:
        return "no difference shown"
    return "equal within margin" if d.equal < d.alpha else "not worse" if d.not_worse < d.alpha else "open"


def _by_ranks(d: Case, p: float, bound: Bound | None) -> str:
    if bound is None or math.isnan(p):
        return "undecided"
    return _word(bound.direction, d.higher_is_better) if p < d.alpha else "not shown"


def _word(direction: int, higher_is_better: bool) -> str:
    return "better" if (direction > 0) == higher_is_better else "worse"
