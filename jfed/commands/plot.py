"""`jfed plot`: curves, differences and selections of finished results as figures for a paper."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tyro
from rich.console import Console

from jfed.commands.reading import Results, require_results
from jfed.commands.showing import tell
from jfed.core.errors import require, unknown

USAGE = "jfed plot RESULTS --out FOLDER"
METRICS = ("num_succeeded", "test_accuracy")  # if none is named; the second only of results with training


@dataclass(frozen=True)
class Settings:
    """Draw finished results as PNG and PDF: curves over rounds, differences from the first scheme, and selections.

    Attributes:
        out: folder for the figures.
        metric: variables with a value for each round or test of the model; by default num_succeeded and test_accuracy.
        so_far: of a metric of each round, draw the sum or mean of the rounds so far.
        schemes: schemes in the order of legends, differences being from the first; by default all, uniform first.
        width: columns of a paper that a figure covers: one (3.3 in) or two (7 in); by default what suits it.
        title: whether figures have titles.
        results: the --out of an experiment.
    """

    out: Path
    metric: tuple[str, ...] = ()
    so_far: Literal["sum", "mean"] | None = None
    schemes: tuple[str, ...] = ()
    width: Literal["one", "two"] | None = None
    title: bool = True
    results: tyro.conf.Positional[Results] = None


def main(settings: Settings, console: Console) -> None:
    """Draw all figures for each combination of swept settings, and print their paths."""
    from jfed import analysis
    from jfed.report.formats import file_stem
    from jfed.results import load

    source = require_results(settings.results, USAGE)
    require(not settings.out.is_file(), f"{settings.out} is a file: --out names a folder for figures.")
    results = load.load(source)
    metrics, study = _metrics(results, settings.metric), load.schemes(results).tolist()
    levels = [(level, load.part(results, rows)) for level, rows in load.swept(results)]
    chosen = [_order(part, settings.schemes) for _, part in levels]  # bad names end the command before any figure
    for (level, part), order in zip(levels, chosen, strict=True):
        told, datasets = load.said_once(level), load.data_words(part)
        where = ", ".join([datasets, *(f"{name} = {value}" for name, value in told.items() if name != "dataset")])
        stem = "".join(f"_{name}_{value}" for name, value in told.items())
        with analysis.for_paper(settings.width, title=settings.title):
            for name, figure in _figures(part, order, metrics, settings.so_far, where, study):
                tell(analysis.save(figure, settings.out, file_stem(name + stem)), console)


def _metrics(results: Any, asked: Sequence[str]) -> list[str]:
    """Return the names of the metrics to draw."""
    every = {str(name): set(values.dims) for name, values in results.data_vars.items()}
    known = [name for name, dims in every.items() if dims in ({"run", "round"}, {"run", "eval_round"})]
    for name in asked:
        if name not in known:
            raise unknown("metric", name, known)
    return list(dict.fromkeys(asked)) or [name for name in METRICS if name in known]


def _order(results: Any, asked: Sequence[str]) -> list[str]:
    """Return the labels of the schemes to draw; a scheme may be named by its label or without what is in brackets."""
    from jfed.results.load import schemes

    labels, methods = schemes(results).tolist(), results["method"].values.astype(str).tolist()
    pairs = list(dict.fromkeys(zip(labels, methods, strict=True)))
    if not asked:
        return sorted(dict.fromkeys(labels), key=lambda label: label.split(" (")[0] != "uniform")
    for name in asked:
        if not any(name in pair for pair in pairs):
            raise unknown("scheme", name, [*dict.fromkeys(methods)])
    return list(dict.fromkeys(label for name in asked for label, method in pairs if name in (label, method)))


def _figures(
    results: Any, order: Sequence[str], metrics: Sequence[str], so_far: str | None, where: str, study: list[str]
) -> Iterator[tuple[str, Any]]:
    """Yield the figures of one combination of settings, each with its name."""
    from jfed import analysis
    from jfed.results import load

    rows, band = _rows(results, order), "range" if load.shares_seeds(results) else "ci"
    for metric in metrics:
        x, values, label = _values(results, metric, so_far)
        name = metric + (f"_{so_far}" if label.endswith("so far") else "")
        title, axis = f"{label[0].upper()}{label[1:]} ({where})", "communication round"
        curves = {scheme: values[list(own.values())] for scheme, own in rows.items()}
        yield name, analysis.lines(x, curves, xlabel=axis, ylabel=label, title=title, schemes=study, band=band)
        first, *others = order
        common = {scheme: [seed for seed in rows[scheme] if seed in rows[first]] for scheme in others}
        differences = {
            scheme: np.array([values[rows[scheme][seed]] - values[rows[first][seed]] for seed in seeds])
            for scheme, seeds in common.items()
            if seeds
        }
        if differences:
            drawn = analysis.lines(
                x, differences, xlabel=axis, ylabel=f"{label}, minus {first}", title=f"Differences, {title}",
                schemes=study, differences=False, band=band,
            )  # fmt: skip
            yield f"{name}_differences", drawn
    yield from _selections(results, rows, where, study)


def _rows(results: Any, order: Sequence[str]) -> dict[str, dict[int, int]]:
    """Return the run of each seed of each scheme, seeds in rising order."""
    from jfed.results.load import tidy

    frame = tidy(results, {})
    found: dict[str, dict[int, int]] = {scheme: {} for scheme in order}
    for row in np.argsort(frame["seed"].to_numpy(), kind="stable").tolist():
        if (scheme := frame["scheme"].iloc[row]) in found:
            found[scheme][int(frame["seed"].iloc[row])] = row
    return found


def _values(results: Any, metric: str, so_far: str | None) -> tuple[np.ndarray, np.ndarray, str]:
    """Return the rounds, the metric, (runs, rounds), and its name in words with its unit."""
    from jfed.results.meaning import axis

    values = results[metric].values.astype(float)
    x, label = results[results[metric].dims[1]].values, axis(metric)
    seen = np.isfinite(values).any(0)  # other combinations may have more rounds
    x, values = x[seen], values[:, seen]
    if so_far is not None and "round" in results[metric].dims:
        values = np.cumsum(values, 1) / (1 if so_far == "sum" else np.arange(1, values.shape[1] + 1))
        label = f"{label}, {so_far} so far"
    return x, values, label


def _selections(
    results: Any, rows: dict[str, dict[int, int]], where: str, study: list[str]
) -> Iterator[tuple[str, Any]]:
    """Yield how often clients were selected: a map, clients by class and number, and boxes if there are classes."""
    from jfed import analysis

    counts, classes = results["times_selected"].values, results["client_class"].values
    numbers = np.broadcast_to(np.arange(counts.shape[1]), counts.shape)
    shares = np.take_along_axis(counts / results.sizes["round"], np.lexsort((numbers, classes)), 1)
    runs = {scheme: list(own.values()) for scheme, own in rows.items()}
    known = np.unique(classes).tolist()
    name, order = ("number", numbers[0] + 1) if len(known) == 1 else ("class", np.sort(classes[0]))
    picture = {scheme: shares[own] for scheme, own in runs.items()}
    yield "selections", analysis.selection_heat(picture, order, xlabel=name, title=f"Selections ({where})")
    if len(known) > 1:
        boxes = {
            scheme: {f"{value:g}": counts[own][classes[own] == value] for value in known}
            for scheme, own in runs.items()
        }
        drawn = analysis.box_by_class(boxes, "times selected, rounds", f"Selections by class ({where})", schemes=study)
        yield "selections_by_class", drawn
