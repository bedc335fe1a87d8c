"""Eiffel and fairness: Table 3 and Fig. 2, the loss of the final model on each client's own data.

100 edge devices of three compute powers, one label each, for 15 simulated seconds. The rivals select half of the
clients; Eiffel has a budget of a round that pays for as many average ones, which is a few more, since it prefers those
who demand little. All have the same adaptive control of the number of local steps. `--preset small` is the squared SVM
on MNIST, `paper` the 9-layer network on CIFAR-10 (an accelerator's work: `--num-clients 5 --samples 2500 --budget 2` is
a proof on a CPU; nobody has published its times of a step, and it has the SVM's), `quick` the SVM on the digits that
ship with jfed.
"""

from dataclasses import dataclass
from typing import Literal

from experiments.eiffel import settings as eiffel
from experiments.eiffel.report import study
from experiments.shared.common import command
from experiments.shared.training import further, run
from jfed.core.errors import require
from jfed.sweep import Point

MEASURES = ("loss_variance", "abs_skewness", "mean_loss", "worst10", "best10", "final_accuracy")


@dataclass(frozen=True)
class Settings(eiffel.Settings):
    """Command line; the defaults are those of the preset."""

    schemes: tuple[Literal["eiffel", "lls", "lls-polled", "uniform", "q-ffl", "adaptive-fl"], ...] = (
        "eiffel", "lls", "uniform", "q-ffl",
    )  # fmt: skip
    partitions: tuple[Literal["iid", "non-iid"], ...] = ("non-iid",)


def points(settings: Settings) -> list[Point]:
    """Return one point per partition and scheme."""
    for name in ("schemes", "partitions"):
        require(len(getattr(settings, name)) > 0, f"Give at least one of --{name}.")
    return further([settings.point(s, data) for data in settings.partitions for s in settings.schemes], settings)


def main(settings: Settings) -> None:
    """Run what is missing, then write tables and figures."""
    every = points(settings)
    run(settings, every, study("eiffel_fairness", ("partition", "model"), MEASURES, every), eiffel.FLAGS)


PRESETS = eiffel.presets(Settings, "eiffel_fairness")

if __name__ == "__main__":
    command(main, PRESETS)
