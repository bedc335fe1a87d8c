"""`jfed run`: a study of one's own from the command line, with training or without."""

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from jfed.commands import studyfile, table, until
from jfed.commands.choices import Choices
from jfed.commands.flags import Settings as Settings
from jfed.commands.flags import changed
from jfed.commands.plans import under_plan
from jfed.commands.seeds import listed, require_tune_seeds
from jfed.core.errors import require
from jfed.core.options import below
from jfed.paths import parse_axes, parse_settings, problem_axes, scheme_axes

COLUMNS = {"test_accuracy": "final_accuracy", "test_loss": "final_loss"}  # of the table of runs, where not the metric's
WORDS = {
    "test_accuracy": "Test accuracy after the last round",
    "test_loss": "Test loss after the last round",
    "num_succeeded": "Models that returned",
    "round_time_s": "Simulated time, seconds",
}


@dataclass(frozen=True)
class Asked:
    """A study as the flags describe it.

    Attributes:
        settings: the flags, with all defaults.
        points: the points to run.
        axes: paths of the swept settings.
        seeds: the seeds.
        looks: numbers of seeds at which --until-decided looks.
        layout: how it is computed.
    """

    settings: Settings
    points: Sequence[Any]
    axes: Sequence[str]
    seeds: Sequence[int]
    looks: tuple[int, ...]
    layout: Any


def asked(settings: Settings) -> Asked:
    """Return the study that the flags describe.

    Raises:
        ConfigError: they cannot be run.
    """
    import jfed
    from jfed.commands.learning import config, with_defaults
    from jfed.sweep import changed as with_settings

    given = settings.amount.seeds
    settings = with_defaults(settings)
    looks, further, what = _looks(settings), settings.further, settings.what
    alone = "--until-decided adds seeds by itself: leave out --seeds, and end with --max-seeds."
    require(not looks or given is None, alone)
    delta = parse_settings(further.set, settings)
    seeds, axes = listed(settings.amount.seeds), parse_axes(further.sweep, delta)
    require_tune_seeds(further.tune_seeds, seeds, scheme_axes(axes))
    points = jfed.methods(config(settings), what.schemes, what.mode)  # type: ignore[arg-type]
    late = {path: value for path, value in delta.items() if any(below(path, axis) for axis in axes)}
    points = with_settings(points, {path: value for path, value in delta.items() if path not in late})
    points = with_settings(jfed.product(points, axes), late)  # the settings of parts that are swept
    minutes = settings.amount.minutes
    layout = jfed.Layout(block_size=settings.amount.block_size, max_seconds=None if minutes is None else 60 * minutes)
    return Asked(settings, points, list(axes), seeds, looks, layout)


def main(settings: Settings, console: Console) -> None:
    """Run the schemes, print tables that compare them, and write the figures and the table of runs."""
    from jfed.runner.executors.named import named
    from jfed.runner.host import setup

    setup()
    found = asked(settings)
    settings, points, seeds, looks = found.settings, found.points, found.seeds, found.looks
    how = {"layout": found.layout, "data_dir": settings.training.data_dir}
    place = named(settings.amount.on)
    if settings.dry_run:
        require(place is None, "--dry-run measures on this process: leave out --on.")
        from jfed.commands.dry import tell

        if looks:
            console.print("If no scheme is decided before the last look:")
        tell(points, range(looks[-1]) if looks else seeds, settings.results.out, how, console)
        return
    with place or contextlib.nullcontext():  # looks share the workers
        _study(settings, points, found.axes, seeds, looks, how | {"executor": place}, console)


