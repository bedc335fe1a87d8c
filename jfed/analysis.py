"""Statistics, tables and figures from finished runs; never imports jax.

`tidy` makes a frame, one row per (scheme, seed), from the Dataset of `jfed.load`; `compare` and `summarise` take such a
frame. `comparisons_table` and `summary_table` turn their results into a `Table`, which `to_terminal` prints and `write`
stores; `wide_table` sets schemes against settings. The figures are matplotlib `Figure` objects, which `save` stores;
`for_paper` makes them one or two columns wide, without titles. `write_report` makes one page of all of it.

Further questions: `compare_levels` (several tables as one family), `across` (over several data sets), `standings` (over
several worlds and data sets at once), `crossed` (runs that share seeds), `plan_looks` and `anytime` (may I look
again?), `performance_profiles` and `iqm_intervals` (how are all runs?), `bayesian_signed_rank` (how probable?), `page`
and `intersection_union` (is this the order?), `tost` and `non_inferiority` (are they as good?), `plan` and `power` (how
many seeds?), `choose` (which setting, chosen on other seeds?), `rank`, `ranking_table` and `sweep_picture` (how are all
settings?), `components` (where does the variance come from?), `first_reached`, `compare_times` and `arrivals` (when is
an accuracy reached?), `rates_so_far` and `last_broken` (are quotas kept?), `best_under_quotas` (what would be best?),
`fairness` (how evenly are clients served?), `per_round` and `per_client` (tidy frames of all results). `jfed.claims`
has the papers' claims.

Names are loaded on first use. Arguments of functions are checked by their annotations (`jfed.calls`).
"""

import functools
import importlib
import inspect
from typing import TYPE_CHECKING, Any

from jfed.calls import typed

if TYPE_CHECKING:
    from jfed.comparisons.across import across as across
    from jfed.comparisons.compare import compare as compare
    from jfed.comparisons.compare import compare_levels as compare_levels
    from jfed.comparisons.compare import seeds_needed as seeds_needed
    from jfed.comparisons.comparison import Comparison as Comparison
    from jfed.comparisons.comparison import Comparisons as Comparisons
    from jfed.comparisons.comparison import best_group as best_group
    from jfed.comparisons.ranking import Ranking as Ranking
    from jfed.comparisons.ranking import rank as rank
    from jfed.comparisons.standings import Standing as Standing
    from jfed.comparisons.standings import Standings as Standings
    from jfed.comparisons.standings import standings as standings
    from jfed.comparisons.summary import SchemeSummary as SchemeSummary
    from jfed.comparisons.summary import Summary as Summary
    from jfed.comparisons.summary import coefficient_of_variation as coefficient_of_variation
    from jfed.comparisons.summary import entropy as entropy
    from jfed.comparisons.summary import gini as gini
    from jfed.comparisons.summary import jain as jain
    from jfed.comparisons.summary import summarise as summarise
    from jfed.comparisons.tuning import choose as choose
    from jfed.measures.costs import against as against
    from jfed.measures.costs import cost_grid as cost_grid
    from jfed.measures.costs import mean_until as mean_until
    from jfed.measures.fairness import fairness as fairness
    from jfed.measures.optimum import best_under_quotas as best_under_quotas
    from jfed.measures.optimum import mean_of_smallest as mean_of_smallest
    from jfed.measures.optimum import upper_bound as upper_bound
    from jfed.measures.quotas import last_broken as last_broken
    from jfed.measures.quotas import rates_so_far as rates_so_far
    from jfed.report.across import across_table as across_table
    from jfed.report.figures.heat import selection_heat as selection_heat
    from jfed.report.figures.plots import box_by_class as box_by_class
    from jfed.report.figures.plots import draw_lines as draw_lines
    from jfed.report.figures.plots import forest as forest
    from jfed.report.figures.plots import lines as lines
    from jfed.report.figures.plots import save as save
    from jfed.report.figures.plots import stacked_lines as stacked_lines
    from jfed.report.figures.profiles import profile_curves as profile_curves
    from jfed.report.figures.ranks import rank_diagram as rank_diagram
    from jfed.report.figures.redraw import redraw as redraw
    from jfed.report.figures.seeds import seed_differences as seed_differences
    from jfed.report.figures.standings import rank_intervals as rank_intervals
    from jfed.report.figures.standings import winners_map as winners_map
    from jfed.report.figures.style import for_paper as for_paper
    from jfed.report.figures.survival import arrivals as arrivals
    from jfed.report.figures.survival import kaplan_meier as kaplan_meier
    from jfed.report.formats import to_csv as to_csv
    from jfed.report.formats import to_html as to_html
    from jfed.report.formats import to_latex as to_latex
    from jfed.report.formats import to_markdown as to_markdown
    from jfed.report.formats import to_terminal as to_terminal
    from jfed.report.formats import write as write
    from jfed.report.page.document import write_report as write_report
    from jfed.report.sentences import sentences as sentences
    from jfed.report.standings import standings_table as standings_table
    from jfed.report.sweep_pictures import sweep_picture as sweep_picture
    from jfed.report.sweeps import ranking_table as ranking_table
    from jfed.report.tables import Table as Table
    from jfed.report.tables import comparisons_table as comparisons_table
    from jfed.report.tables import summary_table as summary_table
    from jfed.report.targets import compare_times as compare_times
    from jfed.report.targets import first_reached as first_reached
    from jfed.report.targets import targets_table as targets_table
    from jfed.report.wide import wide_table as wide_table
    from jfed.results.anycsv.read import read_csv as read_csv
    from jfed.results.direction import direction as direction
    from jfed.results.export import per_client as per_client
    from jfed.results.export import per_round as per_round
    from jfed.results.load import score as score
    from jfed.results.load import tidy as tidy
    from jfed.stats.anytime import anytime as anytime
    from jfed.stats.anytime import anytime_p as anytime_p
    from jfed.stats.bayes import bayesian_signed_rank as bayesian_signed_rank
    from jfed.stats.bootstrap import bootstrap_interval as bootstrap_interval
    from jfed.stats.bootstrap import iqm as iqm
    from jfed.stats.bootstrap import ratio_of_medians as ratio_of_medians
    from jfed.stats.crossed import crossed as crossed
    from jfed.stats.crossed import factors as factors
    from jfed.stats.effects import a12_interval as a12_interval
    from jfed.stats.effects import d_z_interval as d_z_interval
    from jfed.stats.equivalence import non_inferiority as non_inferiority
    from jfed.stats.equivalence import tost as tost
    from jfed.stats.locations import hodges_lehmann as hodges_lehmann
    from jfed.stats.locations import hodges_lehmann_shift as hodges_lehmann_shift
    from jfed.stats.locations import typical_values as typical_values
    from jfed.stats.looks import decide as decide
    from jfed.stats.looks import next_look as next_look
    from jfed.stats.looks import plan_looks as plan_looks
    from jfed.stats.omnibus import friedman as friedman
    from jfed.stats.ordering import intersection_union as intersection_union
    from jfed.stats.ordering import page as page
    from jfed.stats.power import detectable as detectable
    from jfed.stats.power import plan as plan
    from jfed.stats.power import power as power
    from jfed.stats.power import seeds_for as seeds_for
    from jfed.stats.profiles import iqm_intervals as iqm_intervals
    from jfed.stats.profiles import performance_profiles as performance_profiles
    from jfed.stats.profiles import probability_of_improvement as probability_of_improvement
    from jfed.stats.shape import shape_note as shape_note
    from jfed.stats.spending import inflation as inflation
    from jfed.stats.variance import components as components

