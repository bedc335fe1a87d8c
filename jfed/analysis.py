"""Statistics, tables and figures from finished runs; never imports jax.

`compare` and `summarise` take a tidy frame, one row per (scheme, seed). `comparisons_table` and
`summary_table` turn their results into a `Table`, which `to_terminal` prints and `write` stores.
The figures are matplotlib `Figure` objects, which `save` stores.

Further questions have files of their own: `ordering` (is this the order?), `equivalence` (are they as
good?), `targets` and `survival` (when do they arrive?), `power` (how many seeds?), `tuning` (which
setting, honestly?), `variance` (where does the variance come from?), `bootstrap`, `unpaired`,
`omnibus`, `export` (tidy frames of everything) and `claims` (what the papers say).
"""

from jfed.report.figures.heat import selection_heat
from jfed.report.figures.plots import box_by_class, draw_lines, forest, lines, save, stacked_lines
from jfed.report.figures.ranks import rank_diagram
from jfed.report.figures.survival import arrivals, kaplan_meier
from jfed.report.formats import to_csv, to_html, to_latex, to_markdown, to_terminal, write
from jfed.report.tables import Table, comparisons_table, summary_table
from jfed.report.targets import compare_times, first_reached, targets_table
from jfed.stats.compare import compare, seeds_needed
from jfed.stats.comparison import Comparison, Comparisons, best_group
from jfed.stats.summary import SchemeSummary, Summary, coefficient_of_variation, entropy, gini, jain, summarise

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
