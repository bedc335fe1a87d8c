"""`jfed report`: a page about finished results, in one file that can be sent to a co-author."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import tyro
from rich.console import Console

from jfed.commands.choices import Choices
from jfed.commands.page import write
from jfed.commands.reading import Reading, Results, require_results
from jfed.core.errors import require


@dataclass(frozen=True)
class Settings:
    """Write a page about finished results: verdicts, tables, curves, differences, settings, and how to run them again.

    The page is one HTML file that needs no network. Its tests are those that `jfed table` makes by default.

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


def _of_csv(source: Path, choices: Choices, settings: Settings) -> Path:
    from jfed.report.page.document import write_csv_report
    from jfed.results.frames import require_scheme

    if not choices.metric:
        settings.csv.ask_for_metric(source)
    frame = _frame(source, choices, settings)
    schemes = frame["scheme"].astype(str).unique().tolist()
    baseline = choices.baseline or ("uniform" if "uniform" in schemes else "all")
    if baseline != "all":
        require_scheme(baseline, schemes)
    return write_csv_report(
        frame, settings.out or source.with_suffix(".html"), title=source.stem, metrics=choices.metric,
        baseline=None if baseline == "all" else baseline,
        choices={metric: choices.of(metric).arguments() for metric in choices.metric},
    )  # fmt: skip


def _frame(source: Path, choices: Choices, settings: Settings) -> Any:
    """Return one row per run with all metrics, and notes; one that is not on all metrics names its own."""
    frames = {name: settings.csv.frame(source, name, choices.of(name).higher_is_better) for name in choices.metric}
    first, *others = (frame.attrs["notes"] for frame in frames.values())
    shared = [note for note in first if all(note in notes for notes in others)]
    own = [f"{name}: {note}" for name, one in frames.items() for note in one.attrs["notes"] if note not in shared]
    frame = frames[choices.metric[0]].assign(**{name: one[name].to_numpy() for name, one in frames.items()})
    frame.attrs["notes"] = (*shared, *own)
    return frame
