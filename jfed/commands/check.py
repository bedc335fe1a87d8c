"""`jfed check`: whether members keep what the engine asks of them."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.console import Console


@dataclass(frozen=True)
class Settings:
    """Check schemes, worlds, controllers, algorithms and models: those of a file, by name, or all that there are."""

    what: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Python files, such as my_scheme.py, of which everything is checked that they define; or names of members. Without
    any, everything that ships with jfed."""


def main(settings: Settings, console: Console) -> None:
    """Print each broken rule with what to do, and how many rules hold; exit with 1 if any is broken."""
    from jfed.runner.host import setup

    setup()
    broken = 0
    for options in members(settings.what):
        broken += _report(options, console)
    if broken:
        sys.exit(1)


def members(what: tuple[str, ...]) -> Iterator[Any]:
    """Yield the options that files define, that names stand for, or that ship with jfed.

    Raises:
        ConfigError: a file that cannot be loaded, or a name that no room has.
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
    """Print what is found of one member; return how many rules it breaks."""
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