def _study(
    settings: Settings, points: Sequence[Any], axes: Sequence[str], seeds: Sequence[int], looks: tuple[int, ...],
    how: dict[str, Any], console: Console,
) -> None:  # fmt: skip
    """Compute the missing runs, then print and write everything."""
    import jfed
    from jfed.commands.output import Output
    from jfed.results.load import combine
    from jfed.runner.units import ask

    out, metrics, further = settings.results.out, settings.results.metric, settings.further
    # refuses what cannot be run before anything is written
    ask(points, range(looks[-1]) if looks else seeds, how["layout"], how["data_dir"])
    choices = Choices(metric=metrics, baseline=points[0].coords["method"])
    for metric in () if looks else metrics:
        under_plan(metric, choices.of(metric), out / "tables")
    if settings.results.tensorboard:
        how = how | {"on_chunk": jfed.TensorBoard(out / "tensorboard")}
    output = Output(out)  # before the runs: its processes load matplotlib meanwhile
    file, before = studyfile.write(changed(settings, seeds=None) if looks else settings), _tables(out)
    if looks:
        had = until.until_decided(points, metrics[0], looks, out, console, **how)
        each = [(point, range(had[point.coords["method"]])) for point in points]
        results = combine([jfed.run([point], own, out=out, progress=False, **how) for point, own in each])
    else:
        results: Any = jfed.run(points, seeds, out=out, **how)
        asked = table.Settings(out, choices, tune_seeds=further.tune_seeds)
        table.show_tables(results, out, asked, console)
    output.files.extend(path for path, date in _tables(out).items() if before.get(path) != date)
    _report(results, points, axes, settings, output, console)
    output.tell(console, tune_seeds=further.tune_seeds, tuned_by=metrics[0])
    console.print(f"Study    {file}", highlight=False, markup=False, soft_wrap=True)


def _tables(out: Path) -> dict[Path, int]:
    """Return the files of tables that there are, with their dates."""
    return {path: path.stat().st_mtime_ns for path in (out / "tables").glob("*") if path.suffix != ".json"}


def _looks(settings: Settings) -> tuple[int, ...]:
    """Return the numbers of seeds at which to look, after checking the flags on them; none without --until-decided."""
    amount, further = settings.amount, settings.further
    minutes = amount.minutes
    require(minutes is None or 0 <= minutes < math.inf, f"--minutes must be finite and at least 0, found {minutes}.")
    if amount.until_decided:
        require(not further.sweep, "--until-decided adds seeds to each scheme, not to each point of a --sweep.")
        require(len(settings.what.schemes) > 1, "--until-decided compares schemes: name at least two.")
        require(len(settings.results.metric) == 1, "--until-decided decides by one --metric.")
        return until.planned(amount.max_seeds, amount.looks)
    require(not amount.looks and amount.max_seeds is None, "--looks and --max-seeds are those of --until-decided.")
    return ()


def _report(
    results: Any, points: Sequence[Any], axes: Sequence[str], settings: Settings, output: Any, console: Console
) -> None:  # fmt: skip
    """Print and write the tables on targets, the tables over settings, the figures and the table of runs."""
    from jfed.commands.study import Study, reported, usual_figures
    from jfed.commands.wide import wide_report
    from jfed.runner.feed import dataset
    from jfed.sweep import coordinate

    learning = settings.training
    decided_by = () if settings.amount.until_decided else settings.results.metric
    study = Study(
        name="run",
        settings=(),
        metrics={COLUMNS.get(metric, metric): WORDS[metric] for metric in decided_by},
        columns=_columns,
        figures=usual_figures,
        lower_is_better=("final_loss", "round_time_s"),
        tables=False,
        tuned_by=COLUMNS.get(settings.results.metric[0], settings.results.metric[0]),
    )
    data = "no training" if learning.dataset is None else dataset(learning.dataset, learning.data_dir).title
    own, apart = map(coordinate, scheme_axes(axes)), [coordinate(path) for path in problem_axes(axes)]
    tune_seeds = settings.further.tune_seeds
    runs = reported(results, learning.targets, data, study, points, output, console, [*own], tune_seeds)
    wide_report(runs, learning.targets, apart, data, study, output, console)


def _columns(results: Any) -> dict[str, Any]:
    """Return the columns that the table of runs has beside those on models."""
    from jfed.analysis import jain

    sums = {name: results[name].values.astype(float).sum(1) for name in ("num_succeeded", "round_time_s")}
    return {"mode": results["mode"].values, **sums, "jain": jain(results["times_selected"].values)}
