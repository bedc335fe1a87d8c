"""Variance components: how much of the spread over seeds is due to the data, the initial model and the environment."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from jfed.core.errors import require_columns

SEEDS = ("data_seed", "model_seed", "environment_seed")


@dataclass(frozen=True)
class Component:
    """The variance component of one factor.

    Attributes:
        name: name of the factor.
        levels: number of its levels.
        mean_square: mean square, in the metric's unit squared.
        variance: variance component, in the metric's unit squared; 0 where the estimate is negative.
        share: share of the total; NaN if the total is 0.
        truncated: whether the estimate was negative.
    """

    name: str
    levels: int
    mean_square: float
    variance: float
    share: float
    truncated: bool


@dataclass(frozen=True)
class Components:
    """Variance components of one metric, in the metric's unit squared.

    Attributes:
        rows: the components of the factors.
        residual: variance of interactions, and of all randomness that the factors do not fix.
        residual_df: its degrees of freedom.
        total: sum of the rows, after truncation, and the residual.
        n: number of runs.
        left_out: factors with a single level.
    """

    rows: tuple[Component, ...]
    residual: float
    residual_df: int
    total: float
    n: int
    left_out: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """Return one row per factor, then the residual."""
        rest = Component("residual", self.n, self.residual, self.residual, share(self.residual, self.total), False)
        return pd.DataFrame([asdict(row) for row in (*self.rows, rest)])


def components(frame: pd.DataFrame, metric: str, factors: Sequence[str] | None = None) -> Components:
    """Return variance components of a balanced, crossed random-effects design by the method of moments.

    Each combination of levels has one run. A run's score is modelled as mean + one effect per factor + residual, all
    independent, with variances v_f and v.
    Let factor f have L levels among N runs, so that each level has N / L of them. The mean of a level varies by its own
    effect, with variance v_f, and by the residuals of N / L runs, with variance v / (N / L); the other factors' effects
    are the same in each level and cancel. The mean square of f is N / L times the variance of its L level means, hence

        E MS_f = v + (N / L) v_f        E MS_residual = v        v_f = (MS_f - MS_residual) / (N / L).

    A negative estimate is set to 0 and flagged: the component is too small to be detected, and the other shares are
    then slightly too small. Interactions count as residual. With two factors that is harmless, since an interaction
    is in both mean squares; with three, a large one inflates the variances of its factors.

    Args:
        frame: one row per run of one scheme, with columns of the factors and of the metric.
        metric: the column to decompose.
        factors: columns that were varied independently; None takes those of `SEEDS` that there are. Those with a single
            level are left out.

    Raises:
        ValueError: a column is missing or not numeric; there are several schemes; a combination has no run, or several;
            a run has failed (its score is NaN or infinite); or fewer than two factors vary, since a single one
            cannot be separated from the residual.

    Source: Searle, Casella and McCulloch (1992), Variance components, chapter 4; Henderson (1953), method 1.
    """
    among = ", ".join(SEEDS if factors is None else factors)
    factors = [name for name in SEEDS if name in frame.columns] if factors is None else list(factors)
    require_columns(frame, (*factors, metric))
    if "scheme" in frame.columns and len(frame["scheme"].drop_duplicates()) > 1:
        raise ValueError("the frame has several schemes; select one, whose variance is to be decomposed")
    levels = {name: frame[name].drop_duplicates().tolist() for name in factors}
    varied = [name for name in factors if len(levels[name]) > 1]
    if len(varied) < 2:
        raise ValueError(
            f"variance components need two factors that vary, got {' and '.join(varied) or 'none'} among {among}"
        )
    scores = _grid(frame, metric, {name: levels[name] for name in varied})

    n = scores.size
    scores = scores - scores.flat[0]  # so that equal scores leave exact zeros
    scores = scores - scores.mean()
    residuals, means = scores, []
    for axis in range(scores.ndim):
        others = tuple(i for i in range(scores.ndim) if i != axis)
        means.append(scores.mean(axis=others, keepdims=True))
        residuals = residuals - means[-1]
    residual_df = n - 1 - sum(size - 1 for size in scores.shape)
    residual = float((residuals**2).sum()) / residual_df

    estimates = []
    for name, mean in zip(varied, means, strict=True):
        per_level = n / mean.size
        mean_square = per_level * float((mean**2).sum()) / (mean.size - 1)
        estimates.append((name, mean.size, mean_square, (mean_square - residual) / per_level))
    total = residual + sum(max(estimate[-1], 0.0) for estimate in estimates)
    rows = tuple(
        Component(name, size, square, max(variance, 0.0), share(max(variance, 0.0), total), variance < 0)
        for name, size, square, variance in estimates
    )
    left_out = tuple(name for name in factors if name not in varied)
    return Components(rows, residual, residual_df, total, n, left_out)


def share(part: float, total: float) -> float:
    """Return part / total; NaN if the total is 0."""
    return part / total if total > 0 else float("nan")


def _grid(frame: pd.DataFrame, metric: str, levels: dict[str, list]) -> np.ndarray:
    """Return the scores with one axis per factor; each combination must have one finished run."""
    names = list(levels)

    def text(cell: Sequence) -> str:
        return ", ".join(f"{name} {value}" for name, value in zip(names, cell, strict=True))

    if frame[names].isna().to_numpy().any():
        raise ValueError(f"a run has no value of {' or '.join(names)}")
    try:
        scores = frame[metric].to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError):
        raise ValueError(f"metric {metric!r} is not numeric") from None
    cells = list(frame[names].itertuples(index=False, name=None))
    by_cell = dict(zip(cells, scores, strict=True))
    if len(by_cell) < len(cells):
        twice = cells[int(frame.duplicated(names).to_numpy().argmax())]
        raise ValueError(
            f"{text(twice)} has {cells.count(twice)} runs instead of one; "
            "select one world, mode, point of the sweep and run per combination"
        )
    num_cells = math.prod(len(values) for values in levels.values())
    if len(by_cell) < num_cells:
        first = next(cell for cell in itertools.product(*levels.values()) if cell not in by_cell)
        raise ValueError(
            f"{num_cells - len(by_cell)} of {num_cells} combinations have no run, the first is {text(first)}; "
            "the design must be balanced (jfed.crossed_seeds makes such seeds)"
        )
    for cell, score in by_cell.items():
        if not np.isfinite(score):
            raise ValueError(f"the run of {text(cell)} has failed, so the design is not balanced")
    ordered = [by_cell[cell] for cell in itertools.product(*levels.values())]
    return np.array(ordered).reshape([len(values) for values in levels.values()])
