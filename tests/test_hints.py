"""Help texts: what they leave out."""

import dataclasses
import sys
from typing import Literal

import pytest

from experiments.shared.common import command
from jfed import cli
from jfed.commands.hints import plain


@dataclasses.dataclass(frozen=True)
class Group:
    """A group.

    Attributes:
        horizon: the end.
    """

    horizon: float | None = None


@dataclasses.dataclass(frozen=True)
class Settings:
    """A command.

    Attributes:
        at: when.
        how: in which way.
        names: of what.
        fast: whether.
        count: how many.
    """

    at: Literal["last", "best"] | int | None = None
    how: Literal["this", "that"] = "this"
    names: tuple[str, ...] = ()
    fast: bool = False
    count: int = 0
    group: Group = dataclasses.field(default_factory=Group)


def test_none_is_no_value_and_no_default(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["command", "--help"])
    with pytest.raises(SystemExit):
        command(lambda _: None, Settings)
    said = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "--at {last,best}|INT when. " in said and "--group.horizon FLOAT the end." in said
    assert "(default: this)" in said and "(default: 0)" in said and said.count("(default:") == 2
    assert dataclasses.fields(Settings)[0].default is None and Settings().names == ()
    plain(Settings)  # once more, and nothing changes
    assert Settings.__annotations__["count"] is int


@pytest.mark.parametrize("name", list(cli.COMMANDS))
def test_no_help_speaks_of_none(monkeypatch, capsys, name):
    monkeypatch.setattr(sys, "argv", ["jfed", name, "--help"])
    with pytest.raises(SystemExit):
        cli.main()
    said = capsys.readouterr().out
    assert said and not any(word in said for word in ("default: None", "default: )", "{None", "default: False"))
