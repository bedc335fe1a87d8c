"""The finding of the tests of a claim: p-values in three directions, the verdict that they give, and the numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jfed.stats.numerals import format_p

WORDS = ("supported", "contradicted", "not supported", "underpowered", "untestable as printed", "not run")
LEVEL = 0.05


@dataclass(frozen=True)
class Finding:
    """Result of the tests of a claim, or of one part of it.

    - supported: the tests reject the claim's opposite in every part;
    - contradicted: the data show the opposite in some part, by more than the claim's margin where it has one;
    - not supported: neither, and in some part the runs exclude an effect worth claiming;
    - underpowered: neither, and such an effect may still exist;
    - untestable as printed: no run could decide;
    - not run: no part could be judged.

    Attributes:
        numbers: effects, intervals and p-values as text, or why there are none.
        seeds: fewest seeds of any part that was judged; 0 if none was.
        shown: largest p-value of any part for "the claim does not hold".
        opposite: smallest p-value of any part for "the opposite does not hold", uncorrected.
        absent: smallest p-value of any part for "there is an effect worth claiming", uncorrected.
        tests: number of statistical tests; a statement about every run is none.
        missing: why parts could not be judged.
        untestable: whether no run could decide.
    """

    numbers: str = ""
    seeds: int = 0
    shown: float = 1.0
    opposite: float = 1.0
    absent: float = 1.0
    tests: int = 0
    missing: tuple[str, ...] = ()
    untestable: bool = False

    @property
    def verdict(self) -> str:
        """Return one of `WORDS`.

        "Supported" needs no correction: since each part must hold, this is an intersection-union test. Any single part
        can contradict a claim or take its support away, so these p-values are multiplied by the number of tests.

        Source: Berger (1982), Multiparameter hypothesis testing and acceptance sampling; Bonferroni's inequality.
        """
        if self.untestable:
            return "untestable as printed"
        if not self.seeds:
            return "not run"
        parts = max(self.tests, 1)
        if parts * self.opposite < LEVEL:
            return "contradicted"
        if self.shown < LEVEL:
            return "supported"
        return "not supported" if parts * self.absent < LEVEL else "underpowered"

    @property
    def text(self) -> str:
        """Return the numbers, and what is missing."""
        lacking = "; ".join(self.missing)
        return "; ".join(filter(None, (self.numbers, f"not run: {lacking}" if lacking and self.seeds else lacking)))

    def named(self, what: str) -> "Finding":
        """Return the finding with its numbers preceded by a name, such as a scheme's."""
        return replace(self, numbers=f"{what}: {self.numbers}" if self.numbers else "")


def together(findings: Sequence[Finding]) -> Finding:
    """Return the finding on a claim of several parts; parts that could not be judged only add what they lack."""
    missing = tuple(dict.fromkeys(reason for f in findings for reason in f.missing))
    judged = [f for f in findings if f.seeds]
    if not judged:
        return Finding(missing=missing)
    return Finding(
        numbers="; ".join(f.numbers for f in judged if f.numbers),
        seeds=min(f.seeds for f in judged),
        shown=max(f.shown for f in judged),
        opposite=min(f.opposite for f in judged),
        absent=min(f.absent for f in judged),
        tests=sum(f.tests for f in judged),
        missing=missing,
    )


def certain(holds: bool, numbers: str, seeds: int) -> Finding:
    """Return the finding on a statement about every run, which a single run refutes."""
    return Finding(numbers, seeds, shown=0.0 if holds else 1.0, opposite=1.0 if holds else 0.0)


def p_text(p: float) -> str:
    """Return a p-value with two digits, or more where it is close to the level."""
    return "p < 1e-4" if p < 1e-4 else "p > 0.99" if p > 0.99 else f"p = {format_p(p, LEVEL)}"
