"""`jfed list`: the names of all members and partitions."""

import importlib.util
import json
import os
import pkgutil
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from rich.console import Console

SHIPPED = Path(__file__).parents[1] / "catalog" / "shipped.json"
"""The names of the members that ship with jfed, as `python -m tools.names` wrote them: reading them needs no jax."""


@dataclass(frozen=True)
class Settings:
    """List schemes, worlds, controllers, algorithms, data sets, models and partitions.

    Attributes:
        load: Python files with your own members.
    """

    load: tuple[Path, ...] = ()


def main(settings: Settings, console: Console) -> None:
    """Print the names in each room, and the partitions."""
    from jfed.data.partition import NATURAL, PARTITIONS

    written = json.loads(SHIPPED.read_text(encoding="utf-8"))
    rooms = named() if settings.load or not complete(written) else written
    rows = {room["word"]: room["names"] for room in rooms} | {"partition": [*PARTITIONS, NATURAL]}
    for word, names in rows.items():
        console.print(f"{word + 's':12} {', '.join(names)}", highlight=False)


def named(shipped: bool = False) -> list[dict[str, Any]]:
    """Return what the catalogue knows of each room: its word, package and entry points, its files, and all names.

    Args:
        shipped: whether to leave out the names of members from outside.
    """
    from jfed import catalog

    entries = catalog.shipped if shipped else catalog.entries
    return [
        {
            "word": room.word,
            "package": room.package,
            "group": room.group,
            "files": files(room.package),
            "names": list(entries(field)),
        }
        for field, room in catalog.ROOMS.items()
    ]


def complete(written: list[dict[str, Any]]) -> bool:
    """Return whether there are no members beside the written ones: no other file, no package, no $JFED_LOAD."""
    alike = all(files(room["package"]) == room["files"] for room in written)
    return (
        alike and not os.environ.get("JFED_LOAD") and not any(metadata.entry_points(group=r["group"]) for r in written)
    )


def files(package: str) -> list[str]:
    """Return the names of a package's modules, without importing them."""
    spec = importlib.util.find_spec(package)
    assert spec is not None
    places = sys.modules[package].__path__ if package in sys.modules else spec.submodule_search_locations
    return sorted(module.name for module in pkgutil.iter_modules(places))
