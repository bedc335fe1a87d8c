"""Reports of studies: the table of runs, and tables and figures of each setting."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.figure import Figure
from rich.console import Console

from jfed.analysis import (
    arrivals,
    compare,
    compare_times,
    forest,
    rank_diagram,
    summarise,
    summary_table,
)
from jfed.commands.drawing import accuracy, class_figures, names, participation
from jfed.commands.levels import said_once
from jfed.commands.output import Output, show
from jfed.comparisons.tuning import choose
from jfed.report.targets import first_reached, targets_table
from jfed.results.load import company, part, schemes, swept
from jfed.sweep import Point

ACCURACIES = {
    "final_accuracy": "Test accuracy after the last round",
    "last10_accuracy": "Test accuracy, mean of the last ten rounds",
}


@dataclass(frozen=True)
class Study:
    """The description of an experiment's report.

    Attributes:
        name: the experiment's name, as in claims.
        settings: coordinates of the points; each combination of their values gets tables and figures of its own.
        metrics: columns by which schemes are compared, with their names in tables; those that are missing are left out.
        columns: function of the results that returns further columns of the table of runs.
        figures: function of (results, schemes, title of the setting, points) that returns further figures, by stem.
        lower_is_better: metrics of which less is better.
        tables: whether the comparisons are printed and written, and not only drawn.
    """

    name: str
    settings: tuple[str, ...]
    metrics: Mapping[str, str]
    columns: Callable[[xr.Dataset], dict[str, Any]]
    figures: Callable[[xr.Dataset, Sequence[str], str, Sequence[Point]], dict[str, Figure]]
    lower_is_better: tuple[str, ...] = ()
    tables: bool = True


def target_name(target: float) -> str:
    """Return the name of the column with the rounds to an accuracy."""
    return f"rounds to {100 * target:g} %"


def per_run(
    results: xr.Dataset, targets: Sequence[float], order: Sequence[str], study: Study, extra: Sequence[str]
) -> pd.DataFrame:
    """Return one row per run, schemes in the given order; rounds to a target are inf where it was never reached.

    `extra` names further coordinates that become columns. Without training there are no columns on models.
    """
    columns: dict[str, Any] = {
        "experiment": study.name,
        "scheme": schemes(results),
        **{name: results[name].values for name in (*study.settings, *extra, "dataset", "seed")},
        "num_rounds": results.sizes["round"],
        **study.columns(results),
        **(_of_models(results, targets) if "test_accuracy" in results else {}),
        **company(results),
    }
    frame = pd.DataFrame(columns)
    rank = frame.scheme.map({s: i for i, s in enumerate(order)})
    return frame.iloc[np.argsort(rank, kind="stable")]


def _of_models(results: xr.Dataset, targets: Sequence[float]) -> dict[str, Any]:
    values, evaluated = results["test_accuracy"].values, results["eval_round"].values
    return {
        "final_accuracy": values[:, -1],
        "last10_accuracy": values[:, evaluated > evaluated[-1] - 10].mean(1),  # NaN if the model broke
        "final_loss": results["test_loss"].values[:, -1],
        **{target_name(t): first_reached(evaluated, values, t) for t in targets},
    }


def usual_figures(results: xr.Dataset, order: Sequence[str], title: str, points: Sequence[Point]) -> dict[str, Figure]:
    """Draw how many models return and which clients are selected: Figs. 3 and 4 of E3CS."""
    words = f"Success ratio and participation ({title})"
    drawn = {"participation": participation(results, order, words, names(points))}
    return drawn | class_figures(results, order, points, f"Selections ({title})")


def reported(
    results: xr.Dataset, targets: Sequence[float], data: str, study: Study, every: Sequence[Point], output: Output,
    console: Console,
) -> pd.DataFrame:  # fmt: skip
    """Write tables and figures of each combination of swept settings, and the table of runs, which is returned.

    Args:
        results: from `run`.
        targets: accuracies for the rounds until they are reached.
        data: name of the data set in titles.
        study: description of the report.
        every: the points of the results.
        output: where to write.
        console: where to print.
    """
    levels = swept(results)
    frames = [
        setting_report(part(results, rows), level, targets, data, study, every, output, console, len(levels))
        for level, rows in levels
    ]
    over = sorted({name for level, _ in levels for name in level} - set(study.settings))
    runs = pd.concat(frames)
    runs = runs.drop_duplicates([name for name in ("scheme", *study.settings, *over, "seed") if name in runs])
    output.runs(runs)
    return runs


def setting_report(
    results: xr.Dataset, level: Mapping[str, Any], targets: Sequence[float], data: str, study: Study,
    every: Sequence[Point], output: Output, console: Console, num_settings: int,
) -> pd.DataFrame:  # fmt: skip
    """Write tables and figures of one of `num_settings` settings, and return its rows of the table of runs."""
    fixed = {name: results[name].values[0] for name in study.settings}
    further = {name: value for name, value in said_once(level).items() if name not in study.settings}
    words = [*map(_stem, fixed.items()), *(f"{name}_{value}" for name, value in further.items())]
    stem = "".join(f"_{word}" for word in words)
    title = setting_title(str(further.get("dataset", data)), fixed, results.sizes["client"])
    title = ", ".join([title, *(f"{name} = {value}" for name, value in further.items() if name != "dataset")])

    known = names(every)
    label = {str(m): s for m, s in zip(results["method"].values, schemes(results), strict=True)}
    order = [label[name] for name in known if name in label]
    frame = per_run(results, targets, order, study, list(further))
    horizon = results.sizes["round"]
    if targets:
        columns = [target_name(t) for t in targets]
        table = targets_table(frame, columns, horizon, f"Rounds to accuracy ({title})")
        output.table(table, f"rounds_to_accuracy{stem}")
        show(table, console)
        _times(frame, targets, horizon, output, title, stem, next(iter(study.metrics)), known)
    alone = [f"One of {num_settings} settings, each corrected by itself."] if num_settings > 1 else []
    if len(order) > 1:
        _comparisons(frame, study, order[0], title, stem, alone, output, console)
    if "test_accuracy" in results:
        for name, figure in accuracy(results, order, f"Test accuracy ({title})", known).items():
            output.figure(figure, f"{name}{stem}")
    for name, figure in study.figures(results, order, title, every).items():
        output.figure(figure, f"{name}{stem}")
    return frame


def _comparisons(
    frame: pd.DataFrame, study: Study, baseline: str, title: str, stem: str, notes: Sequence[str], output: Output,
    console: Console,
) -> None:  # fmt: skip
    """Compare the schemes by each metric of the study; draw the comparisons, print them and write them."""
    for metric, words in study.metrics.items():
        if metric not in frame:
            continue
        found = compare(frame, metric, baseline=baseline, higher_is_better=metric not in study.lower_is_better)
        drawn = metric != "last10_accuracy"
        if study.tables:
            titled, primary = f"{words} ({title}, T = {frame.num_rounds.iloc[0]})", next(iter(study.metrics))
            table = output.comparisons(found, titled, f"{metric}{stem}", primary, notes)
            if drawn:
                show(table, console)
        if drawn:
            named, about = f"{words} ({title})", words[0].lower() + words[1:]
            output.figure(forest(found, named, name=about), f"differences_{metric}{stem}")
            if found.omnibus is not None:
                output.figure(rank_diagram(found, named, name=about), f"ranks_{metric}{stem}")


def _times(
    frame: pd.DataFrame, targets: Sequence[float], horizon: int, output: Output, title: str, stem: str, primary: str,
    known: Sequence[str],
) -> None:  # fmt: skip
    """Write, for each target that some run reached, a figure of arrivals and a comparison of restricted times."""
    for target in targets:
        column, percent = target_name(target), f"{100 * target:g}"
        if not np.isfinite(frame[column]).any():
            continue
        times = {str(scheme): group[column].to_numpy(float) for scheme, group in frame.groupby("scheme", sort=False)}
        picture = arrivals(
            times, horizon, xlabel="communication round", target=f"{percent} %", title=f"Arrivals ({title})",
            schemes=known,
        )  # fmt: skip
        output.figure(picture, f"arrivals_{percent}{stem}")
        if len(times) > 1:
            compared = compare_times(frame, column, horizon, baseline=str(frame.scheme.iloc[0]))
            words = f"Rounds to {percent} %, never counting as T = {horizon} ({title})"
            alone = [f"One of {len(targets)} targets, each corrected by itself."] if len(targets) > 1 else []
            output.comparisons(compared, words, f"rounds_to_{percent}{stem}", primary, alone)


def in_words(name: str, value: Any) -> str:
    """Return a setting in words."""
    return str(value) if isinstance(value, str) else f"{name} = {value:g}"


def tuned_report(
    runs: pd.DataFrame,
    over: Sequence[str],
    apart: Sequence[str],
    tune_seeds: Sequence[int],
    data: str,
    study: Study,
    output: Output,
    console: Console,
) -> None:
    """Write the comparison of each scheme's best point of a sweep, for each problem.

    The tune seeds choose the point and the other seeds report it; without tune seeds, all seeds do both.

    Args:
        runs: rows of all points.
        over: swept settings of the schemes.
        apart: swept settings of the problem.
        tune_seeds: seeds that choose.
        data: name of the data set in titles.
        study: description of the report.
        output: where to write.
        console: where to print.
    """
    problem = [*study.settings, *apart]
    groups: Any = runs.groupby(problem, sort=False)
    for key, rows in groups:
        fixed: dict[str, Any] = dict(zip(problem, key, strict=True))
        choice = choose(rows, "final_accuracy", over, tune_seeds or None)
        title = f"{ACCURACIES['final_accuracy']}, each scheme's best of {', '.join(over)}"
        title += f" ({setting_title(data, fixed)}, T = {rows.num_rounds.iloc[0]})"
        stem, notes = "_".join(["final_accuracy_best", *map(_stem, fixed.items())]), (choice.note, *choice.settings())
        if rows.scheme.nunique() == 1:
            table = summary_table(summarise(choice.reported, "final_accuracy"), title)
            output.table(table := replace(table, notes=(*table.notes, *notes)), stem)
        else:
            found = compare(choice.reported, "final_accuracy", baseline=str(rows.scheme.iloc[0]))
            table = output.comparisons(found, title, stem, next(iter(study.metrics)), notes)
        show(table, console)


def setting_title(data: str, fixed: Mapping[str, Any], num_clients: int | None = None) -> str:
    """Return the words for a setting in the titles of its tables and figures."""
    clients = [] if num_clients is None else [f"K = {num_clients}"]
    told = [in_words(name, value) for name, value in fixed.items()]
    return ", ".join([data, *told[:-1], *clients, *told[-1:]])


def _stem(setting: tuple[str, Any]) -> str:
    """Return a setting's part of a file name: a text or k as its value alone, other numbers with their name."""
    name, value = setting
    return str(value) if isinstance(value, str) or name == "k" else f"{name}_{value:g}"
