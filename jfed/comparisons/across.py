"""Comparison of schemes over several data sets (worlds, partitions): a claim about a scheme is about more than one.

Two questions have different answers, and both are given for each pair of schemes:

- **Further data sets** (`random`): would the scheme be better on average on data sets like these? The data sets are the
  sample, however many seeds each has.
- **These data sets only** (`fixed`): is the scheme better on average over exactly these? Then only seeds are drawn at
  random.

What the tests are depends on the seeds. Data sets that have the same seeds may share draws, as swept settings do: taken
as independent, three of those would err in 20 % of cases at 5 %. So data sets are crossed with seeds
(`jfed.stats.crossed`), and the test for these only is the paired t-test of each seed's mean difference over them. Data
sets with seeds of their own are independent. The test for D further ones is then the t-test of the D mean differences
with D - 1 degrees of freedom, and that for these only has the standard error of an average of D means. In both cases a
difference is shown for further data sets only if it exceeds the noise of seeds, too: D means may coincide by chance.
"""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from jfed.comparisons.across_data import Across, AcrossPair, Evidence, OnDataSet
from jfed.comparisons.across_runs import Runs, runs_that_count
from jfed.comparisons.across_tests import candidates, corrected, resampled, square_of_se, variance_between
from jfed.results.direction import require_direction
from jfed.results.frames import require_scheme
from jfed.stats.checks import require_share
from jfed.stats.omnibus import critical_difference, friedman

NAN = float("nan")


def across(
    frame: pd.DataFrame,
    metric: str,
    *,
    by: str,
    baseline: str | None = None,
    higher_is_better: bool | None = None,
    alpha: float = 0.05,
    relative: bool = False,
    seed: int = 0,
) -> Across:
    """Compare schemes on one metric over several data sets, paired by seed on each and corrected for all pairs.

    On each data set, seeds count that all schemes finished; if data sets share seeds, only those that are on all. The
    bootstrap resamples data sets and seeds, the same for all schemes. It needs no normality, but it is too short where
    data sets or seeds are few. Of 1000 simulated 95 % intervals these percentages covered the mean of all data sets
    there could be. There are 5 seeds; a seed's difference has a standard deviation of 1 on each data set, of which,
    where data sets share seeds, .8 is the seed's own on all of them and .6 is left:

                                own seeds                     shared seeds
        data sets   sd between   random   fixed   bootstrap   random   fixed   bootstrap
        3           0              99.3    95.7        96.1     95.9    94.6        90.1
        3           1              95.5    59.3        80.4     96.6    78.9        83.8
        5           0              98.1    95.3        97.0     95.2    94.1        88.4
        5           1              96.5    63.2        92.1     96.4    85.7        90.5
        10          0              97.3    95.5        98.2     95.1    95.1        87.6
        10          1              94.4    58.4        90.9     95.6    90.6        91.0

    Rows of which a scheme was selected by its scores on these very seeds (`choose` marks them) are not judged.

    Args:
        frame: one row per (data set, scheme, seed), with columns `scheme`, `seed`, `by` and `metric`.
        metric: the primary metric.
        by: column that names the data set, the world or the partition.
        baseline: compare every other scheme with this one; None compares all pairs.
        higher_is_better: whether a larger score is better; None goes by the metric's name.
        alpha: familywise error rate; one minus the level of the intervals.
        relative: compare logarithms of scores, hence ratios, where data sets differ in their unit or scale.
        seed: seed of the bootstrap.

    Raises:
        ValueError: the frame, metric, baseline or alpha is unusable; there are fewer than two data sets or schemes; a
            data set lacks a scheme or has no seed that all schemes finished; data sets share seeds, but fewer than two
            are on all; runs on different seeds share a seed of data, model or environment, but not all do; or a
            relative score is not positive.

    Source: Demsar (2006), Statistical comparisons of classifiers over multiple data sets, for ranks; Holm (1979);
    `jfed.comparisons.across_tests` for the tests and the bootstrap.
    """
    require_share("alpha", alpha)
    higher_is_better = require_direction(metric, higher_is_better)
    runs = runs_that_count(frame, metric, by)
    schemes, scores = list(runs.failed), dict(runs.scores)
    if baseline is None:
        pairs = list(itertools.combinations(range(len(schemes)), 2))
    else:
        require_scheme(baseline, schemes)
        pairs = [(i, schemes.index(baseline)) for i, scheme in enumerate(schemes) if scheme != baseline]
    if relative:
        if any((x <= 0).any() for x in scores.values()):
            raise ValueError(f"ratios need scores above 0, and metric {metric!r} has others")
        scores = {name: np.log(x) for name, x in scores.items()}

    drawn = resampled(list(scores.values()), runs.shared, seed)
    differences = [[x[:, a] - x[:, b] for x in scores.values()] for a, b in pairs]
    estimates = [float(np.mean([x.mean() for x in d])) for d in differences]
    further, these = zip(*(candidates(d, runs.shared) for d in differences), strict=True)
    random = corrected(list(zip(estimates, further, strict=True)), alpha)
    fixed = corrected(list(zip(estimates, these, strict=True)), alpha)
    rows = []
    for (a, b), d, estimate, of_random, of_fixed in zip(pairs, differences, estimates, random, fixed, strict=True):
        on = tuple(
            OnDataSet(str(name), len(x), float(x.mean()), math.sqrt(square_of_se(x)))
            for name, x in zip(scores, d, strict=True)
        )
        between = variance_between(d, runs.shared)
        better = np.array([one.difference for one in on]) * (1 if higher_is_better else -1)
        low, high = np.quantile(drawn[:, a] - drawn[:, b], [alpha / 2, 1 - alpha / 2])
        rows.append(
            AcrossPair(
                scheme=schemes[a],
                reference=schemes[b],
                difference=estimate,
                random=of_random,
                fixed=of_fixed,
                sd_between=math.sqrt(between) if not between < 0 else 0.0,
                sd_within=math.sqrt(np.mean([one.n * one.se**2 for one in on])),
                boot_low=float(low),
                boot_high=float(high),
                wins=int(np.sum(better > 0)),
                on=on,
                verdict=_verdict(runs, (schemes[a], schemes[b]), better, of_random, alpha),
            )
        )
    means = np.array([x.mean(0) for x in scores.values()])
    omnibus = friedman(means, higher_is_better=higher_is_better) if len(schemes) > 2 else None
    overall = np.exp(means.mean(0)) if relative else means.mean(0)
    return Across(
        metric=metric,
        by=by,
        higher_is_better=higher_is_better,
        alpha=alpha,
        baseline=baseline,
        relative=relative,
        schemes=tuple(
            (scheme, float(mean), runs.failed[scheme]) for scheme, mean in zip(schemes, overall, strict=True)
        ),
        rows=tuple(rows),
        omnibus=omnibus,
        critical_difference=critical_difference(len(means), len(schemes), alpha) if omnibus else NAN,
        notes=runs.notes,
    )


def _verdict(runs: Runs, pair: Sequence[str], better: np.ndarray, test: Evidence, alpha: float) -> str:
    """Return the verdict; `better` is positive on the data sets where the scheme has the better mean."""
    if runs.selected & set(pair):
        return "not judged"
    if any(runs.failed[scheme] for scheme in pair):
        return "failed runs"
    if not better.any():
        return "identical"
    if test.p_adjusted < alpha:
        return "better" if better.mean() > 0 else "worse"
    return "no difference shown"
