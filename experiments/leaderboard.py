"""Which scheme in which world: all schemes in several worlds and on several data sets, tuned alike.

For every problem (a world and a data set) each scheme tries as many settings as any other, on seeds of their own:
client rates and settings of its own, such as E3CS's quota. The best one runs on further seeds, which are reported.
`--preset quick` has five schemes, three worlds and two data sets, in minutes; `small` all schemes that jfed knows, six
worlds and three data sets, in hours (one of them comes with `jfed[natural]`). Schemes of your own join with --load;
nothing that is finished runs again.
"""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from rich.console import Console

import jfed
from experiments.board import report
from experiments.board.candidates import candidates, families
from experiments.board.problems import DATA, SIX, SMALL, problem
from experiments.board.rows import rows
from experiments.shared.common import Output, command
from jfed.commands import dry
from jfed.commands.seeds import Seeds, listed
from jfed.comparisons.tuning import choose
from jfed.core.errors import require
from jfed.runner.executors.named import named
from jfed.sweep import Point

TUNING = 1_000_000  # the first tune seed: the others are small numbers


@dataclass(frozen=True)
class Settings:
    """Flags of the leaderboard; the preset gives their defaults.

    Attributes:
        preset: quick: five schemes, three worlds, two data sets; small: everything, 10 seeds; paper: 30 seeds and more
            rounds.
        out: folder of results, tables and figures; runs that are finished there are not run again.
        schemes: schemes beside uniform, such as e3cs or e3cs-0.5; none for all that jfed knows, loaded ones included.
        worlds: worlds of the leaderboard, or any that `jfed list` prints.
        data: digits, digits-iid, synthetic, synthetic-iid, smartwatch.
        seeds: number of reported seeds (30), or which ones (0 1 5, or 0:30).
        num_tune_seeds: number of further seeds on which settings are chosen.
        num_settings: number of settings that are tried for each scheme.
        num_rounds: T.
        share: k / K.
        data_dir: folder of the official files; $JFED_DATA_DIR by default.
        minutes: stop cleanly after this time; the same command resumes the work.
        load: Python files with schemes or worlds of your own.
        block_size: number of runs in a block; that of the seeds by default, so that the programs for the choice of
            settings serve the report, too.
        on: what computes: here (this process), processes:4, or ray:workers=8.
        alpha: familywise error rate of each table.
        dry_run: say what would be computed and how long it may take, and compute nothing of it.
    """

    preset: Literal["quick", "small", "paper"]
    out: Path
    schemes: tuple[str, ...] = ()
    worlds: tuple[str, ...] = SIX
    data: tuple[str, ...] = SMALL
    seeds: Seeds = 10
    num_tune_seeds: int = 2
    num_settings: int = 8
    num_rounds: int = 100
    share: float = 0.2
    data_dir: str | None = None
    minutes: float | None = None
    load: tuple[Path, ...] = ()
    block_size: int | None = None
    on: str = "here"
    alpha: float = 0.05
    dry_run: bool = False


PRESETS = {
    "quick": Settings(
        preset="quick", out=Path("out/leaderboard_quick"), schemes=("pow-d", "e3cs-0.5", "oort", "fedcs"),
        worlds=("volatility", "jumping", "heavy-tails"), data=("digits", "synthetic"), seeds=5, num_settings=3,
        num_rounds=60,
    ),
    "small": Settings(preset="small", out=Path("out/leaderboard_small")),
    "paper": Settings(
        preset="paper", out=Path("out/leaderboard_paper"), seeds=30, num_tune_seeds=5, num_settings=12, num_rounds=500,
        data=tuple(DATA),
    ),
}  # fmt: skip


def tried(settings: Settings) -> list[Point]:
    """Return all settings of all schemes in all problems."""
    for name in ("worlds", "data"):
        require(len(getattr(settings, name)) > 0, f"Give at least one of --{name}.")
    require(0 < settings.share <= 1, f"--share is k / K and lies in (0, 1], found {settings.share:g}.")
    require(0 < settings.alpha < 1, f"--alpha must lie between 0 and 1, found {settings.alpha:g}.")
    require(len(listed(settings.seeds)) >= 2, "Standings need at least two --seeds.")
    require(settings.num_tune_seeds >= 1, f"--num-tune-seeds must be at least 1, found {settings.num_tune_seeds}.")
    chosen = families(settings.schemes)
    found = []
    for world in settings.worlds:
        for data in settings.data:
            base = problem(world, data, settings.num_rounds, settings.share)
            for family, names in chosen.items():
                for point in candidates(base, family, names, settings.num_settings):
                    found.append(Point(point.config, {**point.coords, "world": world, "data": data}))
    return found


def best_of(every: list[Point], runs: pd.DataFrame) -> list[Point]:
    """Return the chosen setting of each scheme in each problem: the one of the best mean on the tune seeds."""
    names = ("world", "data", "method", "variant", "rate")
    by_name = {tuple(point.coords[name] for name in names): point for point in every}
    found = []
    problems: Any = runs.groupby(["world", "data"], sort=False)
    for (world, data), own in problems:
        for scheme, best in choose(own, "final_accuracy", ("variant", "rate")).chosen.items():
            found.append(by_name[str(world), str(data), scheme, best["variant"], best["rate"]])
    return found


def in_order(runs: pd.DataFrame, orders: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Return the rows with worlds and data sets in the given orders; schemes and seeds stay as they are."""
    places = [[order.index(name) for name in runs[column]] for column, order in orders.items()]
    return runs.iloc[np.lexsort(places[::-1])]


def foretold(
    settings: Settings, every: list[Point], tune: Sequence[int], seeds: Sequence[int], layout: jfed.Layout,
    console: Console,
) -> None:  # fmt: skip
    """Say what would be computed; the settings that will be chosen are not known, and the first ones stand for them."""
    require(settings.on == "here", "--dry-run measures on this process: leave out --on.")
    how = {"layout": layout, "data_dir": settings.data_dir}
    firsts = {tuple(point.coords[name] for name in ("world", "data", "method")): point for point in reversed(every)}
    console.print("To choose the settings:")
    dry.tell(every, tune, settings.out, how, console)
    console.print("Then, to report the chosen ones:")
    dry.tell(list(firsts.values()), seeds, settings.out, how, console)


def main(settings: Settings) -> None:
    """Compute the missing runs, then write tables and figures."""
    console = Console()
    every, seeds = tried(settings), listed(settings.seeds)
    seconds = None if settings.minutes is None else 60 * settings.minutes
    layout = jfed.Layout(block_size=settings.block_size or len(seeds), max_seconds=seconds)
    tune = range(TUNING, TUNING + settings.num_tune_seeds)
    require(not set(tune) & set(seeds), f"Seeds from {TUNING} on are those on which settings are chosen.")

    if settings.dry_run:
        foretold(settings, every, tune, seeds, layout, console)
        return
    with named(settings.on) or contextlib.nullcontext() as place:

        def run(points: list[Point], own: Iterable[int]) -> pd.DataFrame:
            how = {"layout": layout, "data_dir": settings.data_dir, "executor": place}
            return rows(jfed.run(points, own, out=settings.out, **how))

        output = Output(settings.out)
        chosen = best_of(every, run(every, tune))
        runs = run(chosen, seeds)
    report.write(in_order(runs, {"world": settings.worlds, "data": settings.data}), settings.alpha, output, console)
    output.tell(console)


if __name__ == "__main__":
    command(main, PRESETS)
