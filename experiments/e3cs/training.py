"""E3CS and its rivals while a model learns: the code that the experiments on EMNIST letters and CIFAR-10 share.

Each combination of partition, algorithm and cohort size is a setting with tables and figures of its own. Within a
setting, all schemes get the same data, initial models, minibatches and failures on each seed.
"""

from dataclasses import dataclass, replace
from typing import Any

import xarray as xr

from experiments.shared.training import Settings as Shared
from experiments.shared.training import further, run
from jfed import catalog
from jfed.commands.study import ACCURACIES, Study, usual_figures
from jfed.config import Config
from jfed.core.errors import require
from jfed.core.members import Mode
from jfed.runner.feed import dataset
from jfed.sweep import Point, methods

SCHEMES = ("uniform", "fedcs", "pow-d", "e3cs-0", "e3cs-0.5", "e3cs-0.8", "e3cs-inc")


@dataclass(frozen=True)
class Settings(Shared):
    """Flags of the E3CS commands; the preset gives their defaults.

    Attributes:
        mode: E3CS as published (faithful), or corrected (exact sampling, clipped exponent).
        partitions: iid, primary (80 % of a client's images have one label), dirichlet (set by
            training.partition_options) or natural.
        algorithms: fedavg, fedprox.
        cohort_sizes: values of k; those after the first run with the first algorithm only, as in Fig. 7.
        prox: FedProx's coefficient (gamma in the paper).
    """

    schemes: tuple[str, ...] = SCHEMES
    mode: Mode = "faithful"
    partitions: tuple[str, ...] = ("primary",)
    algorithms: tuple[str, ...] = ("fedavg",)
    cohort_sizes: tuple[int, ...] = (20,)
    num_clients: int = 100
    samples_per_client: int = 500
    prox: float = 0.5


def points(settings: Settings) -> list[Point]:
    """Return one point per setting and scheme."""
    for name in ("partitions", "algorithms", "cohort_sizes", "schemes"):
        require(len(getattr(settings, name)) > 0, f"Give at least one of --{name.replace('_', '-')}.")
    require(settings.prox >= 0, f"FedProx's coefficient must not be negative, found --prox {settings.prox:g}.")
    found = [
        point
        for partition in settings.partitions
        for i, size in enumerate(settings.cohort_sizes)
        for algorithm in (settings.algorithms if i == 0 else settings.algorithms[:1])
        for point in _points(settings, partition, algorithm, size)
    ]
    return further(found, settings)


def _points(settings: Settings, partition: str, algorithm: str, cohort_size: int) -> list[Point]:
    options = catalog.find("algorithm", algorithm)
    if getattr(options, "prox", 0.0) > 0:
        options = replace(options, prox=settings.prox)
    base = Config(
        num_clients=settings.num_clients,
        cohort_size=cohort_size,
        num_rounds=settings.num_rounds,
        eval_every=settings.eval_every,
        training=settings.training(partition, options, samples_per_client=settings.samples_per_client),
    )
    named = methods(base, settings.schemes, settings.mode)
    where = {"partition": partition, "algorithm": algorithm, "k": cohort_size}
    return [Point(p.config, p.coords | where) for p in named]


def columns(results: xr.Dataset) -> dict[str, Any]:
    """Return the columns that claims need beside accuracy."""
    return {"mode": results["mode"].values, "cep": results["num_succeeded"].values.sum(1)}


def study(name: str) -> Study:
    """Return the description of the report on a data set."""
    names = {"emnist_letters": "emnist_e3cs", "cifar10": "cifar_e3cs", "cifar10_16x16": "cifar_e3cs"}
    return Study(
        name=names.get(name, f"{name}_e3cs"),
        settings=("partition", "algorithm", "k"),
        metrics={"cep": "Cumulative effective participation"} | ACCURACIES,
        columns=columns,
        figures=usual_figures,
    )


def main(settings: Settings) -> None:
    """Compute the missing runs, then write tables and figures."""
    flags = ("num_clients", "cohort_size", "training.partition", "training.algorithm")
    run(settings, points(settings), study(dataset(settings.dataset, settings.data_dir).name), flags)
