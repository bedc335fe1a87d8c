"""Comparison of schemes on one primary metric that was named beforehand, paired by seed where they share seeds."""

import functools
import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, get_args

import numpy as np
import pandas as pd

from jfed.results.frames import company_notes, require_alpha, require_scheme, scores_by_scheme
from jfed.stats.comparison import Comparison, Comparisons, Correction, Test, best_group
from jfed.stats.intervals import benjamini_hochberg, cut_at_zero, holm, t_interval
from jfed.stats.omnibus import Friedman, friedman
from jfed.stats.paired import NAN, Paired, measure, seeds_needed
from jfed.stats.power import seeds_for
from jfed.stats.unpaired import unpaired

__all__ = ["Comparison", "Comparisons", "best_group", "compare", "seeds_needed"]

CORRECTIONS = {"holm": holm, "bh": benjamini_hochberg}


class _Pair(NamedTuple):
    """One comparison before correction.

    Attributes:
        numbers: results of its tests.
        interval: confidence interval of the difference, by level.
        n_reference: number of the reference's runs.
    """

    numbers: Paired
    interval: Callable[[float], tuple[float, float]]
    n_reference: int


def compare(
    frame: pd.DataFrame,
    metric: str,
    *,
    baseline: str | None = None,
    higher_is_better: bool = True,
    alpha: float = 0.05,
    test: Test = "t",
    correction: Correction = "holm",
    paired: bool | None = None,
) -> Comparisons:
    """Compare schemes on one metric, paired by seed and corrected for all comparisons made here.

    Each pair is compared on the seeds that both have and finished. A run whose score is NaN or
    infinite has failed: it is left out of that pair's numbers and listed, and the pair's verdict is
    then "failed runs" whatever the p-value, since the remaining seeds favour the scheme that
    failed. Every test is computed; the verdict follows the corrected p-value of `test`. If `test` is
    "t" and the difference is the same on every seed, no t exists and the Wilcoxon test decides.

    Args:
        frame: one row per (scheme, seed), with columns `scheme`, `seed` and `metric`.
        metric: the primary metric. Looking at several and reporting the best one invalidates the p-values.
        baseline: compare every other scheme with this one; None compares all pairs.
        higher_is_better: whether a larger score is better; decides verdicts and seeds won.
        alpha: familywise error rate ("holm") or false discovery rate ("bh"); one minus the level of the intervals.
        test: deciding test, named beforehand: "t" (paired), "wilcoxon" or "sign-flip", which need no normality.
        correction: "holm" for headline results; "bh" (Benjamini and Hochberg) for exploration, where on average a
            share of up to alpha of the differences shown is false.
        paired: False takes all runs as independent; None does so only if no compared pair shares a seed.

    Raises:
        ValueError: the frame, metric, baseline or alpha is unusable, or there are fewer than two schemes; a pair
            shares no seed though others do or `paired` is True; or a sign-flip test has no pairs.

    Source: Holm (1979), A simple sequentially rejective multiple test procedure; Benjamini and
    Hochberg (1995); Pratt (1959) for zeros in the signed-rank test; `jfed.stats.intervals` for
    the intervals; `jfed.stats.unpaired` for independent runs.
    """
    require_alpha(alpha)
    for name, value, known in (("test", test, get_args(Test)), ("correction", correction, get_args(Correction))):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
    scores = scores_by_scheme(frame, metric)
    if len(scores) < 2:
        raise ValueError(f"a comparison needs at least two schemes, got {len(scores)}")
    if baseline is None:
        pairs = list(itertools.combinations(scores, 2))
    else:
        require_scheme(baseline, list(scores))
        pairs = [(scheme, baseline) for scheme in scores if scheme != baseline]
    paired = _pairs_by_seed(scores, pairs, paired)
    if test == "sign-flip" and not paired:
        raise ValueError("the sign-flip test needs schemes that share seeds; choose t or wilcoxon")

    measured = [(_same_seeds if paired else _any_seeds)(scores[a], scores[b], higher_is_better) for a, b in pairs]
    # If all p-values are equal, Benjamini and Hochberg's procedure leaves them; Holm's multiplies them by their number.
    enough = seeds_needed(len(pairs) if correction == "holm" else 1, alpha)
    adjust, raw = CORRECTIONS[correction], [_tests(pair.numbers, enough, paired) for pair in measured]
    adjusted = {name: adjust(np.array([p[name] for p in raw])) for name in get_args(Test)}
    decides = [adjusted[_deciding(test, pair.numbers)][i] for i, pair in enumerate(measured)]
    if correction == "holm":
        level = 1 - alpha / len(pairs)
    else:  # Benjamini and Yekutieli (2005): the false coverage rate of the differences shown is alpha
        level = 1 - alpha * max(1, sum(p < alpha for p in decides)) / len(pairs)

    rows = []
    for i, ((a, b), pair) in enumerate(zip(pairs, measured, strict=True)):
        numbers, failed_a, failed_b = pair.numbers, _failed(scores[a]), _failed(scores[b])
        t_note, rank_note = _notes(numbers, enough, paired)
        direction = _direction(_deciding(test, numbers), numbers)
        pointwise = uncut = (NAN, NAN)
        if numbers.n > 1 and (numbers.identical or not numbers.constant):
            pointwise, uncut = pair.interval(1 - alpha), pair.interval(level)
        (low, high), is_open = uncut, False
        # The cut follows the decision, so there must be one, and its direction must not contradict the mean's sign.
        if not np.isnan(decides[i]) and not np.isnan(low) and direction * numbers.difference >= 0:
            low, high, is_open = cut_at_zero(*uncut, rejected=bool(decides[i] < alpha))
        verdict = _verdict(
            numbers, bool(failed_a or failed_b), decides[i], alpha, direction if higher_is_better else -direction
        )
        able = replace(numbers, p_wilcoxon=raw[i]["wilcoxon"], p_sign_flip=raw[i]["sign-flip"])
        rows.append(
            Comparison(
                **vars(able),
                scheme=a,
                reference=b,
                paired=paired,
                n_reference=pair.n_reference,
                num_dropped=len(scores[a].index.symmetric_difference(scores[b].index)) if paired else 0,
                failed_scheme=failed_a,
                failed_reference=failed_b,
                low=low,
                high=high,
                open_at_zero=is_open,
                uncut_low=uncut[0],
                uncut_high=uncut[1],
                pointwise_low=pointwise[0],
                pointwise_high=pointwise[1],
                p_t_adjusted=float(adjusted["t"][i]),
                t_note=t_note,
                p_wilcoxon_adjusted=float(adjusted["wilcoxon"][i]),
                rank_note=rank_note,
                p_sign_flip_adjusted=float(adjusted["sign-flip"][i]),
                seeds_wanted=_seeds_wanted(able.d_z, alpha, len(pairs), 2 if test == "t" else enough),
                verdict=verdict,
            )
        )
    means = _means(scores, paired)
    omnibus = _omnibus(scores, higher_is_better) if paired else None
    return Comparisons(
        metric, higher_is_better, alpha, baseline, test, correction, paired, means, tuple(rows), omnibus,
        company_notes(frame),
    )  # fmt: skip


