"""Eiffel and the number of participants: Fig. 7, budgets for a round that pay for 5, 10, 15 and 20 of 20 clients.

Tau is adaptive or fixed. The budget that one of Eiffel's pools leaves goes to the other pool; otherwise a budget for 20
would never select all 20. `--preset small` is the squared SVM on MNIST on 10 seeds, as in the paper, and `paper` the
same on 30; `quick` is the SVM on the digits that ship with jfed.
"""

from dataclasses import dataclass
from typing import Any, Literal

from rich.console import Console

import jfed
from experiments.eiffel import settings as eiffel
from experiments.eiffel.report import compared, frame, over, side_by_side, written
from experiments.eiffel_accuracy import name
from experiments.shared.common import Output, command
from experiments.shared.training import further
from jfed.core.errors import require
from jfed.sweep import Point


@dataclass(frozen=True)
class Settings(eiffel.Settings):
    """Flags of this command; the preset gives their defaults.

    Attributes:
        participants: numbers of average clients that the budget for a round pays for, in place of --cohort-size.
        taus: fixed numbers of local steps, beside the adaptive one.
    """

    participants: tuple[int, ...] = (5, 10, 15, 20)
    taus: tuple[int, ...] = (1, 5, 10, 30, 100)
    partitions: tuple[Literal["iid", "non-iid"], ...] = ("iid", "non-iid")


def points(settings: Settings) -> list[Point]:
    """Return one point per partition, number of participants and tau."""
    for flag in ("participants", "partitions"):
        require(len(getattr(settings, flag)) > 0, f"Give at least one of --{flag}.")
    require(all(tau >= 1 for tau in settings.taus), f"A fixed tau must be at least 1, found {settings.taus}.")
    found = []
    for data in settings.partitions:
        for many in settings.participants:
            for tau in (0, *settings.taus):
                label = name(f"eiffel-{many}", tau)
                point = settings.point("eiffel", data, label, fixed=tau, k=many)
                config = jfed.replace(point.config, {"selector.pools": "work_conserving"})
                found.append(Point(config, point.coords | {"curve": f"n = {many}", "tau": tau}))
    return further(found, settings)


def main(settings: Settings) -> None:
    """Compute the missing runs, then write tables and figures."""
    console, output = Console(), Output(settings.out)
    runs = frame(settings, points(settings), "eiffel_participants", ("partition", "model", "curve", "tau"))
    data = written(runs, settings, output)
    groups: Any = runs.groupby("partition", sort=False)
    for partition, part in groups:
        title = f"{data}, {partition}, K = {settings.num_clients}, budget {settings.budget:g} s"
        if settings.taus:
            panels = {"mean_loss": "loss", "final_accuracy": "test accuracy"}
            figure = over(part[part.tau > 0], "tau", "curve", panels, "local steps tau", f"Participants ({title})")
            output.figure(figure, f"participants_{partition}")
        most = f"eiffel-{max(settings.participants)}"
        stem = f"final_accuracy_{partition}"
        compared(part[part.tau == 0], "final_accuracy", most, f"{title}, adaptive tau", stem, output, console)
    title = f"{data}, K = {settings.num_clients}, budget {settings.budget:g} s, adaptive tau"
    most = f"eiffel-{max(settings.participants)}"
    adaptive: Any = runs[runs.tau == 0]
    side_by_side(adaptive, ["partition"], "final_accuracy", most, title, output, console)
    output.tell(console)


PRESETS = eiffel.presets(
    Settings,
    "eiffel_participants",
    {
        "quick": {"taus": (1, 10, 100), "seeds": 3},
        "small": {"num_clients": 20},
        "paper": {"num_clients": 20} | eiffel.SVM,
    },
)

if __name__ == "__main__":
    command(main, PRESETS)
