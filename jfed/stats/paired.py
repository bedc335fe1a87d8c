"""Paired statistics and tests of two schemes on the same seeds, uncorrected for multiple comparisons."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from jfed.stats.checks import require_share
from jfed.stats.signedrank import SignedRank, rounding_error, signed_rank, tied
from jfed.stats.signflip import SignFlip, sign_flip

NAN = float("nan")


@dataclass(frozen=True)
class Paired:
    """One comparison before correction; undefined numbers are NaN.

    Differences are scheme minus reference, in the metric's units.

    Attributes:
        n: number of seeds compared.
        mean_scheme: mean score of the scheme.
        mean_reference: mean score of the reference.
        sd_scheme: standard deviation of the scheme's scores, n - 1 in the denominator.
        sd_reference: the same of the reference's.
        difference: mean difference.
        sd: standard deviation of the paired differences, n - 1 in the denominator.
        t: statistic of the paired t-test.
        df: its degrees of freedom.
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
        constant: whether the difference is the same on every seed, up to rounding: there is no t then.
        identical: whether every difference is 0, up to the rounding of float64.
    """

    n: int
    mean_scheme: float
    mean_reference: float
    sd_scheme: float
    sd_reference: float
    difference: float
    sd: float
    t: float
    df: float
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
    require_share("alpha", alpha)
    n = 1
    while num_comparisons * 2.0 / 2.0**n >= alpha:
        n += 1
    return n


def measure(scheme: np.ndarray, reference: np.ndarray, *, higher_is_better: bool, flips: int = 0) -> Paired:
    """Compare two arrays of finite scores, shape (n,), paired by position.

    Differences, their mean and the t-test are taken from the scores as they are. In the rank and sign tests,
    differences that are equal up to the rounding error of their own seeds' scores are ties (`signedrank.tied`). There
    is no t where the differences vary by no more than that error, since their spread is then rounding.

    Args:
        scheme: finite scores, (n,).
        reference: finite scores of the same seeds.
        higher_is_better: whether a larger score is better; decides wins and a12.
        flips: sign patterns that the sign-flip test draws where there are too many to count; 0: there is no such test,
            which takes much longer than all else.
    """
    n = len(scheme)
    differences = scheme - reference
    largest = float(np.max(np.abs([scheme, reference]), initial=0.0))
    rounding = rounding_error(scheme, reference)
    steps = tied(differences, rounding)
    mean = float(np.mean(differences)) if n else NAN
    slack = 4 * float(np.finfo(float).eps) * largest
    off = np.maximum(rounding, slack)
    constant = n > 1 and bool(np.max(differences - off) <= np.min(differences + off))
    identical = n > 0 and bool(np.max(np.abs(differences)) <= slack)

    sd, t, p_t, d_z = NAN, NAN, NAN, NAN
    ranks, flipped = SignedRank(NAN, False, 0), SignFlip(NAN, False, n)
    if constant:
        sd, p_t = 0.0, 1.0 if identical else NAN
        steps = np.full(n, np.sign(mean)) if steps.any() and not identical else np.zeros(n)
    elif n > 1:
        scale = _power_of_two(float(np.max(np.abs(differences))))
        spread = float(np.std(differences / scale, ddof=1))
        sd, d_z = scale * spread, float(np.mean(differences / scale)) / spread
        t = d_z * n**0.5
        p_t = float(2 * special.stdtr(n - 1, -abs(t)))
    if n > 1:
        ranks = signed_rank(steps)
        flipped = sign_flip(steps, resamples=flips) if flips else flipped

    wins = steps if higher_is_better else -steps
    unit = _power_of_two(largest)
    better = scheme if higher_is_better else -scheme
    other = reference if higher_is_better else -reference
    return Paired(
        n=n,
        mean_scheme=float(np.mean(scheme)) if n else NAN,
        mean_reference=float(np.mean(reference)) if n else NAN,
        sd_scheme=deviation(scheme),
        sd_reference=deviation(reference),
        difference=mean,
        sd=sd,
        t=t,
        df=float(n - 1) if n > 1 and not constant else NAN,
        p_t=p_t,
        p_wilcoxon=ranks.p,
        wilcoxon_exact=ranks.exact,
        rank_direction=ranks.direction,
        p_sign_flip=flipped.p,
        sign_flip_exact=flipped.exact,
        d_z=d_z,
        a12=_a12(better, other),
        wins=int(np.sum(wins > 0)),
        ties=int(np.sum(wins == 0)),
        losses=int(np.sum(wins < 0)),
        share_won=float(np.mean((wins > 0) + 0.5 * (wins == 0))) if n else NAN,
        correlation=_correlation(scheme, reference),
        variance_saved=_variance_saved(scheme / unit, reference / unit, sd / unit),
        constant=constant,
        identical=identical,
    )


def _power_of_two(size: float) -> float:
    """Return a power of two near a size: in its units, without rounding, the square of a small number is not 0."""
    return math.ldexp(1.0, math.frexp(size)[1])


def deviation(scores: np.ndarray) -> float:
    """Return the standard deviation of finite scores, (n,), with n - 1 in the denominator; NaN for fewer than two."""
    if len(scores) < 2:
        return NAN
    unit = _power_of_two(float(np.max(np.abs(scores))))
    return unit * float(np.std(scores / unit, ddof=1))


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
    x, y = (scores / _power_of_two(float(np.max(np.abs(scores)))) for scores in (scheme, reference))
    return float(np.corrcoef(x, y)[0, 1])


def _variance_saved(scheme: np.ndarray, reference: np.ndarray, sd: float) -> float:
    """Return 1 - var(a - b) / (var a + var b): the share of variance that pairing saves against independent seeds.

    Negative where the two schemes' scores are negatively correlated.
    """
    if len(scheme) < 2:
        return NAN
    unpaired = float(np.var(scheme, ddof=1) + np.var(reference, ddof=1))
    return 1.0 - sd**2 / unpaired if unpaired > 0 else NAN