def _omnibus(scores: Mapping[str, pd.Series], higher_is_better: bool) -> Friedman | None:
    both = pd.concat(list(scores.values()), axis=1, join="inner").to_numpy(float)
    finished = both[np.isfinite(both).all(axis=1)]
    return friedman(finished, higher_is_better=higher_is_better) if len(scores) > 2 and len(finished) > 1 else None


def _pairs_by_seed(scores: Mapping[str, pd.Series], pairs: list[tuple[str, str]], asked: bool | None) -> bool:
    """Return whether to pair by seed: `asked`, or if that is None, whether any pair shares a seed."""
    if asked is False:
        return False
    apart = [(a, b) for a, b in pairs if scores[a].index.intersection(scores[b].index).empty]
    if asked is None and len(apart) == len(pairs):
        return False
    if apart:
        raise ValueError(
            f"{apart[0][0]} and {apart[0][1]} share no seed: they cannot be paired. Leave one out, or compare all as"
            " independent runs (paired=False)"
        )
    return True


def _same_seeds(a: pd.Series, b: pd.Series, higher_is_better: bool) -> _Pair:
    both = pd.concat([a, b], axis=1, join="inner").to_numpy(dtype=float)
    finished = both[np.isfinite(both).all(axis=1)]
    numbers = measure(finished[:, 0], finished[:, 1], higher_is_better=higher_is_better)
    return _Pair(numbers, lambda level: t_interval(numbers.difference, numbers.sd, numbers.n, level), numbers.n)


