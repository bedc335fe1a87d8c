"""Two schemes side by side: their runs, how these are related, and all tests of one comparison before correction."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from jfed.comparisons.comparison import Relation, Test
from jfed.stats.crossed import Design
from jfed.stats.intervals import around
from jfed.stats.locations import hodges_lehmann, hodges_lehmann_shift, typical_values
from jfed.stats.paired import NAN, Paired, deviation, measure
from jfed.stats.signedrank import signed_rank
from jfed.stats.signflip import DRAWN, EXACT_UP_TO
from jfed.stats.unpaired import rank_sum, unpaired

Interval = Callable[[float], tuple[float, float]]


@dataclass(frozen=True)
class Bound:
    """The rank test of a comparison in which failed and missing runs count as extreme.

    Attributes:
        p: two-sided p-value.
        direction: 1 if the scheme has the larger scores, -1 if the reference has.
    """

    p: float
    direction: int


@dataclass(frozen=True)
class Pair:
    """One comparison before correction.

    Attributes:
        numbers: results of its tests.
        design: how the two schemes' runs are related.
        design_note: what restricts a test of crossed or clustered seeds, or "".
        decided_by: test that decides.
        direction: 1 if the scheme has the larger scores by that test, -1 if the reference has, 0 if neither.
        n_reference: number of the reference's runs.
        least_p: smallest p-value that the rank and sign tests can give with so many runs.
        se: standard error of the difference, NaN if there is no t.
        interval: confidence interval that belongs to the deciding test, by level.
        scores: finished scores of both.
        seeds: seeds of the scheme's finished scores.
        failed: seeds at which each of the two failed.
        missing: seeds that only the other has.
        worst: the rank test if failed runs, and missing runs of the scheme, are the worst; None if there are neither.
        best: the same if missing runs of the scheme are the best, and those of the reference the worst.
    """

    numbers: Paired
    design: Relation
    design_note: str
    decided_by: Test
    direction: int
    n_reference: int
    least_p: float
    se: float
    interval: Interval
    scores: tuple[np.ndarray, np.ndarray]
    seeds: tuple
    failed: tuple[tuple, tuple]
    missing: tuple[tuple, tuple]
    worst: Bound | None
    best: Bound | None

    @property
    def gaps(self) -> bool:
        """Return whether a run of either failed or is missing."""
        return any((*self.failed, *self.missing))


def same_seeds(
    a: pd.Series, b: pd.Series, higher_is_better: bool, test: Test, seeds: Design, flips: int = DRAWN
) -> Pair:
    """Return the comparison of two schemes seed by seed.

    Args:
        a: scores of the scheme by seed; a failed run is NaN or infinite.
        b: scores of the reference.
        higher_is_better: whether a larger score is better.
        test: test that was named to decide.
        seeds: how the seeds are related.
        flips: sign patterns that the sign-flip test draws where there are too many to count.
    """
    common = a.index.intersection(b.index)
    x, y = a.loc[common].to_numpy(float), b.loc[common].to_numpy(float)
    finished = np.isfinite(x) & np.isfinite(y)
    x, y, common = x[finished], y[finished], common[finished]
    numbers = measure(x, y, higher_is_better=higher_is_better, flips=flips if test == "sign-flip" else 0)
    missing = tuple(b.index.difference(a.index)), tuple(a.index.difference(b.index))
    pair = Pair(
        numbers=numbers,
        design="paired",
        design_note="",
        decided_by=_deciding(test, numbers),
        direction=_direction(_deciding(test, numbers), numbers),
        n_reference=numbers.n,
        least_p=1.0 / (flips + 1) if test == "sign-flip" and numbers.n > EXACT_UP_TO else 2.0 / 2.0**numbers.n,
        se=numbers.sd / numbers.n**0.5 if numbers.n > 1 else NAN,
        interval=without_interval,
        scores=(x, y),
        seeds=tuple(common),
        failed=(_failed(a), _failed(b)),
        missing=missing,
        worst=None,
        best=None,
    )
    if pair.gaps:
        sign = 1.0 if higher_is_better else -1.0
        worst, best = (_filled(a, b, sign, missing_is) for missing_is in (-math.inf, math.inf))
        pair = replace(pair, worst=_bound(worst, sign), best=_bound(best, sign))
    if seeds.kind != "independent":
        return _related(pair, seeds)
    return replace(pair, interval=_paired_interval(pair))


def _related(pair: Pair, seeds: Design) -> Pair:
    """Return the comparison of runs that share seeds; without a t-test if some runs failed or are missing."""
    nothing = replace(
        pair.numbers, t=NAN, df=NAN, p_t=NAN, d_z=NAN, p_wilcoxon=NAN, wilcoxon_exact=False, p_sign_flip=NAN,
        sign_flip_exact=False,
    )  # fmt: skip
    bare = replace(
        pair, numbers=nothing, design=seeds.kind, decided_by="t", least_p=NAN, se=NAN, interval=without_interval,
        worst=None, best=None,
    )  # fmt: skip
    if pair.gaps or pair.numbers.constant:
        note = f"{seeds.kind} seeds need a complete grid: there is no test while runs failed or are missing"
        bare = replace(bare, design_note=note if pair.gaps else "")
        return replace(bare, numbers=replace(nothing, p_t=1.0 if nothing.identical else NAN))
    found = seeds.test(pd.Series(pair.scores[0] - pair.scores[1], index=list(pair.seeds)))
    return replace(
        bare, numbers=replace(nothing, difference=found.estimate, t=found.t, df=found.df, p_t=found.p), se=found.se,
        interval=found.interval, design_note="; ".join(found.notes),
    )  # fmt: skip


def any_seeds(a: pd.Series, b: pd.Series, higher_is_better: bool, test: Test) -> Pair:
    """Return the comparison of two schemes whose runs are independent; arguments as in `same_seeds`."""
    x, y = (s.to_numpy(float)[np.isfinite(s.to_numpy(float))] for s in (a, b))
    found = unpaired(x, y, higher_is_better=higher_is_better)
    empty = measure(np.empty(0), np.empty(0), higher_is_better=higher_is_better)
    several = found.n_scheme > 1 and found.n_reference > 1
    numbers = replace(
        empty,
        n=found.n_scheme,
        mean_scheme=found.mean_scheme,
        mean_reference=found.mean_reference,
        sd_scheme=deviation(x),
        sd_reference=deviation(y),
        difference=found.difference,
        t=found.t,
        df=found.df,
        p_t=found.p_welch,
        p_wilcoxon=found.p_mann_whitney,
        wilcoxon_exact=found.mann_whitney_exact,
        rank_direction=int(np.sign(np.nan_to_num(found.cliffs_delta))) * (1 if higher_is_better else -1),
        a12=found.a12,
        constant=several and bool(np.isnan(found.t)),
        identical=several and found.p_welch == 1.0 and bool(np.isnan(found.t)),
    )
    pair = Pair(
        numbers=numbers,
        design="independent",
        design_note="",
        decided_by=_deciding(test, numbers),
        direction=_direction(_deciding(test, numbers), numbers),
        n_reference=found.n_reference,
        least_p=2.0 / math.comb(len(x) + len(y), len(x)),
        se=found.se,
        interval=found.interval,
        scores=(x, y),
        seeds=tuple(a.index[np.isfinite(a.to_numpy(float))]),
        failed=(_failed(a), _failed(b)),
        missing=((), ()),
        worst=None,
        best=None,
    )
    if pair.decided_by == "wilcoxon":
        pair = replace(
            pair, interval=without_interval if numbers.constant else lambda level: hodges_lehmann_shift(x, y, level)[1:]
        )
    if pair.gaps:
        sign = 1.0 if higher_is_better else -1.0
        p, _, greater = rank_sum(*(np.where(np.isfinite(s), s, -sign * math.inf) for s in (a, b)))
        bound = Bound(p, int(np.sign(greater - 0.5)))
        pair = replace(pair, worst=bound, best=bound)
    return pair


def _deciding(test: Test, numbers: Paired) -> Test:
    return "wilcoxon" if test == "t" and numbers.constant and not numbers.identical else test


def _direction(test: Test, numbers: Paired) -> int:
    return numbers.rank_direction if test == "wilcoxon" else int(np.sign(np.nan_to_num(numbers.difference)))


def _failed(scores: pd.Series) -> tuple:
    return tuple(scores.index[~np.isfinite(scores.to_numpy(float))].tolist())


def _filled(a: pd.Series, b: pd.Series, sign: float, missing_is: float) -> np.ndarray:
    """Return the scheme's gain on every seed of either, with failed runs as the worst of all runs.

    Args:
        a: scores of the scheme.
        b: scores of the reference.
        sign: 1 if a larger score is better, else -1.
        missing_is: the gain on a seed that one of them lacks, -inf or inf.
    """
    union = a.index.union(b.index)
    x, y = (sign * s.where(np.isfinite(s), -sign * math.inf).reindex(union).to_numpy(float) for s in (a, b))
    with np.errstate(invalid="ignore"):
        gain = np.where(x == y, 0.0, x - y)  # two failed runs are a tie
    return np.where(np.isnan(x) | np.isnan(y), missing_is, gain)


def _bound(gain: np.ndarray, sign: float) -> Bound:
    found = signed_rank(gain)
    return Bound(found.p, found.direction * int(sign))


def without_interval(level: float) -> tuple[float, float]:
    """Return NaN, the ends of the interval of a comparison that has none."""
    return NAN, NAN


def _paired_interval(pair: Pair) -> Interval:
    numbers, (x, y) = pair.numbers, pair.scores
    if numbers.n < 2 or numbers.constant:
        return without_interval
    if pair.decided_by == "wilcoxon":
        return lambda level: hodges_lehmann(x - y, level)[1:]
    if pair.decided_by == "sign-flip":
        return lambda level: typical_values(x - y, level)
    return lambda level: around(numbers.difference, pair.se, numbers.df, level)


def related_by_seed(scores: Mapping[str, pd.Series], pairs: list[tuple[str, str]], asked: bool | None) -> bool:
    """Return whether to pair by seed: `asked`, or if that is None, whether any pair shares a seed.

    Raises:
        ValueError: a pair shares no seed though others do, or although pairing was asked for.
    """
    if asked is False:
        return False
    apart = [(a, b) for a, b in pairs if scores[a].index.intersection(scores[b].index).empty]
    if asked is None and len(apart) == len(pairs):
        return False
    if apart:
        raise ValueError(
            f"{apart[0][0]} and {apart[0][1]} share no seed: they cannot be paired. Leave one out, or compare all as"
            " independent runs: jfed table --paired False (in Python paired=False)"
        )
    return True
