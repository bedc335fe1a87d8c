"""Clients: how often each is selected, and how evenly they are served."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from bokeh.models import HoverTool, Quad, Segment

from jfed.comparisons.summary import SchemeSummary, gini, jain, summarise
from jfed.measures.fairness import fairness
from jfed.report.digits import is_noise
from jfed.report.figures.heat import BRIGHTEST
from jfed.report.page.levels import Level, num_rounds
from jfed.report.page.parts import Picture
from jfed.report.page.style import ROW, axes, color_bar, role, shades, source
from jfed.report.tables import Table
from jfed.results import load, sound
from jfed.stats.numerals import decimals_for, format_number

MOST_CELLS = 120  # columns of the map of selections
RATES = "environment.success_rates"
MOST_ROWS = 40  # schemes in it
MOST_DECIMALS = 4
MOST_CLASSES = 12  # that lines part


def selections(level: Level, configs: Mapping[str, Mapping[str, Any]], file: str) -> Picture | None:
    """Return a map of the share of the rounds in which each client was selected; None if all are always.

    Clients are sorted by class. What is sorted within a run by the shares themselves has a gradient whatever a scheme
    does.

    Args:
        level: the runs.
        configs: settings by their digest, by dotted path.
        file: name of the file of its data.
    """
    counts, classes = level.runs["times_selected"].values.astype(float), level.runs["client_class"].values
    if np.isnan(counts).any() or (classes != classes[0]).any() or len(level.schemes) > MOST_ROWS:
        return None  # clients of different runs do not correspond
    shares = counts[:, np.argsort(classes[0], kind="stable")] / num_rounds(level.runs)[:, None]
    if np.ptp(shares) == 0:
        return None
    names, labels = level.schemes, level.frame.scheme.to_numpy(str)
    mean = np.stack([shares[labels == name].mean(0) for name in names])
    ends = np.linspace(0, mean.shape[1], min(MOST_CELLS, mean.shape[1]) + 1).round().astype(int)
    cells = np.add.reduceat(mean, ends[:-1], 1) / np.diff(ends)
    own = np.sort(classes[0])[ends[:-1]]
    word, values = _classes(level, configs, own)
    scheme, cell = np.indices(cells.shape).reshape(2, -1)
    data = source("clients", {
        "scheme": [names[i] for i in scheme], "clients": [_span(ends[i] + 1, ends[i + 1]) for i in cell],
        word: [values[i] for i in cell], "share of rounds": cells.ravel(), "left": ends[cell].astype(float),
        "right": ends[cell + 1].astype(float), "below": len(names) - 1.0 - scheme, "above": len(names) - 0.0 - scheme,
    })  # fmt: skip
    made = axes(f"clients by {word}", "", 110 + ROW * len(names), y_range=names[::-1],
                x_range=(0, int(ends[-1])))  # fmt: skip
    made.yaxis.axis_label = None
    made.grid.visible = False
    end = min(float(cells.max()), BRIGHTEST * float(cells.mean()))
    shade, mapper = shades("share of rounds", 0.0, end)
    cell_of = Quad(left="left", right="right", bottom="below", top="above", fill_color=shade, line_color=shade,
                   line_width=0.5)  # fmt: skip
    drawn = made.add_glyph(data, cell_of)
    edges = [int(at) for at in ends[np.flatnonzero(np.diff(own)) + 1]]
    if 0 < len(edges) < MOST_CLASSES:
        between = source("", {"x": edges, "y0": [0] * len(edges), "y1": [len(names)] * len(edges)})
        made.add_glyph(between, Segment(x0="x", x1="x", y0="y0", y1="y1", line_width=1.5), tags=role("paper"))
    made.add_layout(color_bar(mapper, "share of rounds"), "right")
    tips = [("", "@scheme"), ("client", "@clients"), (word, f"@{{{word}}}"),
            ("share of rounds", "@{share of rounds}{0.000}")]  # fmt: skip
    made.add_tools(HoverTool(renderers=[drawn], tooltips=tips))
    caption = "Mean over seeds."
    if end < cells.max():
        caption += f" Colours end at {BRIGHTEST} times the mean share; the largest is {cells.max():.2g}."
    if 0 < len(edges) < MOST_CLASSES:
        caption += f" Lines part the classes ({word} {', '.join(dict.fromkeys(values))}, from left to right)."
    if len(cells[0]) < mean.shape[1]:
        caption += f" {mean.shape[1]} clients in {len(cells[0])} cells, each with the mean of its clients."
    return Picture("Share of rounds in which each client was selected", caption, made, file)


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first} to {last}"


def _classes(level: Level, configs: Mapping[str, Mapping[str, Any]], own: np.ndarray) -> tuple[str, list[str]]:
    """Return what tells the classes of clients apart, and its value for each of some classes."""
    known = {str(one.get(RATES)) for name in set(level.runs["config"].values) if (one := configs.get(str(name)))}
    if len(known) == 1:
        rates = next(iter(configs.get(str(name), {}).get(RATES) for name in level.runs["config"].values))
        if isinstance(rates, list) and own.max() < len(rates):
            return "success rate", [f"{rates[i]:g}" for i in own]
    return "class", [str(i) for i in own]


def evenness(level: Level) -> Table:
    """Return a table of how evenly clients are selected and, after training, served by the final model."""
    runs = level.runs
    frame = level.frame[["scheme", *(name for name in load.SEEDS if name in level.frame)]].copy()
    rounds = num_rounds(runs)
    counts = runs["times_selected"].values.astype(float)
    columns: dict[str, Any] = {
        "Jain's index of selections": jain(counts),
        "Gini of selections": gini(counts),
        "least selected, share of rounds": np.nanmin(counts, 1) / rounds,
        "most selected, share of rounds": np.nanmax(counts, 1) / rounds,
        "Jain's index of returns": jain(runs["times_succeeded"].values.astype(float)),
    }
    for name, higher, words in (("client_accuracy", True, "accuracy"), ("client_loss", False, "loss")):
        if name in runs:
            of_runs = np.where(sound.failed(runs)[:, None], np.nan, runs[name].values)
            found = fairness(of_runs, higher_is_better=higher)
            columns |= {
                f"{words}, mean of clients": found["mean"],
                f"{words}, worst tenth": found["worst10"],
                f"variance of {words}": found["variance"],
            }
    frame = frame.assign(**{name: np.where(np.isfinite(values), values, np.nan) for name, values in columns.items()})
    frame = frame.loc[:, [name not in columns or frame[name].notna().any() for name in frame.columns]]
    kept = [name for name in columns if name in frame]
    return _summaries(frame, kept, level.schemes)


def _summaries(frame: pd.DataFrame, columns: list[str], schemes: tuple[str, ...]) -> Table:
    found = {name: {row.scheme: row for row in summarise(frame, name).rows} for name in columns}
    digits = {name: _decimals(list(rows.values())) for name, rows in found.items()}
    rows, records = [], []
    for scheme in schemes:
        own = {name: found[name][scheme] for name in columns}
        rows.append((scheme, *(_mean(row, digits[name]) for name, row in own.items())))
        records += [{"scheme": scheme, "statistic": name, "mean": row.mean, "low": row.low, "high": row.high}
                    for name, row in own.items()]  # fmt: skip
    notes = (
        "Mean over seeds ± half of its pointwise 95 % t interval. Jain's index is 1 if all clients are served alike and"
        " 1 / K if one client has everything; Gini's coefficient is 0 if all are served alike.",
    )
    return Table("How evenly clients are served", ("scheme", *columns), "l" + "r" * len(columns), tuple(rows), notes,
                 data=pd.DataFrame(records))  # fmt: skip


def _decimals(rows: Sequence[SchemeSummary]) -> int:
    """Return the decimals that show two digits of the narrowest interval, of those that rounding does not make."""
    return min(MOST_DECIMALS, decimals_for([row.high - row.low for row in rows if not is_noise(row.sd, row.mean)]))


def _mean(row: SchemeSummary, digits: int) -> str:
    text, half = format_number(row.mean, digits) or "-", row.high - row.mean
    return text + ("" if np.isnan(half) or is_noise(half, row.mean) else f" ± {format_number(half, digits)}")
