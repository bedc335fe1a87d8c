"""CS-UCB and CS-UCB-Q while a model learns: Figs. 2 and 6, multinomial logistic regression on MNIST.

Each selected client makes one SGD step on two images (rate 0.001), and the server averages the returned models,
weighted by the clients' numbers of images. In the ideal scenario, 20 clients have equal iid shares and 5 are selected.
In the non-ideal one, 10 clients are available in 90 % of the rounds and N = 4 are selected; two clients have five
digits each and eight have one, and a client's quota is its share of the images times N / 2.

The paper gives neither beta nor the number of rounds of these figures, nor the sizes. Here, beta = 0.01, there are 500
rounds, and each client has equally many images of each of its digits. `--preset paper` is that, half an hour on two
cores; `quick` is the same on the digits that ship with jfed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

import jfed
from experiments.shared.common import command
from experiments.shared.training import Settings as Shared
from experiments.shared.training import further, run
from jfed.algorithms.deadline import Reading
from jfed.analysis import lines
from jfed.commands.drawing import by_scheme
from jfed.commands.study import ACCURACIES, Study
from jfed.config import Config
from jfed.controllers import fixed
from jfed.core.errors import require
from jfed.envs import wireless
from jfed.sweep import Point, methods

IDEAL = ("uniform", "round-robin", "local-accuracy", "cs-ucb")
QUEUED = "cs-ucb-q-0.01"
NON_IDEAL = ("uniform", "round-robin", "local-accuracy", QUEUED)
LABELS = (5, 5, 1, 1, 1, 1, 1, 1, 1, 1)  # number of each client's labels in the non-ideal scenario


@dataclass(frozen=True)
class Settings(Shared):
    """Flags of this command; the preset gives their defaults.

    Attributes:
        preset: quick: shipped digits, a minute or two on two cores; paper: MNIST.
        model_bits: m_0 of the wireless cell, as printed.
        samples_per_client: images of each of the ideal scenario's 20 clients.
        samples_per_label: images per label of each of the non-ideal scenario's clients.
    """

    preset: Literal["quick", "paper"]
    scenarios: tuple[Literal["ideal", "non-ideal"], ...] = ("ideal", "non-ideal")
    model_bits: float = 5e3
    num_rounds: int = 500
    eval_every: int = 5
    samples_per_client: int = 3000
    samples_per_label: int = 2700
    test_fraction: float = 0.0
    test_set: Literal["reserved", "official"] = "official"
    learning_rate: float = 0.001
    momentum: float = 0.0
    batch_size: int = 2
    average_over: Reading = "returned"
    targets: tuple[float, ...] = (0.5, 0.6, 0.7)


def points(settings: Settings) -> list[Point]:
    """Return one point per scenario and scheme."""
    require(len(settings.scenarios) > 0, "Give at least one of --scenarios.")
    found = []
    for scenario in settings.scenarios:
        every = _ideal(settings) if scenario == "ideal" else _non_ideal(settings)
        found += [Point(p.config, p.coords | {"scenario": scenario}) for p in every]
    return further(found, settings)


def _ideal(settings: Settings) -> list[Point]:
    training = settings.training("iid", samples_per_client=settings.samples_per_client)
    return methods(_config(settings, 20, 5, 1.0, training), IDEAL)


def _non_ideal(settings: Settings) -> list[Point]:
    sizes = tuple(settings.samples_per_label * labels for labels in LABELS)
    labels = (("num_labels", tuple(map(float, LABELS))),)
    training = settings.training("few_labels", partition_options=labels, samples_per_client=sizes)
    base = _config(settings, len(LABELS), 4, 0.9, training)
    quota = tuple((base.cohort_size / 2 * np.array(sizes) / sum(sizes)).tolist())
    return [
        Point(jfed.replace(p.config, {"selector.quota": quota}), p.coords) if p.coords["method"] == QUEUED else p
        for p in methods(base, NON_IDEAL)
    ]


def _config(settings: Settings, num_clients: int, n: int, availability: float, training: Any) -> Config:
    return Config(
        num_clients=num_clients,
        cohort_size=n,
        num_rounds=settings.num_rounds,
        eval_every=settings.eval_every,
        environment=wireless.Options(model_bits=settings.model_bits, availability=availability),
        controller=fixed.Options(),
        training=training,
    )


def columns(results: xr.Dataset) -> dict[str, Any]:
    """Return the column that claims need beside accuracy: the total time."""
    return {"time": results["round_time_s"].values.astype(float).sum(1)}


def figures(results: xr.Dataset, order: Sequence[str], title: str, points: Sequence[Point]) -> dict[str, Figure]:
    """Draw the cumulative time over rounds."""
    spent = np.cumsum(results["round_time_s"].values.astype(float), 1)
    return {
        "time": lines(results["round"].values, by_scheme(results, spent, order), xlabel="communication round",
                      ylabel="simulated time, s", title=f"Time spent ({title})")
    }  # fmt: skip


STUDY = Study(
    name="cs_ucb_training", settings=("scenario",), metrics=ACCURACIES | {"time": "Total time, seconds"},
    lower_is_better=("time",), columns=columns, figures=figures,
)  # fmt: skip


def main(settings: Settings) -> None:
    """Compute the missing runs, then write tables and figures."""
    run(settings, points(settings), STUDY, ("cohort_size", "num_clients"))


PRESETS = {
    "quick": Settings(
        preset="quick", out=Path("out/cs_ucb_quick"), dataset="digits", model="linear", seeds=5, samples_per_client=70,
        samples_per_label=60, learning_rate=0.05,
    ),
    "paper": Settings(preset="paper", out=Path("out/cs_ucb_training"), dataset="mnist", model="linear"),
}  # fmt: skip

if __name__ == "__main__":
    command(main, PRESETS)
