"""What a comparison of schemes holds: rows, the family that they were corrected in, and the group of the best."""

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
    A number that does not exist is NaN, and a note beside it says why. Without pairing, t is
    Welch's, the Wilcoxon test is Mann and Whitney's, what needs pairs is NaN, and n counts runs of
    the scheme.
    """

    scheme: str
    reference: str
    paired: bool  # by seed
    n_reference: int
    num_dropped: int  # seeds that only one of the two has
    failed_scheme: tuple  # seeds whose score is NaN or infinite
    failed_reference: tuple
    low: float  # the family's interval, cut at 0 to agree with the corrected test (jfed.stats.intervals)
    high: float
    open_at_zero: bool  # an end was cut, and 0 itself is outside
    uncut_low: float  # Holm: Bonferroni's, jointly right with probability >= 1 - alpha
    uncut_high: float
    pointwise_low: float  # level 1 - alpha for this row alone
    pointwise_high: float
    p_t_adjusted: float
    t_note: str
    p_wilcoxon_adjusted: float
    rank_note: str  # why there is no Wilcoxon and no sign-flip test
    p_sign_flip_adjusted: float
    seeds_wanted: float  # for 80 % power in this family if d_z were the true effect; NaN: none up to 100 000, or no d_z
    # On `scheme`: better, worse, no difference shown, identical, too few seeds or failed runs.
    verdict: str


@dataclass(frozen=True)
class Comparisons:
    """A family of comparisons on one metric, corrected together.

    `schemes` holds each scheme with its mean and the number of its failed runs, in the frame's order;
    if paired, the mean is over the seeds that all schemes without failures have in common, if there
    are any. `baseline` is None if `rows` are all pairs. `test` decides the verdicts. `omnibus` is
    Friedman's test over the seeds that all schemes finished, columns in that order; None with fewer
    than three schemes or two such seeds. `remarks` are notes on the runs themselves.
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
        """Return one row per comparison, every field at full precision, the metric's name in front."""
        rows = [{"metric": self.metric, **asdict(row)} for row in self.rows]
        frame = pd.DataFrame(rows)
        for column in ("failed_scheme", "failed_reference"):
            frame[column] = [" ".join(map(str, seeds)) for seeds in frame[column]]
        first = ["metric", "scheme", "reference", "paired"]
        return frame.reindex(columns=[*first, *frame.columns.drop(first)])


def best_group(comparisons: Comparisons) -> frozenset[str]:
    """Return the scheme with the best mean, and all those not shown to be worse than it.

    Schemes with failed runs are left out. Empty if nothing was tested against the best scheme, if a test says that
    another is better than it (on other seeds, or by ranks), or if `comparisons` has a baseline that is not itself the
    best: the tests needed are not there.
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
