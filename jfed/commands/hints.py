"""Help without None: where that is a flag's default, or nothing is, the words tell what happens without the flag."""

import dataclasses
import functools
from collections.abc import Iterator
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

VALUES = {str: "STR", int: "INT", float: "FLOAT", Path: "PATH", bool: "{True,False}"}


@functools.cache
def plain(settings: type[Any]) -> None:
    """Leave None, False and "nothing" out of the help of a command, as values and as defaults.

    Args:
        settings: dataclass of the command's flags; the groups and subcommands in it are changed as well.
    """
    from tyro.conf import arg

    for kind in filter(dataclasses.is_dataclass, settings.__mro__):
        own = kind.__annotations__
        for field in dataclasses.fields(kind):
            hint, default = own.get(field.name), field.default
            for group in _classes(hint):
                plain(group)
            if hint is not None and (default is None or default is False or default == ()):
                own[field.name] = Annotated[hint, arg(metavar=_value(hint), help_behavior_hint=_hint)]


def _hint(default: str) -> str:
    return "" if default in ("None", "False", "") else f"(default: {default})"


def _value(hint: Any) -> str | None:
    """Return how the value of a flag is written, if its type is something or None; None for tyro's way."""
    kinds = get_args(hint)
    if NoneType not in kinds:
        return None
    texts = [
        f"{{{','.join(map(str, get_args(kind)))}}}" if get_origin(kind) is Literal else VALUES.get(kind, "")
        for kind in kinds
        if kind is not NoneType
    ]
    return "|".join(texts) if all(texts) else None


def _classes(hint: Any) -> Iterator[type[Any]]:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        yield hint
    for inner in get_args(hint):
        yield from _classes(inner)
