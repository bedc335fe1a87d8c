"""A sweep: the ranking of its points, curves of the score over a setting, or a heat map over two for each scheme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from bokeh.models import FixedTicker, HoverTool, Line, Rect, Scatter, VArea

from jfed.comparisons.ranking import of_ranking, rank
from jfed.comparisons.summary import summarise
from jfed.report.formats import file_stem
from jfed.report.page.levels import Level
from jfed.report.page.parts import Block, Grid, Part, Picture, Prose
from jfed.report.page.style import axes, color, color_bar, dash, role, shades, source
from jfed.report.page.words import amount, capital, number
from jfed.report.sweeps import ranking_table
from jfed.results.axes import by_value
from jfed.results.meaning import score_name

MOST_MAPS = 8
MOST_PARTS = 6
MOST_SIDES = 2  # problem settings that are drawn
MOST_RANKS = 300  # points whose ranking is on the page


def parts(
    levels: Sequence[Level], problems: Sequence[str], marks: Mapping[str, int],
    choices: Mapping[str, Mapping[str, Any]],
) -> list[Part]:  # fmt: skip
    """Return the rankings and figures of a sweep: of the schemes' settings on each problem, or else of the problems.

    Args:
        levels: all runs, from `of_results`.
        problems: swept settings of the problem.
        marks: number of each scheme's mark.
        choices: arguments of `compare` by score.
    """
    metric = levels[0].metrics[0]
    if any(level.knobs for level in levels):
        made = [
            Part(level.title, _of_knobs(level, marks, choices.get(level.tuned_by, {})), folded=i > 0)
            for i, level in enumerate(levels[:MOST_PARTS])
        ]
        return [part for part in made if part.blocks]
    if not problems:
        return []
    frames = [level.frame.assign(**{name: level.runs[name].values for name in problems}) for level in levels]
    whole = pd.concat(frames, ignore_index=True).drop_duplicates(["scheme", "seed", *problems])
    names = tuple(name for name in problems if len(_values(whole, name)) > 1)
    if len(names) > MOST_SIDES:
        return [Part("", (Prose((f"Swept: {', '.join(names)}. Figures are for one or two problem settings.",)),))]
    return [Part("", _figures(whole, names, metric, marks, "", {}))] if names else []


def _of_knobs(level: Level, marks: Mapping[str, int], choices: Mapping[str, Any]) -> tuple[Block, ...]:
    """Return the ranking of all points on one problem, and their figures."""
    if level.swept is None:
        return ()
    frame: Any = level.swept
    metric = level.tuned_by
    if level.tune_seeds:
        frame = frame[frame["seed"].isin(level.tune_seeds)]
    ranking = rank(frame, metric, level.knobs, **of_ranking(choices))
    title = ", ".join(filter(None, (capital(score_name(metric)), level.title, amount(len(ranking.rows), "point"))))
    title += f", on {amount(len(level.tune_seeds), 'tune seed')}" if level.tune_seeds else ""
    best = {row.scheme: row.settings for row in reversed(ranking.rows)}
    figures = _figures(frame, level.knobs, metric, marks, level.title, best)
    return (*figures, Grid(ranking_table(ranking, title, MOST_RANKS)))


def _figures(
    frame: Any, names: tuple[str, ...], metric: str, marks: Mapping[str, int], title: str,
    best: Mapping[str, Mapping[str, Any]],
) -> tuple[Block, ...]:  # fmt: skip
    """Return a map for each scheme that has two settings, and otherwise curves over each setting.

    `best` has the best settings of each scheme, at which curves over one of several settings are drawn.
    """
    if len(names) != 2:
        return tuple(_curves(_at(frame, names, name, best), name, metric, marks, title) for name in names)
    having = {
        str(scheme): part
        for scheme, part in frame.groupby("scheme", sort=False)
        if not _lacks(part, names[0]).any() and not _lacks(part, names[1]).any()
    }
    means = {
        scheme: part.groupby(list(names))[metric].agg(lambda own: own.mean(skipna=False))  # a failed run has no mean
        for scheme, part in list(having.items())[:MOST_MAPS]
    }
    values = np.concatenate([one.to_numpy(float) for one in means.values()]) if means else np.zeros(0)
    ends = (float(np.nanmin(values, initial=np.inf)), float(np.nanmax(values, initial=-np.inf)))
    more = f" The first {MOST_MAPS} of {len(having)} schemes are drawn." if len(having) > MOST_MAPS else ""
    others = [
        f"{scheme} {part[metric].mean(skipna=False):.4g}" for scheme, part in frame.groupby("scheme", sort=False)
        if scheme not in having
    ]  # fmt: skip
    more += f" Without both settings: {', '.join(others)}." if others else ""
    return tuple(_map(scheme, one, names, metric, ends, title, more) for scheme, one in means.items())


def _lacks(frame: Any, name: str) -> Any:
    """Return the rows whose scheme does not have a setting."""
    return frame[name].isna() | (frame[name] == "")


def _values(frame: Any, name: str) -> list[Any]:
    """Return the values of a setting in order."""
    return sorted(set(frame[name][~_lacks(frame, name)]), key=by_value)


def _at(frame: Any, names: Sequence[str], name: str, best: Mapping[str, Mapping[str, Any]]) -> Any:
    """Return the rows at each scheme's best values of all settings but one."""
    kept = np.ones(len(frame), bool)
    for other in names:
        if other != name:
            own = [best[scheme][other] for scheme in frame["scheme"]]
            kept &= _lacks(frame, other).to_numpy() | (frame[other].to_numpy() == np.array(own, object))
    return frame[kept]


