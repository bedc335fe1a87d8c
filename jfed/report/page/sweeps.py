"""A sweep of one or two settings with numbers: curves of the score, or a heat map for each scheme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from bokeh.models import HoverTool, Line, Rect, Scatter, VArea

from jfed.comparisons.summary import summarise
from jfed.report.formats import file_stem
from jfed.report.page.levels import Level
from jfed.report.page.parts import Part, Picture, Prose
from jfed.report.page.style import axes, color, color_bar, dash, role, shades, source
from jfed.report.page.words import capital, number, score_name

MOST_MAPS = 8
MOST_PARTS = 6


def parts(levels: Sequence[Level], problems: Sequence[str], marks: Mapping[str, int]) -> list[Part]:
    """Return the figures of a sweep: of the schemes' settings on each problem, or else of the problems.

    Args:
        levels: all runs, from `of_results`.
        problems: swept settings of the problem.
        marks: number of each scheme's mark.
    """
    metric = levels[0].metrics[0]
    if any(level.knobs for level in levels):
        each = [(level.title, level.frame, level.knobs) for level in levels]
        made = [Part(title, _blocks(frame, knobs, metric, marks, title), folded=i > 0)
                for i, (title, frame, knobs) in enumerate(each[:MOST_PARTS])]  # fmt: skip
        return [part for part in made if part.blocks]
    if not problems:
        return []
    frames = [level.frame.assign(**{name: level.runs[name].values for name in problems}) for level in levels]
    return [Part("", _blocks(pd.concat(frames, ignore_index=True), tuple(problems), metric, marks, ""))]


def _blocks(
    frame: Any, names: tuple[str, ...], metric: str, marks: Mapping[str, int], title: str
) -> tuple[Picture | Prose, ...]:
    if len(names) > 2 or not all(pd.api.types.is_numeric_dtype(frame[name]) for name in names):
        return (Prose((f"Swept: {', '.join(names)}. Figures are for one or two settings with numbers.",)),)
    if len(names) == 1:
        return (_curves(frame, names[0], metric, marks, title),)
    having = {
        str(name): part
        for name, part in frame.groupby("method", sort=False)
        if part[list(names)].notna().to_numpy().all()
    }
    means = {name: part.groupby(list(names))[metric].mean() for name, part in list(having.items())[:MOST_MAPS]}
    values = np.concatenate([one.to_numpy(float) for one in means.values()]) if means else np.zeros(0)
    ends = (float(np.nanmin(values, initial=np.inf)), float(np.nanmax(values, initial=-np.inf)))
    left_out = f" The first {MOST_MAPS} of {len(having)} schemes are drawn." if len(having) > MOST_MAPS else ""
    return tuple(_map(name, one, names, metric, ends, title, left_out) for name, one in means.items())


def _curves(whole: Any, name: str, metric: str, marks: Mapping[str, int], title: str) -> Picture:
    made = axes(name, score_name(metric))
    has, lacks = whole[whole[name].notna()], whole[whole[name].isna()]
    schemes = sorted(set(whole.method), key=lambda scheme: marks[scheme])
    for scheme in schemes:
        own = has[has.method == scheme]
        if own.empty:  # a scheme without the setting is the same at all of its values
            ends = (has[name].min(), has[name].max())
            own = pd.concat([lacks[lacks.method == scheme].assign(**{name: x}) for x in ends])
        rows = [(x, summarise(part.assign(scheme=scheme), metric).rows[0]) for x, part in own.groupby(name)]
        columns = {name: np.array([x for x, _ in rows], float)}
        columns |= {end: np.array([getattr(row, end) for _, row in rows], float) for end in ("mean", "low", "high")}
        i = marks[scheme]
        data, tags = source(scheme, columns), role(color(i), i)
        made.add_glyph(data, VArea(x=name, y1="low", y2="high", fill_alpha=0.18), tags=tags)
        made.add_glyph(data, Line(x=name, y="mean", line_width=2, line_dash=dash(i)), tags=tags)
        made.add_glyph(data, Scatter(x=name, y="mean", size=7), tags=tags, name=scheme)
    caption = "Mean over seeds; band: pointwise 95 % t interval of the mean."
    if not lacks.empty:
        caption += f" Schemes without {name} are level."
    return Picture(f"{capital(score_name(metric))}, by {name}", caption, made, file_stem(f"sweep {metric} {title}"),
                   tuple(schemes))  # fmt: skip


def _map(
    scheme: str, mean: pd.Series, names: Sequence[str], metric: str, ends: tuple[float, float], title: str, more: str
) -> Picture:
    """Return the map of one scheme; `mean` is indexed by both settings."""
    first, second = (sorted(set(mean.index.get_level_values(name))) for name in names)
    made = axes(names[0], names[1], 140 + 34 * len(second), x_range=[*map(number, first)],
                y_range=[*map(number, second)])  # fmt: skip
    made.grid.visible = False
    shade, mapper = shades("mean", *ends)
    a, b = (mean.index.get_level_values(name) for name in names)
    data = source(scheme, {names[0]: [*map(number, a)], names[1]: [*map(number, b)], "mean": mean.to_numpy(float)})
    drawn = made.add_glyph(data, Rect(x=names[0], y=names[1], fill_color=shade, line_color=shade))
    made.add_layout(color_bar(mapper, "mean"), "right")
    tips = [(name, f"@{{{name}}}") for name in names] + [("mean", "@mean{0.[0000]}")]
    made.add_tools(HoverTool(renderers=[drawn], tooltips=tips))
    caption = f"Mean over seeds; the maps of all schemes share their colours.{more}"
    return Picture(f"{scheme}: {score_name(metric)}", caption, made, file_stem(f"sweep {metric} {scheme} {title}"))
