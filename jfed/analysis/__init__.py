"""Statistics, tables and figures from finished runs; never imports jax.

`compare` and `summarise` take a tidy frame, one row per (scheme, seed). `comparisons_table` and
`summary_table` turn their results into a `Table`, which `to_terminal` prints and `write` stores.
The figures are matplotlib `Figure` objects, which `save` stores.
"""

from jfed.analysis.formats import to_csv, to_latex, to_markdown, to_terminal, write
from jfed.analysis.plots import (
    box_by_class,
    draw_lines,
    forest,
    lines,
    save,
    stacked_lines,
)
from jfed.analysis.stats import Comparison, Comparisons, best_group, compare, seeds_needed
from jfed.analysis.summary import (
    SchemeSummary,
    Summary,
    coefficient_of_variation,
    entropy,
    gini,
    jain,
    summarise,
)
from jfed.analysis.tables import Table, comparisons_table, summary_table

__all__ = [
    "Comparison",
    "Comparisons",
    "SchemeSummary",
    "Summary",
    "Table",
    "best_group",
    "box_by_class",
    "coefficient_of_variation",
    "compare",
    "comparisons_table",
    "draw_lines",
    "entropy",
    "forest",
    "gini",
    "jain",
    "lines",
    "save",
    "seeds_needed",
    "stacked_lines",
    "summarise",
    "summary_table",
    "to_csv",
    "to_latex",
    "to_markdown",
    "to_terminal",
    "write",
]
