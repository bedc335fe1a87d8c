"""Results of a comparison of schemes: rows, the family in which they are corrected, and the best group."""

from dataclasses import dataclass, field, fields
from typing import Literal

import numpy as np
import pandas as pd

from jfed.stats.bootstrap import iqm
from jfed.stats.omnibus import Friedman
from jfed.stats.paired import NAN, Paired
from jfed.stats.spending import Spending

Test = Literal["t", "wilcoxon", "sign-flip"]
Correction = Literal["holm", "bh"]
Failed = Literal["worst", "drop", "refuse"]
Relation = Literal["paired", "independent", "crossed", "clustered"]

UNDECIDED = ("too few seeds", "not yet decided", "failed runs", "missing runs", "not judged")
LEVEL_WITH = ("no difference shown", "equal within margin", "not worse", "open", "identical", "never reached")


@dataclass(frozen=True, kw_only=True)
class Comparison(Paired):
    """One row: `scheme` against `reference`, on the seeds that both finished.

    Differences are scheme minus reference in the metric's units, whichever direction is better.
    A number that does not exist is NaN, and a note says why. For independent runs t is Welch's, the
    Wilcoxon test is Mann and Whitney's, numbers that need pairs are NaN, and n counts runs of the
    scheme. For crossed or clustered seeds t has the standard error of that design (`jfed.stats.crossed`).

    Attributes:
        scheme: name of the scheme.
        reference: name of the scheme that it is compared with.
        design: how their runs are related.
        design_note: what restricts the test of crossed or clustered seeds, or "".
        decided_by: test that decides this row.
        n_reference: number of the reference's runs.
        seeds: seeds that both finished, in order; of the scheme alone for independent runs.
        scores_scheme: the scheme's scores on them.
        scores_reference: the reference's; on its own seeds for independent runs.
        failed_scheme: seeds at which the scheme's score is NaN or infinite.
        failed_reference: the same for the reference.
        missing_scheme: seeds that only the reference has; none for independent runs.
        missing_reference: seeds that only the scheme has.
        se: standard error of the difference.
        low: lower end of the family's interval, which belongs to the deciding test (`jfed.stats.intervals`).
        high: its upper end.
        pointwise_low: lower end at level 1 - alpha for this row alone.
        pointwise_high: its upper end.
        p_t_adjusted: corrected p-value of the t-test.
        t_note: why there is no t-test, or "".
        p_wilcoxon_adjusted: corrected p-value of the Wilcoxon test.
        rank_note: why there is no Wilcoxon and no sign-flip test, or "".
        p_sign_flip_adjusted: corrected p-value of the sign-flip test; NaN unless that test was asked for.
        p_equal_adjusted: corrected p-value of "the means differ by the margin or more"; NaN without a margin.
        p_not_worse_adjusted: corrected p-value of "the scheme is worse by the margin or more".
        looked: planned looks that the row has reached; none without a plan.
        next_alpha: level at which the correction tests this row, if it rejects what it rejects of the others.
        sensitivity: verdicts without failed and missing runs and with them counted as worst and best, or "".
        verdict: on the scheme: better, worse, no difference shown, identical, too few seeds, failed runs, missing runs
            or not judged; with a margin "equal within margin", "not worse" or open instead of no difference shown;
            before the last of planned looks, "not yet decided" instead of these; "never reached" (`compare_times`).
    """

    scheme: str
    reference: str
    design: Relation
    design_note: str
    decided_by: Test
    n_reference: int
    seeds: tuple = field(repr=False)
    scores_scheme: np.ndarray = field(repr=False, compare=False)
    scores_reference: np.ndarray = field(repr=False, compare=False)
    failed_scheme: tuple
    failed_reference: tuple
    missing_scheme: tuple
    missing_reference: tuple
    se: float
    low: float
    high: float
    pointwise_low: float
    pointwise_high: float
    p_t_adjusted: float
    t_note: str
    p_wilcoxon_adjusted: float
    rank_note: str
    p_sign_flip_adjusted: float
    p_equal_adjusted: float
    p_not_worse_adjusted: float
    looked: tuple[int, ...]
    next_alpha: float
    sensitivity: str
    verdict: str

    @property
    def p_adjusted(self) -> float:
        """Return the corrected p-value of the deciding test."""
        values = {"t": self.p_t_adjusted, "wilcoxon": self.p_wilcoxon_adjusted, "sign-flip": self.p_sign_flip_adjusted}
        return values[self.decided_by]

    @property
    def iqm_difference(self) -> float:
        """Return the interquartile mean of the paired differences; NaN for independent runs."""
        return (
            float(iqm(self.scores_scheme - self.scores_reference)) if self.n and self.design != "independent" else NAN
        )

    @property
    def gaps(self) -> bool:
        """Return whether a run of either failed or is missing."""
        return any((self.failed_scheme, self.failed_reference, self.missing_scheme, self.missing_reference))


@dataclass(frozen=True)
class Comparisons:
    """A family of comparisons on one metric, or one table's part of a larger family, corrected together.

    Attributes:
        metric: name of the metric.
        higher_is_better: whether a larger score is better.
        alpha: familywise error rate, or false discovery rate.
        baseline: scheme that all others are compared with; None if `rows` are all pairs.
        test: test that was named beforehand to decide the verdicts.
        correction: correction for multiple comparisons.
        failed: what failed and missing runs do to verdicts, see `compare`.
        margin: smallest difference that matters, in the metric's unit; None if none was stated.
        looks: planned numbers of seeds, none for a comparison that is made once.
        spending: how alpha is spread over the looks.
        anytime: whether p-values and intervals hold at any number of seeds.
        design: how runs are related.
        family: number of comparisons that are corrected together, at least as many as `rows`.
        schemes: name, mean and number of failed runs of each scheme, in the frame's order; if paired, the mean is over
            the seeds that all schemes without failures have in common, if there are any.
        rows: the comparisons.
        omnibus: Friedman's test over the seeds that all schemes finished, columns in the order of `schemes`; None
            unless paired, or with fewer than three schemes or two such seeds.
        remarks: notes on the runs themselves.
    """

    metric: str
    higher_is_better: bool
    alpha: float
    baseline: str | None
    test: Test
    correction: Correction
    failed: Failed
    margin: float | None
    looks: tuple[int, ...]
    spending: Spending
    anytime: bool
    design: Relation
    family: int
    schemes: tuple[tuple[str, float, int], ...]
    rows: tuple[Comparison, ...]
    omnibus: Friedman | None
    remarks: tuple[str, ...] = ()

    @property
    def paired(self) -> bool:
        """Return whether runs are compared seed by seed."""
        return self.design != "independent"

    def frame(self) -> pd.DataFrame:
        """Return one row per comparison: the metric's name, then every field at full precision."""
        names = [f.name for f in fields(Comparison) if not f.name.startswith("scores_")]
        frame = pd.DataFrame(
            [{"metric": self.metric} | {name: getattr(row, name) for name in names} for row in self.rows]
        )
        for column in ("seeds", "looked", "failed_scheme", "failed_reference", "missing_scheme", "missing_reference"):
            frame[column] = [" ".join(map(str, seeds)) for seeds in frame[column]]
        first = ["metric", "scheme", "reference", "design"]
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
    if any(row.verdict == ("worse" if row.scheme == best else "better") for row in against):
        return frozenset()
    others = [verdicts.get(scheme, "too few seeds") for scheme in sound if scheme != best]
    if comparisons.baseline not in (None, best) or set(others) <= set(UNDECIDED):
        return frozenset()
    return frozenset([best, *(s for s in sound if verdicts.get(s) in LEVEL_WITH)])
