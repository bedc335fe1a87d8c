"""The picture of a sweep, chosen by the number of its settings: curves over each, or heat maps over two."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from jfed.comparisons.ranking import BEST, Ranking, points_of
from jfed.report.figures.sweeps import Heat, setting_curves, setting_heat
from jfed.results.axes import by_value
from jfed.results.meaning import axis, score_name

Scores = Mapping[tuple, Mapping[Any, float]]  # by point, then by seed


def sweep_picture(
    frame: pd.DataFrame, metric: str, axes: Sequence[str], title: str, ranking: Ranking | None = None
) -> Figure | None:
    """Draw a heat map for each scheme that has two swept settings, and otherwise curves, a panel for each setting.

    In a panel of one of several settings each scheme has its best values of the others.

    Args:
        frame: one row per run: columns `scheme`, `seed`, the metric and the axes.
        metric: the metric.
        axes: columns of the swept settings.
        title: title, which must name the data set or world.
        ranking: of the same points; None draws no marks, and is for one or two settings that all schemes have.

    Returns:
        the figure; None if no setting has several values.
    """
    scores: dict[tuple, dict[Any, float]] = {}
    for point, seed, score in zip(points_of(frame, axes), frame["seed"], frame[metric], strict=True):
        scores.setdefault(point, {})[seed] = float(score)
    values = {
        name: sorted({point[i + 1] for point in scores} - {""}, key=by_value) for i, name in enumerate(axes)
    }  # fmt: skip
    several = {name: values[name] for name in axes if len(values[name]) > 1}
    if not several:
        return None
    best = {} if ranking is None else {row.scheme: row for row in reversed(ranking.rows)}
    if len(several) == 2:
        sides = sorted(several, key=lambda name: -len(several[name]))
        x, y = (axes.index(name) + 1 for name in sides)
        heats = {
            str(scheme): _heat(str(scheme), scores, (x, y), several[sides[0]], several[sides[1]], ranking)
            for scheme in dict.fromkeys(point[0] for point in scores if point[x] != "" and point[y] != "")
        }
        if heats:
            others = [f"{scheme} {row.summary.mean:.4g}" for scheme, row in best.items() if scheme not in heats]
            x_side, y_side = ((axis(name), several[name]) for name in sides)
            beside = f"Without both settings: {', '.join(others)}." if others else ""
            return setting_heat(heats, x_side, y_side, label=score_name(metric), title=title, caption=beside)
    home = {scheme: row.settings for scheme, row in best.items()}
    return setting_curves(
        {axis(name): (own, _curves(scores, axes, name, own, home)) for name, own in several.items()},
        ylabel=score_name(metric),
        title=title,
        caption="The other settings are each scheme's best." if len(several) > 1 else "",
    )


def _heat(
    scheme: str, scores: Scores, places: tuple[int, int], first: list, second: list, ranking: Ranking | None
) -> Heat:  # fmt: skip
    """Return a scheme's means over two settings, whose places in points are given, with the marks of a ranking."""
    x, y = places
    cells = {p: (second.index(p[y]), first.index(p[x])) for p in scores if p[0] == scheme and p[x] != "" != p[y]}
    means = np.full((len(second), len(first)), np.nan)
    for point, cell in cells.items():
        means[cell] = np.mean(list(scores[point].values()))
    standing = {} if ranking is None else {(row.scheme, *row.settings.values()): row.standing for row in ranking.best}
    among = [point for point in cells if point in standing]
    best = next((cells[point] for point in among if standing[point] == BEST), None)
    return Heat(means, best, tuple(cells[point] for point in among if standing[point] != BEST))


def _curves(
    scores: Scores, axes: Sequence[str], name: str, values: list, home: Mapping[str, Mapping[str, Any]]
) -> dict[str, np.ndarray]:  # fmt: skip
    """Return each scheme's scores over one setting, (seeds, values); the same everywhere if it does not have it."""
    found = {}
    for scheme in dict.fromkeys(point[0] for point in scores):
        seeds = sorted({seed for point, by_seed in scores.items() if point[0] == scheme for seed in by_seed})
        own = home.get(str(scheme), {})
        columns = []
        for value in values:
            told = {**own, name: "" if own.get(name) == "" else value}
            by_seed = scores.get((scheme, *(told.get(axis, "") for axis in axes)), {})
            columns.append([by_seed.get(seed, np.nan) for seed in seeds])
        found[str(scheme)] = np.array(columns).T
    return found
