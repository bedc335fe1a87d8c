"""Runs that crash or are missing, at random or because they are bad ones."""

import functools
from functools import partial

import numpy as np
import pandas as pd

from tools.simulated.model import NORMAL, SHAPES, Group, Row, Shape, Study, most
from tools.simulated.tables import VERDICTS, alone, pairs, share

CRASHES = 0.1


def _crashed(rng: np.random.Generator, shape: Shape, n: int, informative: bool) -> tuple[float, ...]:
    """Return verdicts on a scheme that is as good as the baseline where it finishes, or would be if it did."""
    baseline, scheme = shape.scores(rng, (2, n))
    gone = scheme <= worst(shape.name) if informative else rng.random(n) < CRASHES
    wrong = ("better",) if informative else VERDICTS
    failed = np.where(gone, np.nan, scheme)
    kept = pd.Series(scheme, index=np.arange(n))[~gone]
    paired, lacking = pairs([baseline, failed], "t"), pairs([baseline, kept], "t")
    return (
        share(alone(paired), wrong),
        share(alone(lacking), wrong),
        share(alone(pairs([baseline, failed], "Welch")), wrong),
        share(alone(paired, failed="drop"), wrong),
    )


@functools.cache
def worst(name: str) -> float:
    """Return the score that a tenth of the runs of a shape are at or below, by simulation."""
    return float(np.quantile(SHAPES[name].scores(np.random.default_rng(0), (1_000_000,)), CRASHES))


def _rows(informative: bool) -> tuple[Row, ...]:
    which, what = ("bad runs crash", '"better"') if informative else ("any runs crash", "verdict")
    return (
        most(f"{which}, failed=worst: {what}", NORMAL),
        most(f"{which} and are missing, failed=worst: {what}", NORMAL),
        most(f"{which}, independent runs, failed=worst: {what}", NORMAL),
        most(f"{which}, failed=drop: {what}", () if informative else NORMAL),
    )


GAPS = Group(
    "Failed and missing runs",
    """\
Both schemes have the same scores before the scheme's runs crash: a tenth of them at random, or those among the worst
tenth of all that there could be. Crashed runs are failed ones (NaN) or have no row. With `failed="worst"`, the
default, verdicts hold in all cases, at the price of fewer verdicts. With `failed="drop"` a scheme whose bad runs
crash looks better than it is, the more so the more seeds there are: with 30, and most shapes, several times as many
verdicts are "better" as the 2.5 % that chance alone gives.
""",
    tuple(
        Study(partial(_crashed, informative=informative), _rows(informative), thin=4) for informative in (False, True)
    ),
)
