"""`jfed variance`: the sources of the spread over seeds."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import tyro
from rich.console import Console

from jfed.commands.choices import METRIC
from jfed.commands.reading import Reading, Results, require_results, tables_folder
from jfed.commands.showing import tell


@dataclass(frozen=True)
class Settings:
    """Print the shares of the variance due to the seeds of data, model and environment, for runs that cross them.

    Attributes:
        results: results of runs on jfed.crossed_seeds(...), or a CSV file with columns scheme, data_seed, model_seed,
            environment_seed and metrics.
        metric: for results, a score summed over rounds or taken after the last one (test_accuracy, test_loss), by
            default num_succeeded; for a CSV, a column.
        out: folder for the tables in all formats. Without it tables of results go to their tables/, and that of a CSV
            is only printed.
    """

    results: tyro.conf.Positional[Results] = None
    metric: str | None = None
    out: Path | None = None
    csv: Reading = field(default_factory=Reading)


def main(settings: Settings, console: Console) -> None:
    """Print and write a table for each combination of swept settings; for a CSV, one table."""
    from jfed import analysis
    from jfed.report.components import components_table
    from jfed.report.formats import file_stem
    from jfed.results import load
    from jfed.stats.variance import SEEDS

    source = require_results(settings.results, f"jfed variance {settings.out or 'RESULTS'}")
    folder = tables_folder(source, settings.out)
    if settings.csv.applies(source):
        metric = settings.metric or settings.csv.ask_for_metric(source)
        frame = settings.csv.frame(source, metric)
        made = components_table(frame, metric, f"Variance of {metric} ({source.stem})")
        made = replace(made, notes=(*made.notes, *frame.attrs["notes"]))
        analysis.to_terminal(made, console)
        if settings.out:
            tell(analysis.write(made, folder, file_stem(f"{source.stem}_variance_{metric}")).values(), console)
        return
    metric, results = settings.metric or METRIC, load.load(source)
    number = load.score(results, metric)
    for level, chosen in load.swept(results):
        frame = load.tidy(results.isel(run=chosen), {metric: number.isel(run=chosen)}, keep=SEEDS)
        level = load.said_once(level)
        names = [f"{name} = {value}" for name, value in level.items()]
        made = components_table(frame, metric, ", ".join([f"Variance of {metric}", *names]))
        analysis.to_terminal(made, console)
        stem = file_stem("_".join(["variance", metric, *(f"{name}_{value}" for name, value in level.items())]))
        paths = analysis.write(made, folder, stem)
        tell(paths.values(), console)
