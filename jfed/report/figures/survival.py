"""Kaplan-Meier curves of times to a target, for display only.

Times of schemes on common seeds are paired, so the log-rank test, which assumes independent groups, does not apply;
`jfed.report.targets.compare_times` tests them. A run that never reaches the target is censored at the horizon.
"""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from jfed.report.figures.marks import marks
from jfed.report.figures.style import COLUMN_IN, RC, Legend, new_figure


def kaplan_meier(times: ArrayLike, horizon: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the share of runs that have reached the target by each time.

    Args:
        times: time of each run, (n,), inf where the target was not reached within `horizon`.
        horizon: end of observation, the same for all runs.

    Returns:
        The times at which the share rises, 0 first, and the share from then on. With one common horizon this is the
        empirical distribution function.

    Raises:
        ValueError: there are no runs, a time is NaN, or one is beyond the horizon.

    Source: Kaplan and Meier (1958), Nonparametric estimation from incomplete observations.
    """
    t = np.asarray(times, float)
    if t.ndim != 1 or t.size == 0 or np.isnan(t).any():
        raise ValueError("times need one number per run, inf where the target was never reached")
    arrived = np.sort(t[np.isfinite(t)])
    if arrived.size and arrived[-1] > horizon:
        raise ValueError(f"a run reaches the target at {arrived[-1]:g}, after the horizon of {horizon:g}")
    steps, counts = np.unique(arrived, return_counts=True)
    return np.concatenate([[0.0], steps]), np.concatenate([[0.0], np.cumsum(counts) / t.size])


def arrivals(
    times: Mapping[str, ArrayLike],
    horizon: float,
    *,
    xlabel: str,
    target: str,
    title: str,
    schemes: Sequence[str] = (),
) -> Figure:
    """Draw a step curve for each scheme.

    Args:
        times: scheme to times, as in `kaplan_meier`.
        horizon: end of observation, the same for all runs.
        xlabel: name of the times, with their unit.
        target: the target, such as "65 % test accuracy".
        title: title, which must name the data set.
        schemes: as in `draw_lines`.

    Raises:
        ValueError: there is no scheme, or as in `kaplan_meier`.
    """
    if not times:
        raise ValueError("there are no schemes to draw")
    curves = {scheme: kaplan_meier(t, horizon) for scheme, t in times.items()}
    sizes = sorted({np.size(t) for t in times.values()})
    count = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    caption = f"{count} runs per scheme, each seen until {horizon:g}. For display: runs are paired, see the table."
    looks = marks(curves, schemes)
    with mpl.rc_context(RC):
        figure = new_figure(COLUMN_IN, 1.9, title, caption, Legend(looks))
        axes = figure.subplots()
        for scheme, (steps, shares) in curves.items():
            look = looks[scheme]
            x, y = np.append(steps, horizon), np.append(shares, shares[-1])
            axes.step(x, y, where="post", color=look.color, linestyle=look.dash)
            axes.plot(steps[1:], shares[1:], look.marker, color=look.color, linestyle="none")
        axes.set_ylim(-0.03, 1.03)
        axes.set_xlim(0, horizon)
        axes.set_xlabel(xlabel)
        axes.set_ylabel(f"share of runs at {target}")
    return figure
