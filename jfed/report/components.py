"""The table of variance components of each scheme over seeds."""

import math

import pandas as pd

from jfed.core.errors import require_columns
from jfed.report.tables import Table
from jfed.results.frames import require_alike
from jfed.stats.variance import SEEDS, components, share


def components_table(frame: pd.DataFrame, metric: str, title: str) -> Table:
    """Lay out each factor's share of each scheme's variance.

    Args:
        frame: one row per run, with columns scheme, the metric, and of `SEEDS`, of which at least two vary.
        metric: the column to decompose.
        title: title, which must name the data set or world.

    Raises:
        ValueError: as in `components`, or the runs have no scheme or ran under different settings.
    """
    require_columns(frame, ["scheme"])
    require_alike(frame)
    schemes = frame["scheme"].tolist()
    if not schemes or any(pd.isna(scheme) or scheme == "" for scheme in schemes):
        raise ValueError("a row of the frame has no scheme" if schemes else "there are no runs")
    found = {str(scheme): components(part, metric) for scheme, part in frame.groupby("scheme", sort=False)}
    rows, records = [], []
    for scheme, parts in found.items():
        sd = f"{math.sqrt(parts.total):.3g}"
        cells = {row.name: _percent(row.share) + ("*" if row.truncated else "") for row in parts.rows}
        shares = [cells.get(name, "-") for name in SEEDS]
        rows.append((scheme, str(parts.n), sd, *shares, _percent(share(parts.residual, parts.total))))
        records.append(parts.frame().assign(scheme=scheme, metric=metric, runs=parts.n))
    notes = (
        f"Metric: {metric}. sd: root of the total variance of one run. Shares of that variance, by the method of"
        " moments (balanced crossed random effects); -: not varied, or no variance at all.",
        "Other: interactions, and the draws of selection and minibatches. *: estimated below 0, taken as 0.",
        "With few levels of a factor its share is very uncertain: three levels leave two degrees of freedom.",
    )
    columns = ("scheme", "runs", "sd", "data", "model", "environment", "other")
    return Table(title, columns, "lrrrrrr", tuple(rows), notes, frozenset(), pd.concat(records, ignore_index=True))


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.0f} %"