def _curves(whole: Any, name: str, metric: str, marks: Mapping[str, int], title: str) -> Picture:
    """Return the curves over one setting; texts among its values stand side by side."""
    made, values, lacks = axes(name, score_name(metric)), _values(whole, name), _lacks(whole, name)
    texts = any(isinstance(value, str) for value in values)
    places = {value: float(i) if texts else float(value) for i, value in enumerate(values)}
    if texts:
        made.xaxis.ticker = FixedTicker(ticks=[*places.values()])
        made.xaxis.major_label_overrides = {int(place): str(value) for value, place in places.items()}
    schemes = sorted(set(whole.scheme), key=lambda scheme: marks[scheme])
    for scheme in schemes:
        own = whole[(whole.scheme == scheme) & ~lacks]
        by_value = [(places[value], part) for value, part in own.groupby(name)]
        if own.empty:  # a scheme without the setting is the same at all of its values
            by_value = [
                (place, whole[whole.scheme == scheme]) for place in (min(places.values()), max(places.values()))
            ]
        rows = [(x, summarise(part, metric).rows[0]) for x, part in sorted(by_value, key=lambda one: one[0])]
        columns = {name: np.array([x for x, _ in rows], float)}
        columns |= {end: np.array([getattr(row, end) for _, row in rows], float) for end in ("mean", "low", "high")}
        i = marks[scheme]
        data, tags = source(scheme, columns), role(color(i), i)
        made.add_glyph(data, VArea(x=name, y1="low", y2="high", fill_alpha=0.18), tags=tags)
        made.add_glyph(data, Line(x=name, y="mean", line_width=2, line_dash=dash(i)), tags=tags)
        made.add_glyph(data, Scatter(x=name, y="mean", size=7), tags=tags, name=scheme)
    caption = "Mean over seeds; band: pointwise 95 % t interval of the mean."
    if lacks.any():
        caption += f" Schemes without {name} are level."
    return Picture(f"{capital(score_name(metric))}, by {name}", caption, made,
                   file_stem(f"sweep {metric} {name} {title}"), tuple(schemes))  # fmt: skip


def _map(
    scheme: str, mean: pd.Series, names: Sequence[str], metric: str, ends: tuple[float, float], title: str, more: str
) -> Picture:
    """Return the map of one scheme; `mean` is indexed by both settings."""
    first, second = (sorted(set(mean.index.get_level_values(name)), key=by_value) for name in names)
    made = axes(names[0], names[1], 140 + 34 * len(second), x_range=[*map(number, first)],
                y_range=[*map(number, second)])  # fmt: skip
    made.grid.visible = False
    shade, mapper = shades("mean", *ends)
    a, b = (mean.index.get_level_values(name) for name in names)
    data = source(scheme, {names[0]: [*map(number, a)], names[1]: [*map(number, b)], "mean": mean.to_numpy(float)})
    cell = Rect(x=names[0], y=names[1], width=1, height=1, fill_color=shade, line_color=shade)
    drawn = made.add_glyph(data, cell)
    made.add_layout(color_bar(mapper, "mean"), "right")
    tips = [(name, f"@{{{name}}}") for name in names] + [("mean", "@mean{0.[0000]}")]
    made.add_tools(HoverTool(renderers=[drawn], tooltips=tips))
    blank = " Blank: a run has failed." if mean.isna().any() else ""
    caption = f"Mean over seeds; the maps of all schemes share their colours.{blank}{more}"
    return Picture(f"{scheme}: {score_name(metric)}", caption, made, file_stem(f"sweep {metric} {scheme} {title}"))
