"""`jfed list`: the names of all members and partitions."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console


@dataclass(frozen=True)
class Settings:
    """List schemes, worlds, controllers, algorithms, data sets, models and partitions.

    Attributes:
        load: Python files with your own members.
    """

    load: tuple[Path, ...] = ()


def main(_: Settings, console: Console) -> None:
    """Print the names in each room, and the partitions."""
    from jfed import catalog
    from jfed.data.partition import NATURAL, PARTITIONS

    rows: dict[str, Any] = {
        **{f"{room.word}s": catalog.entries(field) for field, room in catalog.ROOMS.items()},
        "partitions": [*PARTITIONS, NATURAL],
    }
    for name, members in rows.items():
        console.print(f"{name:12} {', '.join(members)}", highlight=False)
