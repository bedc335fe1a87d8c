"""`jfed list`: what there is to choose from."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console


@dataclass(frozen=True)
class Settings:
    """List schemes, worlds, controllers, algorithms, models and data sets."""

    load: tuple[Path, ...] = ()
    """Python files with members of your own."""


def main(_: Settings, console: Console) -> None:
    """Print every room's table."""
    from jfed import catalog
    from jfed.data.partition import NATURAL, PARTITIONS

    rows: dict[str, Any] = {
        **{f"{room.word}s": catalog.entries(field) for field, room in catalog.ROOMS.items()},
        "partitions": [*PARTITIONS, NATURAL],
    }
    for name, members in rows.items():
        console.print(f"{name:12} {', '.join(members)}", highlight=False)
