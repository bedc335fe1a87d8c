"""Verdicts as tables: how many of each word there are, and each with its numbers."""

from collections.abc import Sequence

import pandas as pd

from jfed.claims.finding import LEVEL, WORDS
from jfed.claims.judge import Verdict
from jfed.report.tables import Table

LEGEND = (
    "Level 0.05 within each claim, all parts of which must hold. Supported: the tests reject the claim's opposite in"
    " every part.",
    "Contradicted: some part shows the opposite, by more than the claim's margin where it has one. Not supported:"
    " neither, and in some part an effect worth claiming (the margin, or half a standard deviation) is excluded. Both"
    " are corrected for the number of parts (Bonferroni).",
    "Underpowered: neither, and such an effect may be there.",
    "In part: further settings or parts of the claim have no runs. Reduced: images of half the height and width, and a"
    " network to match, stand for the claim's data set.",
    "≥ and ≤: one-sided 95 % limits, after one-sided tests; a limit is also the margin or bound at which that part"
    " would flip. From x to y: two-sided 95 % intervals, in tests of equality, which hold from the margin that is said."
    " All are of paired differences or ratios, and not corrected for several parts.",
    "On every seed: supported if no run fails, which excludes the rate of failures that is said, at 95 %.",
)


def together(verdicts: Sequence[Verdict]) -> str:
    """Return what so many verdicts at this level mean together."""
    tested, parts = sum(v.finding.tests > 0 for v in verdicts), sum(v.finding.tests for v in verdicts)
    if not tested:
        return "None of these verdicts comes from a test."
    wrong = f"{LEVEL * tested:.2g}"
    return (
        f"{tested} of these verdicts come from tests, {parts} in all. The level holds for one verdict: were all"
        f" {tested} sentences false and their runs independent, {wrong} would still be called supported; were all true,"
        f" {wrong} would be called contradicted, at most, and as many not supported. Many verdicts share their runs,"
        " and then err together."
    )


def summary_table(verdicts: Sequence[Verdict], title: str) -> Table:
    """Return a table with one row per paper: the number of verdicts with each word."""
    records = []
    for paper in dict.fromkeys(v.claim.paper for v in verdicts):
        own = [v for v in verdicts if v.claim.paper == paper]
        counts = {word: _count([v for v in own if v.finding.verdict == word]) for word in WORDS}
        records.append({"paper": paper, "claims": str(len({v.claim.id for v in own})), **counts})
    counts = {word: _count([v for v in verdicts if v.finding.verdict == word]) for word in WORDS}
    records.append({"paper": "all", "claims": str(len({v.claim.id for v in verdicts})), **counts})
    data = pd.DataFrame(records)
    rows = tuple(tuple(record.values()) for record in records)
    return Table(
        title, tuple(data.columns), "l" + "r" * (len(data.columns) - 1), rows, (together(verdicts),), data=data
    )


def _count(verdicts: Sequence[Verdict]) -> str:
    kinds = {"reduced": sum(v.reduced for v in verdicts), "in part": sum(v.in_part for v in verdicts)}
    told = ", ".join(f"{many} {kind}" for kind, many in kinds.items() if many)
    return f"{len(verdicts)} ({told})" if told else str(len(verdicts))


def verdicts_table(verdicts: Sequence[Verdict], title: str) -> Table:
    """Return a table with one row per verdict, ready to be printed or written."""
    rows, records = [], []
    for v in verdicts:
        seeds = str(v.finding.seeds) if v.finding.seeds else "-"
        rows.append((v.claim.id, v.claim.claim, v.where, v.word, seeds, v.finding.text))
        records.append((v.claim.paper, v.claim.id, v.claim.claim, v.claim.place, v.claim.measure, v.where,
                        v.word, v.finding.seeds, v.finding.text, v.claim.margin_reason, v.claim.note))  # fmt: skip
    columns = (
        "paper", "id", "claim", "place", "measure", "where", "verdict", "seeds", "numbers", "margin_reason", "note"
    )  # fmt: skip
    return Table(
        title, ("id", "claim", "where", "verdict", "seeds", "numbers"), "llllrl", tuple(rows), LEGEND, frozenset(),
        pd.DataFrame(records, columns=pd.Index(columns)),
    )  # fmt: skip
