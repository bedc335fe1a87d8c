"""`jfed data`: fetch data sets, or list where they are."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from jfed.core.errors import require, unknown


@dataclass(frozen=True)
class Get:
    """Fetch data sets from their official addresses. In the default folder, jfed finds them without a further flag.

    Attributes:
        names: cifar10, emnist-letters, fashion-mnist, mnist.
        data_dir: folder for the files; by default $JFED_DATA_DIR, else jfed's folder in the user's cache.
    """

    names: tyro.conf.Positional[tuple[str, ...]]
    data_dir: Path | None = None


@dataclass(frozen=True)
class ListData:
    """List data sets and where they are.

    Attributes:
        data_dir: folder to search first.
    """

    data_dir: Path | None = None


@dataclass(frozen=True)
class Settings:
    """Fetch data sets, or list where they are."""

    action: Annotated[Get, tyro.conf.subcommand("get")] | Annotated[ListData, tyro.conf.subcommand("list")]


def main(settings: Settings, console: Console) -> None:
    """Run the chosen action."""
    if isinstance(settings.action, Get):
        get(settings.action, console)
    else:
        list_data(settings.action, console)


def get(settings: Get, console: Console) -> None:
    """Fetch data sets one after another."""
    from jfed.data import load
    from jfed.data.get import get as fetch

    known = [name.replace("_", "-") for name in load.names()]
    require(bool(settings.names), f"Say which data sets to fetch: {', '.join(known)}.")
    names = [name.lower().replace("_", "-") for name in settings.names]
    for given, name in zip(settings.names, names, strict=True):
        if name not in known:
            raise unknown("data set", given, known)
    for name in names:
        made, folder = fetch(name.replace("-", "_"), settings.data_dir, console)
        num = f"{len(made.images):,} + {len(made.test_images):,} images"
        there = "ships with jfed" if name == "digits" else f"is in {folder}"
        console.print(f"{name} {there}: {made.title}, {num}", highlight=False, soft_wrap=True)


def list_data(settings: ListData, console: Console) -> None:
    """Print each data set's name and where it comes from."""
    from jfed import catalog

    for name in catalog.names("dataset"):
        there = catalog.find("dataset", name).where(settings.data_dir)
        console.print(f"{name:18} {there}", highlight=False, soft_wrap=True)
