"""As much of E3CS's Tables II and III as a time limit on an accelerator allows, the most telling parts first.

Each finished stage leaves whole tables and figures. A later stage of a data set reuses the runs that it shares with an
earlier one, and the same command resumes the stage that the time limit interrupted.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import jax
from rich.console import Console

from experiments import cifar_e3cs, emnist_e3cs
from experiments.e3cs.training import Settings, main
from experiments.shared.common import command
from jfed.core.errors import Unfinished, require

FIRST: dict[str, Any] = {"partitions": ("primary",), "algorithms": ("fedavg",)}
STAGES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("emnist", FIRST | {"seeds": 3}),
    ("cifar", FIRST | {"seeds": 1, "num_rounds": 400, "cohort_sizes": (20,)}),
    ("emnist", {"seeds": 3}),
    ("cifar", FIRST | {"seeds": 1, "cohort_sizes": (20,)}),
    ("emnist", {"seeds": 10}),
    ("cifar", {"seeds": 3}),
    ("cifar", {"seeds": 10}),
)


@dataclass(frozen=True)
class Time:
    """Flags of this command.

    Attributes:
        minutes: time limit for everything, compilation included.
        preset: paper: the stages of the published tables; quick: the same stages on the shipped digits, to try it out.
        tables: the tables to make: emnist (Table II), cifar (Table III).
        emnist: data set in place of EMNIST letters: a name or FILE.npz.
        cifar: data set in place of CIFAR-10.
        samples_per_client: images of a client, for a data set that has fewer than the published one.
        num_rounds: rounds of every stage, to try it out.
        num_stages: most stages; all by default.
        load: Python files with data sets of your own; their names then work in the flags above.
        out: folder of results, tables and figures, with a folder per data set.
        data_dir: folder of the official files; $JFED_DATA_DIR by default.
    """

    minutes: float = 9.0
    preset: Literal["quick", "paper"] = "paper"
    tables: tuple[Literal["emnist", "cifar"], ...] = ("emnist", "cifar")
    emnist: str | None = None
    cifar: str | None = None
    samples_per_client: int | None = None
    num_rounds: int | None = None
    num_stages: int | None = None
    load: tuple[Path, ...] = ()
    out: Path = Path("out/e3cs_tables")
    data_dir: str | None = None


def stages(asked: Time) -> list[Settings]:
    """Return the settings of each stage."""
    presets = {"emnist": emnist_e3cs.PRESETS[asked.preset], "cifar": cifar_e3cs.PRESETS[asked.preset]}
    every = [
        replace(
            presets[name], out=asked.out / name, data_dir=asked.data_dir,
            **_kept(changes, asked.preset) | _given(asked, name),
        )
        for name, changes in STAGES
        if name in asked.tables
    ]  # fmt: skip
    return every[: asked.num_stages]


def _kept(changes: Mapping[str, Any], preset: str) -> dict[str, Any]:
    """Return the settings of a stage; a quick stage keeps its preset's rounds and cohorts."""
    return {k: v for k, v in changes.items() if preset == "paper" or k not in ("num_rounds", "cohort_sizes")}


def _given(asked: Time, name: str) -> dict[str, Any]:
    """Return the settings that the flags change in all stages of a table."""
    flags = {"dataset": getattr(asked, name)} | {k: getattr(asked, k) for k in ("samples_per_client", "num_rounds")}
    return {k: v for k, v in flags.items() if v is not None} | {"load": asked.load}


def within(asked: Time) -> None:
    """Run stage after stage until the time is up."""
    console, end = Console(), time.monotonic() + 60 * asked.minutes
    require(asked.minutes > 0, f"--minutes must be positive, found {asked.minutes:g}.")
    require(len(asked.tables) > 0, "Give at least one of --tables.")
    require(asked.num_stages is None or asked.num_stages >= 1, f"There is no stage among {asked.num_stages}.")
    console.print(f"{jax.devices()[0].device_kind}, {jax.device_count()} device(s), jax {jax.__version__}")
    every = stages(asked)
    for number, settings in enumerate(every, 1):
        left = (end - time.monotonic()) / 60
        console.rule(f"Stage {number} of {len(every)}, {left:.1f} minutes left")
        try:
            main(replace(settings, minutes=max(left, 0.0)))
        except Unfinished as error:
            console.print(str(error), highlight=False, markup=False, soft_wrap=True)
            return


if __name__ == "__main__":
    command(within, Time)
