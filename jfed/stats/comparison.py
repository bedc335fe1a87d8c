"""Results of a comparison of schemes: rows, the family in which they are corrected, and the best group."""

from dataclasses import asdict, dataclass
from typing import Literal

import pandas as pd

from jfed.stats.omnibus import Friedman
from jfed.stats.paired import Paired

Test = Literal["t", "wilcoxon", "sign-flip"]
Correction = Literal["holm", "bh"]


@dataclass(frozen=True, kw_only=True)
class Comparison(Paired):
    """One row: `scheme` against `reference`, on the seeds that both finished.

    Differences are scheme minus reference in the metric's units, whichever direction is better.
    A number that does not exist is NaN, and a note says why. Without pairing, t is Welch's, the
    Wilcoxon test is Mann and Whitney's, numbers that need pairs are NaN, and n counts runs of the
    scheme.

    Attributes:
        scheme: name of the scheme.
        reference: name of the scheme that it is compared with.
        paired: whether scores are paired by seed.
        n_reference: number of the reference's runs.
        num_dropped: number of seeds that only one of the two has; 0 without pairing.
        failed_scheme: seeds at which the scheme's score is NaN or infinite.
        failed_reference: the same for the reference.
        low: lower end of the family's interval, cut at 0 to agree with the corrected test (`jfed.stats.intervals`).
        high: its upper end.
        open_at_zero: whether an end was cut, so that 0 itself is outside.
        uncut_low: lower end before the cut; with Holm these are Bonferroni's simultaneous intervals.
        uncut_high: its upper end.
        pointwise_low: lower end at level 1 - alpha for this row alone.
        pointwise_high: its upper end.
        p_t_adjusted: corrected p-value of the t-test.
        t_note: why there is no t-test, or "".
        p_wilcoxon_adjusted: corrected p-value of the Wilcoxon test.
        rank_note: why there is no Wilcoxon and no sign-flip test, or "".
        p_sign_flip_adjusted: corrected p-value of the sign-flip test.
        seeds_wanted: seeds for 80 % power in this family if d_z were the true effect; NaN if there is no d_z, or if
            more than 100 000 are needed.
        verdict: on the scheme: better, worse, no difference shown, identical, too few seeds or failed runs.
    """

    scheme: str
    reference: str
    paired: bool
    n_reference: int
    num_dropped: int
    failed_scheme: tuple
    failed_reference: tuple
    low: float
    high: float
    open_at_zero: bool
    uncut_low: float
    uncut_high: float
    pointwise_low: float
    pointwise_high: float
    p_t_adjusted: float
    t_note: str
    p_wilcoxon_adjusted: float
    rank_note: str
    p_sign_flip_adjusted: float
    seeds_wanted: float
    verdict: str


@dataclass(frozen=True)
class Comparisons:
    """A family of comparisons on one metric, corrected together.

    Attributes:
        metric: name of the metric.
        higher_is_better: whether a larger score is better.
        alpha: familywise error rate, or false discovery rate.
        baseline: scheme that all others are compared with; None if `rows` are all pairs.
        test: test that decides the verdicts.
        correction: correction for multiple comparisons.
        paired: whether scores are paired by seed.
        schemes: name, mean and number of failed runs of each scheme, in the frame's order; if paired, the mean is over
            the seeds that all schemes without failures have in common, if there are any.
        rows: the comparisons.
        omnibus: Friedman's test over the seeds that all schemes finished, columns in the order of `schemes`; None
            without pairing, or with fewer than three schemes or two such seeds.
        remarks: notes on the runs themselves.
    """

    metric: str
    higher_is_better: bool
    alpha: float
    baseline: str | None
    test: Test
    correction: Correction
    paired: bool
    schemes: tuple[tuple[str, float, int], ...]
    rows: tuple[Comparison, ...]
    omnibus: Friedman | None
    remarks: tuple[str, ...] = ()

    def frame(self) -> pd.DataFrame:
        """Return one row per comparison: the metric's name, then every field at full precision."""
        rows = [{"metric": self.metric, **asdict(row)} for row in self.rows]
        frame = pd.DataFrame(rows)
        for column in ("failed_scheme", "failed_reference"):
            frame[column] = [" ".join(map(str, seeds)) for seeds in frame[column]]
        first = ["metric", "scheme", "reference", "paired"]
        return frame.reindex(columns=[*first, *frame.columns.drop(first)])


def best_group(comparisons: Comparisons) -> frozenset[str]:
    """Return the scheme with the best mean, and all schemes that were tested against it and not shown to be worse.

    Schemes with failed runs are left out. Empty if nothing was tested against the best scheme, if a test says that
    another is better than it (on other seeds, or by ranks), or if `comparisons` has a baseline that is not itself the
    best, so that the tests needed are missing.
    """
    sign = 1.0 if comparisons.higher_is_better else -1.0
    sound = {scheme: sign * mean for scheme, mean, failed in comparisons.schemes if not failed}
    if not sound:
        return frozenset()
    best = max(sound, key=lambda scheme: sound[scheme])
    against = [row for row in comparisons.rows if best in (row.scheme, row.reference)]
    verdicts = {(row.reference if row.scheme == best else row.scheme): row.verdict for row in against}
    untested = {"too few seeds", "failed runs"}
    if any(row.verdict == ("worse" if row.scheme == best else "better") for row in against):
        return frozenset()
    others = [verdicts.get(scheme, "too few seeds") for scheme in sound if scheme != best]
    if comparisons.baseline not in (None, best) or set(others) <= untested:
        return frozenset()
    level = {"no difference shown", "identical"}
    return frozenset([best, *(s for s in sound if verdicts.get(s) in level)])
