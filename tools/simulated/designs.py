"""Runs that share seeds, several data sets, and choices among many points of a sweep."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from jfed.analysis import best_group, choose, compare, compare_levels
from jfed.comparisons.across import across
from tools.simulated.model import EVERY, LEVEL, NORMAL, Group, Shape, Study, contrast, least, most
from tools.simulated.tables import cover, frame, some

POINTS = 10
SEEDS_EACH = 5  # of every data set


def _grid(rng: np.random.Generator, shape: Shape, size: tuple[int, int], shares: tuple[float, float]) -> np.ndarray:
    """Return scores of two schemes on all combinations of data and model seeds, (2, combinations)."""
    a, b = size
    parts = zip((*shares, 1 - sum(shares)), ((2, a, 1), (2, 1, b), (2, a, b)), strict=True)
    data, model, rest = (np.sqrt(share) * shape.draw(rng, levels) for share, levels in parts)
    return shape.measured(data + model + rest).reshape(2, -1)


def _crossed(
    rng: np.random.Generator, shape: Shape, size: tuple[int, int], shares: tuple[float, float]
) -> tuple[float, ...]:
    scores = _grid(rng, shape, size, shares)
    data, model = (levels.ravel() for levels in np.indices(size))
    made = compare(frame(scores, data_seed=data, model_seed=model), "accuracy")
    return some(made.rows), _as_independent(scores)


def _clustered(rng: np.random.Generator, shape: Shape, size: tuple[int, int]) -> tuple[float, ...]:
    scores = _grid(rng, shape, size, (0.5, 0.0))
    made = compare(frame(scores, data_seed=np.indices(size)[0].ravel()), "accuracy")
    return some(made.rows), _as_independent(scores)


def _as_independent(scores: np.ndarray) -> bool:
    test: Any = stats.ttest_1samp(scores[1] - scores[0], 0.0)
    return bool(test.pvalue < LEVEL)


def _three(rng: np.random.Generator, shape: Shape, size: tuple[int, int, int]) -> tuple[float, ...]:
    """Return the verdict on equal schemes where each of three seeds has a quarter of the variance, as has the rest."""
    parts = [shape.draw(rng, (2, *(n if i == k else 1 for k, n in enumerate(size)))) for i in range(len(size))]
    scores = shape.measured((sum(parts) + shape.draw(rng, (2, *size))) / 2).reshape(2, -1)
    data, model, environment = (levels.ravel() for levels in np.indices(size))
    table = frame(scores, data_seed=data, model_seed=model, environment_seed=environment)
    return some(compare(table, "accuracy").rows), _as_independent(scores)


def _data_sets(rng: np.random.Generator, shape: Shape, count: int, shared: bool) -> tuple[float, ...]:
    """Return what is said of data sets whose true differences vary as much as those of seeds."""
    means = shape.draw(rng, (2, count, 1))
    scores = shape.measured(means + shape.draw(rng, (2, count, SEEDS_EACH)))
    tables = [frame(scores[:, i]).assign(world=i) for i in range(count)]
    apart = 0 if shared else SEEDS_EACH
    table = pd.concat([runs.assign(seed=runs["seed"] + i * apart) for i, runs in enumerate(tables)])
    (row,) = across(table, "accuracy", by="world", baseline="baseline").rows
    these = float(np.mean(means[1] - means[0]))
    return (
        row.verdict in ("better", "worse"),
        cover(row.random.low, row.random.high, 0.0),
        cover(row.fixed.low, row.fixed.high, these),
        cover(row.boot_low, row.boot_high, 0.0),
        cover(row.fixed.low, row.fixed.high, 0.0),
    )


def _sweep(rng: np.random.Generator, shape: Shape, n: int) -> pd.DataFrame:
    """Return runs of a baseline, and of a scheme at ten points that are all as good, on 2 n seeds."""
    runs = frame(shape.scores(rng, (1 + POINTS, 2 * n)))
    point = runs["scheme"].ne("baseline") * np.repeat(np.arange(1 + POINTS), 2 * n)
    return runs.assign(point=point, scheme=np.where(point > 0, "scheme", "baseline"))


def _chosen(rng: np.random.Generator, shape: Shape, n: int, other_seeds: bool) -> tuple[float, ...]:
    runs = _sweep(rng, shape, n)
    if other_seeds:
        return (some(compare(choose(runs, "accuracy", ["point"], range(n)).reported, "accuracy").rows),)
    reported = choose(runs.loc[runs["seed"] < n], "accuracy", ["point"]).reported
    unmarked = reported.drop(columns="selected_here")
    return some(compare(reported, "accuracy").rows), some(compare(unmarked, "accuracy").rows)


def _levels(rng: np.random.Generator, shape: Shape, n: int) -> tuple[float, ...]:
    """Return whether any of two schemes gets a verdict at any of three levels of a sweep, which have the same seeds."""
    tables = {level: frame(shape.scores(rng, (3, n))) for level in range(3)}
    found = compare_levels(tables, "accuracy", baseline="baseline").values()
    alone = (compare(table, "accuracy", baseline="baseline") for table in tables.values())
    return any(some(made.rows) for made in found), any(some(made.rows) for made in alone)


def _best(rng: np.random.Generator, shape: Shape, n: int) -> tuple[float, ...]:
    """Return whether one of four equal schemes, each of which is the best, is in the group of the best."""
    group = best_group(compare(frame(shape.scores(rng, (4, n))), "accuracy"))
    return (np.nan if not group else "baseline" in group,)


GRIDS = {f"{a} x {b}": (a, b) for a, b in ((5, 5), (10, 10), (3, 10))}
CUBES = {"3 x 3 x 3": (3, 3, 3), "5 x 5 x 5": (5, 5, 5)}
CLUSTERS = {f"{a} x {b}": (a, b) for a, b in ((5, 5), (10, 3))}
SHARED_SEEDS = Group(
    "Runs that share seeds",
    """\
