"""Mean and interval over seeds of each scheme by itself, and indices of how evenly clients are served."""

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from jfed.results.frames import scores_by_scheme, with_seeds
from jfed.stats.checks import require_share
from jfed.stats.crossed import factors
from jfed.stats.intervals import t_interval


@dataclass(frozen=True)
class SchemeSummary:
    """One scheme's finished runs; undefined numbers are NaN.

    The interval is pointwise: it is about this scheme's mean alone. Whether two intervals overlap says
    nothing about a paired difference; `compare` tests that.

    Attributes:
        scheme: name of the scheme.
        n: number of finished runs.
        failed: seeds whose score is NaN or infinite.
        mean: mean score.
        sd: standard deviation, n - 1 in the denominator.
        low: lower end of the interval of the mean.
        high: its upper end.
    """

    scheme: str
    n: int
    failed: tuple
    mean: float
    sd: float
    low: float
    high: float


@dataclass(frozen=True)
class Summary:
    """Summary of one metric over seeds.

    Attributes:
        metric: name of the metric.
        alpha: one minus the level of each interval.
        rows: the schemes, in the frame's order.
    """

    metric: str
    alpha: float
    rows: tuple[SchemeSummary, ...]

    def frame(self) -> pd.DataFrame:
        """Return one row per scheme: the metric's name, then every field at full precision."""
        frame = pd.DataFrame([{"metric": self.metric, **asdict(row)} for row in self.rows])
        frame["failed"] = [" ".join(map(str, seeds)) for seeds in frame["failed"]]
        return frame


def summarise(frame: pd.DataFrame, metric: str, alpha: float = 0.05) -> Summary:
    """Return the mean, standard deviation and pointwise t interval of each scheme over its finished runs.

    Where runs share seeds of data, model or environment, the interval has the standard error of that design
    (`jfed.stats.crossed`), and there is none if a run failed or is missing.

    Args:
        frame: one row per (scheme, seed), with columns `scheme`, `seed` and `metric`.
        metric: the column to summarise, in its own units.
        alpha: one minus the level of each interval.

    Raises:
        ValueError: the frame, metric or alpha is unusable.
    """
    require_share("alpha", alpha)
    rows, frame = [], with_seeds(frame)
    found, seeds = scores_by_scheme(frame, metric), factors(frame)
    for scheme, scores in found.items():
        finite = np.isfinite(scores.to_numpy())
        finished = scores.to_numpy()[finite]
        n = len(finished)
        mean = float(finished.mean()) if n else float("nan")
        sd = float(finished.std(ddof=1)) if n > 1 else float("nan")
        low, high = t_interval(mean, sd, n, 1 - alpha)
        if seeds.kind != "independent":
            whole = finite.all() and n == len(seeds.cells)
            low, high = seeds.test(scores).interval(1 - alpha) if whole else (float("nan"), float("nan"))
        failed = tuple(scores.index[~finite].tolist())
        rows.append(SchemeSummary(scheme, n, failed, mean, sd, low, high))
    return Summary(metric, alpha, tuple(rows))


def jain(counts: ArrayLike) -> np.ndarray:
    """Return Jain's fairness index over the last axis: (sum x)^2 / (n sum x^2).

    1 if all n clients have the same count, 1/n if one client has everything; NaN if no client has
    anything. Equal to 1 / (1 + coefficient_of_variation**2).

    Args:
        counts: (..., n) non-negative, such as how often each client was selected; NaN where a run does not have the
            client, of which its n then does not tell.

    Returns:
        (...), without unit.

    Raises:
        ValueError: no clients, or a negative count.

    Source: Jain, Chiu and Hawe (1984), A quantitative measure of fairness and discrimination for
    resource allocation in shared computer systems, DEC-TR-301.
    """
    x, n = _counts(counts)
    return _ratio(np.nansum(x, -1) ** 2, n * np.nansum(x**2, -1))


def coefficient_of_variation(counts: ArrayLike) -> np.ndarray:
    """Return standard deviation over mean, over the last axis, with n (not n - 1) in the denominator.

    0 if all counts are equal, sqrt(n - 1) if one client has everything, NaN if all are 0. Shapes
    and errors as in `jain`. Source: Jain, Chiu and Hawe (1984), who compare it with their index.
    """
    x, n = _counts(counts)
    mean = _ratio(np.nansum(x, -1), n)
    away = x - np.asarray(mean)[..., np.newaxis]
    return _ratio(np.sqrt(np.nansum(away**2, -1) / np.maximum(n, 1)), mean)


def entropy(counts: ArrayLike) -> np.ndarray:
    """Return Shannon's entropy of the clients' shares over the last axis, divided by ln n.

    1 if all counts are equal, 0 if one client has everything; NaN if all are 0 or n is 1. Shapes
    and errors as in `jain`. Source: Shannon (1948); the normalised form is Pielou's (1966) evenness.
    """
    x, n = _counts(counts)
    # SciPy turns counts into shares; all zeros become NaN without a warning.
    found = np.asarray(stats.entropy(np.where(np.isnan(x), 0.0, x), axis=-1))
    return _ratio(found, np.log(np.maximum(n, 1)))


def gini(counts: ArrayLike) -> np.ndarray:
    """Return the Gini coefficient over the last axis: mean absolute difference of two clients / (2 mean).

    0 if all counts are equal, (n - 1) / n if one client has everything, NaN if all are 0. Shapes
    and errors as in `jain`. Source: Gini (1912), Variabilita e mutabilita.
    """
    x, n = _counts(counts)
    x = np.sort(x, axis=-1)  # NaN at the end
    weights = 2 * np.arange(1, x.shape[-1] + 1) - n[..., np.newaxis] - 1
    return _ratio(np.nansum(weights * x, -1), n * np.nansum(x, -1))


def _counts(counts: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return the counts, and the number of clients that each row has."""
    x = np.asarray(counts, dtype=float)
    if x.ndim == 0 or x.shape[-1] == 0:
        raise ValueError("counts need at least one client on the last axis")
    if np.any(x < 0):
        raise ValueError("counts must not be negative")
    return x, np.sum(~np.isnan(x), -1)


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Return a quotient that is NaN, without a warning, where the denominator is 0."""
    nothing = np.full(np.shape(below), np.nan)
    return np.divide(above, below, out=nothing, where=np.asarray(below) > 0)[()]
