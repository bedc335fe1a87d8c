"""The page that commands end with; it needs no package of the command line."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from jfed.commands.choices import Choices
from jfed.commands.plans import under_plan


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
    from jfed.results.frames import require_scheme

    results = load.load(source) if results is None else results
    choices, home = choices or Choices(), source.parent.parent if source.is_file() else source
    metrics = choices.metric or SCORES
    baseline = choices.baseline
    if not baseline:
        plans = [journal.planned(home / "tables", metric) for metric in metrics]
        baseline = next((plan.baseline for plan in plans if plan is not None), "uniform")
    named = replace(choices, baseline=baseline)
    schemes = [*dict.fromkeys((*load.schemes(results).tolist(), *results["method"].values.astype(str).tolist()))]
    if not choices.baseline and baseline not in schemes:
        baseline = "all"
    if baseline != "all":
        require_scheme(baseline, schemes)
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


def _claims(home: Path) -> Any:
    """Return the verdicts on the claims that these results are for, as a table; None if there are none."""
    from jfed.claims import gather, judge, read, verdicts_table

    if not (home / "tables" / "per_run.csv").is_file():
        return None
    tables = gather([home])
    verdicts = [one for claim in read() if claim.runs in tables for one in judge(claim, tables[claim.runs])]
    return verdicts_table(verdicts, "Verdicts on the claims that this experiment is for") if verdicts else None
