"""A comparison made more than once: at planned numbers of seeds, or so that it holds at any."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from jfed.comparisons.pairs import Pair, without_interval
from jfed.stats.anytime import anytime, anytime_p
from jfed.stats.paired import NAN


def at_looks(a: pd.Series, b: pd.Series, looks: tuple[int, ...], pair: Callable[..., Pair]) -> list[Pair]:
    """Return the comparison at each planned number of seeds that both schemes have reached.

    A scheme that is decided needs no more seeds, so that seeds beyond the last look of either are no missing runs.
    Before the first look there is a comparison without tests.

    Args:
        a: scores of the scheme by seed.
        b: scores of the reference.
        looks: planned numbers of seeds, increasing.
        pair: `same_seeds` with all of its other arguments.
    """
    seeds, most = a.index.union(b.index), min(len(a), len(b))
    firsts = [seeds[:n] for n in looks if n <= most]
    if not firsts:
        early = pair(a, b)
        nothing = replace(early.numbers, t=NAN, p_t=NAN, p_wilcoxon=NAN, p_sign_flip=NAN)
        return [replace(early, numbers=nothing, interval=without_interval, worst=None, best=None)]
    found = [pair(a[a.index.isin(first)], b[b.index.isin(first)]) for first in firsts]
    unused = most - len(firsts[-1])
    if unused and len(firsts) < len(looks):
        extra = f"{unused} seeds beyond this look wait" if unused > 1 else "1 seed beyond this look waits"
        later = f"{extra} for the next one, at {looks[len(firsts)]}"
        found[-1] = replace(found[-1], design_note=later)
    return found


def always_valid(pair: Pair) -> Pair:
    """Return the comparison with a p-value and intervals that hold at any number of seeds, in the seeds' order.

    The direction is that at the seeds which gave the smallest p-value; a constant difference has no t, and p = 1.
    """
    d, numbers = pair.scores[0] - pair.scores[1], pair.numbers
    if numbers.n < 2 or numbers.constant:
        return replace(pair, numbers=replace(numbers, p_t=NAN if numbers.n < 2 else 1.0), decided_by="t")
    p = anytime_p(d)
    first = int(np.argmin(p)) + 1

    def interval(level: float) -> tuple[float, float]:
        found = anytime(d, 1 - level)
        return float(found.low[-1]), float(found.high[-1])

    return replace(
        pair, numbers=replace(numbers, p_t=float(p[-1])), interval=interval, direction=int(np.sign(d[:first].mean()))
    )  # fmt: skip
