"""A paper's claim, and the files that hold them (one per paper)."""

import tomllib
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from jfed.claims.kinds import kind_of

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
        expects: settings with all values that the paper makes the claim for; those without runs are "not run".
        margin_reason: why the margins of its tests are as they are.
        data: data sets that it is about, where neither `where` nor `expects` names them; () without training.
        networks: the paper's model on each data set, for which a reduced run's model stands.
        takes: what its runs take at full size, where they have not been made.
        note: parts that are left out or read differently.
        untestable: why no run could decide it, or "".

    Raises:
        ValueError: it has both tests and a reason why it is untestable, or neither; a margin and no reason for it, or a
            reason without a margin; or a test that is none.
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
    expects: dict[str, list[Any]] = field(default_factory=dict)
    margin_reason: str = ""
    data: tuple[str, ...] = ()
    networks: dict[str, str] = field(default_factory=dict)
    takes: str = ""
    note: str = ""
    untestable: str = ""

    @property
    def data_sets(self) -> tuple[str, ...]:
        """Return the data sets that it is about; none if it is not about training."""
        given = self.where.get("dataset", self.expects.get("dataset", self.data))
        return (given,) if isinstance(given, str) else tuple(given)

    def __post_init__(self) -> None:
        """Check the claim."""
        if bool(self.tests) == bool(self.untestable):
            raise ValueError(f"{self.id} needs tests, or a reason why it is untestable, and not both")
        margins = [bool({"margin", "relative_margin"} & set(test)) for test in self.tests]
        if any(margins) != bool(self.margin_reason.strip()):
            raise ValueError(f"{self.id} needs a margin_reason where it has a margin, and only there")
        for test, margin in zip(self.tests, margins, strict=True):
            if kind_of(test) in ("equal", "near") and not margin:
                raise ValueError(f"{self.id} says {kind_of(test)} without a margin")


def _file(paper: str) -> dict[str, Any]:
    return tomllib.loads(resources.files("jfed.claims").joinpath(f"{paper}.toml").read_text())


def about(paper: str) -> str:
    """Return the meaning of modes and settings in a paper's claims and the commands for its runs, by its short name."""
    return next(whole["about"] for whole in map(_file, PAPERS) if whole["paper"] == paper)


def read() -> tuple[Claim, ...]:
    """Return all claims, paper by paper.

    Raises:
        ValueError: a claim is not sound; see `Claim`.
    """
    claims = []
    for paper in PAPERS:
        whole = _file(paper)
        for entry in whole["claim"]:
            lists = {name: tuple(entry.pop(name, ())) for name in ("by", "data")}
            shared = {"paper": whole["paper"], "networks": whole.get("networks", {})}
            shared["takes"] = whole.get("takes", {}).get(entry["runs"], "")
            claims.append(Claim(tests=tuple(entry.pop("test", ())), **shared, **lists, **entry))
    return tuple(claims)
