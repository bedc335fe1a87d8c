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
from jfed.commands.choices import Choices
from jfed.commands.drawing import accuracy, class_figures, names, participation
from jfed.commands.levels import MOST_SHOWN, Level
from jfed.commands.output import Output, show
from jfed.commands.showing import Layout
from jfed.commands.sweeping import show_ranking
from jfed.comparisons.tuning import choose
from jfed.report.targets import first_reached, targets_table
from jfed.results import sound
from jfed.results.load import company, part, said_once, schemes, swept
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
        tuned_by: metric by which each scheme's best point of a sweep is chosen.
    """

    name: str
    settings: tuple[str, ...]
    metrics: Mapping[str, str]
    columns: Callable[[xr.Dataset], dict[str, Any]]
    figures: Callable[[xr.Dataset, Sequence[str], str, Sequence[Point]], dict[str, Figure]]
    lower_is_better: tuple[str, ...] = ()
    tables: bool = True
    tuned_by: str = "final_accuracy"


@dataclass(frozen=True)
class Place:
    """Names for the tables and figures of one setting of the problem.

    Attributes:
        title: the setting in words.
        stem: the end of the names of files.
        further: swept settings that the study's own ones do not include.
        notes: notes below comparisons.
    """

    title: str
    stem: str
    further: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


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
    last = {
        "final_accuracy": values[:, -1],
        "last10_accuracy": values[:, evaluated > evaluated[-1] - 10].mean(1),
        "final_loss": results["test_loss"].values[:, -1],
    }
    failed = sound.failed(results)
    return {
        **{name: np.where(failed, np.nan, column) for name, column in last.items()},
        **{target_name(t): first_reached(evaluated, values, t) for t in targets},
    }


def usual_figures(results: xr.Dataset, order: Sequence[str], title: str, points: Sequence[Point]) -> dict[str, Figure]:
    """Draw how many models return and which clients are selected: Figs. 3 and 4 of E3CS."""
    words = f"Success ratio and participation ({title})"
    drawn = {"participation": participation(results, order, words, names(points))}
    return drawn | class_figures(results, order, points, f"Selections ({title})")


def reported(
    results: xr.Dataset, targets: Sequence[float], data: str, study: Study, every: Sequence[Point], output: Output,
    console: Console, own: Sequence[str] = (), tune_seeds: Sequence[int] = (),
) -> pd.DataFrame:  # fmt: skip
    """Write the table of runs, and tables and figures of each setting of the problem unless there are many.

    Where settings of the schemes themselves were swept, each scheme has its best point: the tune seeds choose it and
    the other seeds report it.

    Args:
        results: from `run`.
        targets: accuracies for the rounds until they are reached.
        data: name of the data set in titles.
        study: description of the report.
        every: the points of the results.
        output: where to write.
        console: where to print.
        own: coordinates of the schemes' own swept settings.
        tune_seeds: seeds that choose; none if all seeds do both.

    Returns:
        the rows of the table of runs that were reported; their attribute `notes` says which points were chosen.
    """
    known, metric, every_run, shown, chosen = names(every), study.tuned_by, [], [], []
    levels = swept(results.drop_vars(list(own)))
    several = (f"One of {len(levels)} settings, each corrected by itself.",) if len(levels) > 1 else ()
    for level, rows in levels:
        problem = part(results, rows)
        place = _placed(problem, level, data, study)
        label = {str(m): s for m, s in zip(problem["method"].values, schemes(problem), strict=True)}
        order = [label[name] for name in known if name in label]
        frame = per_run(problem, targets, order, study, [*place.further, *own])
        every_run.append(frame)
        if own:
            if study.tables:
                _ranking(frame, own, tune_seeds, place, study, output, console)
            choice = choose(frame, metric, own, tune_seeds or None, metric not in study.lower_is_better)
            frame = choice.of(frame)
            chosen += [choice.note, *(f"{one[:-1]} ({place.title})." for one in choice.settings())]
            problem = part(problem, frame.index.to_numpy())
            place = Place(
                f"{place.title}, each scheme's best of {', '.join(own)}", f"_best{place.stem}", place.further,
                (choice.note, *choice.settings()),
            )  # fmt: skip
        shown.append(frame)
        if len(levels) <= MOST_SHOWN:
            place = replace(place, notes=(*several, *place.notes))
            setting_report(problem, frame, place, order, targets, study, every, output, console)
    if len(levels) > MOST_SHOWN:
        words = f"Figures are drawn where there are at most {MOST_SHOWN} settings, and here are {len(levels)}."
        console.print(f"\n{words}", highlight=False)
    varied = sorted({name for level, _ in levels for name in level} | set(own) | set(study.settings))
    output.runs(_distinct(every_run, varied))
    runs = _distinct(shown, varied)
    runs.attrs["notes"] = tuple(dict.fromkeys(chosen))
    return runs


def _ranking(
    frame: pd.DataFrame, own: Sequence[str], tune_seeds: Sequence[int], place: Place, study: Study, output: Output,
    console: Console,
) -> None:  # fmt: skip
    """Print and write the ranking of all points of the schemes' settings by the metric that chooses among them."""
    metric = study.tuned_by
    level = Level(frame, None, f"{study.metrics.get(metric, metric)} ({place.title})", f"{metric}{place.stem}")
    choices = Choices(metric=(metric,), better="lower" if metric in study.lower_is_better else "higher")
    layout = Layout(folder=output.out / "tables")
    output.files.extend(show_ranking(level, own, metric, choices, layout, console, tune_seeds))


