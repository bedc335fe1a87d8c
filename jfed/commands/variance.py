"""`jfed variance`: the sources of the spread over seeds."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from jfed.commands.table import said_once, tell
from jfed.core.errors import require


@dataclass(frozen=True)
class Settings:
    """Print the shares of the variance due to the seeds of data, model and environment, for runs that cross them.

    Attributes:
        out: results of runs on jfed.crossed_seeds(...), or a CSV file with columns scheme, data_seed, model_seed,
            environment_seed and metrics.
        metric: for results, a score summed over rounds or taken after the last one (test_accuracy, test_loss); for a
            CSV, a column.
    """

    out: Path
    metric: str = "num_succeeded"


def main(settings: Settings, console: Console) -> None:
    """Print and write a table for each combination of swept settings; for a CSV, print one table."""
    from jfed import analysis
    from jfed.report.components import components_table
    from jfed.report.formats import file_stem
    from jfed.results import load
    from jfed.results.frames import read_csv
    from jfed.stats.variance import SEEDS

    metric = settings.metric
    if settings.out.suffix.lower() == ".csv":
        require(settings.out.is_file(), f"There is no file {settings.out}.")
        made = components_table(read_csv(settings.out), metric, f"Variance of {metric} ({settings.out.stem})")
        analysis.to_terminal(made, console)
        return
    results = load.load(settings.out)
    number = load.score(results, metric)
    for level, chosen in load.swept(results):
        frame = load.tidy(results.isel(run=chosen), {metric: number.isel(run=chosen)}, keep=SEEDS)
        level = said_once(level)
        names = [f"{name} = {value}" for name, value in level.items()]
        made = components_table(frame, metric, ", ".join([f"Variance of {metric}", *names]))
        analysis.to_terminal(made, console)
        stem = file_stem("_".join(["variance", metric, *(f"{name}_{value}" for name, value in level.items())]))
        paths = analysis.write(made, settings.out / "tables", stem)
        tell(paths.values(), console)
