"""Eiffel and fairness: Table 3 and Fig. 2, the loss of the final model on each client's own data.

100 edge devices of three compute powers have one label each, and train for 15 simulated seconds (networks for 60, since
they have hardly learned after 15). The rivals select half of the clients. Eiffel's budget for a round pays for as many
average clients; it selects a few more, since it prefers clients with a small demand. All schemes adapt the number of
local steps in the same way. `--preset small` is the squared SVM on MNIST, `quick` the SVM on the digits that ship with
jfed, and `paper` the 9-layer network on CIFAR-10: work for an accelerator (`--num-clients 5 --samples 2500 --budget 2`
is a proof on a CPU); `reduced` has CIFAR-10 of 16 x 16 pixels and a small network. The network's step times have not
been published, so the SVM's are used.
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
    """Flags of this command; the preset gives their defaults.

    Attributes:
        preset: quick: the SVM on shipped digits, a minute or two; small: on MNIST; reduced: a small network on CIFAR-10
            at half size; paper: a network on CIFAR-10, for a GPU.
    """

    preset: Literal["quick", "small", "reduced", "paper"]  # type: ignore[override]
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
    """Compute the missing runs, then write tables and figures."""
    every = points(settings)
    run(settings, every, study("eiffel_fairness", ("partition", "model"), MEASURES, every), eiffel.FLAGS)


PRESETS = eiffel.presets(Settings, "eiffel_fairness", {"reduced": {}})

if __name__ == "__main__":
    command(main, PRESETS)
