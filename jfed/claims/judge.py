"""The verdicts on claims from the per-run tables of finished runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from jfed.claims.claim import Claim, read
from jfed.claims.expected import lacking, setting
from jfed.claims.finding import Finding, together
from jfed.claims.kinds import evaluate
from jfed.claims.parts import Test, attempt
from jfed.claims.reduced import apart, data_sets
from jfed.claims.runs import Missing, Runs


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim in one mode at one setting.

    Attributes:
        claim: the claim.
        mode: the mode, or "".
        setting: values of the claim's `by`.
        finding: verdict word and numbers.
        partial: whether settings that the claim expects have no runs.
        other_data: whether there are runs, but none on the claim's data sets.
        reduced: whether the runs are on smaller images; see `reduced`.
    """

    claim: Claim
    mode: str
    setting: dict[str, Any]
    finding: Finding
    partial: bool = False
    other_data: bool = False
    reduced: bool = False

    @property
    def in_part(self) -> bool:
        """Return whether the verdict is on a part of the claim only: a setting, or some of its tests."""
        return bool(self.finding.seeds) and (self.partial or bool(self.finding.missing))

    @property
    def word(self) -> str:
        """Return the verdict, and whether it is on a part only or from reduced runs."""
        kinds = ", ".join(["reduced"] * self.reduced + ["in part"] * self.in_part)
        return self.finding.verdict + (f" ({kinds})" if kinds else "")

    @property
    def where(self) -> str:
        """Return mode and setting as text."""
        return ", ".join(filter(None, (self.mode, setting(self.setting))))


def judge(claim: Claim, frame: pd.DataFrame | None) -> list[Verdict]:
    """Return the claim's verdicts on a per-run table, and one "not run" for all expected settings without runs.

    Without a table, with runs on other data sets only, or with several runs of a (scheme, seed) that the claim does not
    tell apart, it is "not run". Verdicts from reduced runs follow those in full.
    """
    if claim.untestable:
        return [Verdict(claim, "", {}, Finding(claim.untestable, untestable=True))]
    if frame is None:
        return [Verdict(claim, "", {}, Finding())]
    full, small = apart(frame, claim)
    found = _judged(claim, full)
    known = [(v.mode, v.setting, v.finding) for v in found]
    judged = [] if small is None else _judged(claim, small)
    reduced = [v for v in judged if (v.mode, v.setting, v.finding) not in known]
    return found + [replace(v, reduced=True) for v in reduced if any(v.finding.seeds for v in reduced)]


def _judged(claim: Claim, rows: Any) -> list[Verdict]:
    if claim.data_sets and "dataset" in rows.columns:
        ran = data_sets(rows)
        rows = rows[ran.isin(claim.data_sets)]
        if rows.empty:
            return [Verdict(claim, "", {}, Finding(missing=(_of_other_data(claim, ran.unique()),)), other_data=True)]
    try:
        runs = Runs(rows).where(claim.where)
        settings = list(runs.by(claim.by))
    except Missing as missing:
        return [Verdict(claim, "", {}, Finding(missing=(str(missing),)))]
    absent = lacking(runs, claim.expects)
    found = [
        Verdict(claim, mode, values, _finding(claim, part.mode(mode)), bool(absent))
        for values, part in settings
        for mode in part.modes()
    ]
    if all(not v.finding.seeds for v in found):  # one verdict for all settings
        return [Verdict(claim, "", {}, found[0].finding)]
    return found + ([Verdict(claim, "", {}, Finding(missing=absent))] if absent else [])


def judge_all(tables: Mapping[str, pd.DataFrame]) -> list[Verdict]:
    """Return the verdicts of all claims.

    Args:
        tables: per-run tables by name of the experiment, such as "e3cs_numerical".
    """
    return [verdict for claim in read() for verdict in judge(claim, table_of(claim, tables))]


def table_of(claim: Claim, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame | None:
    """Return the claim's per-run table, or that of its experiment on other data: digits_e3cs in place of cifar_e3cs."""

    def kind(name: str) -> str:
        return name.rpartition("_")[2]

    claimed = {other.runs for other in read()}
    others = [name for name in tables if claim.data and name not in claimed and kind(name) == kind(claim.runs)]
    return tables.get(claim.runs, tables[others[0]] if others else None)


def _of_other_data(claim: Claim, ran: Sequence[str]) -> str:
    """Return in words that the data sets of the runs are not the claim's."""
    if not len(ran):
        return f"no runs on {' or '.join(claim.data_sets)} at full size"
    return f"the runs are on {' and '.join(sorted(ran))}, and the claim is about {' or '.join(claim.data_sets)}"


def _finding(claim: Claim, runs: Runs) -> Finding:
    names = [test.get("name", test.get("metric", "")) for test in claim.tests]
    several = len(set(names)) > 1
    return together([_part(test, runs, name if several else "") for test, name in zip(claim.tests, names, strict=True)])


def _part(test: Test, runs: Runs, name: str) -> Finding:
    """Return the finding of one test at each of its levels, which are named in front of what is measured."""

    def at(values: Mapping[str, Any], part: Runs) -> Finding:
        found, level = attempt(lambda: evaluate(test, part)), setting({**test.get("where", {}), **values})
        lacks = tuple(f"{level}: {reason}" if level else reason for reason in found.missing)
        front = ", ".join(filter(None, (level, name)))
        return replace(found.named(front) if front else found, missing=lacks)

    try:
        levels = list(runs.where(test.get("where", {})).by(test.get("at", ())))
    except Missing as missing:
        return Finding(missing=(str(missing),))
    return together([at(values, part) for values, part in levels])
