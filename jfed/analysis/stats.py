"""Paired comparison of schemes on one primary metric that was named beforehand."""

import itertools
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from jfed.analysis.frames import require_alpha, require_scheme, scores_by_scheme
from jfed.analysis.intervals import cut_at_zero, holm, t_interval
from jfed.analysis.paired import NAN, Paired, measure, seeds_needed

__all__ = ["Comparison", "Comparisons", "best_group", "compare", "seeds_needed"]


@dataclass(frozen=True)
class Comparison:
    """One row: `scheme` against `reference`, on the seeds that both finished.

    Differences are scheme minus reference in the metric's units, whichever direction is better.
    A number that does not exist is NaN, and a note beside it says why.
    """

    scheme: str
    reference: str
    n: int  # seeds compared
    num_dropped: int  # seeds that only one of the two has
    failed_scheme: tuple  # seeds whose score is NaN or infinite
    failed_reference: tuple
    mean_scheme: float
    mean_reference: float
    difference: float
    sd: float  # of the paired differences, n - 1 in the denominator
    low: float  # Bonferroni's interval, cut at 0 where Holm alone rejects (jfed.analysis.intervals)
    high: float
    open_at_zero: bool  # an end was cut, and 0 itself is outside
    bonferroni_low: float  # uncut: jointly right with probability >= 1 - alpha
    bonferroni_high: float
    pointwise_low: float  # level 1 - alpha for this row alone
    pointwise_high: float
    t: float
    p_t: float
    p_t_holm: float
    t_note: str
    p_wilcoxon: float
    p_wilcoxon_holm: float
    wilcoxon_exact: bool
    wilcoxon_note: str
    d_z: float  # difference / sd
    share_won: float  # of seeds on which `scheme` is better, ties counted half
    correlation: float  # of the two schemes' scores over seeds
    variance_saved: float  # 1 - var(a - b) / (var a + var b)
    # On `scheme`: better, worse, no difference shown, identical, too few seeds or failed runs.
    verdict: str


@dataclass(frozen=True)
class Comparisons:
    """A family of comparisons on one metric, corrected together.

    `schemes` holds each scheme with the mean over all its finished runs and the number of its
    failed ones, in the frame's order; `baseline` is None if `rows` are all pairs.
    """

    metric: str
    higher_is_better: bool
    alpha: float
    baseline: str | None
    schemes: tuple[tuple[str, float, int], ...]
    rows: tuple[Comparison, ...]

    def frame(self) -> pd.DataFrame:
        """One row per comparison, every field at full precision, the metric's name in front."""
        rows = [{"metric": self.metric, **asdict(row)} for row in self.rows]
        frame = pd.DataFrame(rows)
        for column in ("failed_scheme", "failed_reference"):
            frame[column] = [" ".join(map(str, seeds)) for seeds in frame[column]]
        return frame


