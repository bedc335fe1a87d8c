"""Names for members: what `"e3cs-0.5"`, `"wireless"` or `"fedprox"` stand for, and what there is to choose from.

A member declares its own names (`members.Name`). The catalogue finds the members that ship with jfed in their rooms,
and those from outside by `register`, by entry points (`jfed.selectors`, `jfed.environments`, ...), by `load_file` and
by the files that $JFED_LOAD lists.
"""

import dataclasses
import functools
import importlib
import importlib.util
import logging
import os
import pkgutil
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from jfed.core.errors import ConfigError, require, unknown
from jfed.core.members import (
    MODES,
    AlgorithmOptions,
    ControllerOptions,
    EnvironmentOptions,
    MemberOptions,
    Mode,
    Name,
    SelectorOptions,
)
from jfed.core.options import cast, hints, require_frozen
from jfed.data.options import DataOptions
from jfed.models.classifier import ModelOptions

log = logging.getLogger("jfed")


@dataclass(frozen=True)
class Room:
    """A room of members.

    Attributes:
        field: of `Config` or `Training`, that holds a member of it.
        word: for a member of it, in messages.
        package: where its members are.
        base: of its members' options.
        group: of entry points.
    """

    field: str
    word: str
    package: str
    base: type[MemberOptions]
    group: str


ROOMS = {
    room.field: room
    for room in (
        Room("selector", "scheme", "jfed.selectors", SelectorOptions, "jfed.selectors"),
        Room("environment", "world", "jfed.envs", EnvironmentOptions, "jfed.environments"),
        Room("controller", "controller", "jfed.controllers", ControllerOptions, "jfed.controllers"),
        Room("algorithm", "algorithm", "jfed.algorithms", AlgorithmOptions, "jfed.algorithms"),
        Room("dataset", "data set", "jfed.data", DataOptions, "jfed.data"),
        Room("model", "model", "jfed.models", ModelOptions, "jfed.models"),
    )
}
_NUMBER = r"-([0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)"


@dataclass(frozen=True)
class Entry:
    """A name and the options that it stands for.

    Attributes:
        name: with what the name sets, and the field of its number.
        options: of the member, with its defaults or, from `register`, as they were given.
    """

    name: Name
    options: MemberOptions

    def at(self, value: Any = None) -> MemberOptions:
        """Return the options, with a number (or word) where the name takes one."""
        changed = dict(self.name.fields)
        if self.name.number:
            changed[self.name.number] = cast(value, hints(type(self.options))[self.name.number])
        return dataclasses.replace(self.options, **changed)


# ----------------------------------------------------------------------------------------- what there is


@functools.cache
def members(field: str) -> tuple[type[MemberOptions], ...]:
    """Return the options classes that ship with jfed in a room, in the order of their files."""
    package = importlib.import_module(ROOMS[field].package)
    files = [importlib.import_module(f"{package.__name__}.{m.name}") for m in pkgutil.iter_modules(package.__path__)]
    return tuple(kind for file in files for kind in defined(file, ROOMS[field].base))


def defined(module: Any, base: type[MemberOptions]) -> list[type[MemberOptions]]:
    """Return the options classes on a base that a module defines itself, in their order."""
    kinds = [x for x in vars(module).values() if isinstance(x, type) and issubclass(x, base)]
    return [kind for kind in kinds if kind.__module__ == module.__name__ and not kind.__abstractmethods__]


_registered: dict[str, dict[str, Entry]] = {field: {} for field in ROOMS}
_files: dict[Path, list[type[MemberOptions]]] = {}


def register(name: str, options: MemberOptions | type[MemberOptions]) -> None:
    """Give options a name of your own, by which configs, `jfed.methods` and command lines then know them.

    Args:
        name: in small letters, with hyphens; a name that jfed uses is refused, one of yours is given anew.
        options: of a member, or its class, which stands for its defaults.

    Raises:
        ConfigError: a name that is taken, or that is none; no options of a member.
    """
    made = _instance(options)
    field = room_of(made)
    word = ROOMS[field].word
    fine = re.fullmatch(r"[a-z][a-z0-9.-]*", name)
    require(fine is not None, f"A name has small letters, digits, . and -, found {name!r}.")
    require(name not in shipped(field), f"{name!r} is a {word} of jfed: give yours another name.")
    _registered[field][name] = Entry(Name(name), made)