Equal schemes on a grid of data seeds and model seeds (5 x 5 means five of each), which account for the stated shares of
the variance of a run; where runs are clustered, they share data seeds only; three crossed seeds are those of data,
model and environment. Where the frame says which runs share seeds, verdicts keep 5 %. Where it does not, the same runs
count as independent, and the t-test errs in 15 to 70 %. (No such table is promised anything, as for other rows without
a wanted rate.)
""",
    (
        *(
            Study(
                partial(_crossed, shares=shares),
                (
                    most(f"crossed, shares {shares[0]} and {shares[1]}: verdict", NORMAL),
                    contrast(f"crossed, shares {shares[0]} and {shares[1]}: the same runs taken as independent"),
                ),
                GRIDS,
                thin=4,
            )
            for shares in ((0.3, 0.2), (0.5, 0.3))
        ),
        Study(
            _clustered,
            (
                most("clustered, share 0.5: verdict", NORMAL),
                contrast("clustered, share 0.5: the same runs taken as independent"),
            ),
            CLUSTERS,
            thin=4,
        ),
        Study(
            _three,
            (
                most("three crossed seeds, a quarter each: verdict", NORMAL),
                contrast("three crossed seeds, a quarter each: the same runs taken as independent"),
            ),
            CUBES,
            thin=8,
        ),
    ),
)
DATA_SETS = Group(
    "Several data sets",
    """\
Two schemes that are equal on average over all data sets there could be, and differ on each: the standard deviation of
the true differences is that of the differences of two runs. There are five seeds of each data set, the same of all or
others of each. The verdict is about further data sets. The interval for these data sets only holds their own mean, and
must not be read as one about others. The hierarchical bootstrap is too short with three or five data sets.
""",
    (
        *(
            Study(
                partial(_data_sets, shared=shared),
                (
                    most(f"further data sets, {seeds}: verdict", NORMAL),
                    least(f"further data sets, {seeds}: interval holds the mean of all", NORMAL),
                    least(f"these data sets, {seeds}: interval holds their mean", NORMAL),
                    least(f"bootstrap interval, {seeds}, holds the mean of all"),
                    contrast(f"these data sets, {seeds}: interval holds the mean of all"),
                ),
                {"3 sets": 3, "5 sets": 5, "10 sets": 10},
                thin=8,
            )
            for seeds, shared in (("the same seeds", True), ("own seeds", False))
        ),
    ),
)
CHOICES = Group(
    "Choices among points and schemes",
    """\
A scheme has ten points, all of them as good as the baseline. If the best is chosen on the very seeds that are reported,
there is no verdict; there would be too many. On other seeds (as many again) verdicts keep 5 %. Three levels of a sweep
have two schemes and a baseline each, all equal; corrected as one family they keep 5 %. The group of the best is that of
all comparisons of four equal schemes, none of which should be missing from it.
""",
    (
        Study(
            partial(_chosen, other_seeds=False),
            (
                most("best of ten points on the same seeds: verdict", EVERY, percent=0.0),
                contrast("best of ten points on the same seeds: verdict if it were judged"),
            ),
            thin=10,
        ),
        Study(
            partial(_chosen, other_seeds=True),
            (most("best of ten points, reported on other seeds: verdict", NORMAL),),
            thin=8,
        ),
        Study(
            _levels,
            (
                most("three levels as one family: any verdict of six", NORMAL),
                contrast("three levels, a family each: any verdict of six"),
            ),
            thin=8,
        ),
        Study(_best, (least("one of four equal schemes is in the group of the best", NORMAL),), thin=10),
    ),
)
