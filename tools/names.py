"""Write the names of all members that ship with jfed, which `jfed list` then prints without importing jax."""

import json
from dataclasses import dataclass

from experiments.shared.common import command
from jfed.commands.listing import SHIPPED, named


def text() -> str:
    """Return the content of the file."""
    return json.dumps(named(shipped=True), indent=1) + "\n"


@dataclass(frozen=True)
class Settings:
    """Flags of this command."""


def main(_: Settings) -> None:
    """Write the file."""
    SHIPPED.write_text(text(), encoding="utf-8")
    print(f"Wrote {SHIPPED}")


if __name__ == "__main__":
    command(main, Settings)