def _instance(options: Any) -> Any:
    if isinstance(options, type) and issubclass(options, MemberOptions):
        try:
            return options()
        except TypeError as error:
            raise ConfigError(f"{options.__qualname__} cannot be made without arguments: {error}.") from error
    return options


def room_of(options: Any) -> str:
    """Return the field of the room to which options belong.

    Raises:
        ConfigError: they are on none of the bases, or no frozen dataclass.
    """
    for field, room in ROOMS.items():
        if isinstance(options, room.base):
            require_frozen(options, room.base, f"The {room.word}")
            return field
    bases = ", ".join(f"jfed.{room.base.__name__}" for room in ROOMS.values())
    raise ConfigError(f"{options!r} is on none of the bases of members: {bases}.")


@functools.cache
def shipped(field: str) -> dict[str, Entry]:
    """Return the names of the members that ship with jfed."""
    return _by_name(members(field))


def _by_name(kinds: Iterable[type[MemberOptions]]) -> dict[str, Entry]:
    named: dict[str, Entry] = {}
    for kind in kinds:
        for name in kind.called():
            for word in (name.name, *name.aliases):
                key = f"{word}-NUMBER" if name.number else word
                named[key] = Entry(name, _instance(kind))
    return named


@functools.cache
def _entry_points(field: str) -> dict[str, Entry]:
    found = {}
    for point in metadata.entry_points(group=ROOMS[field].group):
        try:
            options = _instance(point.load())
        except Exception as error:  # whatever an installed package does on import must not stop jfed
            log.warning(f"The {ROOMS[field].word} {point.name!r} of {point.value} cannot be loaded: {error}.")
            continue
        require_frozen(options, ROOMS[field].base, f"The entry point {point.name!r}")
        own = _by_name([type(options)]) if options == _instance(type(options)) else {}
        found |= own | {point.name: Entry(Name(point.name), options)}
    return found


def entries(field: str) -> dict[str, Entry]:
    """Return everything that has a name in a room, jfed's own first; a name with a number ends in -NUMBER."""
    for path in filter(None, os.environ.get("JFED_LOAD", "").split(os.pathsep)):
        load_file(path)
    base = ROOMS[field].base
    outside = _by_name(kind for kinds in _files.values() for kind in kinds if issubclass(kind, base))
    return _entry_points(field) | outside | _registered[field] | shipped(field)


def load_file(path: str | Path) -> list[type[MemberOptions]]:
    """Import a Python file once and return the options classes that it defines; the catalogue then knows their names.

    Raises:
        ConfigError: no such file, an error while it runs, no member in it, or a name that is taken.
    """
    path = Path(path).resolve()
    if path in _files:
        return _files[path]
    require(path.is_file() and path.suffix == ".py", f"There is no Python file {path}.")
    name = path.stem
    known = sys.modules.get(name)
    taken = known is not None and Path(getattr(known, "__file__", None) or "").resolve() != path
    require(not taken, f"{path} cannot be loaded: there is another module {name!r}; give the file another name.")
    module = known or _import(name, path)
    kinds = [kind for room in ROOMS.values() for kind in defined(module, room.base)]
    bases = ", ".join(f"jfed.{room.base.__name__}" for room in ROOMS.values())
    require(bool(kinds), f"{path} defines no member: give it a frozen dataclass on one of {bases}.")
    for kind in kinds:
        field = room_of(_instance(kind))
        twice = next((word for word in _by_name([kind]) if word in shipped(field)), None)
        require(twice is None, f"{path}: {twice!r} is a {ROOMS[field].word} of jfed; give yours another name.")
    _files[path] = kinds
    return kinds


