"""The rooms (kinds of members, such as schemes or worlds) and the members that ship with jfed in each."""

import dataclasses
import functools
import importlib
import pkgutil
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from jfed.core.errors import ConfigError, shown
from jfed.core.members import (
    AlgorithmOptions,
    ControllerOptions,
    EnvironmentOptions,
    MemberOptions,
    Name,
    SelectorOptions,
)
from jfed.core.options import cast, fits, hints, require_frozen
from jfed.data.options import DataOptions
from jfed.models.classifier import ModelOptions

FILE = "the path of an .npz file or jfed.arrays(images, labels)"


@dataclass(frozen=True)
class Room:
    """A kind of members.

    Attributes:
        field: field of `Config` or `Training` that holds a member of the room.
        word: word for such a member in messages.
        package: package of its members.
        base: base class of its members' options.
        group: group of its entry points.
        also: what a config may hold in place of a name or options, in words.
    """

    field: str
    word: str
    package: str
    base: type[MemberOptions]
    group: str
    also: str = ""


ROOMS = {
    room.field: room
    for room in (
        Room("selector", "scheme", "jfed.selectors", SelectorOptions, "jfed.selectors"),
        Room("environment", "world", "jfed.envs", EnvironmentOptions, "jfed.environments"),
        Room("controller", "controller", "jfed.controllers", ControllerOptions, "jfed.controllers"),
        Room("algorithm", "algorithm", "jfed.algorithms", AlgorithmOptions, "jfed.algorithms"),
        Room("dataset", "data set", "jfed.data", DataOptions, "jfed.data", FILE),
        Room("model", "model", "jfed.models", ModelOptions, "jfed.models"),
    )
}


@dataclass(frozen=True)
class Entry:
    """A name and the options that it denotes.

    Attributes:
        name: the name, with the fields that it sets and the field of its number.
        options: the member's options, with their defaults or as they were registered.
        given: whether the name was registered for exactly these options, so that no mode changes them.
    """

    name: Name
    options: MemberOptions
    given: bool = False

    def at(self, value: Any = None) -> MemberOptions:
        """Return the options, with the given number (or word) if the name takes one."""
        changed = dict(self.name.fields)
        if self.name.number:
            hint = hints(type(self.options))[self.name.number]
            whole = isinstance(value, float) and value.is_integer() and not fits(value, hint)
            changed[self.name.number] = cast(int(value) if whole else value, hint)
        return dataclasses.replace(self.options, **changed)


@functools.cache
def members(field: str) -> tuple[type[MemberOptions], ...]:
    """Return the options classes that ship with jfed in a room, in the order of their files."""
    package = importlib.import_module(ROOMS[field].package)
    files = [importlib.import_module(f"{package.__name__}.{m.name}") for m in pkgutil.iter_modules(package.__path__)]
    return tuple(kind for file in files for kind in defined(file, ROOMS[field].base))


def defined(module: Any, base: type[MemberOptions]) -> list[type[MemberOptions]]:
    """Return the concrete options classes derived from a base that a module itself defines, in their order."""
    return [kind for kind in _own(module, base) if not kind.__abstractmethods__]


def unfinished(module: Any, base: type[MemberOptions]) -> list[type[MemberOptions]]:
    """Return the options classes of a module that lack a method, and from which no other class of it derives."""
    own = _own(module, base)
    return [kind for kind in own if kind.__abstractmethods__ and not any(kind in x.__mro__[1:] for x in own)]


def _own(module: Any, base: type[MemberOptions]) -> list[type[MemberOptions]]:
    kinds = [x for x in vars(module).values() if isinstance(x, type) and issubclass(x, base)]
    return [kind for kind in kinds if kind.__module__ == module.__name__]


def instance(options: Any) -> Any:
    """Return the defaults of an options class; return anything else as given."""
    if isinstance(options, type) and issubclass(options, MemberOptions):
        try:
            return options()
        except TypeError as error:
            raise ConfigError(f"{options.__qualname__} cannot be made without arguments: {error}.") from error
    return options


def room_of(options: Any) -> str:
    """Return the field of the room to which options belong.

    Raises:
        ConfigError: they derive from no room's base, or their class is not a frozen dataclass.
    """
    for field, room in ROOMS.items():
        if isinstance(options, room.base):
            require_frozen(options, room.base, f"The {room.word}")
            return field
    raise ConfigError(f"{shown(options)} is not an instance of any base of members: {bases()}.")


def bases() -> str:
    """Return the names of the bases of members' options, for messages."""
    return ", ".join(f"jfed.{room.base.__name__}" for room in ROOMS.values())


@functools.cache
def shipped(field: str) -> dict[str, Entry]:
    """Return the entries of a room for members that ship with jfed, by name."""
    return by_name(members(field))


def by_name(kinds: Iterable[type[MemberOptions]]) -> dict[str, Entry]:
    """Return the entries of options classes by name, aliases included; a name with a number ends in -NUMBER."""
    named: dict[str, Entry] = {}
    for kind in kinds:
        for name in kind.called():
            for word in (name.name, *name.aliases):
                key = f"{word}-NUMBER" if name.number else word
                named[key] = Entry(name, instance(kind))
    return named
