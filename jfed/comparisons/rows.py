"""The rows of a family of comparisons: corrected p-values, intervals, notes and verdicts."""

import math
from collections.abc import Sequence
from typing import Any

from jfed.comparisons.comparison import Comparison, Failed
from jfed.comparisons.family import Rule, corrected
from jfed.comparisons.pairs import Pair
from jfed.comparisons.verdicts import Case, verdict
from jfed.stats.paired import seeds_needed
from jfed.stats.unpaired import runs_needed


def rows(
    names: Sequence[tuple[str, str]],
    comparisons: Sequence[Sequence[Pair]],
    judged: Sequence[bool],
    rule: Rule,
    failed: Failed,
) -> list[Comparison]:
    """Return all rows of a family, in order.

    Args:
        names: scheme and reference of each comparison.
        comparisons: each comparison at the looks that it has reached, or once.
        judged: False for a comparison of schemes that were selected by these very scores.
        rule: the correction.
        failed: what becomes of failed and missing runs, see `compare`.
    """
    found, m, alpha = corrected(comparisons, rule), len(comparisons), rule.alpha
    shown = int((found.decides < alpha).sum())
    made = []
    for i, ((scheme, reference), pairs) in enumerate(zip(names, comparisons, strict=True)):
        pair, p = pairs[-1], float(found.decides[i])
        raw = {test: float(values[i]) for test, values in found.raw.items()}
        t_note, rank_note = _notes(pair, raw["wilcoxon"], rule.factor(m), alpha)
        first = rule.looks[0] if rule.looks else 0
        if pair.numbers.n + len(pair.failed[0]) + len(pair.failed[1]) < first:
            t_note = rank_note = f"needs >= {first} seeds"
        low, high = pair.interval(rule.level(m, shown, len(pairs)))
        pointwise = pair.interval(rule.level(1, 1, len(pairs)))
        is_last = not rule.looks or len(pairs) == len(rule.looks)
        word, sensitivity = verdict(
            Case(
                pair=pair,
                direction=pairs[int(found.at[i])].direction,
                higher_is_better=rule.higher_is_better,
                alpha=alpha,
                failed=failed,
                judged=judged[i],
                p=p,
                worst=float(found.worst[i]),
                best=float(found.best[i]),
                equal=float(found.equal[i]),
                not_worse=float(found.not_worse[i]),
                has_margin=rule.margin is not None,
                is_last=is_last,
            )
        )
        numbers: dict[str, Any] = vars(pair.numbers) | {"p_wilcoxon": raw["wilcoxon"], "p_sign_flip": raw["sign-flip"]}
        made.append(
            Comparison(
                **numbers,
                scheme=scheme,
                reference=reference,
                design=pair.design,
                design_note=pair.design_note,
                decided_by=pair.decided_by,
                n_reference=pair.n_reference,
                seeds=pair.seeds,
                scores_scheme=pair.scores[0],
                scores_reference=pair.scores[1],
                failed_scheme=pair.failed[0],
                failed_reference=pair.failed[1],
                missing_scheme=pair.missing[0],
                missing_reference=pair.missing[1],
                se=pair.se,
                low=low,
                high=high,
                pointwise_low=pointwise[0],
                pointwise_high=pointwise[1],
                p_t_adjusted=float(found.adjusted["t"][i]),
                t_note=t_note,
                p_wilcoxon_adjusted=float(found.adjusted["wilcoxon"][i]),
                rank_note=rank_note,
                p_sign_flip_adjusted=float(found.adjusted["sign-flip"][i]),
                p_equal_adjusted=float(found.equal[i]),
                p_not_worse_adjusted=float(found.not_worse[i]),
                looked=rule.looks[: len(pairs)] if len(pair.seeds) >= min(rule.looks, default=0) else (),
                next_alpha=rule.next_level(m, shown - int(p < alpha)),
                sensitivity=sensitivity,
                verdict=word,
            )
        )
    return made


def _notes(pair: Pair, p_ranks: float, factor: int, alpha: float) -> tuple[str, str]:
    """Return why there is no t-test, and why there is no rank or sign test; "" if there is one."""
    numbers, paired = pair.numbers, pair.design != "independent"
    few = ""
    if pair.design in ("crossed", "clustered"):
        few = f"{pair.design} seeds"
    elif math.isnan(p_ranks):
        needed = seeds_needed(factor, alpha) if paired else runs_needed(factor, alpha)
        few = f"needs >= {needed} seeds" if paired else f"needs >= {needed} runs of each"
    if numbers.identical:
        return "identical", ""
    if numbers.constant:
        return "constant difference", few
    lacking = "needs >= 2 seeds" if pair.design in ("paired", "independent") else "incomplete grid"
    return lacking if math.isnan(numbers.p_t) else "", few