def _import(name: str, path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ConfigError(f"{path} cannot be loaded: {type(error).__name__}: {error}.") from error
    return module


# --------------------------------------------------------------------------------------------- by name


def find(field: str, name: str, mode: Mode = "faithful") -> Any:
    """Return the options that a name stands for.

    Args:
        field: of the room, such as "selector".
        name: in any case; with a number where the name takes one, such as e3cs-0.5 or rbcs-f-20.
        mode: as published, or corrected, for a scheme that has two modes.

    Raises:
        ConfigError: there is no such name or mode.
    """
    if mode not in MODES:
        raise unknown("mode", mode, MODES)
    entry, value = _match(field, name)
    options = entry.at(value)
    if options.modes is not None and not set(getattr(options.modes, mode)) & set(entry.name.fields):
        options = dataclasses.replace(options, **getattr(options.modes, mode))
    return options


def scheme(name: str, mode: Mode = "faithful") -> SelectorOptions:
    """Return the options of a client selection scheme by its name; see `find`."""
    return find("selector", name, mode)


def _match(field: str, name: str) -> tuple[Entry, Any]:
    known, plain = entries(field), str(name).strip().lower().replace("_", "-")
    if plain in known and not plain.endswith("-number"):
        return known[plain], None
    for key, entry in known.items():
        stem = key.removesuffix("-NUMBER")
        if key == stem or not plain.startswith(f"{stem}-"):
            continue
        if plain.removeprefix(f"{stem}-") in entry.name.words:
            return entry, plain.removeprefix(f"{stem}-")
        if match := re.fullmatch(re.escape(stem) + _NUMBER, plain):
            return entry, float(match[1])
    raise unknown(ROOMS[field].word, name, names(field))


def names(field: str) -> list[str]:
    """Return a name of everything in a room: for a name with a number, those with the numbers of its examples."""
    found = []
    for key, entry in entries(field).items():
        if key in entry.name.aliases or key.removesuffix("-NUMBER") in entry.name.aliases:
            continue
        stem = key.removesuffix("-NUMBER")
        found += [f"{stem}-{number}" for number in entry.name.examples] if key != stem else [key]
    return found


def canonical_name(field: str, name: str) -> str:
    """Return the name under which results list a member: `random` is `uniform`, `e3cs-0.50` is `e3cs-0.5`."""
    entry, value = _match(field, name)
    return _written(entry.name, value)


def _written(name: Name, value: Any) -> str:
    if not name.number:
        return name.name
    return f"{name.name}-{value if isinstance(value, str) else format(value, 'g')}"


def label(options: Any) -> str:
    """Return the name of options by their class, and by the fields that tell its names apart."""
    field = room_of(options)
    for entry in _registered[field].values():
        if entry.options == options:
            return entry.name.name
    for name in type(options).called():
        value = getattr(options, name.number) if name.number else None
        same = all(getattr(options, key) == wanted for key, wanted in name.fields.items())
        others = {key for other in type(options).called() for key in other.fields} - set(name.fields)
        plain = all(getattr(options, key) == getattr(_instance(type(options)), key) for key in others)
        if same and plain and (value is None or isinstance(value, int | float) or value in name.words):
            return _written(name, value)
    return type(options).called()[0].name


def has_modes(name: str) -> bool:
    """Return whether a scheme has a corrected form of its own."""
    return find("selector", name, "faithful") != find("selector", name, "corrected")


def set_by_name(options: MemberOptions) -> set[str]:
    """Return the fields that the names and modes of a member stand for, which are chosen by name and not set apart."""
    found = {key for name in options.called() for key in (*name.fields, name.number) if key}
    return found | set(options.modes.faithful if options.modes else ())


def resolve(field: str, given: Any, mode: Mode = "faithful") -> Any:
    """Return options from a name or from options themselves, checked to belong to the room.

    Raises:
        ConfigError: an unknown name, or options of another room.
    """
    if isinstance(given, str):
        return find(field, given, mode)
    require_frozen(given, ROOMS[field].base, f"The {ROOMS[field].word}")
    return given


def table(field: str) -> Mapping[str, MemberOptions]:
    """Return the options of each name in a room, for names with a number at the numbers of their examples."""
    return {name: find(field, name) for name in names(field)}
