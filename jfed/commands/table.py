"""`jfed table`: significance tables from finished results, or from anybody's CSV."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from rich.console import Console

from jfed.errors import require, unknown


@dataclass(frozen=True)
class Settings:
    """A significance table: every scheme against a baseline, or all pairs, paired by seed."""

    out: Path
    """The --out of an experiment, or a CSV file with columns scheme, seed and metrics, one row per run."""
    metric: str = "num_succeeded"
    """Of results: summed over rounds, or taken after the last one (test_accuracy, test_loss). Of a CSV: a column."""
    baseline: str = "uniform"
    """all compares all pairs."""
    lower: bool | None = None
    """A smaller score is better; by default true of names that end in loss."""
    test: Literal["t", "wilcoxon", "sign-flip"] = "t"
    """Which test decides; to be named before looking."""
    correction: Literal["holm", "bh"] = "holm"
    """holm for headlines, bh (false discovery rate) for exploration."""
    alpha: float = 0.05


def main(settings: Settings, console: Console) -> None:
    """Print and write a table for each setting that was swept; of a CSV, one table, printed."""
    from jfed.analysis.load import load

    if settings.out.suffix == ".csv":
        print_csv(settings, console)
    else:
        print_tables(load(settings.out), settings, console)


def print_csv(settings: Settings, console: Console) -> None:
    """One table from a tidy CSV."""
    require(settings.out.is_file(), f"There is no file {settings.out}.")
    try:
        frame = pd.read_csv(settings.out)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError):
        frame = pd.DataFrame()
    require(len(frame) > 0, f"{settings.out} is not a CSV table with rows.")
    print_comparisons(frame, settings.baseline, settings, f"{settings.metric} ({settings.out.stem})", console)


def print_comparisons(frame: pd.DataFrame, baseline: str, settings: Settings, title: str, console: Console) -> Any:
    """Print the table of one family and return it."""
    from jfed import analysis

    lower = settings.metric.endswith("loss") if settings.lower is None else settings.lower
    comparisons = analysis.compare(
        frame, settings.metric, baseline=None if baseline == "all" else baseline, higher_is_better=not lower,
        alpha=settings.alpha, test=settings.test, correction=settings.correction,
    )  # fmt: skip
    made = analysis.comparisons_table(comparisons, title)
    console.print()
    analysis.to_terminal(made, console)
    return made


def print_tables(results: Any, settings: Settings, console: Console) -> None:
    """One table per combination of swept settings, each a family of its own."""
    from jfed import analysis
    from jfed.analysis.load import swept, tidy

    metric = settings.metric
    known = [str(n) for n, v in results.data_vars.items() if {"round", "eval_round"} & set(v.dims)]
    if metric not in known:
        raise unknown("metric", metric, known)
    values = results[metric]
    after_last = values.ffill("eval_round").isel(eval_round=-1) if "eval_round" in values.dims else None
    number = values.sum("round", min_count=1) if after_last is None else after_last
    datasets = ", ".join(sorted(set(results["dataset"].values.astype(str)))).replace("none", "no training")
    for level, chosen in swept(results):
        part = results.isel(run=chosen)
        frame = tidy(part, {metric: number.isel(run=chosen)})
        labels = frame.scheme[part["method"].values.astype(str) == settings.baseline].unique()
        baseline = str(labels[0]) if len(labels) == 1 else settings.baseline
        title = ", ".join([datasets, *(f"{name} = {value}" for name, value in level.items())])
        made = print_comparisons(frame, baseline, settings, f"{metric} ({title})", console)
        stem = "_".join([metric, *(f"{name}_{value}" for name, value in level.items())])
        paths = analysis.write(made, settings.out / "tables", stem)
        console.print(*(str(p) for p in paths.values()), sep="\n", highlight=False)
