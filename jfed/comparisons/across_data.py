"""Results of a comparison of schemes over several data sets."""

from dataclasses import asdict, dataclass

import pandas as pd

from jfed.stats.omnibus import Friedman


@dataclass(frozen=True)
class Evidence:
    """A two-sided t-test of a mean difference; undefined numbers are NaN.

    Attributes:
        se: standard error; of those that the test must survive, the one with the largest p-value, like df and t.
        df: its degrees of freedom.
        t: difference / se.
        p: p-value.
        p_adjusted: p-value with Holm's correction for all pairs.
        low: lower end of the family's interval (`jfed.stats.intervals`).
        high: its upper end.
    """

    se: float
    df: float
    t: float
    p: float
    p_adjusted: float
    low: float
    high: float


@dataclass(frozen=True)
class OnDataSet:
    """The paired difference of two schemes on one data set.

    Attributes:
        name: name of the data set.
        n: number of seeds that all schemes finished on it.
        difference: mean difference.
        se: its standard error over seeds; NaN for one seed.
    """

    name: str
    n: int
    difference: float
    se: float


@dataclass(frozen=True)
class AcrossPair:
    """One scheme against another over all data sets; undefined numbers are NaN.

    Differences are scheme minus reference in the metric's unit, or logarithms of ratios if `Across.relative`.

    Attributes:
        scheme: name of the scheme.
        reference: name of the scheme that it is compared with.
        difference: mean over data sets of the mean differences over seeds.
        random: the test for further data sets.
        fixed: the test for these data sets only.
        sd_between: standard deviation between data sets of the true mean differences; 0 where its estimate is negative.
        sd_within: standard deviation of a seed's difference within a data set; NaN if one has a single seed.
        boot_low: lower end of the hierarchical bootstrap interval at level 1 - alpha for this pair alone.
        boot_high: its upper end.
        wins: number of data sets on which the scheme has the better mean.
        on: the difference on each data set.
        verdict: better, worse or no difference shown by `random.p_adjusted`; identical, failed runs, or not judged if
            a scheme's setting was selected by these very scores.
    """

    scheme: str
    reference: str
    difference: float
    random: Evidence
    fixed: Evidence
    sd_between: float
    sd_within: float
    boot_low: float
    boot_high: float
    wins: int
    on: tuple[OnDataSet, ...]
    verdict: str


@dataclass(frozen=True)
class Across:
    """Comparisons of schemes over data sets, corrected together.

    Attributes:
        metric: name of the metric.
        by: column that names the data set.
        higher_is_better: whether a larger score is better.
        alpha: familywise error rate.
        baseline: scheme that all others are compared with; None if `rows` are all pairs.
        relative: whether differences are logarithms of ratios.
        schemes: name, mean over data sets and number of failed runs of each scheme. The mean is geometric if relative.
        rows: the comparisons.
        omnibus: Friedman's test with one row per data set, columns in the order of `schemes`; None for two schemes.
        critical_difference: Nemenyi's, of the mean ranks in `omnibus`.
        notes: what restricts the conclusions.
    """

    metric: str
    by: str
    higher_is_better: bool
    alpha: float
    baseline: str | None
    relative: bool
    schemes: tuple[tuple[str, float, int], ...]
    rows: tuple[AcrossPair, ...]
    omnibus: Friedman | None
    critical_difference: float
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """Return one row per comparison, with the two tests' columns named random_... and fixed_..."""
        rows = []
        for row in self.rows:
            flat = {"metric": self.metric, **asdict(row)}
            del flat["on"]
            for name in ("random", "fixed"):
                flat |= {f"{name}_{key}": value for key, value in flat.pop(name).items()}
            rows.append(flat)
        return pd.DataFrame(rows)
