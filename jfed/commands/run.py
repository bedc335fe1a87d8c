"""`jfed run`: a comparison of schemes from the command line, without training."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from jfed.commands import table, until
from jfed.commands.choices import Choices
from jfed.commands.plans import under_plan
from jfed.core.errors import require
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
        until_decided: add seeds at planned looks, for each scheme until it is decided, in place of --seeds.
        max_seeds: number of seeds at which --until-decided ends, by default 200; with --looks, their last is the end.
        looks: numbers of seeds at which --until-decided looks; by default five, up to --max-seeds.
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
    until_decided: bool = False
    max_seeds: int | None = None
    looks: tuple[int, ...] = ()
    load: tuple[Path, ...] = ()
    out: Path = Path("out/run")


def main(settings: Settings, console: Console) -> None:
    """Run the schemes and print tables that compare them."""
    import jfed
    from jfed.runner.host import setup
    from jfed.sweep import changed, coordinate

    if settings.until_decided:
        require(not settings.sweep, "--until-decided adds seeds to each scheme, not to each point of a --sweep.")
        require(len(settings.schemes) > 1, "--until-decided compares schemes: name at least two.")
    require(
        settings.until_decided or (not settings.looks and settings.max_seeds is None),
        "--looks and --max-seeds are those of --until-decided.",
    )
    looks = until.planned(settings.max_seeds, settings.looks) if settings.until_decided else ()
    setup()
    base = jfed.Config(settings.num_clients, settings.cohort_size, settings.num_rounds, environment=settings.world)
    axes = parse_axes(settings.sweep)
    require_tune_seeds(settings.tune_seeds, settings.seeds, list(axes))
    points = changed(jfed.methods(base, settings.schemes, settings.mode), parse_settings(settings.set))  # type: ignore[arg-type]
    baseline = points[0].coords["method"]
    if settings.until_decided:
        until.until_decided(points, settings.metric, looks, settings.out, console)
        return
    choices = Choices(metric=(settings.metric,), baseline=baseline)
    under_plan(settings.metric, choices, settings.out / "tables")
    results: Any = jfed.run(jfed.product(points, axes), range(settings.seeds), out=settings.out)
    over = tuple(coordinate(path) for path in axes) if settings.tune_seeds else ()
    asked = table.Settings(settings.out, choices, tune_over=over, tune_seeds=settings.tune_seeds)
    table.show_tables(results, settings.out, asked, console)
