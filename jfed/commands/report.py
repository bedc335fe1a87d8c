"""`jfed report`: a page about finished results, in one file that can be sent to a co-author."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import tyro
from rich.console import Console

from jfed.commands.choices import Choices
from jfed.commands.plans import under_plan
from jfed.commands.reading import Reading, Results, require_results
from jfed.core.errors import ConfigError, require


@dataclass(frozen=True)
class Settings:
    """Write a page about finished results: verdicts, tables, curves, differences, settings, and how to run them again.

    The page is one HTML file that needs no network. Its comparisons are those that `jfed table` makes by default.

    Attributes:
        results: the --out of an experiment, or a CSV file with columns scheme, seed and metrics.
        metric: scores to compare, the primary one first; for a CSV, columns. By default those of accuracy, models
            returned and time that differ between runs.
        baseline: scheme that all others are compared with; all compares all pairs. By default uniform where there is
            such a scheme, otherwise all pairs.
        better: whether a higher or a lower score is better, for metrics whose names do not say.
        tune_seeds: seeds on which each scheme's best point of a sweep is chosen, the others report it. Without them
            all seeds do both, and nothing is judged.
        out: file to write; by default report.html beside the results.
        csv: how a CSV file is read.
    """

    results: tyro.conf.Positional[Results] = None
    metric: tuple[str, ...] = ()
    baseline: str = ""
    better: Literal["higher", "lower"] | None = None
    tune_seeds: tuple[int, ...] = ()
    out: Path | None = None
    csv: Reading = field(default_factory=Reading)


def main(settings: Settings, console: Console) -> None:
    """Write the page and print its path."""
    source = require_results(settings.results, f"jfed report {settings.out or 'RESULTS'}")
    choices = Choices(metric=settings.metric, baseline=settings.baseline, better=settings.better)
    choices.check()
    out = settings.out
    require(out is None or not out.is_dir(), f"{out} is a folder: --out names the file to write, such as report.html.")
    if settings.csv.applies(source):
        require(not settings.tune_seeds, "--tune-seeds are for results with a sweep, not for a CSV file.")
        path = _of_csv(source, choices, settings)
    else:
        path = write(source, None, choices, out, settings.tune_seeds)
    console.print(str(path), highlight=False, markup=False, soft_wrap=True)


def write(
    source: Path, results: Any = None, choices: Choices | None = None, path: Path | None = None,
    tune_seeds: Sequence[int] = (), tuned_by: str | None = None,
) -> Path:  # fmt: skip
    """Write a page about results and return its path.

    Args:
        source: `--out` of an experiment, or one of its result files.
        results: runs to report, as `jfed.run` returned them; all that are there by default.
        choices: metrics, baseline and direction; by default those of `jfed table`.
        path: file to write; by default `report.html` in `source`.
        tune_seeds: seeds on which each scheme's best point of a sweep is chosen; none if all seeds choose and report.
        tuned_by: score by which they are chosen; by default the primary one.

    Raises:
        ConfigError: a package is missing, the runs cannot be compared, or the file cannot be written.
        FileNotFoundError: there are no results.
    """
    from jfed.commands.meanings import known
    from jfed.report.page.document import SCORES, write_report
    from jfed.results import journal, load

    results = load.load(source) if results is None else results
    choices, home = choices or Choices(), source.parent.parent if source.is_file() else source
    metrics = choices.metric or SCORES
    baseline = choices.baseline
    if not baseline:
        plans = [journal.planned(home / "tables", metric) for metric in metrics]
        baseline = next((plan.baseline for plan in plans if plan is not None), "uniform")
    named = replace(choices, baseline=baseline)
    if not choices.baseline and baseline not in set(results["method"].values.astype(str)):
        baseline = "all"
    by_metric = {metric: under_plan(metric, named.of(metric), home / "tables").arguments() for metric in metrics}
    return write_report(
        source, path or home / "report.html", results=results, metrics=choices.metric,
        baseline=None if baseline == "all" else baseline, tune_seeds=tune_seeds, tuned_by=tuned_by, choices=by_metric,
        known=known(), claims=_claims(home),
    )  # fmt: skip


def tell(
    source: Path, console: Console, results: Any = None, tune_seeds: Sequence[int] = (), tuned_by: str | None = None
) -> None:  # fmt: skip
    """Write a page about results and print where it is, or in one line why there is none.

    It ends a command whose work is done, which a page that cannot be made must not undo.
    """
    try:
        line = f"Report   {write(source, results, tune_seeds=tune_seeds, tuned_by=tuned_by)}"
    except (ValueError, OSError, ImportError) as error:
        line = f"Report   none: {error}"
    console.print(line, highlight=False, markup=False, soft_wrap=True)


def _of_csv(source: Path, choices: Choices, settings: Settings) -> Path:
    from jfed.report.page.document import write_csv_report

    if not choices.metric:
        columns = [name for name in settings.csv.frame(source, None).columns if name not in ("scheme", "seed")]
        raise ConfigError(f"Name the columns to compare with --metric: {source} has {', '.join(columns)}.")
    frame = settings.csv.frame(source, choices.metric[0], choices.of(choices.metric[0]).higher_is_better)
    baseline = choices.baseline or ("uniform" if "uniform" in set(frame["scheme"]) else "all")
    return write_csv_report(
        frame, settings.out or source.with_suffix(".html"), title=source.stem, metrics=choices.metric,
        baseline=None if baseline == "all" else baseline,
        choices={metric: choices.of(metric).arguments() for metric in choices.metric},
    )  # fmt: skip


def _claims(home: Path) -> Any:
    """Return the verdicts on the claims that these results are for, as a table; None if there are none."""
    from jfed.claims import gather, judge, read, verdicts_table

    if not (home / "tables" / "per_run.csv").is_file():
        return None
    tables = gather([home])
    verdicts = [one for claim in read() if claim.runs in tables for one in judge(claim, tables[claim.runs])]
    return verdicts_table(verdicts, "Verdicts on the claims that this experiment is for") if verdicts else None
