"""Friedman's test of whether any of several schemes differ, and Nemenyi's critical difference of mean ranks.

The test has Iman and Davenport's correction, and both are used as Demsar (2006) recommends. There each
row is a data set, drawn independently of the others, and the conclusion extends to further data sets.
Here each row is a seed. **The seeds of one data set are not
independent data sets: they share its examples, its split into training and test and its difficulty,
and differ only in what the seed draws. The conclusion therefore holds for that data set and its
random draws only, however many seeds there are.**
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from jfed.stats.checks import require_share

NAN = float("nan")
FEW = 10  # with fewer seeds the F test's type I error rate exceeds its level
RESAMPLES = 20_000


@dataclass(frozen=True)
class Friedman:
    """Result of Friedman's test; undefined numbers are NaN.

    Attributes:
        n: number of seeds.
        k: number of schemes.
        mean_ranks: in the columns' order, 1 is best.
        chi2: Friedman's statistic.
        df_chi2: its degrees of freedom, k - 1.
        p_chi2: its p-value.
        f: Iman and Davenport's F, infinite if all seeds rank the schemes alike.
        df_f: its degrees of freedom, k - 1 and (k - 1)(n - 1).
        p_f: its p-value, see `friedman`.
        note: what is special about the scores, or "".
    """

    n: int
    k: int
    mean_ranks: tuple[float, ...]
    chi2: float
    df_chi2: int
    p_chi2: float
    f: float
    df_f: tuple[int, int]
    p_f: float
    note: str


def friedman(scores: ArrayLike, *, higher_is_better: bool = True) -> Friedman:
    """Test whether all schemes have the same distribution of scores, by their ranks on each seed.

    Equal scores share the mean of their ranks, and chi2 is corrected for that. Prefer `p_f`: chi2
    is conservative for the few seeds that experiments have. The F distribution is an approximation
    whose type I error rate is too high below ten seeds (7 % instead of 5 with five seeds,
    experiments/CALIBRATION.md); there `p_f` is the share of 20 000 random permutations within each seed
    whose ranks agree at least as much, the observed ones included (Phipson and Smyth 2010). If all
    seeds rank the schemes alike, F is infinite and its tail 0, which no finite number of seeds can
    show. `p_f` is then the probability that random orders agree in full: one over the number of orders,
    to the power n - 1.

    Args:
        scores: (n, k) finite, a row per seed and a column per scheme, in the metric's units.
        higher_is_better: whether the largest score has rank 1.

    Returns:
        The test; with p = 1 and statistics of NaN if on each seed all schemes have the same score, and
        all NaN for one seed, which cannot show agreement.

    Raises:
        ValueError: scores are not a finite matrix with at least one row and three columns.

    Source: Friedman (1937), The use of ranks to avoid the assumption of normality; Iman and
    Davenport (1980), Approximations of the critical region of the Friedman statistic.
    """
    ranks = rank(scores, higher_is_better=higher_is_better)
    n, k = ranks.shape
    if k < 3:
        raise ValueError(f"Friedman's test needs at least three schemes, got {k}; compare two by a paired test")
    mean_ranks = ranks.mean(0)
    spread = float(np.sum((ranks - (k + 1) / 2) ** 2))

    chi2, f, p_chi2, p_f, note = NAN, NAN, NAN, NAN, ""
    if n < 2:
        note = "needs >= 2 seeds"
    elif spread == 0:
        p_chi2, p_f, note = 1.0, 1.0, "all schemes tie"
    else:
        # Without ties `spread` is n k (k^2 - 1) / 12; each tie reduces it.
        chi2 = chi_square(mean_ranks, n) * (n * k * (k**2 - 1) / 12) / spread
        p_chi2 = float(stats.chi2.sf(chi2, k - 1))
        if np.all(ranks == ranks[0]):
            ties = np.unique(ranks[0], return_counts=True)[1]
            orders = math.factorial(k) // math.prod(math.factorial(int(t)) for t in ties)
            f, p_f, note = math.inf, math.exp((1 - n) * math.log(orders)), "all seeds agree"
        else:
            f = iman_davenport(chi2, n, k)
            p_f = float(stats.f.sf(f, k - 1, (k - 1) * (n - 1))) if n >= FEW else _by_permutation(ranks)
    return Friedman(
        n=n,
        k=k,
        mean_ranks=tuple(mean_ranks.tolist()),
        chi2=chi2,
        df_chi2=k - 1,
        p_chi2=p_chi2,
        f=f,
        df_f=(k - 1, (k - 1) * (n - 1)),
        p_f=p_f,
        note=note,
    )


def _by_permutation(ranks: np.ndarray) -> float:
    orders = np.random.default_rng(0).permuted(np.broadcast_to(ranks, (RESAMPLES, *ranks.shape)), axis=2)
    # Given the ranks of each seed, chi2 and F increase with the spread of the rank sums.
    centre = ranks.shape[0] * (ranks.shape[1] + 1) / 2
    drawn, seen = (((r.sum(-2) - centre) ** 2).sum(-1) for r in (orders, ranks))
    return float((1 + np.count_nonzero(drawn >= seen - 1e-9)) / (1 + RESAMPLES))


def rank(scores: ArrayLike, *, higher_is_better: bool = True) -> np.ndarray:
    """Return ranks within each row of `scores`, shape (n, k): 1 is best, equal scores share their mean rank.

    Raises:
        ValueError: scores are not a finite matrix with at least one row and one column.
    """
    x = np.asarray(scores, dtype=float)
    if x.ndim != 2 or x.size == 0 or not np.isfinite(x).all():
        raise ValueError(f"scores must be a finite matrix, a row per seed and a column per scheme, got shape {x.shape}")
    return np.asarray(stats.rankdata(-x if higher_is_better else x, axis=1))


def chi_square(mean_ranks: ArrayLike, n: int) -> float:
    """Return Friedman's statistic of k mean ranks over n rows, without correction for ties."""
    r = np.asarray(mean_ranks, dtype=float)
    k = len(r)
    return float(12 * n / (k * (k + 1)) * np.sum((r - (k + 1) / 2) ** 2))


