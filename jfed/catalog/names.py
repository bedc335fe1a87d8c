"""Look-up of options by name, and of names by options."""

import dataclasses
import re
from collections.abc import Iterable
from typing import Any

from jfed.catalog import outside
from jfed.catalog.rooms import ROOMS, Entry, instance, room_of, shipped
from jfed.core.errors import ConfigError, require, shown, unknown
from jfed.core.members import MODES, MemberOptions, Mode, Name, SelectorOptions
from jfed.core.options import plain_fields, require_frozen

_NUMBER = r"-([0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)"


def entries(field: str) -> dict[str, Entry]:
    """Return the entries of a room by name; a name with a number ends in -NUMBER."""
    return outside.known(field) | shipped(field)


def find(field: str, name: str, mode: Mode = "faithful") -> Any:
    """Return the options that a name denotes.

    Args:
        field: field of the room, such as "selector".
        name: a name in any case, with a number if it takes one, such as e3cs-0.5 or rbcs-f-20.
        mode: faithful (as published) or corrected, for a scheme that has both.

    Raises:
        ConfigError: the name or the mode is unknown.
    """
    if mode not in MODES:
        raise unknown("mode", mode, MODES)
    entry, value = _match(field, name)
    options = entry.at(value)
    if not entry.given and options.modes is not None and not set(getattr(options.modes, mode)) & set(entry.name.fields):
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
    raise unknown(ROOMS[field].word, name, families(field), ROOMS[field].also)


def names(field: str) -> list[str]:
    """Return all names in a room but aliases; a name with a number appears once with each of its example numbers."""
    known, found = entries(field), []
    for key in families(field):
        stem = key.removesuffix("-NUMBER")
        found += [f"{stem}-{number}" for number in known[key].name.examples] if key != stem else [key]
    return found


def families(field: str) -> list[str]:
    """Return all names in a room but aliases; a name with a number ends in -NUMBER."""
    aliases = {alias for entry in entries(field).values() for alias in entry.name.aliases}
    return [key for key in entries(field) if key.removesuffix("-NUMBER") not in aliases]


def canonical_name(field: str, name: str) -> str:
    """Return the name under which results list a member: `random` is `uniform`, `e3cs-0.50` is `e3cs-0.5`."""
    entry, value = _match(field, name)
    return _written(entry.name, value)


def _written(name: Name, value: Any) -> str:
    if not name.number:
        return name.name
    return f"{name.name}-{value if isinstance(value, str) else format(value, 'g')}"


def label(options: Any) -> str:
    """Return the name of options: a registered name, or the name of their class that fits their fields."""
    field = room_of(options)
    for entry in outside.registered[field].values():
        if entry.options == options:
            return entry.name.name
    for name in type(options).called():
        value = getattr(options, name.number) if name.number else None
        same = all(getattr(options, key) == wanted for key, wanted in name.fields.items())
        others = {key for other in type(options).called() for key in other.fields} - {*name.fields, name.number}
        plain = all(getattr(options, key) == getattr(instance(type(options)), key) for key in others)
        if same and plain and (value is None or isinstance(value, int | float) or value in name.words):
            return _written(name, value)
    return type(options).called()[0].name


def has_modes(name: str) -> bool:
    """Return whether a scheme has a corrected form of its own."""
    return find("selector", name, "faithful") != find("selector", name, "corrected")


def set_by_name(options: MemberOptions) -> set[str]:
    """Return the fields that names and modes of a member set, and which are therefore not to be set by themselves."""
    found = {key for name in options.called() for key in (*name.fields, name.number) if key}
    return found | set(options.modes.faithful if options.modes else ())


def swept_name(name: str, path: str) -> str:
    """Return what a scheme is called once one of its settings is swept: without its number, if that is the setting.

    The sweep's coordinate then has the number: `e3cs-0.5` over `selector.quota` is `e3cs`. A name of the user's own
    says nothing of settings, and stays.

    Raises:
        ConfigError: the name, or its mode, determines the setting.
    """
    home, _, own = path.rpartition(".")
    try:
        entry, value = _match("selector", name)
    except ConfigError:
        return name
    if home != "selector" or own not in set_by_name(entry.options) or entry.given:
        return name
    numbers = {other.number for other in entry.options.called()}
    require(own in numbers, f"{path} cannot be swept, since the name {name!r} or its mode says it: list such schemes.")
    if value is None or own != entry.name.number:
        return name
    return f"{entry.name.name}-{own}" if entry.name.name in entries("selector") else entry.name.name


def untold(name: str, mode: str, options: Any, told: Iterable[str]) -> str:
    """Return in words how a scheme differs from what its name and mode say; "" if it does not.

    A name that is none of the catalogue's says nothing. Neither does a name that was registered, but for its class.

    Args:
        name: name of the scheme.
        mode: its mode.
        options: its options.
        told: names of settings that results give beside the name.
    """
    try:
        entry, expected = _match("selector", name)[0], find("selector", name, mode)  # type: ignore[arg-type]
    except ConfigError:
        return ""
    if type(expected) is not type(options):
        return f"is {label(options)}"
    for own in sorted(() if entry.given else set_by_name(options) - set(told)):
        if getattr(expected, own) != getattr(options, own):
            return f"has {own} {shown(getattr(options, own))}"
    return ""


def resolve(field: str, given: Any, mode: Mode = "faithful") -> Any:
    """Return options from a name or from options themselves, checked to belong to the room, with Python's own numbers.

    Raises:
        ConfigError: the name is unknown, or the options belong to another room.
    """
    options = find(field, given, mode) if isinstance(given, str) else given
    require_frozen(options, ROOMS[field].base, f"The {ROOMS[field].word}", ROOMS[field].also)
    return plain_fields(options)
