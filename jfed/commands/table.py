"""`jfed table`: significance tables from finished results, or from anybody's CSV file."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import tyro
from rich.console import Console

from jfed.commands.choices import METRIC, Choices
from jfed.commands.levels import MOST_SHOWN, Level, of_csv, of_results
from jfed.commands.plans import under_plan
from jfed.commands.reading import Reading, Results, require_results, tables_folder
from jfed.commands.showing import Layout, show, tell
from jfed.commands.sweeping import show_problems, show_ranking
from jfed.core.errors import require

FIXED = ("test", "correction", "family", "paired", "failed", "margin", "looks", "spending", "anytime")  # by some tests


@dataclass(frozen=True)
class Settings:
    """Print significance tables: each scheme against a baseline, or all pairs, paired by seed.

    Attributes:
        results: the --out of an experiment, or a CSV file with columns scheme, seed and metrics: a row per run, or per
            run and round.
        choices: how schemes are compared; to be fixed before looking at results.
        over: swept setting (for a CSV: column), such as dataset or world, over all values of which schemes are compared
            in one table: a claim about a scheme is one about more than one data set.
        tune_over: swept settings (for a CSV: columns) for which each scheme gets its best value, instead of a table for
            each value. By default those that belong to the schemes, such as selector.eta or a learning rate; k, the
            world and other settings of the problem only if they are named here.
        tune_seeds: seeds on which the best values are chosen; the others are reported. Without them nothing is judged.
        horizon: end of observation of a metric that is a time, inf where a run never arrives. Such a run counts with
            the horizon, and the sign-flip test decides.
        columns: columns of the table: scheme against mean sd n difference interval pointwise se t df p p-t p-wilcoxon
            p-sign-flip p-equal p-not-worse won d_z a12 iqm bayes shape verdict. p is that of the test that decides, p-t
            that of the t-test, p-wilcoxon that of Wilcoxon's test, which ranks differences by their size, and
            p-sign-flip that of the sign-flip test, which turns their signs in all ways.
        sentences: print a sentence for each comparison that can go into a paper.
        out: folder for the tables in all formats, and for figures. Without it tables of results go to their tables/,
            and that of a CSV is only printed.
        csv: how a CSV file is read.
    """

    results: tyro.conf.Positional[Results] = None
    choices: Choices = field(default_factory=Choices)
    over: str | None = None
    tune_over: tuple[str, ...] = ()
    tune_seeds: tuple[int, ...] = ()
    horizon: float | None = None
    columns: tuple[str, ...] = ()
    sentences: bool = False
    out: Path | None = None
    csv: Reading = field(default_factory=Reading)


def main(settings: Settings, console: Console) -> None:
    """Print and write a table for each metric and each combination of swept settings."""
    from jfed.results.load import load

    source = require_results(settings.results, f"jfed table {settings.out or 'RESULTS'}")
    settings.choices.check()
    _check(settings)
    is_csv = settings.csv.applies(source)
    results = None if is_csv else load(source)
    show_tables(results, source, settings, console)


def show_tables(results: object, source: Path, settings: Settings, console: Console) -> None:
    """Print and write the tables of results, or of a CSV file where there are none.

    Args:
        results: Dataset from `load`; None for a CSV file.
        source: where they come from.
        settings: the command's flags.
        console: where to print.
    """
    from jfed.report.columns import COLUMNS
    from jfed.report.formats import file_stem

    for name in settings.columns:
        require(name in COLUMNS, f"--columns has no {name}; there are {', '.join(COLUMNS)}.")
    folder = tables_folder(source, settings.out)
    memory = settings.out if results is None else tables_folder(source, None)
    settings = _named(results, source, settings, memory)
    layout = Layout(
        settings.columns,
        settings.sentences,
        folder if results is not None or settings.out else None,
        bool(settings.out),
        memory=memory,
    )
    tune_over = _tuned(results, settings)
    made = {metric: _levels(results, source, metric, settings, tune_over) for metric in settings.choices.metric}
    _require_comparable(made, settings)
    for metric, levels in made.items():
        choices = _planned(metric, settings, layout.memory)
        if settings.over is not None:
            from jfed.commands.across import show_across

            show_across(levels, metric, settings.over, choices, layout, console)
            continue
        many = layout.folder is not None and len(levels) > MOST_SHOWN
        printed = Console(quiet=True) if many else console
        if tune_over:
            by = metric if results is None else settings.choices.metric[0]  # one choice for all tables of results
            higher = settings.choices.of(by).higher_is_better
            tuned = [level.tuned(by, tune_over, settings.tune_seeds, higher) for level in levels]
            if by != metric:
                tuned = [replace(one, notes=(f"Settings are chosen by {by}.", *one.notes)) for one in tuned]
            for level in levels:
                files = show_ranking(level, tune_over, metric, choices, layout, printed, settings.tune_seeds)
                tell(files, printed)
            levels = tuned
        show(levels, metric, choices, layout, printed, settings.horizon)
        if many:
            console.print(f"\n{metric}: the tables of {len(levels)} settings are in {layout.folder}.", highlight=False)
        show_problems(levels, metric, file_stem(f"{metric}_problems"), layout, console)


def _tuned(results: Any, settings: Settings) -> tuple[str, ...]:
    """Return the settings for which each scheme gets its best value: those asked for, or the schemes' own that vary.

    Settings of the problem, such as k, make tables of their own: a scheme's best problem says nothing about it.
    """
    if settings.tune_over or results is None or settings.over is not None or settings.horizon is not None:
        return settings.tune_over
    from jfed.results import axes, load

    own = axes.of_schemes(results, load.settings(results))
    varying = [name for name in own if len(axes.values(results, name)) > 1]
    require(
        bool(varying) or not settings.tune_seeds,
        "--tune-seeds are for choosing: no setting of the schemes varies here, and others are named by --tune-over.",
    )
    return tuple(varying)


def _planned(metric: str, settings: Settings, memory: Path | None) -> Choices:
    """Return the choices under the results' plan of looks; tables over data sets and of times have no looks."""
    if settings.over is not None or settings.horizon is not None:
        return settings.choices.of(metric)
    return under_plan(metric, settings.choices.of(metric), memory)


