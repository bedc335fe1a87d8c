"""The look of the page's figures: marks of schemes that can be told apart without colour, and plain axes.

Colours are roles, such as "series-0" or "grid", which `page.js` fills with those of the reader's light or dark page.
A renderer has its role, and the series that it belongs to, as tags.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from bokeh.models import BasicTicker, ColorBar, ColumnDataSource, LinearColorMapper
from bokeh.palettes import Cividis256
from bokeh.plotting import figure

COLORS = 8  # series-0 to series-7 in page.css
DASHES = ("solid", (9, 3), (2, 2), (10, 3, 2, 3), (5, 2, 1, 2, 1, 2))  # five and eight are coprime: 40 marks
HEIGHT = 320  # of a figure with curves, pixels
ROW = 26  # of a row of a figure with rows, pixels
FONT = "system-ui, sans-serif"
TOOLS = "pan,box_zoom,wheel_zoom,reset,save"


def source(name: str, columns: Mapping[str, Any]) -> ColumnDataSource:
    """Return a source of data; one with a name is downloaded with its figure, under that name in the first column."""
    short = {key: _short(values) for key, values in columns.items()}
    return ColumnDataSource(short, name=name or None)


def _short(values: Any) -> Any:
    """Return numbers in 32 bits, which take half the space."""
    array = np.asarray(values)
    if array.ndim > 1:
        return [_short(one) for one in array]
    return array.astype(np.float32) if array.dtype.kind == "f" else array if array.dtype.kind in "iu" else list(values)


def role(color: str, series: int | None = None) -> list[str]:
    """Return the tags of a renderer."""
    return [f"color:{color}", *([] if series is None else [f"series:{series}"])]


def color(series: int) -> str:
    """Return the role of the colour of a scheme."""
    return f"series-{series % COLORS}"


def dash(series: int) -> Any:
    """Return the line style of a scheme."""
    return DASHES[series % len(DASHES)]


def shades(column: str, low: float, high: float) -> tuple[Any, LinearColorMapper]:
    """Return the colour of a cell by a column of numbers, also for its line, lest a seam shows; and its mapper."""
    mapper = LinearColorMapper(palette=Cividis256, low=low, high=high, nan_color="#00000000")
    return {"field": column, "transform": mapper}, mapper


def color_bar(mapper: LinearColorMapper, title: str) -> ColorBar:
    """Return the key of a map."""
    return ColorBar(
        color_mapper=mapper, title=title, width=12, ticker=BasicTicker(desired_num_ticks=4), title_text_font=FONT,
        title_text_font_style="normal", title_text_font_size="12px", major_label_text_font=FONT,
    )  # fmt: skip


def axes(xlabel: str, ylabel: str, height: int = HEIGHT, **options: Any) -> Any:
    """Return an empty figure as wide as the page.

    Args:
        xlabel: name of the x axis, with its unit.
        ylabel: name of the y axis, with its unit.
        height: height in pixels.
        **options: further options of Bokeh's `figure`.
    """
    made = figure(
        height=height, sizing_mode="stretch_width", tools=TOOLS, toolbar_location="above", active_drag=None,
        x_axis_label=xlabel, y_axis_label=ylabel, output_backend="canvas", background_fill_color=None,
        border_fill_color=None, outline_line_color=None, min_border_right=12, min_border_left=0, **options,
    )  # fmt: skip
    made.toolbar.logo = None
    for axis in made.axis:
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_text_font_size = "13px"
        axis.major_label_text_font_size = "12px"
        axis.minor_tick_line_color, axis.major_tick_in = None, 0
        axis.axis_label_text_font = axis.major_label_text_font = FONT
    return made
