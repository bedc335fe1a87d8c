"""A heat map of how often each client is selected, one row per scheme."""

from collections.abc import Mapping

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from jfed.report.figures.numbers import Numbers, shows
from jfed.report.figures.style import RC, TEXT_IN, new_figure, width_of, wrap

BRIGHTEST = 3  # times the mean share; a scheme that takes the same few clients always would leave the others dark


def selection_heat(shares: Mapping[str, ArrayLike], order: ArrayLike, *, xlabel: str, title: str) -> Figure:
    """Draw the share of the rounds in which each client was selected, mean over seeds.

    A column must be the same client, or clients of the same kind, on all seeds: what is sorted within a seed by the
    shares themselves has a gradient whatever a scheme does. The colours end at three times the mean of all shares, if
    some share is larger.

    Args:
        shares: scheme to (seeds, clients), each in [0, 1].
        order: (clients,) values known before the run by which clients are sorted, lowest first, such as success rates;
            marked on the x axis. Clients of one value keep their order.
        xlabel: name of these values.
        title: title, which must name the data set or world.

    Raises:
        ValueError: there is no scheme, or shapes do not match.
    """
    keys = np.asarray(order, float)
    arrays = {scheme: np.asarray(values, float) for scheme, values in shares.items()}
    if not arrays:
        raise ValueError("there are no schemes to draw")
    for scheme, values in arrays.items():
        if values.ndim != 2 or values.shape[1:] != keys.shape or not len(values):
            raise ValueError(f"shares of {scheme!r} have shape {values.shape}, not (seeds, {keys.size})")
    sorting = np.argsort(keys, kind="stable")
    picture = np.stack([values.mean(0)[sorting] for values in arrays.values()])
    highest = max(float(picture.max()), 1e-12)
    end = min(highest, max(BRIGHTEST * float(picture.mean()), 1e-12))
    known, first = np.unique(keys[sorting], return_index=True)
    caption = f"Mean over {_count(arrays)}; clients from left to right by {xlabel}"
    caption += "; each value is marked at its first client." if len(known) <= 12 else "."
    if end < highest:
        caption += f" Colours end at {BRIGHTEST} times the mean share; the largest is {highest:.2g}."
    words = {
        "title": title,
        "xlabel": xlabel,
        "caption": caption,
        "colours_end": end,
        "cut": end < highest,
        "marked": [[int(at), f"{value:g}"] for at, value in zip(first, known, strict=True)] * (len(known) <= 12),
    }
    rows = [pd.DataFrame({"scheme": scheme, "place": range(1, len(keys) + 1), "share": values})
            for scheme, values in zip(arrays, picture, strict=True)]  # fmt: skip
    return draw_shares(Numbers("shares", words, pd.concat(rows, ignore_index=True)))


def draw_shares(numbers: Numbers) -> Figure:
    """Return the figure of `selection_heat` whose numbers these are."""
    words, shares = numbers.words, numbers.frame.groupby("scheme", sort=False)["share"]
    schemes: list[str] = list(dict.fromkeys(numbers.frame["scheme"]))
    picture = np.stack([shares.get_group(scheme).to_numpy() for scheme in schemes])
    width = width_of(TEXT_IN)
    with mpl.rc_context(RC):
        names = [wrap(scheme, 0.3 * width, 7) for scheme in schemes]
        lines = sum(len(name.splitlines()) for name in names)
        figure = new_figure(width, 0.55 + 0.2 * max(lines, 4), words["title"], words["caption"])
        axes = figure.subplots()
        drawn = axes.pcolormesh(picture, cmap="cividis", vmin=0.0, vmax=words["colours_end"])
        axes.set_yticks(np.arange(len(schemes)) + 0.5, names)
        axes.invert_yaxis()
        if words["marked"]:
            axes.set_xticks(*zip(*words["marked"], strict=True))
        axes.set_xlabel(words["xlabel"])
        axes.grid(False)
        extend = "max" if words["cut"] else "neither"
        figure.colorbar(drawn, ax=axes, label="share of rounds", pad=0.02, extend=extend)
    return shows(figure, numbers)


def _count(arrays: Mapping[str, np.ndarray]) -> str:
    sizes = sorted({len(values) for values in arrays.values()})
    return " to ".join(map(str, dict.fromkeys((sizes[0], sizes[-1])))) + (" seeds" if sizes[-1] > 1 else " seed")