def _levels(
    results: object, source: Path, metric: str, settings: Settings, tune_over: tuple[str, ...]
) -> list[Level]:  # fmt: skip
    baseline = None if settings.choices.baseline == "all" else settings.choices.baseline
    by = settings.choices.metric[0] if tune_over else ""
    together = tune_over + ((settings.over,) if settings.over else ())
    higher = False if settings.horizon is not None else settings.choices.of(metric).higher_is_better
    if results is None:
        return [of_csv(source, metric, baseline, settings.csv, higher, together)]
    words = [f"best_{name}" for name in tune_over] + ([f"over_{settings.over}"] if settings.over else [])
    return of_results(results, metric, baseline, together, "_".join(words), by)


def _require_comparable(made: dict[str, list[Level]], settings: Settings) -> None:
    """Refuse a metric without a direction, and a baseline that a table lacks, before the first table is printed."""
    from jfed.results.direction import require_direction
    from jfed.results.frames import require_scheme

    for metric, level in ((metric, level) for metric, levels in made.items() for level in levels):
        if level.frame.scheme.nunique() < 2:
            continue
        if settings.horizon is None:
            require_direction(metric, settings.choices.of(metric).higher_is_better)
        if level.baseline is not None:
            require_scheme(level.baseline, level.frame.scheme.astype(str).unique().tolist())


def _named(results: Any, source: Path, settings: Settings, memory: Path | None) -> Settings:
    """Return the settings with a metric and a baseline; if none is named, the baseline of a plan of looks comes first.

    Args:
        results: Dataset from `load`; None for a CSV file.
        source: where they come from.
        settings: the command's flags.
        memory: folder that has the plan; None if there is none.
    """
    from jfed.results.journal import planned

    settings = _with_metric(results, source, settings)
    if settings.choices.baseline:
        return settings
    plans = [planned(memory, metric) for metric in settings.choices.metric] if memory is not None else []
    baseline = next((plan.baseline for plan in plans if plan is not None), "")
    if not baseline:
        runs: Any = results if results is not None else settings.csv.frame(source, None)
        named = "scheme" if results is None else "method"
        schemes = runs[named].values.tolist() if named in runs else []
        baseline = "uniform" if "uniform" in set(schemes) else "all"
    return replace(settings, choices=replace(settings.choices, baseline=baseline))


def _with_metric(results: Any, source: Path, settings: Settings) -> Settings:
    """Return the settings with the metric of results that is compared if none is named; a CSV file has none."""
    if settings.choices.metric:
        return settings
    if results is None:
        settings.csv.ask_for_metric(source)
    return replace(settings, choices=replace(settings.choices, metric=(METRIC,)))


def _check(settings: Settings) -> None:
    """Refuse options that do not go together, before any results are read."""
    choices = settings.choices
    csv = settings.results is not None and settings.csv.applies(settings.results)
    require(
        bool(settings.tune_over) or not (settings.tune_seeds and (csv or settings.over or settings.horizon)),
        "--tune-seeds are for choosing: name the swept settings to choose with --tune-over.",
    )
    given = [name for name in FIXED if getattr(choices, name) != getattr(Choices(), name)]
    if settings.over is not None:
        given = [name for name in given if (name, choices.test) != ("test", "t")]
        given += [name for name in ("tune_over", "columns", "sentences") if getattr(settings, name)]
        given += ["horizon"] if settings.horizon is not None else []
        require(
            not given,
            "--over compares by the t-test over data sets with Holm's correction: leave out " + _flags(given),
        )
    if settings.horizon is None:
        return
    require(settings.horizon > 0, f"--horizon must be positive, got {settings.horizon:g}.")
    given = [name for name in given if (name, choices.test) != ("test", "sign-flip")]
    given += (["better"] if choices.better == "higher" else []) + (["tune_over"] if settings.tune_over else [])
    require(
        not given,
        "--horizon compares paired times, of which lower is better, by the sign-flip test with Holm's correction: leave"
        " out " + _flags(given),
    )


def _flags(names: list[str]) -> str:
    """Return the flags of some fields as the end of a sentence."""
    flags = [f"--{name.replace('_', '-')}" for name in names]
    return f"{', '.join(flags[:-1])} and {flags[-1]}." if len(flags) > 1 else f"{''.join(flags)}."
