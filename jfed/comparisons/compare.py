"""Comparison of schemes on one metric, with one correction for all comparisons that belong together."""

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import pandas as pd

from jfed.comparisons.comparison import Comparison, Comparisons, Correction, Failed, Relation, Test, best_group
from jfed.comparisons.family import Rule
from jfed.comparisons.pairs import Pair, any_seeds, related_by_seed, same_seeds
from jfed.comparisons.rows import rows
from jfed.comparisons.sequence import always_valid, at_looks
from jfed.results.direction import require_direction
from jfed.results.frames import (
    SELECTED_HERE,
    company_notes,
    require_scheme,
    scores_by_scheme,
    with_seeds,
)
from jfed.stats.checks import require_share
from jfed.stats.crossed import Design, factors
from jfed.stats.omnibus import Friedman, friedman
from jfed.stats.paired import NAN, seeds_needed
from jfed.stats.signflip import DRAWN
from jfed.stats.spending import Spending, checked_looks

MOST_DRAWN = 1_000_000  # sign patterns of a comparison

__all__ = ["Comparison", "Comparisons", "best_group", "compare", "compare_levels", "seeds_needed"]


@dataclass(frozen=True)
class _Part:
    """One table's comparisons before correction, each at the looks that it has reached, or once."""

    scores: dict[str, pd.Series]
    names: list[tuple[str, str]]
    comparisons: list[list[Pair]]
    design: Relation
    judged: list[bool]
    remarks: tuple[str, ...]


def compare(frame: pd.DataFrame, metric: str, **choices: Any) -> Comparisons:
    """Compare schemes on one metric, paired by seed and corrected for all comparisons made here.

    Each pair is compared on the seeds that both have and finished. Runs that share seeds of data, model or environment
    (columns data_seed, model_seed, environment_seed) are compared by the standard error of that design. Every test is
    corrected over the family; the verdict follows the corrected p-value of `test`. If `test` is "t" and the difference
    is the same on every seed, no t exists and the Wilcoxon test decides. Rows that were selected by their scores on
    these very seeds (`choose` marks them) get no verdict.

    Args:
        frame: one row per (scheme, seed), with columns `scheme`, `seed` and `metric`.
        metric: the metric. To look at several and report the best one invalidates the p-values.
        **choices: as in `compare_levels`.

    Raises:
        ValueError: as in `compare_levels`.
    """
    (found,) = compare_levels({"": frame}, metric, **choices).values()
    return found


def compare_levels(
    frames: Mapping[Any, pd.DataFrame],
    metric: str,
    *,
    baseline: str | None = None,
    higher_is_better: bool | None = None,
    alpha: float = 0.05,
    test: Test = "t",
    correction: Correction = "holm",
    paired: bool | None = None,
    failed: Failed = "worst",
    margin: float | None = None,
    looks: Sequence[int] = (),
    spending: Spending = "obrien-fleming",
    anytime: bool = False,
) -> dict[Any, Comparisons]:
    """Compare schemes in several tables, such as the levels of a sweep, as one family of comparisons.

    Args:
        frames: a frame for each table, as in `compare`.
        metric: the metric.
        baseline: compare every other scheme with this one; None compares all pairs.
        higher_is_better: whether a larger score is better; None goes by the metric's name.
        alpha: familywise error rate ("holm") or false discovery rate ("bh"); one minus the level of the intervals.
        test: deciding test, named beforehand: "t" (paired), "wilcoxon" or "sign-flip", which need no normality.
        correction: "holm" for headline results; "bh" (Benjamini and Hochberg) for exploration, where on average a
            share of up to alpha of the differences shown is false.
        paired: False takes all runs as independent; None does so only if no compared pair shares a seed.
        failed: what becomes of a pair of which runs failed (NaN, infinite) or are missing on seeds that the other has.
            "worst": a verdict stands only if it also holds by ranks with failed runs as the worst of all, and missing
            ones as the worst and as the best. "drop": the other seeds decide. "refuse": there is no verdict.
        margin: smallest difference that matters, in the metric's unit, stated beforehand. Differences that are not
            shown are then split into equal within the margin, not worse, and open.
        looks: increasing numbers of seeds at which the schemes are compared, the last being the end of the study, all
            planned beforehand (`jfed.stats.looks`). Each scheme is compared at the looks that its seeds have reached.
        spending: how alpha is spread over the looks: "obrien-fleming" keeps nearly all of it for the end.
        anytime: whether p-values and intervals hold at any number of seeds, however chosen (`jfed.stats.anytime`).

    Raises:
        ValueError: a frame, the metric, its direction, baseline, alpha or margin is unusable, or there are fewer than
            two schemes; a pair shares no seed though others do or `paired` is True; seeds are crossed, but not in full;
            a sign-flip or Wilcoxon test was asked for runs that have no independent pairs; or looks or `anytime` go
            with another choice that they do not have.

    Source: Holm (1979), A simple sequentially rejective multiple test procedure; Benjamini and Hochberg (1995);
    `jfed.comparisons.pairs` for the tests and `jfed.stats.intervals` for the intervals.
    """
    for name, value, known in (
        ("test", test, Test),
        ("correction", correction, Correction),
        ("failed", failed, Failed),
        ("spending", spending, Spending),
    ):
        if value not in get_args(known):
            raise ValueError(f"{name} must be one of {', '.join(get_args(known))}, got {value!r}")
    require_share("alpha", alpha)
    if margin is not None and not (math.isfinite(margin) and margin > 0):
        raise ValueError(f"the margin must be positive and finite, got {margin}")
    planned = checked_looks(looks) if len(looks) else ()
    if planned and anytime:
        raise ValueError("planned looks and anytime exclude each other: either keeps the level by itself")
    if (planned or anytime) and correction != "holm":
        raise ValueError(f"{'planned looks need' if planned else 'anytime needs'} Holm's correction, not {correction}")
    if anytime and (test != "t" or margin is not None):
        raise ValueError("anytime is for the t-test, without a margin")
    if not frames:
        raise ValueError("there are no tables to compare")
    frames = {key: with_seeds(frame) for key, frame in frames.items()}
    found = {key: scores_by_scheme(frame, metric) for key, frame in frames.items()}
    higher = require_direction(metric, higher_is_better)
    rule = Rule(correction, alpha, planned, spending, anytime, margin, higher)
    parts = {key: _part(frame, found[key], baseline, test, paired, rule) for key, frame in frames.items()}
    every = list(parts.values())
    names, comparisons, judged = (
        list(itertools.chain.from_iterable(getattr(part, field) for part in every))
        for field in ("names", "comparisons", "judged")
    )
    made = iter(rows(names, comparisons, judged, rule, failed))
    return {
        key: Comparisons(
            metric=metric,
            higher_is_better=higher,
            alpha=alpha,
            baseline=baseline,
            test=test,
            correction=correction,
            failed=failed,
            margin=margin,
            looks=planned,
            spending=spending,
            anytime=anytime,
            design=part.design,
            family=len(names),
            schemes=_means(part.scores, part.design != "independent"),
            rows=tuple(itertools.islice(made, len(part.names))),
            omnibus=_omnibus(part.scores, higher) if part.design == "paired" else None,
            remarks=part.remarks,
        )
        for key, part in parts.items()
    }


