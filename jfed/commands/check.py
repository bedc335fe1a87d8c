"""`jfed check`: whether members satisfy the engine's requirements."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console


@dataclass(frozen=True)
class Settings:
    """Check schemes, worlds, controllers, algorithms, data sets and models, by file or by name.

    Attributes:
        what: Python files, such as my_scheme.py, whose members are all checked, or names of members. Without any, all
            members that ship with jfed are checked.
    """

    what: Annotated[tuple[str, ...], tyro.conf.Positional] = ()


def main(settings: Settings, console: Console) -> None:
    """Print each broken rule with advice, and how many rules hold; exit with status 1 if any is broken."""
    from jfed.runner.host import setup

    setup()
    broken = 0
    for options in members(settings.what):
        broken += _report(options, console)
    if broken:
        sys.exit(1)


def members(what: tuple[str, ...]) -> Iterator[Any]:
    """Yield the options that files define, that names denote, or, without either, that ship with jfed.

    Raises:
        ConfigError: a file cannot be loaded, or no room has a name.
    """
    from jfed import catalog, contracts
    from jfed.core.errors import ConfigError, unknown

    if not what:
        for field in catalog.ROOMS:
            for kind in catalog.members(field):
                yield from contracts.variants(kind)
        return
    for word in what:
        if word.endswith(".py") or Path(word).is_file():
            for kind in catalog.load_file(word):
                yield from contracts.variants(kind)
            continue
        found = []
        for field in catalog.ROOMS:
            try:
                found.append(catalog.find(field, word))
            except ConfigError:
                continue
        if not found:
            raise unknown("member", word, [name for field in catalog.ROOMS for name in catalog.names(field)])
        yield from found


def _report(options: Any, console: Console) -> int:
    """Print the findings about one member and return how many rules it breaks."""
    from jfed import contracts

    found = contracts.check(options)
    broken = [finding for finding in found if finding.sentence is not None]
    kept = len(found) - len(broken)
    notes = "; ".join(dict.fromkeys(finding.note for finding in found if finding.note and not broken))
    held = f"{found[0].member}: {kept} rule{'s' if kept != 1 else ''} hold{'s' if kept == 1 else ''}"
    lines = [f"{finding.member}: {finding.rule}: {finding.sentence}" for finding in broken]
    for line in [*lines, held + (f" ({notes})" if notes else "")]:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return len(broken)