def _any_seeds(a: pd.Series, b: pd.Series, higher_is_better: bool) -> _Pair:
    x, y = (s.to_numpy(float)[np.isfinite(s.to_numpy(float))] for s in (a, b))
    found = unpaired(x, y, higher_is_better=higher_is_better)
    empty = measure(np.empty(0), np.empty(0), higher_is_better=higher_is_better)
    numbers = replace(
        empty,
        n=found.n_scheme,
        mean_scheme=found.mean_scheme,
        mean_reference=found.mean_reference,
        difference=found.difference,
        t=found.t,
        p_t=found.p_welch,
        p_wilcoxon=found.p_mann_whitney,
        wilcoxon_exact=found.mann_whitney_exact,
        rank_direction=int(np.sign(np.nan_to_num(found.cliffs_delta))) * (1 if higher_is_better else -1),
        a12=found.a12,
        constant=found.n_scheme > 1 and found.n_reference > 1 and bool(np.isnan(found.t)),
        identical=found.n_scheme > 1 and found.n_reference > 1 and found.p_welch == 1.0 and bool(np.isnan(found.t)),
    )
    return _Pair(numbers, found.interval, found.n_reference)


def _tests(numbers: Paired, enough: int, paired: bool) -> dict[str, float]:
    """Return raw p-values, NaN for a rank or sign test that cannot reach the level with so few seeds."""
    able = numbers.n >= enough or numbers.identical or not paired
    ranks, flips = (numbers.p_wilcoxon, numbers.p_sign_flip) if able else (NAN, NAN)
    return {"t": numbers.p_t, "wilcoxon": ranks, "sign-flip": flips}


def _deciding(test: Test, numbers: Paired) -> Test:
    return "wilcoxon" if test == "t" and numbers.constant and not numbers.identical else test


def _seeds_wanted(d_z: float, alpha: float, num_comparisons: int, fewest: int) -> float:
    try:
        return max(fewest, seeds_for(d_z, alpha=alpha, num_comparisons=num_comparisons))
    except ValueError:  # d_z is NaN, 0, or too small for any number of seeds tried
        return NAN


def _failed(scores: pd.Series) -> tuple:
    return tuple(scores.index[~np.isfinite(scores.to_numpy())].tolist())


def _means(scores: Mapping[str, pd.Series], paired: bool) -> tuple[tuple[str, float, int], ...]:
    """Return each scheme's mean and its failed runs; if paired, over the seeds that schemes without failures share."""
    finished: dict[str, Any] = {s: v[np.isfinite(v.to_numpy())] for s, v in scores.items()}
    sound = [v.index for s, v in finished.items() if len(v) == len(scores[s])]
    common = functools.reduce(lambda a, b: a.intersection(b), sound) if paired and sound else pd.Index([])

    def mean(values: Any) -> float:
        shared = values[values.index.isin(common)] if len(common) else values
        return float(shared.mean()) if len(shared) else NAN

    return tuple((s, mean(v), len(scores[s]) - len(v)) for s, v in finished.items())


def _notes(numbers: Paired, enough: int, paired: bool) -> tuple[str, str]:
    """Return why there is no t-test, and why there is no rank or sign test; "" if there is one."""
    if numbers.n < 2 or (not paired and np.isnan(numbers.p_t) and not numbers.constant):
        return "needs >= 2 seeds", "needs >= 2 seeds" if paired else ""
    if numbers.identical:
        return "identical", ""
    few = f"needs >= {enough} seeds" if paired and numbers.n < enough else ""
    return "constant difference" if numbers.constant else "", few


def _direction(test: Test, numbers: Paired) -> int:
    """Return 1 if the scheme has the larger scores, -1 if the reference has, by ranks or means as the test decides."""
    return numbers.rank_direction if test == "wilcoxon" else int(np.sign(np.nan_to_num(numbers.difference)))


def _verdict(numbers: Paired, failed: bool, p: float, alpha: float, direction: int) -> str:
    """Return the verdict; `direction` is 1 if the scheme looks better."""
    if failed:
        return "failed runs"
    if numbers.identical:
        return "identical"
    if np.isnan(p):
        return "too few seeds"
    if p < alpha:
        return "better" if direction > 0 else "worse"
    return "no difference shown"
