"""What a test of a claim says: a verdict word, and the numbers behind it."""

from collections.abc import Sequence
from dataclasses import dataclass

WORDS = ("supported", "contradicted", "not supported", "underpowered", "untestable as printed", "not run")
_WORST_FIRST = ("contradicted", "not supported", "underpowered", "untestable as printed", "not run", "supported")


@dataclass(frozen=True)
class Finding:
    """One verdict.

    - supported: the test rejects the claim's opposite;
    - contradicted: the data show the opposite;
    - not supported: neither, though the runs would have shown an effect worth claiming;
    - underpowered: neither, and such an effect may still be there;
    - untestable as printed: no run could decide;
    - not run: the runs that it needs are not there.

    Attributes:
        verdict: one of `WORDS`.
        numbers: effect, interval, p-value as text; or why there are none.
        seeds: fewest seeds behind any of its tests; 0 if none.
    """

    verdict: str
    numbers: str
    seeds: int = 0


def together(findings: Sequence[Finding]) -> Finding:
    """A claim of several parts holds if each does: the worst verdict, and the numbers of all parts.

    No correction is due: that each part must hold makes it an intersection-union test (Berger 1982).
    """
    worst = min((f.verdict for f in findings), key=_WORST_FIRST.index)
    numbers = "; ".join(dict.fromkeys(f.numbers for f in findings if f.numbers))
    return Finding(worst, numbers, min(f.seeds for f in findings))


def p_text(p: float) -> str:
    """A p-value in two digits."""
    return "p < 1e-4" if p < 1e-4 else f"p = {p:.2g}"