def _distinct(frames: Sequence[pd.DataFrame], settings: Sequence[str]) -> pd.DataFrame:
    """Return all rows once: a scheme that lacks a swept setting is in each of its levels."""
    runs = pd.concat(frames)
    return runs.drop_duplicates([name for name in ("scheme", *settings, "seed") if name in runs])


def _placed(results: xr.Dataset, level: Mapping[str, Any], data: str, study: Study) -> Place:
    """Return what the tables and figures of a setting are called."""
    fixed = {name: results[name].values[0] for name in study.settings}
    further = {name: value for name, value in said_once(level).items() if name not in study.settings}
    words = [*map(_stem, fixed.items()), *(f"{name}_{value}" for name, value in further.items())]
    title = setting_title(str(further.get("dataset", data)), fixed, results.sizes["client"])
    title = ", ".join([title, *(f"{name} = {value}" for name, value in further.items() if name != "dataset")])
    return Place(title, "".join(f"_{word}" for word in words), tuple(further))


def setting_report(
    results: xr.Dataset, frame: pd.DataFrame, place: Place, order: Sequence[str], targets: Sequence[float],
    study: Study, every: Sequence[Point], output: Output, console: Console,
) -> None:  # fmt: skip
    """Write tables and figures of the runs of one setting, which are the rows of `frame`; schemes come in `order`."""
    known, horizon, title, stem = names(every), results.sizes["round"], place.title, place.stem
    if targets:
        columns = [target_name(t) for t in targets]
        table = targets_table(frame, columns, horizon, f"Rounds to accuracy ({title})")
        output.table(table, f"rounds_to_accuracy{stem}")
        show(table, console)
        _times(frame, targets, horizon, output, title, stem, next(iter(study.metrics), ""), known)
    _comparisons(frame, study, order, place, output, console)
    if "test_accuracy" in results:
        for name, figure in accuracy(results, order, f"Test accuracy ({title})", known).items():
            output.figure(figure, f"{name}{stem}")
    for name, figure in study.figures(results, order, title, every).items():
        output.figure(figure, f"{name}{stem}")


def _comparisons(
    frame: pd.DataFrame, study: Study, order: Sequence[str], place: Place, output: Output, console: Console
) -> None:  # fmt: skip
    """Compare the schemes by each metric of the study; draw the comparisons, print them and write them."""
    for metric, words in study.metrics.items():
        if metric not in frame:
            continue
        titled, stem = f"{words} ({place.title}, T = {frame.num_rounds.iloc[0]})", place.stem
        drawn = metric != "last10_accuracy"
        if len(order) == 1:
            if study.tables and drawn:
                table = summary_table(summarise(frame, metric), titled)
                output.table(table := replace(table, notes=(*table.notes, *place.notes)), f"{metric}{stem}")
                show(table, console)
            continue
        found = compare(frame, metric, baseline=order[0], higher_is_better=metric not in study.lower_is_better)
        if study.tables:
            table = output.comparisons(found, titled, f"{metric}{stem}", next(iter(study.metrics)), place.notes)
            if drawn:
                show(table, console)
        if drawn:
            named, about = f"{words} ({place.title})", words[0].lower() + words[1:]
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
        if len(times) > 1 and primary:  # nothing is compared on seeds that a rule of stopping has chosen
            compared = compare_times(frame, column, horizon, baseline=str(frame.scheme.iloc[0]))
            words = f"Rounds to {percent} %, never counting as T = {horizon} ({title})"
            alone = [f"One of {len(targets)} targets, each corrected by itself."] if len(targets) > 1 else []
            output.comparisons(compared, words, f"rounds_to_{percent}{stem}", primary, alone)


def in_words(name: str, value: Any) -> str:
    """Return a setting in words."""
    return str(value) if isinstance(value, str) else f"{name} = {value:g}"


def setting_title(data: str, fixed: Mapping[str, Any], num_clients: int | None = None) -> str:
    """Return the words for a setting in the titles of its tables and figures."""
    clients = [] if num_clients is None else [f"K = {num_clients}"]
    told = [in_words(name, value) for name, value in fixed.items()]
    return ", ".join([data, *told[:-1], *clients, *told[-1:]])


def _stem(setting: tuple[str, Any]) -> str:
    """Return a setting's part of a file name: a text or k as its value alone, other numbers with their name."""
    name, value = setting
    return str(value) if isinstance(value, str) or name == "k" else f"{name}_{value:g}"
