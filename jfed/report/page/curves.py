"""Curves over rounds: the mean over seeds with a band, or with a thin line per seed where there are few."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from bokeh.models import Line, MultiLine, VArea
from scipy import special

from jfed.report.page.levels import Level
from jfed.report.page.parts import Picture
from jfed.report.page.style import axes, color, dash, role, source
from jfed.results import load

if TYPE_CHECKING:
    import xarray as xr

MOST_POINTS = 250  # of a curve; more cannot be told apart on a screen, and make the page large
FEW_SEEDS = 6  # with fewer, each seed has a line and there is no band
MANY_CURVES = 7  # with more, bands are fainter
MOST_CURVES = 16  # of a figure
SHARE = (0.0, 1.0)
AMOUNT = (0.0, None)


@dataclass(frozen=True)
class Curves:
    """One quantity over rounds.

    Attributes:
        name: its name in files.
        title: what is shown.
        ylabel: name of the y axis, with its unit.
        x: rounds, (points,).
        values: value of each run, (runs, points); not finite where a run has none.
        limits: smallest and largest possible value; None where there is none.
        xlabel: name of the x axis, with its unit.
    """

    name: str
    title: str
    ylabel: str
    x: np.ndarray
    values: np.ndarray
    limits: tuple[float | None, float | None]
    xlabel: str = "communication round"


def pictures(level: Level, marks: Mapping[str, int]) -> list[Picture]:
    """Return a figure of each quantity that differs between runs.

    Args:
        level: the runs.
        marks: number of each scheme's mark.
    """
    names, left_out = _shown(level)
    few = math.inf if load.shares_seeds(level.runs) else FEW_SEEDS
    labels = level.frame.scheme.to_numpy(str)
    return [
        _picture(one, {name: one.values[labels == name] for name in names}, marks, left_out, few)
        for one in _quantities(level.runs)
    ]


def _shown(level: Level) -> tuple[list[str], str]:
    """Return the schemes to draw, with a sentence on those that are left out."""
    names = list(level.schemes)
    if len(names) <= MOST_CURVES:
        return names, ""
    return names[:MOST_CURVES], f" The first {MOST_CURVES} of {len(names)} schemes are drawn; the tables have all."


def _quantities(runs: xr.Dataset) -> Iterator[Curves]:
    rounds = runs["round"].values
    if "test_accuracy" in runs:
        tested = runs["eval_round"].values
        yield Curves("accuracy", "Test accuracy", "share of test examples right", tested,
                     runs["test_accuracy"].values, SHARE)  # fmt: skip
        yield Curves("loss", "Test loss", "mean loss on test examples", tested, runs["test_loss"].values, AMOUNT)
    returned = np.cumsum(runs["num_succeeded"].values, 1, dtype=float)
    chosen = np.cumsum(runs["num_selected"].values, 1, dtype=float)
    if np.ptp(returned, axis=0).any():
        yield Curves("returned", "Models returned so far", "models returned to the server", rounds, returned, AMOUNT)
    if (returned < chosen).any():
        share = np.divide(returned, chosen, out=np.full(chosen.shape, np.nan), where=chosen > 0)
        yield Curves("success_ratio", "Share of selected clients that returned so far", "returned / selected", rounds,
                     share, SHARE)  # fmt: skip
    if np.nanmax(runs["round_time_s"].values) > np.nanmin(runs["round_time_s"].values):
        spent = np.cumsum(runs["round_time_s"].values, 1, dtype=float)
        yield Curves("time", "Simulated time so far", "simulated time, s", rounds, spent, AMOUNT)
    for name, variable in runs.data_vars.items():
        if str(name).startswith(("controller_", "selector_")) and variable.dims == ("run", "round"):
            about = str(variable.attrs.get("long_name", name))
            values = variable.values.astype(float)
            if np.nanmax(values, initial=-np.inf) > np.nanmin(values, initial=np.inf):
                yield Curves(str(name), about[0].upper() + about[1:], about.split(" that ")[0], rounds, values,
                             (None, None))  # fmt: skip


def band(values: np.ndarray, limits: tuple[float | None, float | None]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return mean, lower and upper end of the pointwise 95 % t interval of the mean, cut to what is possible.

    All are NaN where a run has no finite value, since leaving it out would favour its scheme.

    Args:
        values: (seeds, points), at least two seeds.
        limits: smallest and largest possible value; None where there is none.
    """
    values = np.where(np.isfinite(values), values, np.nan)
    n = len(values)
    mean = values.mean(0)
    half = special.stdtrit(n - 1, 0.975) * values.std(0, ddof=1) / np.sqrt(n)
    low, high = (-np.inf if limits[0] is None else limits[0]), (np.inf if limits[1] is None else limits[1])
    return mean, np.clip(mean - half, low, high), np.clip(mean + half, low, high)


def thinned(points: int) -> tuple[np.ndarray, str]:
    """Return which of many points are drawn, evenly spaced with the first and the last, and a sentence on it."""
    if points <= MOST_POINTS:
        return np.arange(points), ""
    keep = np.unique(np.linspace(0, points - 1, MOST_POINTS).round().astype(int))
    return keep, f" Drawn are {len(keep)} of {points} points, evenly spaced; nothing is averaged between them."


def _picture(
    about: Curves, curves: Mapping[str, np.ndarray], marks: Mapping[str, int], left_out: str, few: float
) -> Picture:
    keep, how = thinned(len(about.x))
    made = axes(about.xlabel, about.ylabel)
    sizes = sorted({len(values) for values in curves.values()})
    faint = 0.18 if len(curves) <= MANY_CURVES else 0.09
    for name, values in curves.items():
        look: dict[str, Any] = {"tags": role(color(marks[name]), marks[name])}
        values = np.where(np.isfinite(values), values, np.nan).astype(float)[:, keep]
        columns = {about.xlabel: about.x[keep], "mean": values.mean(0)}
        has_band = len(values) >= few
        if has_band:
            _, columns["low"], columns["high"] = band(values, about.limits)
        data = source(name, columns)
        if 1 < len(values) < few:
            each = source("", {"x": [about.x[keep]] * len(values), "y": list(values.astype(np.float32))})
            made.add_glyph(each, MultiLine(xs="x", ys="y", line_width=0.8, line_alpha=0.5), **look)
        if has_band:
            made.add_glyph(data, VArea(x=about.xlabel, y1="low", y2="high", fill_alpha=faint), **look)
        line = Line(x=about.xlabel, y="mean", line_width=2, line_dash=dash(marks[name]))
        made.add_glyph(data, line, name=name, **look)
    return Picture(about.title, _caption(sizes, curves.values(), few) + how + left_out, made, about.name, tuple(curves))


def _caption(sizes: Sequence[int], curves: Iterable[np.ndarray], few: float) -> str:
    count = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    text = "One seed." if sizes[-1] == 1 else f"Thick: mean over {count} seeds."
    if sizes[-1] >= few:
        text += " Band: pointwise 95 % t interval of the mean, cut to what is possible."
    if sizes[0] < few and sizes[-1] > 1:
        why = "runs share seeds" if few == math.inf else f"{FEW_SEEDS} seeds or more are needed for a band"
        text += f" Thin: one line per seed, since {why}."
    if not all(np.isfinite(values).all() for values in curves):
        text += " A curve ends, or has a gap, where one of its runs has no value."
    return text