def _part(
    frame: pd.DataFrame, scores: dict[str, pd.Series], baseline: str | None, test: Test, paired: bool | None, rule: Rule
) -> _Part:
    if len(scores) < 2:
        raise ValueError(f"a comparison needs at least two schemes, got {len(scores)}")
    if baseline is None:
        names = list(itertools.combinations(scores, 2))
    else:
        require_scheme(baseline, list(scores))
        names = [(scheme, baseline) for scheme in scores if scheme != baseline]
    chosen = set(frame["scheme"][frame[SELECTED_HERE].astype(bool)].astype(str)) if SELECTED_HERE in frame else set()
    judged = [not chosen & set(both) for both in names]
    sequential, higher = rule.anytime or bool(rule.looks), rule.higher_is_better
    if not related_by_seed(scores, names, paired):
        if test == "sign-flip" or sequential:
            what = "the sign-flip test needs" if test == "sign-flip" else "planned looks and anytime need"
            raise ValueError(f"{what} schemes that share seeds; choose t or wilcoxon, once")
        once = [[any_seeds(scores[a], scores[b], higher, test)] for a, b in names]
        return _Part(scores, names, once, "independent", judged, company_notes(frame))

    seeds = factors(frame)
    design: Relation = "paired" if seeds.kind == "independent" else seeds.kind
    if design != "paired" and (test != "t" or sequential):
        shared = " and ".join(name for name, _ in seeds.levels)
        raise ValueError(f"runs share {shared}: only the t-test has a form for such runs, made once")
    flips = min(MOST_DRAWN, max(DRAWN, math.ceil(2 * len(names) / rule.alpha)))  # so that the least p survives
    pair = functools.partial(same_seeds, higher_is_better=higher, test=test, seeds=seeds, flips=flips)
    if rule.looks:
        comparisons = [at_looks(scores[a], scores[b], rule.looks, pair) for a, b in names]
    else:
        comparisons = [[pair(scores[a], scores[b])] for a, b in names]
    if rule.anytime:
        comparisons = [[always_valid(one)] for (one,) in comparisons]
    return _Part(scores, names, comparisons, design, judged, (*_shared(seeds), *company_notes(frame)))


def _shared(seeds: Design) -> tuple[str, ...]:
    """Return notes on seeds that runs share."""
    levels = [f"{count} levels of {name}" for name, count in seeds.levels]
    how = {
        "independent": "",
        "clustered": f"Runs share {levels[0]}.",
        "crossed": f"Runs cross {' with '.join(levels)}.",
    }
    notes = (f"{note[0].upper()}{note[1:]}." for note in seeds.notes)
    return (*filter(None, [how[seeds.kind]]), *notes)


def _omnibus(scores: Mapping[str, pd.Series], higher_is_better: bool) -> Friedman | None:
    both = pd.concat(list(scores.values()), axis=1, join="inner").to_numpy(float)
    finished = both[np.isfinite(both).all(axis=1)]
    return friedman(finished, higher_is_better=higher_is_better) if len(scores) > 2 and len(finished) > 1 else None


def _means(scores: Mapping[str, pd.Series], paired: bool) -> tuple[tuple[str, float, int], ...]:
    """Return each scheme's mean and its failed runs; if paired, over the seeds that schemes without failures share."""
    finished: dict[str, Any] = {s: v[np.isfinite(v.to_numpy())] for s, v in scores.items()}
    sound = [v.index for s, v in finished.items() if len(v) == len(scores[s])]
    common = functools.reduce(lambda a, b: a.intersection(b), sound) if paired and sound else pd.Index([])

    def mean(values: Any) -> float:
        shared = values[values.index.isin(common)] if len(common) else values
        return float(shared.mean()) if len(shared) else NAN

    return tuple((s, mean(v), len(scores[s]) - len(v)) for s, v in finished.items())
