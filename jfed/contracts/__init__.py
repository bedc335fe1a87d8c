"""Contracts: the rules that every member must keep, which can be checked for members from outside jfed, too.

    for finding in jfed.contracts.check(EpsilonGreedy):
        print(finding.rule, finding.sentence or "holds")

`jfed check my_scheme.py` checks all members that a file defines. The rules of each room are in a file of their own.
"""

from jfed.contracts.check import check, variants
from jfed.contracts.finding import Finding

__all__ = ["Finding", "check", "variants"]
