"""Tests and effect sizes of two schemes on different seeds: Welch's t-test, the Mann-Whitney U test, a12 and delta."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from jfed.stats.checks import require_share

NAN = float("nan")
SMALL = 8  # with at most this many runs in a group, SciPy's Mann-Whitney test is exact if there are no ties


@dataclass(frozen=True)
class Unpaired:
    """One comparison of independent runs, uncorrected; undefined numbers are NaN.

    Attributes:
        n_scheme: number of the scheme's runs.
        n_reference: number of the reference's runs.
        mean_scheme: mean score of the scheme.
        mean_reference: mean score of the reference.
        difference: scheme minus reference in the metric's unit, whichever direction is better.
        se: standard error of the difference.
        df: degrees of freedom by Welch and Satterthwaite.
        t: Welch's t.
        p_welch: its two-sided p-value.
        p_mann_whitney: two-sided p-value of the Mann-Whitney U test.
        mann_whitney_exact: whether that is exact, rather than from a normal approximation.
        a12: probability that a run of the scheme is better than one of the reference, ties counted half.
        cliffs_delta: 2 a12 - 1.
        note: why numbers are NaN, or what is special about the scores, or "".
    """

    n_scheme: int
    n_reference: int
    mean_scheme: float
    mean_reference: float
    difference: float
    se: float
    df: float
    t: float
    p_welch: float
    p_mann_whitney: float
    mann_whitney_exact: bool
    a12: float
    cliffs_delta: float
    note: str

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return Welch's two-sided t interval of the difference, in the metric's unit; NaN where there is no t-test.

        Raises:
            ValueError: the level is outside (0, 1).
        """
        require_share("level", level)
        if np.isnan(self.df):
            return NAN, NAN
        half = float(stats.t.ppf(0.5 + level / 2, self.df)) * self.se
        return self.difference - half, self.difference + half


def runs_needed(num_comparisons: int, alpha: float = 0.05) -> int:
    """Return the fewest runs of each scheme with which the Mann-Whitney test can reach `alpha`; see `seeds_needed`.

    With n runs of each the smallest two-sided p-value is 2 / (2n choose n).
    """
    n = 1
    while num_comparisons * 2.0 / math.comb(2 * n, n) >= alpha:
        n += 1
    return n


def unpaired(scheme: ArrayLike, reference: ArrayLike, *, higher_is_better: bool) -> Unpaired:
    """Compare two independent groups of runs, such as jfed's with those of another implementation.

    Where both schemes ran on the same seeds, `compare` has more power. Welch's t-test does not assume equal variances.
    The Mann-Whitney U test is `scipy.stats.mannwhitneyu` with method="auto": exact if a group has at most 8 runs and
    no two values tie; otherwise a normal approximation, corrected for ties and continuity. With ties in a group of at
    most 8 the approximation can fall below the smallest p-value that such runs can give (0.047 instead of 0.1 for
    3 against 3), so there the distribution over all assignments of the runs to groups is enumerated.

    Special cases:

    - NaN is a failed run. There are no tests, since leaving it out would favour the scheme that failed.
    - An infinite score is a value beyond all others, such as rounds to a target that was never reached. The ranks
      use it; there is no difference of means and no t-test.
    - One run in a group: no variance, hence no t-test. The Mann-Whitney test is computed.
    - No variance in either group: no t and no interval. p_welch is 1 if all values are equal, otherwise NaN.
    - All values equal: the Mann-Whitney p-value is 1.

    Args:
        scheme: scores, (n,), in the metric's unit.
        reference: scores of other runs, (m,).
        higher_is_better: whether a larger score is better.

    Raises:
        ValueError: the scores are not one value per run.

    Source: Welch (1947) for the t-test; Mann and Whitney (1947); Vargha and Delaney (2000) for a12; Cliff (1993) for
    delta; Streitberg and Roehmel (1986) for the exact distribution of ranks with ties.
    """
    x, y = np.asarray(scheme, float), np.asarray(reference, float)
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(f"scores must have one value per run, got shapes {x.shape} and {y.shape}")
    mean_x, mean_y = _mean(x), _mean(y)
    difference, se, df, t, p_welch, note = NAN, NAN, NAN, NAN, NAN, ""
    p_ranks, exact, greater = NAN, False, NAN
    failed = int(np.isnan(x).sum()), int(np.isnan(y).sum())
    if len(x) == 0 or len(y) == 0:
        note = "a group has no runs"
    elif any(failed):
        note = f"failed runs: {failed[0]} of the scheme, {failed[1]} of the reference"
    else:
        p_ranks, exact, greater = rank_sum(x, y)
        if np.isfinite(x).all() and np.isfinite(y).all():
            difference = mean_x - mean_y
            se, df, t, p_welch, note = _welch(x, y)
        else:
            note = "infinite scores: ranks only"
    a12 = greater if higher_is_better else 1.0 - greater
    return Unpaired(
        n_scheme=len(x),
        n_reference=len(y),
        mean_scheme=mean_x,
        mean_reference=mean_y,
        difference=difference,
        se=se,
        df=df,
        t=t,
        p_welch=p_welch,
        p_mann_whitney=p_ranks,
        mann_whitney_exact=exact,
        a12=a12,
        cliffs_delta=2.0 * a12 - 1.0,
        note=note,
    )


