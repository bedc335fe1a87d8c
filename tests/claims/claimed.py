"""Per-run tables for tests of claims, and the verdicts on them."""

from typing import Any

import numpy as np
import pandas as pd

from jfed.claims import Claim
from jfed.claims.finding import WORDS
from jfed.claims.kinds import evaluate
from jfed.claims.runs import Runs

NOISE = np.array([0.3, -0.5, 0.1, 0.6, -0.4, 0.2, -0.1, -0.2, 0.5, -0.5])  # mean 0


def table(seeds=10, **schemes):
    """Return a per-run table: each scheme's scores are its mean plus its own noise."""
    rows = [
        {"scheme": name.replace("_", "-"), "seed": seed, "metric": mean + 0.1 * np.roll(NOISE, shift)[seed]}
        for shift, (name, mean) in enumerate(schemes.items())
        for seed in range(seeds)
    ]
    return pd.DataFrame(rows)


def of_scores(**schemes):
    """Return a per-run table of these scores, one per seed."""
    return pd.concat([pd.DataFrame({"scheme": s, "seed": range(len(x)), "metric": x}) for s, x in schemes.items()])


def finding(test, frame):
    return evaluate({"metric": "metric", **test}, Runs(frame))


def verdict(test, frame):
    found = finding(test, frame)
    assert found.verdict in WORDS and found.seeds == frame.seed.nunique() and found.numbers
    return found.verdict


def claim(*tests, **more: Any):
    """Return a claim with these tests of the column `metric`."""
    return Claim("X-1", "X", "", "", "", "x", tuple({"metric": "metric", **test} for test in tests), **more)
