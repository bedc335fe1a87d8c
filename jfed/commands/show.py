"""`jfed list`: what there is to choose from."""

from dataclasses import dataclass
from typing import Any

from rich.console import Console


@dataclass(frozen=True)
class Settings:
    """List schemes, worlds, controllers, algorithms, models and data sets."""


def main(_: Settings, console: Console) -> None:
    """Print every room's table."""
    from jfed import schemes
    from jfed.algorithms import ALGORITHMS
    from jfed.controllers import CONTROLLERS
    from jfed.data.load import names
    from jfed.data.partition import PARTITIONS
    from jfed.envs import ENVIRONMENTS
    from jfed.models import MODELS

    rows: dict[str, Any] = {
        "schemes": [*schemes.METHODS, *(f"{name}-NUMBER" for name in (*schemes.QUOTAS, *schemes.FAMILIES))],
        "worlds": ENVIRONMENTS,
        "controllers": CONTROLLERS,
        "algorithms": ALGORITHMS,
        "models": MODELS,
        "partitions": PARTITIONS,
        "data sets": names(),
    }
    for name, members in rows.items():
        console.print(f"{name:12} {', '.join(members)}", highlight=False)
