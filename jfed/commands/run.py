"""`jfed run`: schemes against each other from the command line, without training."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.console import Console

from jfed.commands import table
from jfed.paths import parse_axes, parse_settings, require_tune_seeds


@dataclass(frozen=True)
class Settings:
    """Schemes against each other, without training."""

    schemes: tuple[str, ...] = ("uniform", "fedcs", "e3cs-0.5")
    """Names that `jfed list` prints, with a number where one is asked for."""
    mode: str = "faithful"
    seeds: int = 30
    num_clients: int = 100
    cohort_size: int = 20
    num_rounds: int = 2500
    world: str = "volatility"
    """A name that `jfed list` prints; its settings by --set environment.NAME=VALUE."""
    metric: Literal["num_succeeded", "round_time_s"] = "num_succeeded"
    """What is compared, summed over rounds: models that return, or simulated time (less is better)."""
    set: tuple[str, ...] = ()
    """Further settings by path, such as eval_every=10 or selector.eta=0.1."""
    sweep: tuple[str, ...] = ()
    """Settings with several values, such as selector.eta=0.1,0.5 cohort_size=10,20; all combinations are run."""
    tune_seeds: tuple[int, ...] = ()
    """Of a sweep: seeds on which each scheme's best point is chosen; the other seeds report it."""
    load: tuple[Path, ...] = ()
    """Python files with schemes and worlds of your own; their names then work in all flags."""
    out: Path = Path("out/run")


def main(settings: Settings, console: Console) -> None:
    """Run schemes and print how many models return, or how long it takes."""
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
