"""Flags and points that Eiffel's experiments share: edge devices under a time budget, and the schemes."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, Literal

import jfed
from experiments.shared.training import Settings as Shared
from jfed import catalog
from jfed.algorithms.deadline import Reading
from jfed.catalog import scheme as method
from jfed.config import Config
from jfed.controllers import adaptive
from jfed.controllers import eiffel as control
from jfed.core.errors import require
from jfed.envs import edge
from jfed.sweep import Point

CASES = {"iid": 1.0, "non-iid": 2.0}
SELECTORS = {
    "eiffel": "eiffel",
    "lls": "lls",
    "lls-polled": "lls-polled",
    "uniform": "uniform",
    "q-ffl": "uniform",
    "adaptive-fl": "everybody",
}
"""Selector of each scheme: q-FFL is q-FedAvg over random clients, and adaptive FL selects all clients."""
SVM = {"dataset": "mnist", "model": "svm", "seeds": 30, "samples": 60000, "budget": 15.0}
"""Settings of a `paper` preset where the published figure is of the SVM on MNIST, not of a network on CIFAR-10."""
FLAGS = ("num_clients", "cohort_size", "controller.budgets", "controller.fixed", "controller.phi")
"""Paths of settings that have flags of their own, or are part of a study."""


@dataclass(frozen=True)
class Settings(Shared):
    """Flags of Eiffel's experiments; the preset gives their defaults.

    Attributes:
        preset: quick: the SVM on shipped digits, a minute or two; small: on MNIST; paper: a network on CIFAR-10, for a
            GPU.
        mode: faithful: the index as printed, and costs that add up over clients; corrected: see
            `jfed/controllers/eiffel.py`.
        cohort_size: number of clients that the rivals select, and of average clients that Eiffel's budget for a round
            pays for; half of all clients by default.
        budget: seconds of simulated time; with costs that add up over clients, seconds per client.
        power: compute powers, dealt to the clients in turn, like labels: the same on every seed. The paper gives none.
        demand: range of the clients' resource demands; the paper gives none.
        samples: images of all clients together.
        num_rounds: largest number of rounds; a run ends when its budget is spent.
    """

    preset: Literal["quick", "small", "paper"]
    mode: Literal["faithful", "corrected"] = "corrected"
    num_clients: int = 100
    cohort_size: int | None = None
    budget: float = 15.0
    power: tuple[float, ...] = (1.0, 1.5, 2.0)
    demand: tuple[float, float] = (0.5, 1.5)
    samples: int = 60000
    num_rounds: int = 500
    eval_every: int = 1
    test_fraction: float = 0.0
    test_set: Literal["reserved", "official"] = "official"
    momentum: float = 0.0
    batch_size: int = 100
    average_over: Reading = "returned"
    targets: tuple[float, ...] = ()

    @property
    def selected(self) -> int:
        """Return the cohort size: that of the flag, or half of the clients."""
        return max(self.num_clients // 2, 1) if self.cohort_size is None else self.cohort_size

    def phi(self) -> float:
        """Return phi, which the public code chooses by the model."""
        return 0.025 if self.model == "svm" else 5e-5

    def controller(self, budget: float, fixed: int = 0) -> adaptive.Options:
        """Return the options of the controller of tau under a budget."""
        whole = budget * self.num_clients if self.mode == "faithful" else budget
        delta = {"budgets": (float(whole),), "phi": self.phi(), "fixed": fixed}
        return jfed.replace(control.MODES[self.mode], delta)

    def config(self, scheme: str, data: str, budget: float, fixed: int = 0, k: int | None = None) -> Config:
        """Return one scheme's config.

        Args:
            scheme: a key of `SELECTORS`.
            data: iid, or non-iid: one label for each client.
            budget: of time, seconds.
            fixed: tau; 0 is adaptive.
            k: cohort size, in place of `selected`.
        """
        require(self.num_clients >= 1, f"There must be at least one client, found K = {self.num_clients}.")
        require(self.num_rounds >= 1, f"There must be at least one round, found T = {self.num_rounds}.")
        require(0 < budget < inf, f"A budget must be positive and finite, found {budget:g}.")
        training = self.training(
            "wang_case",
            catalog.find("algorithm", "q-fedavg" if scheme == "q-ffl" else "adaptive"),
            partition_options=(("case", CASES[data]),),
            samples_per_client=self.samples // self.num_clients,
            final_model="best" if self.mode == "corrected" else "last",
        )
        return Config(
            num_clients=self.num_clients,
            cohort_size=self.selected if k is None else k,
            num_rounds=self.num_rounds,
            eval_every=self.eval_every,
            selector=method(SELECTORS[scheme], self.mode),
            environment=edge.Options(power=self.power, demand=self.demand, transfers=2, shared=False),
            controller=self.controller(budget, fixed),
            training=training,
        )

    def point(self, scheme: str, data: str, label: str = "", budget: float | None = None, **which: Any) -> Point:
        """Return the point of one scheme, under `label` or the scheme's own name."""
        made = self.config(scheme, data, self.budget if budget is None else budget, **which)
        coords: dict[str, Any] = {"method": label or scheme, "mode": self.mode, "partition": data, "model": self.model}
        return Point(made, coords)


def presets(settings: type[Any], name: str, further: Mapping[str, Mapping[str, Any]] | None = None) -> dict[str, Any]:
    """Return the presets of an experiment: quick, small, paper, and those of reduced and fashion that it has.

    Args:
        settings: the experiment's class of settings.
        name: name of the experiment, for the default of `--out`.
        further: the experiment's own defaults, by preset; it names those of reduced and fashion that there are.
    """
    shared: dict[str, dict[str, Any]] = {
        "quick": {"dataset": "digits", "model": "svm", "seeds": 5, "num_clients": 20, "samples": 1420, "batch_size": 20,
                  "budget": 5.0, "num_rounds": 200},
        "small": {"dataset": "mnist", "model": "svm"},
        "reduced": {"dataset": "cifar10-16x16", "model": "cnn", "seeds": 3, "samples": 50000, "budget": 60.0},
        "fashion": {"dataset": "fashion_mnist", "model": "wang", "seeds": 3, "budget": 60.0},
        "paper": {"dataset": "cifar10", "model": "wang-cifar", "seeds": 3, "samples": 50000, "budget": 60.0},
    }  # fmt: skip
    own = further or {}
    for preset in {"reduced", "fashion"} - set(own):
        del shared[preset]
    return {
        preset: settings(**{"preset": preset, "out": Path(f"out/{name}_{preset}"), **given, **own.get(preset, {})})
        for preset, given in shared.items()
    }
