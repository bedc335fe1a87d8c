"""A note on differences of a shape that misleads the t-test: skewed ones, and those with one outlying seed."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from jfed.stats.checks import constant

ALPHA = 0.01  # of each of the two tests
FEWEST = 5  # fewer differences are too few for an outlier; of 3, of which two tie, the third would always be one
FEWEST_FOR_SKEWNESS = 8  # for which SciPy's test keeps its level


def outlying(differences: ArrayLike) -> int | None:
    """Return the position of the one outlying difference by Grubbs' test at 1 %, or None, as for fewer than 5 seeds.

    Two outliers on the same side hide each other: each makes the standard deviation larger.

    Args:
        differences: (n,) finite.

    Raises:
        ValueError: the differences are not a finite vector.

    Source: Grubbs (1950), Sample criteria for testing outlying observations.
    """
    d = np.asarray(differences, dtype=float)
    if d.ndim != 1 or not np.isfinite(d).all():
        raise ValueError(f"differences must be a finite vector, got shape {d.shape}")
    n = d.size
    if n < FEWEST or constant(d):
        return None
    distance = np.abs(d - d.mean()) / d.std(ddof=1)
    t = stats.t.isf(ALPHA / (2 * n), n - 2)
    critical = (n - 1) * t / np.sqrt(n * (n - 2 + t**2))
    at = int(np.argmax(distance))
    return at if distance[at] > critical else None


def shape_note(differences: ArrayLike, seeds: Sequence | None = None) -> str:
    """Return a note if paired differences have an outlying seed, or are skewed without it, and "" otherwise.

    With skewed differences the t-test can err more often than it promises. Each part of the note is a test at 1 %:
    Grubbs' for one outlier, and from 8 seeds on D'Agostino's of skewness, for all seeds or for those without the
    outlier. With fewer seeds a test of skewness would find the same cases as Grubbs'.

    No note does not mean a good shape: few seeds detect little. In 20,000 simulated experiments with 5, 10 and 30
    seeds, a note appeared for 1.1, 1.2 and 1.5 % of normal differences, for 10, 33 and 90 % of lognormal and 6, 18 and
    69 % of exponential ones, and for 11, 50 and 79 % of normal ones of which one was moved by 5 standard deviations.
    Nor does a note call for another test on the same seeds: the test is named before the scores are seen.

    Args:
        differences: (n,) finite, scheme minus reference on each seed.
        seeds: names of the seeds, positions by default.

    Returns:
        Such as "one outlying seed: 7" or "skewed (skewness 1.9)", with the adjusted skewness.

    Raises:
        ValueError: the differences are not a finite vector, or the seeds are not as many.

    Source: Grubbs (1950); D'Agostino (1970), Transformation to normality of the null distribution of g1.
    """
    at = outlying(differences)
    d = np.asarray(differences, dtype=float)
    names = range(d.size) if seeds is None else seeds
    if len(names) != d.size:
        raise ValueError(f"there must be a name for each of {d.size} seeds, got {len(names)}")
    notes = []
    if at is not None:
        notes.append(f"one outlying seed: {names[at]}")
        d = np.delete(d, at)
    if d.size >= FEWEST_FOR_SKEWNESS and not constant(d) and stats.skewtest(d).pvalue < ALPHA:
        others = "the others " if notes else ""
        notes.append(f"{others}skewed (skewness {stats.skew(d, bias=False):.1f})")
    return "; ".join(notes)
