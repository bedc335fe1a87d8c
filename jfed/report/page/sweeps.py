"""A sweep of one or two settings with numbers: curves of the score, or a heat map for each scheme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from bokeh.models import BasicTicker, ColorBar, HoverTool, LinearColorMapper
from bokeh.palettes import Cividis256

from jfed.comparisons.summary import summarise
from jfed.report.page.levels import Level
from jfed.report.page.parts import Picture
from jfed.report.page.style import axes, color, dash, role, source
from jfed.report.page.words import number, score_name

MOST_MAPS = 12


def swept_settings(levels: Sequence[Level], problems: Sequence[str]) -> pd.DataFrame:
    """Return all runs, with the swept problems and knobs that are numbers as columns."""
    frames = []
    for level in levels:
        runs: Any = level.runs
        frames.append(level.frame.assign(**{name: runs[name].values for name in problems}))
    return pd.concat(frames, ignore_index=True)


def pictures(
    levels: Sequence[Level], problems: Sequence[str], metric: str, marks: Mapping[str, int]
) -> tuple[list[Picture], str]:
    """Return the figures of a sweep, and a sentence where there are none though something is swept.

    Args:
        levels: all runs, from `of_results`.
        problems: swept settings of the problem.
        metric: score that is shown.
        marks: number of each scheme's mark.
    """
    names = [*problems, *dict.fromkeys(name for level in levels for name in level.knobs)]
    if not names:
        return [], ""
    whole = swept_settings(levels, problems)
    numeric = [name for name in names if pd.api.types.is_numeric_dtype(whole[name])]
    if len(numeric) != len(names) or len(names) > 2:
        return [], f"Swept are {', '.join(names)}: the tables have all settings; figures are for one or two numbers."
    if len(names) == 1:
        return [_curves(whole, names[0], metric, marks)], ""
    rates = {str(name): part for name, part in whole.groupby("method", sort=False) if part[names].notna().all(None)}
    told = "" if len(rates) <= MOST_MAPS else f"The first {MOST_MAPS} of {len(rates)} schemes are drawn."
    kept = dict(list(rates.items())[:MOST_MAPS])
    means = {name: part.groupby(names)[metric].mean() for name, part in kept.items()}
    ends = [end(one.to_numpy()) for one in means.values() for end in (np.nanmin, np.nanmax)]
    if not ends:
        return [], ""
    return [_map(name, one, names, metric, (min(ends), max(ends))) for name, one in means.items()], told


def _curves(whole: pd.DataFrame, name: str, metric: str, marks: Mapping[str, int]) -> Picture:
    made, hovered = axes(name, score_name(metric)), []
    has, lacks = whole[whole[name].notna()], whole[whole[name].isna()]
    schemes = list(dict.fromkeys(whole.method))
    for scheme in schemes:
        own = has[has.method == scheme]
        if own.empty:  # a scheme without the setting, in all of its values
            values = lacks[lacks.method == scheme]
            at = np.unique(has[name])[[0, -1]]
            own = pd.concat([values.assign(**{name: x}) for x in at])
        rows = [(x, summarise(part.assign(scheme=scheme), metric).rows[0]) for x, part in own.groupby(name)]
        columns = {name: np.array([x for x, _ in rows], float)}
        columns |= {end: np.array([getattr(row, end) for _, row in rows], float) for end in ("mean", "low", "high")}
        i = marks[scheme]
        data, tags = source(scheme, columns), role(color(i), i)
        made.varea(name, "low", "high", source=data, fill_alpha=0.18, tags=tags)
        made.line(name, "mean", source=data, line_width=2, line_dash=dash(i), tags=tags)
        hovered.append(made.scatter(name, "mean", source=data, size=7, tags=tags, name=scheme))
    tips = f"<div>{name} @{{{name}}} · <b>$name</b> @mean{{0.[0000]}} (@low{{0.[0000]}} to @high{{0.[0000]}})</div>"
    made.add_tools(HoverTool(renderers=hovered, mode="vline", tooltips=tips))
    caption = "Mean over seeds; band: pointwise 95 % t interval of the mean. Schemes without the setting are level."
    return Picture(f"{score_name(metric)}, by {name}", caption, made, f"sweep_{metric}", tuple(schemes))


def _map(scheme: str, mean: pd.Series, names: Sequence[str], metric: str, ends: tuple[float, float]) -> Picture:
    """Return the map of one scheme; `mean` is indexed by both settings."""
    first, second = (sorted(set(mean.index.get_level_values(name))) for name in names)
    made = axes(names[0], names[1], 140 + 34 * len(second), x_range=[*map(number, first)],
                y_range=[*map(number, second)])  # fmt: skip
    made.grid.visible = False
    colors = LinearColorMapper(palette=Cividis256, low=ends[0], high=ends[1])
    a, b = (mean.index.get_level_values(name) for name in names)
    data = source(scheme, {names[0]: [*map(number, a)], names[1]: [*map(number, b)], "mean": mean.to_numpy(float)})
    drawn = made.rect(names[0], names[1], 1, 1, source=data, line_color=None,
                      fill_color={"field": "mean", "transform": colors})  # fmt: skip
    bar = ColorBar(color_mapper=colors, title="mean", width=12, ticker=BasicTicker(desired_num_ticks=4))
    made.add_layout(bar, "right")
    tips = [(name, f"@{{{name}}}") for name in names] + [("mean", "@mean{0.[0000]}")]
    made.add_tools(HoverTool(renderers=[drawn], tooltips=tips))
    caption = "Mean over seeds; all schemes share the colours."
    return Picture(f"{score_name(metric)} of {scheme}", caption, made, f"sweep_{metric}_{scheme}")
