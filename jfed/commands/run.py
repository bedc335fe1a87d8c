"""`jfed run`: schemes against each other from the command line, without training."""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from jfed.commands import table


@dataclass(frozen=True)
class Settings:
    """Schemes against each other in a world of volatile clients, without training."""

    schemes: tuple[str, ...] = ("uniform", "fedcs", "e3cs-0.5")
    mode: str = "faithful"
    seeds: int = 30
    num_clients: int = 100
    cohort_size: int = 20
    num_rounds: int = 2500
    success_rates: tuple[float, ...] = (0.1, 0.3, 0.6, 0.9)
    out: Path = Path("out/run")


def main(settings: Settings, console: Console) -> None:
    """Run schemes and print how many models return."""
    import jfed
    from jfed.engine.host import setup
    from jfed.envs import volatility

    setup()
    base = jfed.Config(
        settings.num_clients,
        settings.cohort_size,
        settings.num_rounds,
        environment=volatility.Options(settings.success_rates),
    )
    points = jfed.methods(base, settings.schemes, settings.mode)  # type: ignore[arg-type]
    results = jfed.run(points, range(settings.seeds), out=settings.out)
    table.print_tables(results, table.Settings(settings.out, baseline=points[0].coords["method"]), console)
