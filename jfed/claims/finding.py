"""The finding of a test of a claim: a verdict word, and the numbers behind it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jfed.stats.numerals import format_p

WORDS = ("supported", "contradicted", "not supported", "underpowered", "untestable as printed", "not run")
_WORST_FIRST = ("not supported", "underpowered", "untestable as printed", "not run", "supported")
LEVEL = 0.05


@dataclass(frozen=True)
class Finding:
    """One verdict and its numbers.

    - supported: the test rejects the claim's opposite;
    - contradicted: the data show the opposite;
    - not supported: neither, and the runs exclude an effect worth claiming;
    - underpowered: neither, and such an effect may still exist;
    - untestable as printed: no run could decide;
    - not run: runs that it needs are missing.

    Attributes:
        verdict: one of `WORDS`.
        numbers: effect, interval and p-value as text, or why there are none.
        seeds: fewest seeds of any of its tests; 0 if none.
        opposite: p-value for the claim's opposite, corrected for the parts so far; `settled` turns a small one into the
            verdict "contradicted".
    """

    verdict: str
    numbers: str
    seeds: int = 0
    opposite: float = 1.0


def together(findings: Sequence[Finding]) -> Finding:
    """Return the finding on a claim of several parts: the worst verdict, and the numbers of all parts.

    "Supported" needs no correction: since each part must hold, this is an intersection-union test (Berger 1982). Any
    single part can contradict the claim, so the p-values for its opposite are Bonferroni-corrected.
    """
    worst = min((f.verdict for f in findings), key=_WORST_FIRST.index)
    numbers = "; ".join(dict.fromkeys(f.numbers for f in findings if f.numbers))
    opposite = min(1.0, len(findings) * min(f.opposite for f in findings))
    return Finding(worst, numbers, min(f.seeds for f in findings), opposite)


def settled(finding: Finding) -> Finding:
    """Return the finding on a whole claim, whose verdict is "contradicted" if its opposite is shown."""
    return replace(finding, verdict="contradicted") if finding.opposite < LEVEL else finding


def p_text(p: float) -> str:
    """Return a p-value with two digits, or more where it is close to the level."""
    return "p < 1e-4" if p < 1e-4 else "p > 0.99" if p > 0.99 else f"p = {format_p(p, LEVEL)}"
