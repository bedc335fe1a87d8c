"""The papers' claims, as declarative files (one per paper), and the verdict on each from finished runs.

A claim names the experiment whose per-run table it is tested on, and one or more tests (`kinds`). All of a claim's
tests must hold (`finding.together`). It is judged separately in each mode, and at each value of the settings that it
names in `by`. The level is 0.05 within each claim. To add a paper, add its file and list it in `PAPERS`.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import pandas as pd

from jfed.claims.finding import Finding, settled, together
from jfed.claims.gather import gather
from jfed.claims.kinds import evaluate
from jfed.claims.runs import Missing, Runs
from jfed.report.tables import Table

__all__ = ["Claim", "Finding", "Verdict", "about", "gather", "judge", "judge_all", "read", "verdicts_table"]
PAPERS = ("e3cs", "rbcs_f", "cs_ucb", "eiffel")


@dataclass(frozen=True)
class Claim:
    """One claim.

    Attributes:
        id: letter of the paper and number.
        paper: short name of the paper.
        claim: the claim in our words.
        place: its place in the paper.
        measure: quantity that is compared.
        runs: experiment whose per-run table it needs.
        tests: its tests, see `kinds`.
        where: settings that the claim is about.
        by: settings, at each value of which it is judged.
        note: parts that are left out or read differently.
        untestable: why no run could decide it, or "".
    """

    id: str
    paper: str
    claim: str
    place: str
    measure: str
    runs: str
    tests: tuple[dict[str, Any], ...] = ()
    where: dict[str, Any] = field(default_factory=dict)
    by: tuple[str, ...] = ()
    note: str = ""
    untestable: str = ""


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim in one mode at one setting.

    Attributes:
        claim: the claim.
        mode: the mode, or "".
        setting: values of the claim's `by`.
        finding: verdict word and numbers.
    """

    claim: Claim
    mode: str
    setting: dict[str, Any]
    finding: Finding


def _file(paper: str) -> dict[str, Any]:
    return tomllib.loads(resources.files("jfed.claims").joinpath(f"{paper}.toml").read_text())


def about(paper: str) -> str:
    """Return the meaning of modes and settings in a paper's claims and the commands for its runs, by its short name."""
    return next(whole["about"] for whole in map(_file, PAPERS) if whole["paper"] == paper)


def read() -> tuple[Claim, ...]:
    """Return all claims, paper by paper."""
    claims = []
    for paper in PAPERS:
        whole = _file(paper)
        for entry in whole["claim"]:
            tests, by = tuple(entry.pop("test", ())), tuple(entry.pop("by", ()))
            claims.append(Claim(paper=whole["paper"], tests=tests, by=by, **entry))
    return tuple(claims)


def judge(claim: Claim, frame: pd.DataFrame | None) -> list[Verdict]:
    """Return the claim's verdicts on a per-run table.

    Without a table, or with several runs of a (scheme, seed) that the claim does not tell apart, it is "not run".
    """
    if claim.untestable:
        return [Verdict(claim, "", {}, Finding("untestable as printed", claim.untestable))]
    if frame is None:
        return [Verdict(claim, "", {}, Finding("not run", ""))]
    try:
        runs = Runs(frame).where(claim.where)
        settings = list(runs.by(claim.by))
    except Missing as missing:
        return [Verdict(claim, "", {}, Finding("not run", str(missing)))]
    found = [
        Verdict(
            claim, mode, setting, settled(together([_found(t, part.mode(mode)) for t in _about(claim.tests, mode)]))
        )
        for setting, part in settings
        for mode in part.modes()
    ]
    if all(v.finding.verdict == "not run" for v in found):  # one verdict for all settings
        return [Verdict(claim, "", {}, found[0].finding)]
    return found


def _about(tests: Sequence[Mapping[str, Any]], mode: str) -> list[Mapping[str, Any]]:
    """Return the tests that apply in this mode: those that name no other mode."""
    return [test for test in tests if test.get("mode", mode) == mode or not mode]


def _found(test: Mapping[str, Any], runs: Runs) -> Finding:
    try:
        inside = runs.where(test.get("where", {}))
        return together([evaluate(test, part) for _, part in inside.by(test.get("at", ()))])
    except (Missing, ValueError) as missing:  # one unusable table must not stop the other claims' verdicts
        return Finding("not run", str(missing))


def judge_all(tables: Mapping[str, pd.DataFrame]) -> list[Verdict]:
    """Return the verdicts of all claims.

    Args:
        tables: per-run tables by name of the experiment, such as "e3cs_numerical".
    """
    return [verdict for claim in read() for verdict in judge(claim, tables.get(claim.runs))]


def verdicts_table(verdicts: list[Verdict], title: str) -> Table:
    """Return a table with one row per verdict, ready to be printed or written."""
    rows, records = [], []
    for v in verdicts:
        where = ", ".join([*([v.mode] if v.mode else []), *(f"{n} = {x}" for n, x in v.setting.items())])
        seeds = str(v.finding.seeds) if v.finding.seeds else "-"
        rows.append((v.claim.id, v.claim.claim, where, v.finding.verdict, seeds, v.finding.numbers))
        records.append((v.claim.paper, v.claim.id, v.claim.claim, v.claim.place, v.claim.measure, where,
                        v.finding.verdict, v.finding.seeds, v.finding.numbers, v.claim.note))  # fmt: skip
    columns = ("paper", "id", "claim", "place", "measure", "where", "verdict", "seeds", "numbers", "note")
    notes = (
        "Level 0.05 within each claim; all parts of a claim must hold. Intervals: 95 %, of paired differences.",
        "Not supported: an effect of half a standard deviation is excluded; underpowered: it is not.",
    )
    return Table(
        title, ("id", "claim", "where", "verdict", "seeds", "numbers"), "llllrl", tuple(rows), notes, frozenset(),
        pd.DataFrame(records, columns=pd.Index(columns)),
    )  # fmt: skip
