"""The papers' claims, as declarative files (one per paper), and the verdict on each from finished runs.

A claim names the experiment whose per-run table it is tested on, and one or more tests (`kinds`). All of a claim's
tests must hold (`finding.together`). It is judged separately in each mode, and at each value of the settings that it
names in `by`; settings that it `expects` and that have no runs are "not run". The level is 0.05 within each claim. To
add a paper, add its file and list it in `claim.PAPERS`.
"""

from jfed.claims.claim import Claim, about, read
from jfed.claims.finding import Finding
from jfed.claims.gather import gather
from jfed.claims.judge import Verdict, judge, judge_all, table_of
from jfed.claims.tables import summary_table, verdicts_table

__all__ = [
    "Claim", "Finding", "Verdict", "about", "gather", "judge", "judge_all", "read", "summary_table", "table_of",
    "verdicts_table",
]  # fmt: skip