_NAMES = {
    "jfed.measures.costs": "against cost_grid mean_until",
    "jfed.measures.fairness": "fairness",
    "jfed.measures.optimum": "best_under_quotas mean_of_smallest upper_bound",
    "jfed.measures.quotas": "last_broken rates_so_far",
    "jfed.report.across": "across_table",
    "jfed.report.figures.heat": "selection_heat",
    "jfed.report.figures.plots": "box_by_class draw_lines forest lines save stacked_lines",
    "jfed.report.figures.profiles": "profile_curves",
    "jfed.report.figures.ranks": "rank_diagram",
    "jfed.report.figures.redraw": "redraw",
    "jfed.report.figures.seeds": "seed_differences",
    "jfed.report.figures.standings": "rank_intervals winners_map",
    "jfed.report.figures.style": "for_paper",
    "jfed.report.figures.survival": "arrivals kaplan_meier",
    "jfed.report.formats": "to_csv to_html to_latex to_markdown to_terminal write",
    "jfed.report.page.document": "write_report",
    "jfed.report.sentences": "sentences",
    "jfed.report.standings": "standings_table",
    "jfed.report.sweep_pictures": "sweep_picture",
    "jfed.report.sweeps": "ranking_table",
    "jfed.report.tables": "Table comparisons_table summary_table",
    "jfed.report.targets": "compare_times first_reached targets_table",
    "jfed.report.wide": "wide_table",
    "jfed.results.anycsv.read": "read_csv",
    "jfed.results.direction": "direction",
    "jfed.results.export": "per_client per_round",
    "jfed.results.load": "score tidy",
    "jfed.comparisons.across": "across",
    "jfed.stats.anytime": "anytime anytime_p",
    "jfed.stats.bayes": "bayesian_signed_rank",
    "jfed.stats.bootstrap": "bootstrap_interval iqm ratio_of_medians",
    "jfed.comparisons.compare": "compare compare_levels seeds_needed",
    "jfed.comparisons.comparison": "Comparison Comparisons best_group",
    "jfed.stats.crossed": "crossed factors",
    "jfed.stats.effects": "a12_interval d_z_interval",
    "jfed.stats.equivalence": "non_inferiority tost",
    "jfed.stats.locations": "hodges_lehmann hodges_lehmann_shift typical_values",
    "jfed.stats.looks": "decide next_look plan_looks",
    "jfed.stats.omnibus": "friedman",
    "jfed.stats.ordering": "intersection_union page",
    "jfed.stats.power": "detectable plan power seeds_for",
    "jfed.stats.profiles": "iqm_intervals performance_profiles probability_of_improvement",
    "jfed.stats.shape": "shape_note",
    "jfed.stats.spending": "inflation",
    "jfed.comparisons.ranking": "Ranking rank",
    "jfed.comparisons.standings": "Standing Standings standings",
    "jfed.comparisons.summary": "SchemeSummary Summary coefficient_of_variation entropy gini jain summarise",
    "jfed.comparisons.tuning": "choose",
    "jfed.stats.variance": "components",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}


_CHOICES = {"compare": "compare_levels"}  # functions that pass keywords on, and to which


@functools.cache
def _loaded(name: str) -> Any:
    found = getattr(importlib.import_module(_HOME[name]), name)
    if not inspect.isfunction(found):
        return found
    checked = typed(found, _loaded(_CHOICES[name]) if name in _CHOICES else None)
    checked.__module__ = __name__  # where pickle finds it
    return checked


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'jfed.analysis' has no attribute {name!r}")
    return _loaded(name)


def __dir__() -> list[str]:
    return sorted(_HOME)