def iman_davenport(chi2: float, n: int, k: int) -> float:
    """Return Iman and Davenport's F from Friedman's statistic of n rows and k columns; infinite at its maximum."""
    room = n * (k - 1) - chi2
    return (n - 1) * chi2 / room if room > 0 else math.inf


def critical_difference(n: int, k: int, alpha: float = 0.05) -> float:
    """Return the distance at which two of k mean ranks over n seeds differ at familywise error rate `alpha`.

    Nemenyi's test: the quantile of the studentized range with k groups and infinitely many degrees
    of freedom, over sqrt 2, times sqrt(k (k + 1) / (6 n)).

    Raises:
        ValueError: fewer than one seed or two schemes, or alpha outside (0, 1).

    Source: Nemenyi (1963); Demsar (2006), Statistical comparisons of classifiers over multiple data
    sets, section 3.2.2.
    """
    if n < 1 or k < 2:
        raise ValueError(f"a critical difference needs at least one seed and two schemes, got n={n} and k={k}")
    require_share("alpha", alpha)
    q = float(stats.studentized_range.isf(alpha, k, np.inf)) / math.sqrt(2)
    return q * math.sqrt(k * (k + 1) / (6 * n))


def cliques(mean_ranks: ArrayLike, cd: float) -> tuple[tuple[int, ...], ...]:
    """Return the bars of a critical-difference diagram: maximal groups without a significant difference.

    Args:
        mean_ranks: (k,) finite, 1 is best.
        cd: critical difference, in ranks.

    Returns:
        Groups of at least two columns whose mean ranks all differ by less than `cd` and that are not
        part of a larger such group; columns from best to worst, groups likewise.

    Raises:
        ValueError: mean ranks are not a finite vector, or cd is not positive.
    """
    r = np.asarray(mean_ranks, dtype=float)
    if r.ndim != 1 or not np.isfinite(r).all():
        raise ValueError(f"mean ranks must be a finite vector, got shape {r.shape}")
    if not cd > 0:
        raise ValueError(f"the critical difference must be positive, got {cd}")
    order = np.argsort(r, kind="stable")
    groups, reached = [], 0
    for start in range(len(r)):
        # A group is a contiguous part of the sorted ranks; the one from `start` ends where cd is reached.
        end = start + int(np.count_nonzero(r[order[start:]] - r[order[start]] < cd))
        if end > max(reached, start + 1):
            groups.append(tuple(order[start:end].tolist()))
            reached = end
    return tuple(groups)
