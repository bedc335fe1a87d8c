"""Toys that break one rule only, and the check that the rule catches them."""

import re
import sys
from dataclasses import dataclass
from typing import Any

from jfed import contracts

PARTS = {"init", "select", "update", "probe", "watch", "observe", "respond", "plan", "ended", "aggregate"}


def toy(base, annotations=None, **parts):
    """Return a toy class like `base`, with other functions (made from options, dims and the good one) or attributes."""
    made = {part: parts.pop(part) for part in list(parts) if part in PARTS}

    def make(self, dims, *more):
        good = base.make(self, dims, *more)
        return good._replace(**{part: change(self, dims, getattr(good, part)) for part, change in made.items()})

    home = sys._getframe(1).f_globals["__name__"]  # errors are located in the file of this module
    body: dict[str, Any] = {"__annotations__": annotations or {}, "__module__": home, **parts}
    return dataclass(frozen=True)(type("Toy", (base,), body | ({"make": make} if made else {})))


def require_caught(rule, sentence, kind):
    """Assert that checking one rule finds it broken, in one sentence without a traceback."""
    (found,) = contracts.check(kind, [rule] if rule != "oracle" else ["functions"])
    assert found.rule == rule and found.sentence is not None
    assert re.search(sentence, found.sentence), found.sentence
    assert found.sentence.endswith(".") and "\n" not in found.sentence and "Traceback" not in found.sentence