def _mean(x: np.ndarray) -> float:
    with np.errstate(invalid="ignore"):  # infinities of both signs
        return float(np.mean(x)) if len(x) else NAN


def _constant(x: np.ndarray) -> bool:
    """Return whether finite values are the same up to rounding, which would look like a tiny variance."""
    return bool(np.ptp(x) <= 4 * np.finfo(float).eps * np.abs(x).max())


def _welch(x: np.ndarray, y: np.ndarray) -> tuple[float, float, float, float, str]:
    """Return standard error, degrees of freedom, t, p and note, for finite values."""
    # Not SciPy's, which warns about a group without variance, allowed here.
    if min(len(x), len(y)) < 2:
        return NAN, NAN, NAN, NAN, "no t-test: needs >= 2 runs in each group"
    unit = max(float(np.abs(x).max()), float(np.abs(y).max())) or 1.0  # the square of a small score may be 0
    of_x, of_y = (0.0 if _constant(v) else float(np.var(v / unit, ddof=1)) / len(v) for v in (x, y))
    if of_x + of_y == 0:
        equal = _constant(np.concatenate([x, y]))
        return 0.0, NAN, NAN, 1.0 if equal else NAN, "all values equal" if equal else "no variance in either group"
    # In terms of shares of their sum, since the square of a small variance may be 0.
    share = of_x / (of_x + of_y)
    df = 1.0 / (share**2 / (len(x) - 1) + (1 - share) ** 2 / (len(y) - 1))
    se = unit * (of_x + of_y) ** 0.5
    t = float(np.mean(x) - np.mean(y)) / se
    return se, df, t, float(2 * stats.t.sf(abs(t), df)), "" if of_x and of_y else "no variance in one group"


def rank_sum(x: np.ndarray, y: np.ndarray) -> tuple[float, bool, float]:
    """Return the two-sided Mann-Whitney p-value, whether it is exact, and P(X > Y) + P(X = Y) / 2, for scores, (n,)."""
    both = np.concatenate([x, y])
    if (both == both[0]).all() or (np.isfinite(both).all() and _constant(both)):
        return 1.0, True, 0.5
    small, tied = min(len(x), len(y)) <= SMALL, len(np.unique(both)) < len(both)
    test = stats.mannwhitneyu(x, y, alternative="two-sided", method="auto")
    p = _exact_with_ties(x, y) if small and tied else float(test.pvalue)
    return p, small, float(test.statistic) / (len(x) * len(y))


def _exact_with_ties(x: np.ndarray, y: np.ndarray) -> float:
    """Return twice the smaller tail of the rank sum, over all subsets of the smaller group's size."""
    doubled = np.rint(2 * stats.rankdata(np.concatenate([x, y]))).astype(int)  # whole numbers, ties or not
    picked = doubled[: len(x)] if len(x) <= len(y) else doubled[len(x) :]
    size, observed = len(picked), picked.sum()
    # ways[k, s]: subsets of k of the runs seen so far whose doubled ranks sum to s.
    ways = np.zeros((size + 1, np.sort(doubled)[-size:].sum() + 1))
    ways[0, 0] = 1.0
    for rank in doubled:
        ways[1:, rank:] += ways[:-1, :-rank].copy()
    below, above = ways[size, : observed + 1].sum(), ways[size, observed:].sum()
    return float(min(1.0, 2 * min(below, above) / ways[size].sum()))
