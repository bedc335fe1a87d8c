"""E3CS and its rivals while a model learns: what the experiments on EMNIST letters and CIFAR-10 share.

Each combination of partition, algorithm and cohort size is a setting with tables and figures of its own; in it, the
schemes meet the same data, initial models, minibatches and failures on each seed.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pandas as pd
from rich.console import Console

import jfed
from experiments.common import Output
from experiments.e3cs_report import setting_report, tuned_report
from jfed.algorithms import ALGORITHMS
from jfed.algorithms.deadline import Reading
from jfed.analysis.load import swept
from jfed.commands.settings import parse_axes, parse_settings, require_tune_seeds
from jfed.config import Config, Training
from jfed.data.load import load
from jfed.errors import require, unknown
from jfed.models import MODELS
from jfed.schemes import Mode
from jfed.sweep import Point, changed, coordinate, methods, product

SCHEMES = ("uniform", "fedcs", "pow-d", "e3cs-0", "e3cs-0.5", "e3cs-0.8", "e3cs-inc")


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
    sweep: tuple[str, ...] = ()
    """Settings with several values, such as training.algorithm.learning_rate=0.01,0.1; all combinations are run."""
    tune_seeds: tuple[int, ...] = ()
    """Of a sweep: seeds on which each scheme's best point is chosen; the other seeds report it."""


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
    named = changed(methods(base, settings.schemes, settings.mode), parse_settings(settings.set))
    where = {"partition": partition, "algorithm": algorithm, "k": cohort_size}
    return product([Point(p.config, p.coords | where) for p in named], parse_axes(settings.sweep))


def main(settings: Settings) -> None:
    """Run what is missing, then write tables and figures."""
    console = Console()
    require(settings.seeds >= 1, f"At least one seed is needed, found {settings.seeds}.")
    require(all(0 < t <= 1 for t in settings.targets), f"Targets are accuracies in (0, 1], found {settings.targets}.")
    axes = parse_axes(settings.sweep)
    for path in ("cohort_size", "training.partition", "training.algorithm"):
        require(path not in axes | parse_settings(settings.set), f"{path} has a flag of its own here: see --help.")
    require_tune_seeds(settings.tune_seeds, settings.seeds, list(axes))
    swept_names = [coordinate(path) for path in axes]
    every = points(settings)
    seconds = None if settings.minutes is None else 60 * settings.minutes
    layout = jfed.Layout(block_size=settings.block_size, max_seconds=seconds)
    results = jfed.run(every, range(settings.seeds), out=settings.out, data_dir=settings.data_dir, layout=layout)
    output = Output(settings.out)
    data = load(settings.dataset, settings.data_dir).title
    frames = [setting_report(results.isel(run=rows), level, settings.targets, data, every, output, console)
              for level, rows in swept(results)]  # fmt: skip
    runs = pd.concat(frames).drop_duplicates(["scheme", "partition", "algorithm", "k", *swept_names, "seed"])
    (settings.out / "tables").mkdir(parents=True, exist_ok=True)
    runs.to_csv(settings.out / "tables" / "per_run.csv", index=False, float_format="%.6g")
    if axes:
        tuned_report(runs, swept_names, settings.tune_seeds, data, output, console)
    output.tell(console)
