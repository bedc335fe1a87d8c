"""Eiffel against adaptive federated learning with all clients: Table 4, average tau and communication.

The measures are local steps between two aggregations and client-seconds of communication within a budget (15 simulated
seconds, and 60 for networks, which have hardly learned after 15), for two numbers of edge devices and both partitions.
`--preset small` is the squared SVM on MNIST, `paper` the network on CIFAR-10 (work for an accelerator), `reduced` a
small one on CIFAR-10 of 16 x 16 pixels, and `quick` the SVM on the digits that ship with jfed.
"""

import dataclasses
from dataclasses import dataclass
from typing import Literal

from experiments.eiffel import settings as eiffel
from experiments.eiffel.report import study
from experiments.shared.common import command
from experiments.shared.training import further, run
from jfed.core.errors import require
from jfed.sweep import Point

MEASURES = ("average_tau", "communication", "final_accuracy", "mean_loss", "loss_variance")


@dataclass(frozen=True)
class Settings(eiffel.Settings):
    """Flags of this command; the preset gives their defaults.

    Attributes:
        preset: quick: the SVM on shipped digits, a minute or two; small: on MNIST; reduced: a small network on CIFAR-10
            at half size; paper: a network on CIFAR-10, for a GPU.
        sizes: numbers of clients, in place of --num-clients.
    """

    preset: Literal["quick", "small", "reduced", "paper"]  # type: ignore[override]
    sizes: tuple[int, ...] = (20, 60)
    partitions: tuple[Literal["iid", "non-iid"], ...] = ("iid", "non-iid")


def points(settings: Settings) -> list[Point]:
    """Return one point per partition, number of clients and scheme."""
    for name in ("sizes", "partitions"):
        require(len(getattr(settings, name)) > 0, f"Give at least one of --{name}.")
    found = []
    for data in settings.partitions:
        for size in settings.sizes:
            sized = dataclasses.replace(settings, num_clients=size)
            each = [sized.point(scheme, data) for scheme in ("eiffel", "adaptive-fl")]
            found += [Point(p.config, p.coords | {"size": size}) for p in each]
    return further(found, settings)


def main(settings: Settings) -> None:
    """Compute the missing runs, then write tables and figures."""
    every = points(settings)
    run(settings, every, study("eiffel_tau", ("partition", "model", "size"), MEASURES, every), eiffel.FLAGS)


PRESETS = eiffel.presets(Settings, "eiffel_tau", {"quick": {"sizes": (10, 20)}, "reduced": {"seeds": 6}})

if __name__ == "__main__":
    command(main, PRESETS)
