"""The commands that make the runs of a claim."""

import tomllib
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from jfed.claims.claim import Claim


@dataclass(frozen=True)
class Making:
    """A command of the repository that makes runs on which claims are judged.

    Attributes:
        line: name of the experiment, and its flags.
        time: how long it takes, in words.
        minutes: the same as a number, on two cores.
        makes: experiments whose per-run tables it writes.
        where: settings of its runs, as far as claims name them.
    """

    line: str
    time: str
    minutes: float
    makes: list[str]
    where: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Return what one types."""
        return f"python -m experiments.{self.line}"


def makings() -> tuple[Making, ...]:
    """Return all commands that make the runs of claims."""
    text = resources.files("jfed.claims").joinpath("commands.toml").read_text()
    return tuple(Making(**entry) for entry in tomllib.loads(text)["command"])


def makings_of(claim: Claim) -> tuple[Making, ...]:
    """Return the commands that make a claim's runs: all that make its table at the settings that it is about."""
    return tuple(
        made
        for made in makings()
        if claim.runs in made.makes and all(claim.where.get(name, value) == value for name, value in made.where.items())
    )
