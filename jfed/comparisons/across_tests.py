"""Tests and resampling for a comparison over several data sets, of which all or none share seeds."""

import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

from jfed.comparisons.across_data import Evidence
from jfed.stats.checks import constant
from jfed.stats.crossed import crossed
from jfed.stats.intervals import holm

NAN = float("nan")
RESAMPLES = 9999

Candidates = Sequence[tuple[float, float]]  # standard errors with their degrees of freedom


def candidates(differences: Sequence[np.ndarray], shared: bool) -> tuple[Candidates, Candidates]:
    """Return the standard errors of the mean over data sets that a test must survive: for further ones, for these.

    Args:
        differences: of one pair of schemes, by data set, (seeds,).
        shared: whether the data sets have the same seeds, in the same order.

    Source: `jfed.stats.crossed`; Satterthwaite (1946) for exactly these data sets with seeds of their own.
    """
    if shared:
        grid = np.stack(list(differences))
        return crossed(grid, ("data set", "seed")).candidates, crossed(grid.mean(0), ("seed",)).candidates
    further = math.sqrt(square_of_se(np.array([x.mean() for x in differences]))), len(differences) - 1
    parts = np.array([square_of_se(x) for x in differences])
    if not parts.sum() > 0:  # NaN where a data set has one seed
        return [further], [(float(parts.sum()), NAN)]
    shares, sizes = parts / parts.sum(), np.array([len(x) for x in differences])
    these = math.sqrt(parts.sum()) / len(parts), float(1 / np.sum(shares**2 / (sizes - 1)))
    return [further, these], [these]


def corrected(tests: Sequence[tuple[float, Candidates]], alpha: float) -> list[Evidence]:
    """Return t-tests of estimates, corrected together: p is the largest over the candidates, the interval the widest.

    Args:
        tests: estimates, each with its candidates.
        alpha: familywise error rate.
    """
    found = [_largest(estimate, known) for estimate, known in tests]
    adjusted = holm(np.array([p for p, *_ in found]))
    level = 1 - alpha / len(tests)
    made = []
    for (estimate, known), (p, se, df), p_adjusted in zip(tests, found, adjusted, strict=True):
        half = max((float(stats.t.ppf(0.5 + level / 2, df)) * se for se, df in known if se > 0), default=NAN)
        t = estimate / se if se > 0 else NAN
        made.append(Evidence(se, df, t, p, float(p_adjusted), estimate - half, estimate + half))
    return made


def _largest(estimate: float, known: Candidates) -> tuple[float, float, float]:
    """Return the largest p-value, with its standard error and degrees of freedom."""
    if tests := [(2 * float(stats.t.sf(abs(estimate) / se, df)), se, df) for se, df in known if se > 0]:
        return max(tests)
    se = sum(se for se, _ in known)  # 0 where nothing varies, NaN where that is unknown
    return 1.0 if estimate == se == 0 else NAN, se, NAN


def square_of_se(x: np.ndarray) -> float:
    """Return the squared standard error of a mean, (n,); NaN for n = 1, 0 if all are equal up to rounding."""
    if len(x) < 2:
        return NAN
    return 0.0 if constant(x) else float(np.var(x, ddof=1)) / len(x)


def variance_between(differences: Sequence[np.ndarray], shared: bool) -> float:
    """Return the estimated variance between data sets of the true mean differences, which may be negative.

    It is the variance of the data sets' means less what noise adds to it: their squared standard errors, but of
    what is left without the seeds' own effects where data sets share seeds.

    Source: Searle, Casella and McCulloch (1992), Variance components, chapter 4.
    """
    means = np.array([x.mean() for x in differences])
    noise = float(np.mean([square_of_se(x) for x in differences]))
    if shared:
        grid = np.stack(list(differences))
        rest = grid - grid.mean(0) - means[:, None] + grid.mean()
        noise = float((rest**2).sum()) / (len(grid) - 1) / (grid.shape[1] - 1) / grid.shape[1]
    return float(np.var(means, ddof=1)) - noise


def resampled(scores: Sequence[np.ndarray], shared: bool, seed: int) -> np.ndarray:
    """Return the schemes' means over resampled data sets and seeds, (resamples, schemes).

    Where data sets share seeds, both are resampled independently, else data sets and then seeds within each.

    Args:
        scores: by data set, (seeds, schemes).
        shared: as in `candidates`.
        seed: seed of the bootstrap.

    Source: Owen (2007), The pigeonhole bootstrap; Davison and Hinkley (1997), Bootstrap methods and their application,
    section 3.8.
    """
    rng = np.random.default_rng(seed)
    if shared:
        grid = np.stack(list(scores))
        sets, seeds = (rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES) / n for n in grid.shape[:2])
        return np.stack([((sets @ grid[..., k]) * seeds).sum(1) for k in range(grid.shape[2])], axis=1)
    picked = rng.integers(len(scores), size=(RESAMPLES, len(scores)))
    means = np.empty((*picked.shape, scores[0].shape[1]))
    for i, x in enumerate(scores):
        # How often each seed is drawn.
        times = rng.multinomial(len(x), np.full(len(x), 1 / len(x)), size=int(np.sum(picked == i)))
        means[picked == i] = times @ x / len(x)
    return means.mean(1)
