"""Eiffel's model against tau: Figs. 3 to 5 and Table 5, eleven fixed numbers of local steps beside the adaptive one.

Eiffel, adaptive federated learning with all clients, and gradient descent on one machine that has all the data have the
same budget of simulated time. `--preset small` is the squared SVM on MNIST with 60 clients (Fig. 3), `paper` the
network on CIFAR-10 with 20 (Fig. 4) and `fashion` that on Fashion-MNIST (Fig. 5), both an accelerator's work; `reduced`
has CIFAR-10 of 16 x 16 pixels and a small network; `quick` is the SVM on the digits that ship with jfed.
"""

import dataclasses
from dataclasses import dataclass
from math import ceil
from typing import Any, Literal

import pandas as pd
from rich.console import Console

import jfed
from experiments.eiffel import settings as eiffel
from experiments.eiffel.report import compared, frame, over, side_by_side, written
from experiments.shared.common import Output, command
from experiments.shared.training import further
from jfed.catalog import scheme as method
from jfed.core.errors import require
from jfed.envs import edge
from jfed.paths import parse_settings
from jfed.sweep import Point

TAUS = (1, 2, 3, 5, 7, 10, 20, 30, 50, 70, 100)
TABLE = (1, 30, 70)  # taus of Table 5
ALONE_S = (0.009974248, 0.011922926)  # mean and deviation of a step on one machine in Wang et al.'s public code
ALONE = edge.Options(step_s=ALONE_S, exchange_s=(0.0, 0.0))


@dataclass(frozen=True)
class Settings(eiffel.Settings):
    """Flags of this command; the preset gives their defaults.

    Attributes:
        preset: quick: the SVM on shipped digits, a minute or two; small: on MNIST; reduced: a small network on CIFAR-10
            at half size; fashion: a network on Fashion-MNIST, for a GPU; paper: one on CIFAR-10, for a GPU.
        taus: fixed numbers of local steps, beside the adaptive one.
    """

    preset: Literal["quick", "small", "reduced", "fashion", "paper"]  # type: ignore[override]
    taus: tuple[int, ...] = TAUS
    partitions: tuple[Literal["iid", "non-iid"], ...] = ("iid", "non-iid")


def name(scheme: str, tau: int) -> str:
    """Return the name of a scheme with this tau; 0 means adaptive."""
    return f"{scheme}-tau-{tau}" if tau else scheme


def points(settings: Settings) -> list[Point]:
    """Return, for each partition, both schemes with each fixed and the adaptive tau, and centralised descent."""
    for flag in ("taus", "partitions"):
        require(len(getattr(settings, flag)) > 0, f"Give at least one of --{flag}.")
    require(min(settings.taus) >= 1, f"A fixed tau must be at least 1, found {min(settings.taus)}.")
    found = []
    for data in settings.partitions:
        for scheme in ("eiffel", "adaptive-fl"):
            for tau in (0, *settings.taus):
                point = settings.point(scheme, data, name(scheme, tau), fixed=tau)
                found.append(Point(point.config, point.coords | {"curve": scheme, "tau": tau}))
        found.append(centralised(settings, data))
    made = further(found, settings)
    if "environment" not in parse_settings(settings.set):
        return made
    return [  # the machine that has all the data is in no other world
        Point(jfed.replace(p.config, {"environment": ALONE}), p.coords) if p.coords["curve"] == "centralised" else p
        for p in made
    ]


def centralised(settings: Settings, data: str) -> Point:
    """Return the point of one machine that has all the data and exchanges nothing."""
    alone = dataclasses.replace(settings, num_clients=1, cohort_size=1)
    alone.point("adaptive-fl", data)  # for its checks, before the division below
    steps = ceil(2 * settings.budget / ALONE_S[0] / settings.num_rounds)  # per round: enough to spend the budget
    point = alone.point("adaptive-fl", data, "centralised", fixed=steps)
    delta = {
        "selector": method("everybody"),
        "environment": ALONE,
        "controller.budgets": (float(settings.budget),),
        "controller.stop": "last",  # with the last model, as in the public code
        "training.final_model": "last",
    }
    return Point(jfed.replace(point.config, delta), point.coords | {"curve": "centralised", "tau": 0})


def beside_best(runs: pd.DataFrame) -> pd.Series:
    """Return the adaptive runs' loss minus that of the best fixed tau of the same scheme and seed; NaN elsewhere."""
    key = ["partition", "curve", "seed"]
    fixed = runs.assign(best=runs.mean_loss.where(runs.tau > 0))
    least = fixed.groupby(key).best.transform("min")
    return (runs.mean_loss - least).where(runs.tau == 0)


def main(settings: Settings) -> None:
    """Compute the missing runs, then write tables and figures."""
    console, output = Console(), Output(settings.out)
    runs = frame(settings, points(settings), "eiffel_accuracy", ("partition", "model", "curve", "tau"))
    runs["loss_minus_best_fixed"] = beside_best(runs)
    data = written(runs, settings, output)
    taus = (0, *(set(TABLE) & set(settings.taus)))
    wanted = ["centralised", *(name(scheme, tau) for scheme in ("eiffel", "adaptive-fl") for tau in taus)]
    groups: Any = runs.groupby("partition", sort=False)
    for partition, part in groups:
        title = f"{data}, {partition}, K = {settings.num_clients}, budget {settings.budget:g} s"
        adaptive, alone = part.tau == 0, part.curve == "centralised"
        label = part.curve.where(~adaptive | alone, part.curve + ", adaptive tau")
        drawn = part.assign(label=label, tau=part.tau.astype(float).where(~adaptive))
        panels = {"mean_loss": "loss", "final_accuracy": "test accuracy"}
        output.figure(over(drawn, "tau", "label", panels, "local steps tau", f"Fixed and adaptive tau ({title})"),
                      f"tau_{partition}")  # fmt: skip
        for metric in ("mean_loss", "final_accuracy"):
            table = part[part.scheme.isin(wanted)]
            compared(table, metric, "centralised", title, f"{metric}_{partition}", output, console)
    title = f"{data}, K = {settings.num_clients}, budget {settings.budget:g} s"
    tables: Any = runs[runs.scheme.isin(wanted)]
    for metric in ("mean_loss", "final_accuracy"):
        side_by_side(tables, ["partition"], metric, "centralised", title, output, console)
    output.tell(console)


PRESETS = eiffel.presets(
    Settings,
    "eiffel_accuracy",
    {
        "quick": {"num_clients": 10, "taus": (1, 3, 10, 30, 100), "seeds": 3},
        "small": {"num_clients": 60},
        "reduced": {"num_clients": 20},
        "fashion": {"num_clients": 20},
        "paper": {"num_clients": 20},
    },
)

if __name__ == "__main__":
    command(main, PRESETS)
