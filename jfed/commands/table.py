"""`jfed table`: significance tables from finished results, or from any CSV file with one row per run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from rich.console import Console

from jfed.core.errors import require


@dataclass(frozen=True)
class Settings:
    """Print significance tables: each scheme against a baseline, or all pairs, paired by seed.

    Attributes:
        out: the --out of an experiment, or a CSV file with columns scheme, seed and metrics, one row per run.
        metric: for results, a score summed over rounds or taken after the last one (test_accuracy, test_loss); for a
            CSV, a column.
        baseline: scheme that all others are compared with; all compares all pairs.
        lower: whether a smaller score is better; by default if the name of the metric ends in loss or _s (times).
        test: test that decides, to be chosen before looking at results.
        correction: holm for headlines, bh (false discovery rate) for exploration.
        alpha: level of the tests.
        paired: False treats all runs as independent; by default so only if no two schemes share a seed.
        tune_over: swept settings (for a CSV: columns) for which each scheme gets its best value, instead of a table for
            each value.
        tune_seeds: seeds on which the best values are chosen; the others are reported. Without them the table says
            "same seeds".
    """

    out: Path
    metric: str = "num_succeeded"
    baseline: str = "uniform"
    lower: bool | None = None
    test: Literal["t", "wilcoxon", "sign-flip"] = "t"
    correction: Literal["holm", "bh"] = "holm"
    alpha: float = 0.05
    paired: bool | None = None
    tune_over: tuple[str, ...] = ()
    tune_seeds: tuple[int, ...] = ()


def main(settings: Settings, console: Console) -> None:
    """Print and write a table for each combination of swept settings; for a CSV, print one table."""
    from jfed.results.frames import read_csv
    from jfed.results.load import load

    require(
        bool(settings.tune_over) or not settings.tune_seeds,
        "--tune-seeds are for choosing: name the swept settings to choose with --tune-over.",
    )
    if settings.out.suffix.lower() == ".csv":
        require(settings.out.is_file(), f"There is no file {settings.out}.")
        frame = read_csv(settings.out)
        print_comparisons(frame, settings.baseline, settings, f"{settings.metric} ({settings.out.stem})", console)
    else:
        print_tables(load(settings.out), settings, console)


def print_comparisons(
    frame: pd.DataFrame, baseline: str, settings: Settings, title: str, console: Console, notes: Sequence[str] = ()
) -> Any:
    """Print and return one family's table, with each scheme at its best settings if `tune_over` names any."""
    from jfed import analysis
    from jfed.stats.tuning import choose

    lower = settings.metric.endswith(("loss", "_s")) if settings.lower is None else settings.lower
    if settings.tune_over:
        choice = choose(frame, settings.metric, settings.tune_over, settings.tune_seeds or None, not lower)
        frame, notes = choice.reported, (choice.note, *choice.settings(), *notes)
    if "scheme" in frame.columns and len(set(frame["scheme"])) == 1:
        made = analysis.summary_table(analysis.summarise(frame, settings.metric, settings.alpha), title)
    else:
        comparisons = analysis.compare(
            frame, settings.metric, baseline=None if baseline == "all" else baseline, higher_is_better=not lower,
            alpha=settings.alpha, test=settings.test, correction=settings.correction, paired=settings.paired,
        )  # fmt: skip
        made = analysis.comparisons_table(comparisons, title)
    made = replace(made, notes=(*made.notes, *notes))
    console.print()
    analysis.to_terminal(made, console)
    return made


def print_tables(results: Any, settings: Settings, console: Console) -> None:
    """Print one table per combination of swept settings, each a family of its own."""
    from jfed import analysis
    from jfed.report.formats import file_stem
    from jfed.results import load

    metric, over = settings.metric, list(settings.tune_over)
    number, known = load.score(results, metric), load.settings(results)
    unswept = [name for name in over if name not in known]
    swept = f"swept here: {', '.join(known)}" if known else "nothing was swept here"
    require(not unswept, f"--tune-over takes swept settings, not {', '.join(unswept)}; {swept}.")
    for level, chosen in load.swept(results.drop_vars(over)):
        part = load.part(results, chosen)
        frame = load.tidy(part, {metric: number.isel(run=chosen)}, keep=over)
        labels = frame.scheme[part["method"].values.astype(str) == settings.baseline].unique()
        baseline = str(labels[0]) if len(labels) == 1 else settings.baseline
        datasets = ", ".join(sorted(set(part["dataset"].values.astype(str)))).replace("none", "no training")
        level = said_once(level)
        title = ", ".join([datasets, *(f"{name} = {value}" for name, value in level.items() if name != "dataset")])
        notes = load.dependence(part)
        made = print_comparisons(frame, baseline, settings, f"{metric} ({title})", console, notes)
        best = [f"best_{name}" for name in over]
        stem = file_stem("_".join([metric, *best, *(f"{name}_{value}" for name, value in level.items())]))
        paths = analysis.write(made, settings.out / "tables", stem)
        tell(paths.values(), console)


def said_once(level: Mapping[str, Any]) -> dict[str, Any]:
    """Return a level of the swept settings without the name of its world where the swept environment is that name."""
    return {name: level[name] for name in level if name != "world" or level[name] != level.get("environment")}


def tell(paths: Iterable[Path], console: Console) -> None:
    """Print paths, each unbroken on a line of its own."""
    console.print(*map(str, paths), sep="\n", highlight=False, markup=False, soft_wrap=True)
