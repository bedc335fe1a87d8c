"""RBCS-F while a model learns: Figs. 5 (fairness), 6 (rounds) and 7 (time), on Fashion-MNIST or CIFAR-10.

40 clients have 500 images each, with a mix of classes drawn from Dir(gamma_1 1). 8 are selected per round; each is
available in 80 % of the rounds, in the world of linear exchange times. The schemes are random selection, RBCS-F at
V = 5, 20, 50, and FedCS(3); Fig. 5 has random selection of controlled unfairness, with probabilities from
Dir(gamma_2 1).

The paper gives neither learning rate nor epochs: 0.01 with momentum 0.9, batches of 40 and 5 epochs, as in the same
authors' E3CS; the average is over the selected clients. `--preset paper` is the published size, work for an accelerator
(and `--dataset cifar10 --model rbcs-f-cifar` its other half); `small` is its gamma_1 = 1 on Fashion-MNIST, 100 rounds
of one epoch and 3 seeds, some two hours on two cores; `reduced` is the published study on CIFAR-10 of 16 x 16 pixels,
with a small network and 3 seeds; `quick` is a small network on the digits that ship with jfed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from experiments.shared.common import command
from experiments.shared.training import Settings as Shared
from experiments.shared.training import further, run
from jfed.algorithms.deadline import Reading
from jfed.analysis import jain
from jfed.commands.drawing import selection_map
from jfed.commands.study import ACCURACIES, Study
from jfed.config import Config
from jfed.controllers import epochs
from jfed.core.errors import require
from jfed.envs import exchange
from jfed.measures.costs import mean_until
from jfed.report.targets import first_reached
from jfed.runner.feed import dataset
from jfed.sweep import Point, methods

SCHEMES = ("uniform", "rbcs-f-5", "rbcs-f-20", "rbcs-f-50", "fedcs-3")
GAMMA2 = ("dirichlet-10", "dirichlet-1", "dirichlet-0.5", "dirichlet-0.1")
NAMES = {"schemes": "training", "fairness": "fairness"}  # study -> the name that claims give its runs
EARLY = 0.5  # as a share of the time that the seed's fastest run takes


@dataclass(frozen=True)
class Settings(Shared):
    """Flags of this command; the preset gives their defaults.

    Attributes:
        preset: quick: shipped digits, a minute or two on two cores; small: 100 rounds on Fashion-MNIST, hours; reduced:
            all rounds, with CIFAR-10 at half size and a small network, hours; paper: the whole study.
        gamma1: concentrations of the clients' classes; inf: the same mix of classes for all clients.
        epochs: local epochs of every client in every round.
    """

    preset: Literal["quick", "small", "reduced", "paper"]  # type: ignore[override]
    schemes: tuple[str, ...] = (*SCHEMES, *GAMMA2)
    gamma1: tuple[float, ...] = (1.0, 10.0, math.inf)
    num_clients: int = 40
    cohort_size: int = 8
    num_rounds: int = 500
    samples_per_client: int = 500
    epochs: int = 5
    test_fraction: float = 0.0
    test_set: Literal["reserved", "official"] = "official"
    average_over: Reading = "selected"
    targets: tuple[float, ...] = (0.7, 0.75, 0.8)


def points(settings: Settings) -> list[Point]:
    """Return one point per gamma_1 and scheme."""
    for name in ("schemes", "gamma1"):
        require(len(getattr(settings, name)) > 0, f"Give at least one of --{name}.")
    require(min(settings.gamma1) > 0, f"gamma1 must be positive, found {min(settings.gamma1):g}.")
    num_classes = dataset(settings.dataset, settings.data_dir).num_classes
    found = []
    for gamma in settings.gamma1:
        options = (("alpha", gamma * num_classes), ("rounded", 1.0))
        base = Config(
            num_clients=settings.num_clients,
            cohort_size=settings.cohort_size,
            num_rounds=settings.num_rounds,
            eval_every=settings.eval_every,
            environment=exchange.Options(),
            controller=epochs.Options((settings.epochs,)),
            training=settings.training(
                "dirichlet", partition_options=options, samples_per_client=settings.samples_per_client
            ),
        )
        found += [_placed(p, gamma) for p in methods(base, settings.schemes)]
    return further(found, settings)


def _placed(point: Point, gamma: float) -> Point:
    """Return the point with its study and gamma_1 as coordinates; Fig. 5 is a study of its own."""
    study = "fairness" if point.coords["method"].startswith("dirichlet-") else "schemes"
    return Point(point.config, point.coords | {"study": study, "gamma_1": gamma})


def columns(target: float, results: xr.Dataset) -> dict[str, Any]:
    """Return the columns that claims need beside accuracy; `rounds to target` counts rounds to the highest target.

    `area_early` is the mean accuracy over the first half of the time that the seed's fastest run takes, counted as 0
    before the first evaluation; `jitter` is the standard deviation of the changes between the evaluations of the last
    100 rounds.
    """
    accuracy, evaluated = results["test_accuracy"].values, results["eval_round"].values
    time = np.cumsum(results["round_time_s"].values.astype(float), 1)
    seeds = results["seed"].values
    fastest = {seed: time[seeds == seed, -1].min() for seed in set(seeds)}
    until = EARLY * np.array([fastest[seed] for seed in seeds])
    steps = np.diff(accuracy[:, evaluated > evaluated[-1] - 100], axis=1)
    return {
        "experiment": [f"rbcs_f_{NAMES[study]}" for study in results["study"].values.astype(str)],
        "time": time[:, -1],
        "rounds to target": first_reached(evaluated, accuracy, target),
        "jain": jain(results["times_selected"].values),
        "area_early": mean_until(time[:, evaluated - 1], accuracy, until),
        "jitter": steps.std(1) if steps.size else np.full(len(steps), np.nan),
    }


def figures(results: xr.Dataset, order: Sequence[str], title: str, points: Sequence[Point]) -> dict[str, Figure]:
    """Draw how often each client was selected."""
    return {"selections": selection_map(results, order, points, f"Selections ({title})")}


def main(settings: Settings) -> None:
    """Compute the missing runs, then write tables and figures."""
    require(len(settings.targets) > 0, "Give at least one of --targets.")
    study = Study(
        name="rbcs_f_training",
        settings=("study", "gamma_1"),
        metrics=ACCURACIES | {"time": "Cumulative exchange time, seconds"},
        columns=partial(columns, max(settings.targets)),
        figures=figures,
        lower_is_better=("time",),
    )
    run(settings, points(settings), study, ("num_clients", "cohort_size", "controller.choices"))


PRESETS = {
    "quick": Settings(
        preset="quick", out=Path("out/rbcs_f_quick"), dataset="digits", model="cnn", seeds=5, gamma1=(1.0,),
        num_rounds=100, samples_per_client=35, eval_every=1, learning_rate=0.1, batch_size=10, epochs=1,
        targets=(0.5, 0.7, 0.8),
    ),
    "small": Settings(
        preset="small", out=Path("out/rbcs_f_small"), dataset="fashion_mnist", model="rbcs-f-fashion", seeds=3,
        gamma1=(1.0,), num_rounds=100, epochs=1,
    ),
    "reduced": Settings(
        preset="reduced", out=Path("out/rbcs_f_reduced"), dataset="cifar10-16x16", model="cnn", seeds=3, eval_every=1,
        targets=(0.35, 0.45, 0.5),
    ),
    "paper": Settings(
        preset="paper", out=Path("out/rbcs_f_paper"), dataset="fashion_mnist", model="rbcs-f-fashion", eval_every=1,
    ),
}  # fmt: skip

if __name__ == "__main__":
    command(main, PRESETS)
