"""Tests of paired differences over runs that share seeds: crossed grids of data, model and environment seeds."""

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from jfed.stats.checks import ROUNDING, constant, require_share
from jfed.stats.variance import SEEDS

NAN = float("nan")


@dataclass(frozen=True)
class Crossed:
    """Mean of paired differences over a grid of crossed factors; undefined numbers are NaN.

    Attributes:
        estimate: mean difference, in the metric's unit.
        se: its standard error if the levels of all factors are drawn at random; of the candidates that `crossed`
            describes the one with the largest p-value, like df and t.
        df: degrees of freedom of `se`.
        t: estimate / se.
        p: two-sided p-value.
        n_cells: number of cells of the grid.
        levels: name and number of levels of each factor.
        truncated: factors whose variance is estimated as 0 or less.
        notes: what restricts the conclusion.
        candidates: standard errors and degrees of freedom among which p and the intervals choose.
    """

    estimate: float
    se: float
    df: float
    t: float
    p: float
    n_cells: int
    levels: tuple[tuple[str, int], ...]
    truncated: tuple[str, ...]
    notes: tuple[str, ...]
    candidates: tuple[tuple[float, float], ...]

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Return the two-sided interval of the mean difference, which excludes 0 exactly if p < 1 - level.

        NaN where there is no test.

        Raises:
            ValueError: the level is outside (0, 1).
        """
        require_share("level", level)
        half = max((float(stats.t.ppf(0.5 + level / 2, df)) * se for se, df in self.candidates), default=NAN)
        return self.estimate - half, self.estimate + half


def crossed(differences: ArrayLike, names: Sequence[str] = SEEDS, notes: Sequence[str] = ()) -> Crossed:
    """Test whether the mean difference is 0, for further levels of all factors and not only those that were run.

    The differences are modelled as mean + one random effect per factor + one per set of several factors + residual,
    all independent. With two factors of a and b levels the mean varies by v_A / a + v_B / b + v_AB / (a b), and

        E (MS_A + MS_B - MS_AB) = a b Var(mean).

    In general a b ... Var(mean) is the expected sum of the mean squares of all sets of factors, with the sign - for
    sets of even size: MS_A + MS_B + MS_C - MS_AB - MS_AC - MS_BC + MS_ABC with three. Its degrees of freedom are
    Satterthwaite's. With one factor it is the t-test of the levels.

    That estimate alone is unreliable: it can be close to 0 or below, and Satterthwaite's degrees of freedom are too
    many where a factor of few levels by chance varies little. So all of these must reject:

    - the t-test with the largest of that estimate, each factor's mean square and the residual's mean square, with the
      degrees of freedom that belong to it;
    - the t-test of the level means of each factor, whose squared standard error is the factor's mean square / (a b).

    p is the largest of their p-values and the interval the widest of theirs. Type I errors of the 5 % test in per cent
    (200 000 simulated grids), by the factors' shares of the variance, where the rest is residual: with the runs taken
    as independent, by the first test alone, and by all:

        grid       shares       independent   first   all
        5 x 5      .3, .2              26.7     3.3   3.2
        5 x 5      .5, .3              36.7     4.1   4.0
        5 x 5      .5, 0               27.3     4.0   3.8
        5 x 5      0, 0                 4.9     1.2   0.8
        10 x 10    .3, .2              41.1     4.7   4.7
        10 x 10    .5, .3              50.9     4.8   4.8
        10 x 10    .5, 0               41.3     4.7   4.7
        10 x 10    0, 0                 5.0     1.9   1.7
        3 x 10     .3, .2              35.1     5.5   4.0
        3 x 10     .5, .3              46.8     6.5   4.6
        2 x 10     .5, .3              47.5    10.0   3.7
        4 x 4 x 4  .3, .2, .1          56.4     3.4   3.3
        4 x 4 x 4  .5, .3, 0           62.8     3.9   3.6
        4 x 4 x 4  0, 0, 0              5.0     0.8   0.2

    Args:
        differences: scheme minus reference, finite, with one axis per factor and one value per combination of levels.
        names: names of the factors, in the order of the axes; further names are ignored.
        notes: notes to pass on.

    Raises:
        ValueError: a difference is not finite, or a factor has fewer than two levels.

    Source: Searle, Casella and McCulloch (1992), Variance components, chapter 4; Satterthwaite (1946), An
    approximate distribution of estimates of variance components.
    """
    d = np.asarray(differences, dtype=float)
    if d.ndim == 0 or len(names) < d.ndim or not np.isfinite(d).all():
        raise ValueError(f"differences must be finite, with one axis per factor in {', '.join(names)}, got {d.shape}")
    names = list(names)[: d.ndim]
    for name, size in zip(names, d.shape, strict=True):
        if size < 2:
            raise ValueError(f"a test needs at least two levels of {name}, got {size}")
    notes, estimate = list(notes), float(d.mean())
    levels = tuple(zip(names, d.shape, strict=True))
    if constant(d):
        notes.append("constant difference" if d.any() else "identical")
        p = NAN if d.any() else 1.0
        return Crossed(estimate, 0.0, NAN, NAN, p, d.size, levels, (), tuple(notes), ())

    squares = _mean_squares(d)
    singles = [squares[(i,)] for i in range(d.ndim)]
    total = sum((-1) ** (len(s) + 1) * square for s, (square, _) in squares.items())
    df = total**2 / sum(square**2 / df for square, df in squares.values())
    largest = max((total, df), *singles, squares[tuple(range(d.ndim))])
    candidates = [(math.sqrt(square / d.size), df) for square, df in dict.fromkeys([largest, *singles]) if square > 0]
    tests = [(2 * float(stats.t.sf(abs(estimate) / se, df)), se, df) for se, df in candidates]
    p, se, df = max(tests, key=lambda test: test[0])

    # The variance of a factor, times the runs per level, is the sum over all sets that contain it.
    nothing = ROUNDING * largest[0]
    truncated = tuple(
        name
        for i, name in enumerate(names)
        if d.ndim > 1 and sum((-1) ** (len(s) + 1) * square for s, (square, _) in squares.items() if i in s) <= nothing
    )
    if truncated:
        notes.append(f"no variance is seen between levels of {' and '.join(truncated)}: the test is conservative")
    return Crossed(estimate, se, df, estimate / se, p, d.size, levels, truncated, tuple(notes), tuple(candidates))


def _mean_squares(d: np.ndarray) -> dict[tuple[int, ...], tuple[float, int]]:
    """Return the mean square and degrees of freedom of each set of axes: a factor, an interaction or the residual."""
    found = {}
    for count in range(1, d.ndim + 1):
        for axes in itertools.combinations(range(d.ndim), count):
            effect = d - d.flat[0]  # so that equal levels leave exact zeros
            for axis in range(d.ndim):
                mean = effect.mean(axis=axis, keepdims=True)
                effect = effect - mean if axis in axes else mean
            df = math.prod(d.shape[axis] - 1 for axis in axes)
            found[axes] = (float((effect**2).sum()) * (d.size / effect.size) / df, df)
    return found


@dataclass(frozen=True)
class Design:
    """How runs are related by the seeds that they share.

    Attributes:
        kind: "independent"; "crossed" if each level of two or more factors occurs with each of the others; "clustered"
            if runs share the levels of one factor only, so that its levels are what is independent.
        levels: name and number of levels of each factor: the seed itself if runs are independent.
        notes: what restricts a conclusion from these runs.
        cells: levels of the factors, by seed.
    """

    kind: Literal["independent", "crossed", "clustered"]
    levels: tuple[tuple[str, int], ...]
    notes: tuple[str, ...]
    cells: Mapping[Any, tuple]

    def test(self, differences: pd.Series) -> Crossed:
        """Test paired differences by `crossed`, runs of one cell averaged; on independent runs that is the t-test.

        Args:
            differences: finite, scheme minus reference, with the seed as index.

        Raises:
            ValueError: there is no difference or one that is not finite, the seeds are no complete grid, or a factor
                has one level.
        """
        if differences.empty:
            raise ValueError("there are no differences to test")
        names = [name for name, _ in self.levels]
        cells = {seed: self.cells[seed] for seed in differences.index}
        notes = [*self.notes, *_require_complete(names, list(cells.values()))]
        runs: dict[tuple, list[float]] = {}
        for seed, value in differences.items():
            runs.setdefault(cells[seed], []).append(float(value))
        shape = [len(set(values)) for values in zip(*runs, strict=True)]
        return crossed(np.reshape([np.mean(runs[cell]) for cell in sorted(runs)], shape), names, notes)


def factors(frame: pd.DataFrame, seeds: Sequence[str] = SEEDS) -> Design:
    """Find how the runs of a tidy frame are related.

    A factor that is missing from the frame is left out. One with a single level restricts the conclusion to it. A
    factor that always changes with another is the same factor, and one whose levels each occur with one level of
    another is nested in that: averaging over the levels of the outer one covers both.

    Args:
        frame: one row per run, with the column `seed` and perhaps those of the factors; runs of several schemes on
            one seed have the same levels.
        seeds: columns of the factors.

    Raises:
        ValueError: there is no column of seeds, a run has no level of a factor that others have, a seed has several
            levels, or factors are crossed incompletely.
    """
    if "seed" not in frame.columns:
        raise ValueError("the frame has no column 'seed'; it needs one row per run")
    names = [name for name in seeds if name in frame.columns and not frame[name].isna().to_numpy().all()]
    if frame[names].isna().to_numpy().any():
        raise ValueError(f"a run has no value of {' or '.join(names)}, though others have")
    cells: dict[Any, tuple] = {}
    for seed, *values in frame[["seed", *names]].itertuples(index=False, name=None):
        for name, one, other in zip(names, cells.setdefault(seed, tuple(values)), values, strict=True):
            if one != other:
                raise ValueError(f"seed {seed} has {name} {one} in one run and {other} in another")

    columns = {name: [cell[i] for cell in cells.values()] for i, name in enumerate(names)}
    levels = {name: len(set(column)) for name, column in columns.items()}
    notes = [
        f"all runs share {name} {columns[name][0]}: the conclusion holds for it only"
        for name in names
        if levels[name] == 1 < len(cells)
    ]
    varied = [name for name in names if levels[name] > 1]

    def stands_for(outer: str, name: str) -> bool:
        """Return whether each level of `name` has one of `outer`, which is coarser, or the same and named first."""
        earlier = (levels[outer], varied.index(outer)) < (levels[name], varied.index(name))
        return earlier and len(set(zip(columns[outer], columns[name], strict=True))) == levels[name]

    kept = [name for name in varied if not any(stands_for(outer, name) for outer in varied)]
    if not kept or levels[kept[0]] == len(cells):  # with a level for each run, it is within all others
        return Design("independent", (("seed", len(cells)),), tuple(notes), {seed: (seed,) for seed in cells})
    notes += [
        f"{name} always changes with {outer}: they are one factor"
        for name in varied
        for outer in kept
        if levels[name] == levels[outer] and stands_for(outer, name)
    ]
    cells = dict(zip(cells, zip(*(columns[name] for name in kept), strict=True), strict=True))
    notes += _require_complete(kept, list(cells.values()))
    kind = "crossed" if len(kept) > 1 else "clustered"
    return Design(kind, tuple((name, levels[name]) for name in kept), tuple(notes), cells)


def _require_complete(names: list[str], cells: list[tuple]) -> list[str]:
    """Return a note if combinations have different numbers of runs; raise ValueError if one has none."""
    runs = Counter(cells)
    every = list(itertools.product(*(sorted(set(values)) for values in zip(*cells, strict=True))))
    if len(runs) < len(every):
        first = next(cell for cell in every if cell not in runs)
        raise ValueError(
            f"{len(every) - len(runs)} of {len(every)} combinations of {' and '.join(names)} have no run, the first is "
            f"{', '.join(f'{name} {value}' for name, value in zip(names, first, strict=True))}; "
            "runs that share seeds need a complete grid (jfed.crossed_seeds makes one)"
        )
    few, many = min(runs.values()), max(runs.values())
    if few == many:
        return []
    return [f"{few} to {many} runs per level of {' and '.join(names)} are averaged: the test is approximate"]
