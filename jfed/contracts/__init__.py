"""Contracts: what every member owes the engine, as rules that anybody can run on a member of their own.

    for finding in jfed.contracts.check(EpsilonGreedy):
        print(finding.rule, finding.sentence or "holds")

`jfed check my_scheme.py` does so with everything that a file defines. Each room has its rules in a file of its own.
"""

from jfed.contracts.check import check, variants
from jfed.contracts.finding import Finding

__all__ = ["Finding", "check", "variants"]
