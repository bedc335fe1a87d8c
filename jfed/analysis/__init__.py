"""Statistics, tables and figures from finished runs; never imports jax.

`compare` and `summarise` take a tidy frame, one row per (scheme, seed). `comparisons_table` and
`summary_table` turn their results into a `Table`, which `to_terminal` prints and `write` stores.
The figures are matplotlib `Figure` objects, which `save` stores.

Further questions have files of their own: `ordering` (is this the order?), `equivalence` (are they as
good?), `targets` and `survival` (when do they arrive?), `power` (how many seeds?), `tuning` (which
setting, honestly?), `variance` (where does the variance come from?), `bootstrap`, `unpaired`,
`omnibus`, `export` (tidy frames of everything) and `claims` (what the papers say).
"""

from jfed.analysis.comparison import Comparison, Comparisons, best_group
from jfed.analysis.formats import to_csv, to_html, to_latex, to_markdown, to_terminal, write
from jfed.analysis.heat import selection_heat
from jfed.analysis.plots import (
    box_by_class,
    draw_lines,
    forest,
    lines,
    save,
    stacked_lines,
)
from jfed.analysis.ranks import rank_diagram
from jfed.analysis.stats import compare, seeds_needed
from jfed.analysis.summary import (
    SchemeSummary,
    Summary,
    coefficient_of_variation,
    entropy,
    gini,
    jain,
    summarise,
)
from jfed.analysis.survival import arrivals, kaplan_meier
from jfed.analysis.tables import Table, comparisons_table, summary_table
from jfed.analysis.targets import compare_times, first_reached, targets_table

__all__ = [
    "Comparison",
    "Comparisons",
    "SchemeSummary",
    "Summary",
    "Table",
    "arrivals",
    "best_group",
    "box_by_class",
    "coefficient_of_variation",
    "compare",
    "compare_times",
    "comparisons_table",
    "draw_lines",
    "entropy",
    "first_reached",
    "forest",
    "gini",
    "jain",
    "kaplan_meier",
    "lines",
    "rank_diagram",
    "save",
    "seeds_needed",
    "selection_heat",
    "stacked_lines",
    "summarise",
    "summary_table",
    "targets_table",
    "to_csv",
    "to_html",
    "to_latex",
    "to_markdown",
    "to_terminal",
    "write",
]
