"""Paired statistics and tests of two schemes on the same seeds, uncorrected for multiple comparisons."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from jfed.results.frames import require_alpha
from jfed.stats.bootstrap import iqm
from jfed.stats.signflip import SignFlip, sign_flip

NAN = float("nan")
EXACT_WITH_TIES = 13  # most seeds, as in SciPy


@dataclass(frozen=True)
class Paired:
    """One comparison before correction; undefined numbers are NaN.

    Differences are scheme minus reference, in the metric's units.

    Attributes:
        n: number of seeds compared.
        mean_scheme: mean score of the scheme.
        mean_reference: mean score of the reference.
        difference: mean difference.
        iqm_difference: interquartile mean of the paired differences.
        sd: standard deviation of the paired differences, n - 1 in the denominator.
        t: statistic of the paired t-test.
        p_t: its two-sided p-value.
        p_wilcoxon: two-sided p-value of the Wilcoxon signed-rank test.
        wilcoxon_exact: whether that is exact, rather than from a normal approximation.
        rank_direction: 1 if the scheme's scores are larger by ranks, -1 if smaller, 0 if neither.
        p_sign_flip: two-sided p-value of the sign-flip test.
        sign_flip_exact: whether that counts all sign patterns.
        d_z: difference / sd.
        a12: probability that a run of the scheme is better than one of the reference, ties counted half.
        wins: number of seeds on which the scheme is better.
        ties: number of seeds on which neither is.
        losses: number of seeds on which the reference is better.
        share_won: share of seeds won, ties counted half.
        correlation: correlation of the two schemes' scores over seeds.
        variance_saved: 1 - var(a - b) / (var a + var b).
        constant: whether the difference is the same on every seed, up to rounding, so that there is no t.
        identical: whether every difference is 0, up to rounding.
    """

    n: int
    mean_scheme: float
    mean_reference: float
    difference: float
    iqm_difference: float
    sd: float
    t: float
    p_t: float
    p_wilcoxon: float
    wilcoxon_exact: bool
    rank_direction: int
    p_sign_flip: float
    sign_flip_exact: bool
    d_z: float
    a12: float
    wins: int
    ties: int
    losses: int
    share_won: float
    correlation: float
    variance_saved: float
    constant: bool
    identical: bool


def seeds_needed(num_comparisons: int, alpha: float = 0.05) -> int:
    """Return the fewest seeds with which an exact Wilcoxon or sign-flip test can reach `alpha`.

    With n seeds the smallest two-sided p-value is 2 / 2**n; Holm and Bonferroni multiply the
    smallest of `num_comparisons` p-values by their number. At 0.05 these are 6, 7, 8, 9, 10, 10,
    11 seeds for 1, 3, 6, 10, 15, 21, 28 comparisons.

    Raises:
        ValueError: fewer than one comparison, or alpha outside (0, 1).
    """
    if num_comparisons < 1:
        raise ValueError(f"num_comparisons must be at least 1, got {num_comparisons}")
    require_alpha(alpha)
    n = 1
    while num_comparisons * 2.0 / 2.0**n >= alpha:
        n += 1
    return n


def measure(scheme: np.ndarray, reference: np.ndarray, *, higher_is_better: bool) -> Paired:
    """Compare two arrays of finite scores, shape (n,), paired by position.

    The t-test is `scipy.stats.ttest_rel`. In the rank and sign tests, differences that are equal up to the rounding
    error of their own seeds' scores, such as 0.3 - 0.2 and 0.2 - 0.1, are ties. In the Wilcoxon test zeros are
    ranked and their ranks then left out (Pratt 1959): discarding them beforehand, as Wilcoxon did,
    hides the seeds on which the schemes agree. It is exact for n <= 50 without ties or zeros, and by
    all sign flips of the ranks for n <= 13 with them, as in SciPy, whose loop over them takes 0.3 s;
    otherwise SciPy's tie-corrected normal approximation is taken.
    """
    n = len(scheme)
    differences, rounding = scheme - reference, _rounding(scheme, reference)
    steps = _tied(differences, rounding)
    identical = n > 0 and not steps.any()
    constant = n > 1 and bool(np.max(differences - rounding) <= np.min(differences + rounding))

    mean = 0.0 if identical else float(np.mean(differences)) if n else NAN
    sd = NAN if n < 2 else 0.0 if constant or identical else float(np.std(differences, ddof=1))

    t, p_t, p_wilcoxon, exact, flips = NAN, NAN, NAN, False, SignFlip(NAN, False, n)
    if n > 1 and identical:
        p_t, p_wilcoxon, exact, flips = 1.0, 1.0, True, SignFlip(1.0, True, n)
    elif n > 1:
        if constant:
            steps = np.full(n, np.sign(mean))
        else:
            test = stats.ttest_rel(scheme, reference)
            t, p_t = float(test.statistic), float(test.pvalue)
        tied = len(np.unique(np.abs(steps))) < n or bool(np.any(steps == 0))
        exact = n <= EXACT_WITH_TIES if tied else n <= 50
        if tied and exact:
            p_wilcoxon = sign_flip(np.sign(steps) * stats.rankdata(np.abs(steps))).p
        else:
            signed_ranks: Any = stats.wilcoxon(steps, zero_method="pratt", method="auto")
            p_wilcoxon = float(signed_ranks.pvalue)
        flips = sign_flip(steps)

    wins = steps if higher_is_better else -steps
    better = scheme if higher_is_better else -scheme
    other = reference if higher_is_better else -reference
    return Paired(
        n=n,
        mean_scheme=float(np.mean(scheme)) if n else NAN,
        mean_reference=float(np.mean(reference)) if n else NAN,
        difference=mean,
        sd=sd,
        t=t,
        p_t=p_t,
        p_wilcoxon=p_wilcoxon,
        wilcoxon_exact=exact,
        rank_direction=int(np.sign(np.sum(np.sign(steps) * stats.rankdata(np.abs(steps))))) if n else 0,
        p_sign_flip=flips.p,
        sign_flip_exact=flips.exact,
        iqm_difference=0.0 if identical else float(iqm(differences)) if n else NAN,
        d_z=mean / sd if n > 1 and sd > 0 else NAN,
        a12=_a12(better, other),
        wins=int(np.sum(wins > 0)),
        ties=int(np.sum(wins == 0)),
        losses=int(np.sum(wins < 0)),
        share_won=float(np.mean((wins > 0) + 0.5 * (wins == 0))) if n else NAN,
        correlation=_correlation(scheme, reference),
        variance_saved=_variance_saved(scheme, reference, sd),
        constant=constant,
        identical=identical,
    )


def _rounding(scheme: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return the rounding error of each seed's difference; 0 for whole numbers, which have none.

    The engine works in float32 and pandas widens it to float64, so the precision is inferred from the values.
    """
    values = np.concatenate([scheme, reference])
    if np.array_equal(values, np.rint(values)):
        return np.zeros(len(scheme))
    with np.errstate(over="ignore", under="ignore"):  # a score may be outside float32's range
        single = np.array_equal(values, values.astype(np.float32).astype(float))
    # 8 roundings of float32 numbers; 64 of float64, which also keeps ttest_rel clear of the
    # cancellation that it warns about.
    relative = 8 * np.finfo(np.float32).eps if single else 64 * np.finfo(float).eps
    return float(relative) * np.maximum(np.abs(scheme), np.abs(reference))


