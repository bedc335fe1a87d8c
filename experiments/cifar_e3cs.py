"""E3CS against its rivals while a model learns: Table III's experiment.

The preset `quick` runs it on the images that ship with jfed (digits, K = 40 clients, k = 8 selected, 150 rounds) in
a few minutes on two cores. Seven schemes meet the same data, initial models, minibatches and failures on each
seed. The networks and sizes of the paper are not here yet.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import xarray as xr
from rich.console import Console

import jfed
from experiments.common import Output, command, show, with_settings
from experiments.e3cs_figures import by_scheme, participation, selections, success_rates
from jfed.algorithms import ALGORITHMS
from jfed.algorithms.deadline import Reading
from jfed.analysis import compare, comparisons_table, forest, lines
from jfed.analysis.load import tidy
from jfed.config import Config, Mode, Training
from jfed.data.load import load
from jfed.errors import require, unknown
from jfed.models import MODELS
from jfed.sweep import Point, methods

SCHEMES = ("uniform", "fedcs", "pow-d", "e3cs-0", "e3cs-0.5", "e3cs-0.8", "e3cs-inc")
TITLES = {
    "cep": "Cumulative effective participation",
    "final_accuracy": "Test accuracy after the last round",
}


@dataclass(frozen=True)
class Settings:
    """Command line."""

    preset: Literal["quick"] = "quick"
    """quick: digits, softmax regression, minutes on two cores."""
    seeds: int = 10
    """Seeds 0, 1, ..."""
    out: Path = Path("out/e3cs_quick")
    """Where results, tables and figures go; what is done there is not done again."""
    dataset: str = "digits"
    """digits ships with jfed; mnist, fashion_mnist, emnist_letters and cifar10 are read from --data-dir."""
    data_dir: str | None = None
    """Folder of the official files; $JFED_DATA_DIR by default."""
    schemes: tuple[str, ...] = SCHEMES
    mode: Mode = "faithful"
    """E3CS as published, or corrected (exact sampling, clipped exponent)."""
    num_clients: int = 40
    cohort_size: int = 8
    num_rounds: int = 150
    eval_every: int = 5
    samples_per_client: int = 35
    partition: str = "primary"
    """iid, primary (80 % of a client's images have one label) or dirichlet (--set training.partition_options)."""
    model: str = "linear"
    """linear (softmax regression) or mlp."""
    algorithm: str = "fedavg"
    """fedavg or fedprox."""
    learning_rate: float = 0.1
    momentum: float = 0.9
    batch_size: int = 10
    missing: Reading = "all"
    """Who counts in the average: all (the global model stands in for the missing), selected or returned."""
    set: tuple[str, ...] = ()
    """Further settings by path, such as selector.eta=0.1 or environment.success_rates=(0.2,0.8)."""


def points(settings: Settings) -> list[Point]:
    """One point per scheme."""
    for kind, name, table in (("algorithm", settings.algorithm, ALGORITHMS), ("model", settings.model, MODELS)):
        if name not in table:
            raise unknown(kind, name, table)
    training = Training(
        dataset=settings.dataset,
        partition=settings.partition,
        samples_per_client=settings.samples_per_client,
        test_fraction=0.0,
        test_set="official",
        model=MODELS[settings.model],
        algorithm=jfed.replace(
            ALGORITHMS[settings.algorithm],
            {"learning_rate": settings.learning_rate, "momentum": settings.momentum},
        ),
        batch_size=settings.batch_size,
        missing=settings.missing,
    )
    base = Config(
        num_clients=settings.num_clients,
        cohort_size=settings.cohort_size,
        num_rounds=settings.num_rounds,
        eval_every=settings.eval_every,
        training=training,
    )
    return with_settings(methods(base, settings.schemes, settings.mode), settings.set)


def per_run(results: xr.Dataset) -> pd.DataFrame:
    """One row per run: scheme, seed, and the metrics of the tables."""
    metrics = {
        "cep": results["num_succeeded"].sum("round"),
        "final_accuracy": results["test_accuracy"].isel(eval_round=-1),
        "final_loss": results["test_loss"].isel(eval_round=-1),
    }
    return tidy(results, metrics)


def main(settings: Settings) -> None:
    """Run what is missing, then write tables and figures."""
    console = Console()
    require(settings.seeds >= 1, f"At least one seed is needed, found {settings.seeds}.")
    every = points(settings)
    results = jfed.run(every, range(settings.seeds), out=settings.out, data_dir=settings.data_dir)
    name = load(settings.dataset, settings.data_dir).title
    setting = f"{name}, {settings.partition}, K = {settings.num_clients}, k = {settings.cohort_size}"

    names = list(dict.fromkeys(p.coords["method"] for p in every))
    rank = [names.index(m) for m in results["method"].values.astype(str)]
    frame = per_run(results).iloc[np.argsort(rank, kind="stable")]
    order = list(dict.fromkeys(frame.scheme))
    output = Output(settings.out)
    (settings.out / "tables").mkdir(parents=True, exist_ok=True)
    frame.to_csv(settings.out / "tables" / "per_run.csv", index=False, float_format="%.6g")
    baseline = order[0]
    for metric, title in TITLES.items() if len(order) > 1 else ():
        comparisons = compare(frame, metric, baseline=baseline)
        table = comparisons_table(comparisons, f"{title} ({setting}, T = {settings.num_rounds})")
        output.table(table, metric)
        show(table, console)
        output.figure(forest(comparisons, f"{title} ({setting})"), f"differences_{metric}")
    accuracy = by_scheme(results, results["test_accuracy"].values, order)
    title = f"Test accuracy ({setting})"
    x, y = "communication round", "test accuracy"
    output.figure(lines(results["eval_round"].values, accuracy, xlabel=x, ylabel=y, title=title), "accuracy")
    output.figure(participation(results, order, f"Success ratio and participation ({setting})"), "participation")
    boxes = selections(results, order, success_rates(every), f"Selections ({setting})")
    output.figure(boxes, "selections")
    output.tell(console)


if __name__ == "__main__":
    command(main, Settings)
