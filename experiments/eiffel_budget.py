"""Eiffel and the budget: Fig. 6, loss, accuracy and tau as the budget of simulated time grows; and fairness.

The schemes are Eiffel, Eiffel with a fixed tau of 10, and adaptive federated learning with all clients. `--preset
small` is the squared SVM on MNIST with 20 clients, like the paper's prototype, on 10 seeds, and `paper` the same on 30;
`quick` is the SVM on the digits that ship with jfed, with 10 clients.
"""

from dataclasses import dataclass
from typing import Any, Literal

from rich.console import Console

from experiments.eiffel import settings as eiffel
from experiments.eiffel.report import compared, frame, over, side_by_side, written
from experiments.shared.common import Output, command
from experiments.shared.training import further
from jfed.core.errors import require
from jfed.sweep import Point

SCHEMES = {"eiffel": ("eiffel", 0), "eiffel-tau-10": ("eiffel", 10), "adaptive-fl": ("adaptive-fl", 0)}
PANELS = {
    "mean_loss": "loss",
    "final_accuracy": "test accuracy",
    "average_tau": "average tau",
    "loss_variance": "variance of losses",
}


@dataclass(frozen=True)
class Settings(eiffel.Settings):
    """Flags of this command; the preset gives their defaults.

    Attributes:
        budgets: budgets of simulated time in seconds, in place of --budget.
    """

    budgets: tuple[float, ...] = (2.0, 5.0, 10.0, 15.0, 30.0, 60.0)
    partitions: tuple[Literal["iid", "non-iid"], ...] = ("iid", "non-iid")


def points(settings: Settings) -> list[Point]:
    """Return one point per partition, budget and scheme."""
    for flag in ("budgets", "partitions"):
        require(len(getattr(settings, flag)) > 0, f"Give at least one of --{flag}.")
    found = []
    for data in settings.partitions:
        for budget in settings.budgets:
            for label, (scheme, tau) in SCHEMES.items():
                point = settings.point(scheme, data, label, budget=budget, fixed=tau)
                found.append(Point(point.config, point.coords | {"budget": budget}))
    return further(found, settings)


def main(settings: Settings) -> None:
    """Compute the missing runs, then write tables and figures."""
    console, output = Console(), Output(settings.out)
    runs = frame(settings, points(settings), "eiffel_budget", ("partition", "model", "budget"))
    data = written(runs, settings, output)
    groups: Any = runs.groupby("partition", sort=False)
    for partition, part in groups:
        title = f"{data}, {partition}, K = {settings.num_clients}"
        figure = over(part, "budget", "scheme", PANELS, "budget, s", f"Budgets ({title})")
        output.figure(figure, f"budget_{partition}")
        for budget, rows in part.groupby("budget"):
            stem = f"final_accuracy_{partition}_{budget:g}"
            compared(rows, "final_accuracy", "eiffel", f"{title}, budget {budget:g} s", stem, output, console)
    title = f"{data}, K = {settings.num_clients}, budgets in s"
    side_by_side(runs, ("partition", "budget"), "final_accuracy", "eiffel", title, output, console)
    output.tell(console)


PRESETS = eiffel.presets(
    Settings,
    "eiffel_budget",
    {
        "quick": {"num_clients": 10, "budgets": (1.0, 3.0, 10.0), "seeds": 3},
        "small": {"num_clients": 20},
        "paper": {"num_clients": 20} | eiffel.SVM,
    },
)

if __name__ == "__main__":
    command(main, PRESETS)