def compare(
    frame: pd.DataFrame,
    metric: str,
    *,
    baseline: str | None = None,
    higher_is_better: bool = True,
    alpha: float = 0.05,
) -> Comparisons:
    """Compare schemes on one metric, paired by seed and corrected for all comparisons made here.

    Each pair is compared on the seeds that both have and finished. A run whose score is NaN or
    infinite has failed: it is left out of that pair's numbers and listed, and the pair's verdict is
    then "failed runs" whatever the p-value, since the seeds that are left favour the scheme that
    failed. The verdict follows the Holm-corrected paired t-test; the Wilcoxon test beside it needs
    no normality. If the difference is the same on every seed, no t exists and the Wilcoxon test
    decides.

    Args:
        frame: one row per (scheme, seed), with columns `scheme`, `seed` and `metric`.
        metric: the primary metric. To look at several and report the best one voids the p-values.
        baseline: compare every other scheme with this one; None compares all pairs.
        higher_is_better: whether a larger score is better; decides verdicts and seeds won.
        alpha: family-wise error rate, and one minus the intervals' level.

    Raises:
        ValueError: the frame, metric, baseline or alpha is unusable, or there are fewer than two
            schemes.

    Source: Holm (1979), A simple sequentially rejective multiple test procedure; Pratt (1959) for
    zeros in the signed-rank test; `jfed.analysis.intervals` for the intervals.
    """
    require_alpha(alpha)
    scores = scores_by_scheme(frame, metric)
    if len(scores) < 2:
        raise ValueError(f"a comparison needs at least two schemes, got {len(scores)}")
    if baseline is None:
        pairs = list(itertools.combinations(scores, 2))
    else:
        require_scheme(baseline, list(scores))
        pairs = [(scheme, baseline) for scheme in scores if scheme != baseline]

    measured = [_pair(scores[a], scores[b], higher_is_better) for a, b in pairs]
    enough = seeds_needed(len(pairs), alpha)
    p_wilcoxon = [p.p_wilcoxon if p.n >= enough or p.identical else NAN for p in measured]
    t_holm = holm(np.array([p.p_t for p in measured]))
    w_holm = holm(np.array(p_wilcoxon))

    rows = []
    for index, ((a, b), pair) in enumerate(zip(pairs, measured, strict=True)):
        t_note, wilcoxon_note = _notes(pair, enough)
        failed_a, failed_b = _failed(scores[a]), _failed(scores[b])
        adjusted = float(w_holm[index] if t_note == "constant difference" else t_holm[index])
        low, high, pointwise, is_open = NAN, NAN, (NAN, NAN), False
        bonferroni = (NAN, NAN)
        if pair.n > 1 and (pair.identical or not pair.constant):
            pointwise = t_interval(pair.difference, pair.sd, pair.n, 1 - alpha)
            bonferroni = t_interval(pair.difference, pair.sd, pair.n, 1 - alpha / len(pairs))
            low, high, is_open = cut_at_zero(*bonferroni, rejected=adjusted < alpha)
        rows.append(
            Comparison(
                scheme=a,
                reference=b,
                n=pair.n,
                num_dropped=len(scores[a].index.symmetric_difference(scores[b].index)),
                failed_scheme=failed_a,
                failed_reference=failed_b,
                mean_scheme=pair.mean_scheme,
                mean_reference=pair.mean_reference,
                difference=pair.difference,
                sd=pair.sd,
                low=low,
                high=high,
                open_at_zero=is_open,
                bonferroni_low=bonferroni[0],
                bonferroni_high=bonferroni[1],
                pointwise_low=pointwise[0],
                pointwise_high=pointwise[1],
                t=pair.t,
                p_t=pair.p_t,
                p_t_holm=float(t_holm[index]),
                t_note=t_note,
                p_wilcoxon=p_wilcoxon[index],
                p_wilcoxon_holm=float(w_holm[index]),
                wilcoxon_exact=pair.wilcoxon_exact,
                wilcoxon_note=wilcoxon_note,
                d_z=pair.d_z,
                share_won=pair.share_won,
                correlation=pair.correlation,
                variance_saved=pair.variance_saved,
                verdict=_verdict(pair, bool(failed_a or failed_b), adjusted < alpha, enough, higher_is_better),
            )
        )
    return Comparisons(
        metric=metric,
        higher_is_better=higher_is_better,
        alpha=alpha,
        baseline=baseline,
        schemes=tuple((s, _finished_mean(v), len(_failed(v))) for s, v in scores.items()),
        rows=tuple(rows),
    )


def best_group(comparisons: Comparisons) -> frozenset[str]:
    """The scheme with the best mean, and all those not shown to be worse than it.

    Schemes with failed runs are left out. Empty if nothing was tested against the best scheme, or
    if `comparisons` has a baseline that is not itself the best: the tests needed are not there.
    """
    sign = 1.0 if comparisons.higher_is_better else -1.0
    sound = {scheme: sign * mean for scheme, mean, failed in comparisons.schemes if not failed}
    if not sound:
        return frozenset()
    best = max(sound, key=lambda scheme: sound[scheme])
    against = [row for row in comparisons.rows if best in (row.scheme, row.reference)]
    verdicts = {(row.reference if row.scheme == best else row.scheme): row.verdict for row in against}
    untested = {"too few seeds", "failed runs"}
    others = [verdicts.get(scheme, "too few seeds") for scheme in sound if scheme != best]
    if comparisons.baseline not in (None, best) or set(others) <= untested:
        return frozenset()
    level = {"no difference shown", "identical"}
    return frozenset([best, *(s for s in sound if verdicts.get(s) in level)])


def _pair(a: pd.Series, b: pd.Series, higher_is_better: bool) -> Paired:
    both = pd.concat([a, b], axis=1, join="inner").to_numpy(dtype=float)
    finished = both[np.isfinite(both).all(axis=1)]
    return measure(finished[:, 0], finished[:, 1], higher_is_better=higher_is_better)


def _failed(scores: pd.Series) -> tuple:
    return tuple(scores.index[~np.isfinite(scores.to_numpy())].tolist())


def _finished_mean(scores: pd.Series) -> float:
    finished = scores.to_numpy()[np.isfinite(scores.to_numpy())]
    return float(finished.mean()) if len(finished) else NAN


def _notes(pair: Paired, enough: int) -> tuple[str, str]:
    """Why there is no t-test, and why no Wilcoxon p-value; empty if there is one."""
    if pair.n < 2:
        return "needs >= 2 seeds", "needs >= 2 seeds"
    if pair.identical:
        return "identical", ""
    few = f"needs >= {enough} seeds" if pair.n < enough else ""
    return "constant difference" if pair.constant else "", few


def _verdict(pair: Paired, failed: bool, rejected: bool, enough: int, higher_is_better: bool) -> str:
    if failed:
        return "failed runs"
    if pair.n < 2:
        return "too few seeds"
    if pair.identical:
        return "identical"
    if rejected:
        return "better" if (pair.difference > 0) == higher_is_better else "worse"
    if pair.constant and pair.n < enough:
        return "too few seeds"
    return "no difference shown"
