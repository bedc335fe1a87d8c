"""A heat map of how often each client is selected, one row per scheme."""

from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from jfed.report.figures.style import RC, TEXT_IN, new_figure


def selection_heat(shares: Mapping[str, ArrayLike], order: ArrayLike, *, xlabel: str, title: str) -> Figure:
    """Draw the share of the rounds in which each client was selected, mean over seeds.

    Args:
        shares: scheme to (seeds, clients), each in [0, 1].
        order: (clients,) values by which clients are sorted, lowest first, such as success rates; marked on the x axis.
        xlabel: name of these values.
        title: title, which must name the data set or world.

    Raises:
        ValueError: there is no scheme, or shapes do not match.
    """
    keys = np.asarray(order, float)
    rows = {scheme: np.asarray(values, float) for scheme, values in shares.items()}
    if not rows:
        raise ValueError("there are no schemes to draw")
    for scheme, values in rows.items():
        if values.ndim != 2 or values.shape[1:] != keys.shape or not len(values):
            raise ValueError(f"shares of {scheme!r} have shape {values.shape}, not (seeds, {keys.size})")
    sorting = np.argsort(keys, kind="stable")
    picture = np.stack([values.mean(0)[sorting] for values in rows.values()])
    caption = "Mean over seeds; clients from left to right by " + xlabel + "; each value is marked at its first client."
    with mpl.rc_context(RC):
        figure = new_figure(TEXT_IN, 0.55 + 0.22 * len(rows), title, caption)
        axes = figure.subplots()
        drawn = axes.pcolormesh(picture, cmap="cividis", vmin=0.0, vmax=max(float(picture.max()), 1e-12))
        axes.set_yticks(np.arange(len(rows)) + 0.5, list(rows))
        axes.invert_yaxis()
        values, first = np.unique(keys[sorting], return_index=True)
        if len(values) <= 12:
            axes.set_xticks(first, [f"{v:g}" for v in values])
        axes.set_xlabel(xlabel)
        axes.grid(False)
        figure.colorbar(drawn, ax=axes, label="share of rounds", pad=0.02)
    return figure
