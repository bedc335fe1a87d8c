"""`jfed run`: a comparison of schemes from the command line, without training."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console

from jfed.commands import table
from jfed.paths import parse_axes, parse_settings, require_tune_seeds


@dataclass(frozen=True)
class Settings:
    """Compare schemes without training.

    Attributes:
        schemes: names that `jfed list` prints, with a number in place of NUMBER.
        mode: faithful (as published) or corrected, for schemes that have both.
        seeds: number of seeds.
        num_clients: number of clients.
        cohort_size: clients selected per round.
        num_rounds: number of rounds.
        world: a name that `jfed list` prints; change its settings with --set environment.NAME=VALUE.
        metric: score to compare, summed over rounds: models that return, or simulated time (less is better).
        set: further settings by path, such as eval_every=10 or selector.eta=0.1.
        sweep: settings with several values, such as selector.eta=0.1,0.5 cohort_size=10,20; all combinations are run.
        tune_seeds: seeds on which each scheme's best point of a sweep is chosen; the other seeds report it.
        load: Python files with your own schemes and worlds, whose names then work in all flags.
        out: folder for the results.
    """

    schemes: tuple[str, ...] = ("uniform", "fedcs", "e3cs-0.5")
    mode: str = "faithful"
    seeds: int = 30
    num_clients: int = 100
    cohort_size: int = 20
    num_rounds: int = 2500
    world: str = "volatility"
    metric: Literal["num_succeeded", "round_time_s"] = "num_succeeded"
    set: tuple[str, ...] = ()
    sweep: tuple[str, ...] = ()
    tune_seeds: tuple[int, ...] = ()
    load: tuple[Path, ...] = ()
    out: Path = Path("out/run")


def main(settings: Settings, console: Console) -> None:
    """Run the schemes and print tables that compare them."""
    import jfed
    from jfed.runner.host import setup
    from jfed.sweep import changed, coordinate

    setup()
    base = jfed.Config(settings.num_clients, settings.cohort_size, settings.num_rounds, environment=settings.world)
    axes = parse_axes(settings.sweep)
    require_tune_seeds(settings.tune_seeds, settings.seeds, list(axes))
    points = changed(jfed.methods(base, settings.schemes, settings.mode), parse_settings(settings.set))  # type: ignore[arg-type]
    swept = jfed.product(points, axes)
    results = jfed.run(swept, range(settings.seeds), out=settings.out)
    over = tuple(coordinate(path) for path in axes) if settings.tune_seeds else ()
    asked = table.Settings(
        settings.out, settings.metric, points[0].coords["method"], tune_over=over, tune_seeds=settings.tune_seeds
    )
    table.print_tables(results, asked, console)
