"""A figure of performance profiles: the share of runs that reach each threshold, with a band."""

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from jfed.report.figures.marks import marks
from jfed.report.figures.style import COLUMN_IN, RC, Legend, new_figure, width_of, wrap
from jfed.stats.profiles import Profiles

MARKERS_PER_CURVE = 6


def profile_curves(profiles: Profiles, *, xlabel: str, title: str, schemes: Sequence[str] = ()) -> Figure:
    """Draw the profile of each scheme, with its pointwise interval as a band.

    Args:
        profiles: from `performance_profiles`.
        xlabel: name of the score, with its unit.
        title: title, which must name the data set or world.
        schemes: as in `draw_lines`.
    """
    many = profiles.num_tasks > 1
    caption = f"{profiles.num_seeds} seeds per scheme" + (f" and each of {profiles.num_tasks} tasks" if many else "")
    if any(np.isfinite(one.low).any() for one in profiles.schemes.values()):
        caption += f"; band: pointwise {100 * profiles.level:g} % bootstrap interval, seeds resampled"
        caption += " in each task." if many else "."
    else:
        caption += "; no band: too few."
    looks = marks(profiles.schemes, schemes)
    with mpl.rc_context(RC):
        figure = new_figure(COLUMN_IN, 2.0, title, caption, Legend(looks))
        axes = figure.subplots()
        spacing = max(1, len(profiles.thresholds) // MARKERS_PER_CURVE)
        for index, (scheme, one) in enumerate(profiles.schemes.items()):
            look = looks[scheme]
            # Shifted per curve, so that markers of coinciding curves do not hide each other.
            markers = (index * spacing // len(profiles.schemes), spacing)
            axes.plot(
                profiles.thresholds,
                one.share,
                color=look.color,
                linestyle=look.dash,
                marker=look.marker,
                markevery=markers,
            )
            axes.fill_between(profiles.thresholds, one.low, one.high, color=look.color, alpha=0.18, linewidth=0)
        axes.set_ylim(-0.03, 1.03)
        axes.margins(x=0.02)
        axes.set_xlabel(wrap(xlabel, 0.8 * width_of(COLUMN_IN), 8))
        axes.set_ylabel(f"share of runs {'≥' if profiles.higher_is_better else '≤'} x")
    return figure
