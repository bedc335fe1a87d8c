"""E3CS and its rivals while a model learns: what the experiments on EMNIST letters and CIFAR-10 share.

Each combination of partition, algorithm and cohort size is a setting with tables and figures of its own; in it, the
schemes meet the same data, initial models, minibatches and failures on each seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from rich.console import Console

import jfed
from experiments.common import Output, show, with_settings
from experiments.e3cs_figures import by_scheme, participation, selection_map, selections, success_rates
from jfed.algorithms import ALGORITHMS
from jfed.algorithms.deadline import Reading
from jfed.analysis import arrivals, compare, compare_times, comparisons_table, forest, lines, rank_diagram
from jfed.analysis.load import schemes, swept
from jfed.analysis.targets import first_reached, targets_table
from jfed.config import Config, Mode, Training
from jfed.data.load import load
from jfed.errors import require, unknown
from jfed.models import MODELS
from jfed.sweep import Point, methods

SCHEMES = ("uniform", "fedcs", "pow-d", "e3cs-0", "e3cs-0.5", "e3cs-0.8", "e3cs-inc")
TITLES = {
    "cep": "Cumulative effective participation",
    "final_accuracy": "Test accuracy after the last round",
    "last10_accuracy": "Test accuracy, mean of the last ten rounds",
}


@dataclass(frozen=True)
class Settings:
    """Command line; the defaults are those of the preset."""

    preset: Literal["quick", "small", "paper"]
    """quick: shipped digits, a minute or two on two cores; small: the real data, hours; paper: the whole table."""
    out: Path
    """Where results, tables and figures go; what is done there is not done again."""
    dataset: str
    """digits ships with jfed; for mnist, fashion_mnist, emnist_letters and cifar10 see `jfed data get`."""
    model: str
    """A name that `jfed list` prints."""
    data_dir: str | None = None
    """Folder of the official files; $JFED_DATA_DIR by default."""
    seeds: int = 10
    """Seeds 0, 1, ..."""
    minutes: float | None = None
    """Leave in good order after this time; the same command goes on from there."""
    schemes: tuple[str, ...] = SCHEMES
    mode: Mode = "faithful"
    """E3CS as published, or corrected (exact sampling, clipped exponent)."""
    partitions: tuple[str, ...] = ("primary",)
    """iid, primary (80 % of a client's images have one label) or dirichlet (--set training.partition_options)."""
    algorithms: tuple[str, ...] = ("fedavg",)
    """fedavg, fedprox."""
    cohort_sizes: tuple[int, ...] = (20,)
    """k; sizes after the first run with the first algorithm only, as in Fig. 7."""
    num_clients: int = 100
    num_rounds: int = 400
    eval_every: int = 2
    samples_per_client: int = 500
    test_fraction: float = 0.1
    """Share of its images that a client keeps for testing."""
    test_set: Literal["reserved", "official"] = "reserved"
    """Accuracy is measured on what the clients keep, or on the data set's own test images."""
    learning_rate: float = 0.01
    momentum: float = 0.9
    prox: float = 0.5
    """FedProx's coefficient (gamma in the paper)."""
    batch_size: int = 40
    missing: Reading = "all"
    """Who counts in the average: all (the global model stands in for the missing), selected or returned."""
    targets: tuple[float, ...] = (0.65, 0.75, 0.85)
    """Accuracies for rounds-to-accuracy."""
    block_size: int | None = None
    """Runs that share a block; chosen by jfed by default."""
    set: tuple[str, ...] = ()
    """Further settings by path, such as selector.eta=0.1 or environment.success_rates=(0.2,0.8)."""


def points(settings: Settings) -> list[Point]:
    """One point per setting and scheme."""
    for kind, names, table in (("algorithm", settings.algorithms, ALGORITHMS), ("model", [settings.model], MODELS)):
        for name in names:
            if name not in table:
                raise unknown(kind, name, table)
    for name in ("partitions", "algorithms", "cohort_sizes", "schemes"):
        require(len(getattr(settings, name)) > 0, f"Give at least one of --{name.replace('_', '-')}.")
    return [
        point
        for partition in settings.partitions
        for i, size in enumerate(settings.cohort_sizes)
        for algorithm in (settings.algorithms if i == 0 else settings.algorithms[:1])
        for point in _points(settings, partition, algorithm, size)
    ]


def _points(settings: Settings, partition: str, algorithm: str, cohort_size: int) -> list[Point]:
    rates = {"learning_rate": settings.learning_rate, "momentum": settings.momentum}
    if ALGORITHMS[algorithm].prox > 0:
        rates["prox"] = settings.prox
    training = Training(
        dataset=settings.dataset,
        partition=partition,
        samples_per_client=settings.samples_per_client,
        test_fraction=settings.test_fraction,
        test_set=settings.test_set,
        model=MODELS[settings.model],
        algorithm=jfed.replace(ALGORITHMS[algorithm], rates),
        batch_size=settings.batch_size,
        missing=settings.missing,
    )
    base = Config(
        num_clients=settings.num_clients,
        cohort_size=cohort_size,
        num_rounds=settings.num_rounds,
        eval_every=settings.eval_every,
        training=training,
    )
    changed = with_settings(methods(base, settings.schemes, settings.mode), settings.set)
    where = {"partition": partition, "algorithm": algorithm, "k": cohort_size}
    return [Point(p.config, p.coords | where) for p in changed]


def target_name(target: float) -> str:
    """The column of rounds to an accuracy."""
    return f"rounds to {100 * target:g} %"


def per_run(results: xr.Dataset, targets: Sequence[float], order: Sequence[str]) -> pd.DataFrame:
    """One row per run, schemes in the given order; rounds to a target are inf where it was never reached."""
    accuracy, evaluated = results["test_accuracy"].values, results["eval_round"].values
    last10 = accuracy[:, evaluated > evaluated[-1] - 10].mean(1)  # NaN if the model broke
    dataset = str(results["dataset"].values[0])
    columns: dict[str, Any] = {
        "experiment": {"emnist_letters": "emnist_e3cs", "cifar10": "cifar_e3cs"}.get(dataset, f"{dataset}_e3cs"),
        "scheme": schemes(results),
        **{name: results[name].values for name in ("partition", "algorithm", "k", "mode", "seed")},
        "num_rounds": results.sizes["round"],
        "cep": results["num_succeeded"].values.sum(1),
        "final_accuracy": accuracy[:, -1],
        "last10_accuracy": last10,
        "final_loss": results["test_loss"].values[:, -1],
        **{target_name(t): first_reached(evaluated, accuracy, t) for t in targets},
    }
    frame = pd.DataFrame(columns)
    rank = frame.scheme.map({s: i for i, s in enumerate(order)})
    return frame.iloc[np.argsort(rank, kind="stable")]


def _setting_report(
    results: xr.Dataset, settings: Settings, every: Sequence[Point], output: Output, console: Console
) -> pd.DataFrame:
    """Tables and figures of one setting."""
    first = {name: results[name].values[0] for name in ("partition", "algorithm", "k")}
    stem = "_".join(str(value) for value in first.values())
    data = load(settings.dataset, settings.data_dir).title
    title = f"{data}, {first['partition']}, {first['algorithm']}, K = {settings.num_clients}, k = {first['k']}"

    names = list(dict.fromkeys(p.coords["method"] for p in every))
    label = {str(m): s for m, s in zip(results["method"].values, schemes(results), strict=True)}
    order = [label[name] for name in names if name in label]
    frame = per_run(results, settings.targets, order)
    horizon = results.sizes["round"]
    if settings.targets:
        columns = [target_name(t) for t in settings.targets]
        table = targets_table(frame, columns, horizon, f"Rounds to accuracy ({title})")
        output.table(table, f"rounds_to_accuracy_{stem}")
        show(table, console)
        _times(frame, settings.targets, horizon, output, title, stem)
    for metric, words in TITLES.items() if len(order) > 1 else ():
        comparisons = compare(frame, metric, baseline=order[0])
        table = comparisons_table(comparisons, f"{words} ({title}, T = {horizon})")
        output.table(table, f"{metric}_{stem}")
        if metric != "last10_accuracy":
            show(table, console)
            output.figure(forest(comparisons, f"{words} ({title})"), f"differences_{metric}_{stem}")
            if comparisons.omnibus is not None:
                output.figure(rank_diagram(comparisons, f"{words} ({title})"), f"ranks_{metric}_{stem}")
    accuracy = by_scheme(results, results["test_accuracy"].values, order)
    x, y = "communication round", "test accuracy"
    curves = lines(results["eval_round"].values, accuracy, xlabel=x, ylabel=y, title=f"Test accuracy ({title})")
    output.figure(curves, f"accuracy_{stem}")
    output.figure(participation(results, order, f"Success ratio and participation ({title})"), f"participation_{stem}")
    output.figure(selections(results, order, success_rates(every), f"Selections ({title})"), f"selections_{stem}")
    output.figure(selection_map(results, order, success_rates(every), f"Selections ({title})"), f"selection_map_{stem}")
    return frame


def _times(frame: pd.DataFrame, targets: Sequence[float], horizon: int, output: Output, title: str, stem: str) -> None:
    """For each accuracy that some run reached: who arrived when, and restricted times compared."""
    for target in targets:
        column, percent = target_name(target), f"{100 * target:g}"
        if not np.isfinite(frame[column]).any():
            continue
        times = {str(scheme): group[column].to_numpy(float) for scheme, group in frame.groupby("scheme", sort=False)}
        picture = arrivals(
            times, horizon, xlabel="communication round", target=f"{percent} %", title=f"Arrivals ({title})"
        )
        output.figure(picture, f"arrivals_{percent}_{stem}")
        if len(times) > 1:
            compared = compare_times(frame, column, horizon, baseline=str(frame.scheme.iloc[0]))
            words = f"Rounds to {percent} %, never counting as T = {horizon} ({title})"
            output.table(comparisons_table(compared, words), f"rounds_to_{percent}_{stem}")


def main(settings: Settings) -> None:
    """Run what is missing, then write tables and figures."""
    console = Console()
    require(settings.seeds >= 1, f"At least one seed is needed, found {settings.seeds}.")
    require(all(0 < t <= 1 for t in settings.targets), f"Targets are accuracies in (0, 1], found {settings.targets}.")
    every = points(settings)
    seconds = None if settings.minutes is None else 60 * settings.minutes
    layout = jfed.Layout(block_size=settings.block_size, max_seconds=seconds)
    results = jfed.run(every, range(settings.seeds), out=settings.out, data_dir=settings.data_dir, layout=layout)
    output = Output(settings.out)
    levels = [results.isel(run=rows) for _, rows in swept(results)]
    frames = [_setting_report(level, settings, every, output, console) for level in levels]
    (settings.out / "tables").mkdir(parents=True, exist_ok=True)
    pd.concat(frames).to_csv(settings.out / "tables" / "per_run.csv", index=False, float_format="%.6g")
    output.tell(console)
