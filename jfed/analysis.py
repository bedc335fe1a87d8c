"""Statistics, tables and figures from finished runs; never imports jax.

`compare` and `summarise` take a tidy frame, one row per (scheme, seed). `comparisons_table` and
`summary_table` turn their results into a `Table`, which `to_terminal` prints and `write` stores.
The figures are matplotlib `Figure` objects, which `save` stores.

Other modules answer further questions: `ordering` (is this the order?), `equivalence` (are they as good?),
`power` (how many seeds?), `tuning` (which setting, chosen on other seeds?), `variance` (where does the
variance come from?), `bootstrap`, `unpaired` and `omnibus` of `jfed.stats`; `targets` and `figures.survival`
of `jfed.report` (when is an accuracy reached?); `jfed.results.export` (tidy frames of all results); and
`jfed.claims` (what do the papers claim?).

Names are loaded on first use.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jfed.report.figures.heat import selection_heat as selection_heat
    from jfed.report.figures.plots import box_by_class as box_by_class
    from jfed.report.figures.plots import draw_lines as draw_lines
    from jfed.report.figures.plots import forest as forest
    from jfed.report.figures.plots import lines as lines
    from jfed.report.figures.plots import save as save
    from jfed.report.figures.plots import stacked_lines as stacked_lines
    from jfed.report.figures.ranks import rank_diagram as rank_diagram
    from jfed.report.figures.survival import arrivals as arrivals
    from jfed.report.figures.survival import kaplan_meier as kaplan_meier
    from jfed.report.formats import to_csv as to_csv
    from jfed.report.formats import to_html as to_html
    from jfed.report.formats import to_latex as to_latex
    from jfed.report.formats import to_markdown as to_markdown
    from jfed.report.formats import to_terminal as to_terminal
    from jfed.report.formats import write as write
    from jfed.report.tables import Table as Table
    from jfed.report.tables import comparisons_table as comparisons_table
    from jfed.report.tables import summary_table as summary_table
    from jfed.report.targets import compare_times as compare_times
    from jfed.report.targets import first_reached as first_reached
    from jfed.report.targets import targets_table as targets_table
    from jfed.stats.compare import compare as compare
    from jfed.stats.compare import seeds_needed as seeds_needed
    from jfed.stats.comparison import Comparison as Comparison
    from jfed.stats.comparison import Comparisons as Comparisons
    from jfed.stats.comparison import best_group as best_group
    from jfed.stats.summary import SchemeSummary as SchemeSummary
    from jfed.stats.summary import Summary as Summary
    from jfed.stats.summary import coefficient_of_variation as coefficient_of_variation
    from jfed.stats.summary import entropy as entropy
    from jfed.stats.summary import gini as gini
    from jfed.stats.summary import jain as jain
    from jfed.stats.summary import summarise as summarise

_HOME = {
    "Comparison": "jfed.stats.comparison",
    "Comparisons": "jfed.stats.comparison",
    "SchemeSummary": "jfed.stats.summary",
    "Summary": "jfed.stats.summary",
    "Table": "jfed.report.tables",
    "arrivals": "jfed.report.figures.survival",
    "best_group": "jfed.stats.comparison",
    "box_by_class": "jfed.report.figures.plots",
    "coefficient_of_variation": "jfed.stats.summary",
    "compare": "jfed.stats.compare",
    "compare_times": "jfed.report.targets",
    "comparisons_table": "jfed.report.tables",
    "draw_lines": "jfed.report.figures.plots",
    "entropy": "jfed.stats.summary",
    "first_reached": "jfed.report.targets",
    "forest": "jfed.report.figures.plots",
    "gini": "jfed.stats.summary",
    "jain": "jfed.stats.summary",
    "kaplan_meier": "jfed.report.figures.survival",
    "lines": "jfed.report.figures.plots",
    "rank_diagram": "jfed.report.figures.ranks",
    "save": "jfed.report.figures.plots",
    "seeds_needed": "jfed.stats.compare",
    "selection_heat": "jfed.report.figures.heat",
    "stacked_lines": "jfed.report.figures.plots",
    "summarise": "jfed.stats.summary",
    "summary_table": "jfed.report.tables",
    "targets_table": "jfed.report.targets",
    "to_csv": "jfed.report.formats",
    "to_html": "jfed.report.formats",
    "to_latex": "jfed.report.formats",
    "to_markdown": "jfed.report.formats",
    "to_terminal": "jfed.report.formats",
    "write": "jfed.report.formats",
}

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


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'jfed.analysis' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