def _tied(differences: np.ndarray, rounding: np.ndarray) -> np.ndarray:
    """Return the differences, set to 0 within rounding error, with sizes that differ by no more than it made equal."""
    size = np.where(np.abs(differences) <= rounding, 0.0, np.abs(differences))
    order = np.argsort(size, kind="stable")
    sizes, slack = size[order], rounding[order]
    apart = np.diff(sizes, prepend=-np.inf) > np.maximum(slack, np.roll(slack, 1))
    apart |= (sizes > 0) & (np.roll(sizes, 1) == 0)
    first = np.maximum.accumulate(np.where(apart, np.arange(len(sizes)), 0))
    tied = np.empty(len(size))
    tied[order] = sizes[first]
    return np.sign(differences) * tied


def _a12(better: np.ndarray, other: np.ndarray) -> float:
    """Return the share of all pairs of runs in which the scheme's is better, ties counted half."""
    if not len(better):
        return NAN
    above = np.searchsorted(np.sort(other), better, "left") + np.searchsorted(np.sort(other), better, "right")
    return float(above.sum()) / (2 * len(better) * len(other))


def _correlation(scheme: np.ndarray, reference: np.ndarray) -> float:
    """Return Pearson's correlation of the two schemes' scores over seeds; NaN if either never varies."""
    if len(scheme) < 2 or np.ptp(scheme) == 0 or np.ptp(reference) == 0:
        return NAN
    return float(np.corrcoef(scheme, reference)[0, 1])


def _variance_saved(scheme: np.ndarray, reference: np.ndarray, sd: float) -> float:
    """Return 1 - var(a - b) / (var a + var b): the share of variance that pairing saves against independent seeds.

    Negative where the two schemes' scores are negatively correlated.
    """
    if len(scheme) < 2:
        return NAN
    unpaired = float(np.var(scheme, ddof=1) + np.var(reference, ddof=1))
    return 1.0 - sd**2 / unpaired if unpaired > 0 else NAN
