"""Members from outside jfed: registered by a call, provided by an installed package, or defined in a file."""

import functools
import importlib.util
import logging
import os
import re
import sys
import traceback
from importlib import metadata
from pathlib import Path
from typing import Any

from jfed.catalog.rooms import ROOMS, Entry, bases, by_name, defined, instance, room_of, shipped, unfinished
from jfed.core.errors import ConfigError, require
from jfed.core.members import MemberOptions, Name
from jfed.core.options import require_frozen

log = logging.getLogger("jfed")

registered: dict[str, dict[str, Entry]] = {field: {} for field in ROOMS}
_files: dict[Path, list[type[MemberOptions]]] = {}


def register(name: str, options: MemberOptions | type[MemberOptions]) -> None:
    """Give options a name of your own, which configs, `jfed.methods` and command lines then accept.

    Args:
        name: a name in lower case, with hyphens. It replaces an earlier one of your own; a name of jfed is refused.
        options: options of a member, or their class for the defaults.

    Raises:
        ConfigError: the name is one of jfed's or malformed, or the options are not those of a member.
    """
    made = instance(options)
    field = room_of(made)
    word = ROOMS[field].word
    fine = isinstance(name, str) and re.fullmatch(r"[a-z][a-z0-9.-]*", name)
    require(bool(fine), f"A name has small letters, digits, . and -, found {name!r}.")
    require(name not in shipped(field), f"{name!r} is a {word} of jfed: give yours another name.")
    registered[field][name] = Entry(Name(name), made, given=True)


@functools.cache
def _entry_points(field: str) -> dict[str, Entry]:
    found = {}
    for point in metadata.entry_points(group=ROOMS[field].group):
        try:
            options = instance(point.load())
        except Exception as error:  # an installed package that fails on import must not stop jfed
            log.warning(f"The {ROOMS[field].word} {point.name!r} of {point.value} cannot be loaded: {error}.")
            continue
        require_frozen(options, ROOMS[field].base, f"The entry point {point.name!r}")
        found[point.name] = Entry(Name(point.name), options, given=True)
    return found


def load_file(path: str | Path) -> list[type[MemberOptions]]:
    """Import a Python file once and return the options classes that it defines; the catalogue then knows their names.

    The file may import modules of its own folder, as a script may.

    Raises:
        ConfigError: there is no such file, it fails, it defines no member, or a name in it is one of jfed's.
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
    try:
        _files[path] = _members(module, path)
    except ConfigError:
        if known is None:
            del sys.modules[name]  # so that the mended file can be loaded
        raise
    return _files[path]


def loaded() -> list[Path]:
    """Return the files that have been loaded."""
    return [*_files]


def _members(module: Any, path: Path) -> list[type[MemberOptions]]:
    """Return the options classes that a file defines, after checking that they are complete and named apart."""
    for kind in (kind for room in ROOMS.values() for kind in unfinished(module, room.base)):
        lacks = ", ".join(f"`{method}`" for method in sorted(kind.__abstractmethods__))
        raise ConfigError(f"{path}: {kind.__qualname__} lacks {lacks}: define it as in CONTRIBUTING.md.")
    kinds = [kind for room in ROOMS.values() for kind in defined(module, room.base)]
    require(bool(kinds), f"{path} defines no member: give it a frozen dataclass derived from one of {bases()}.")
    for kind in kinds:
        field = room_of(instance(kind))
        twice = next((word for word in by_name([kind]) if word in shipped(field)), None)
        require(twice is None, f"{path}: {twice!r} is a {ROOMS[field].word} of jfed; give yours another name.")
    return kinds


def _import(name: str, path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        where = f"{path}, line {lines[-1]}," if lines else str(path)
        thawed = "non-frozen dataclass from a frozen one" in str(error)
        advice = ": write @dataclass(frozen=True) above the class" if thawed else ""
        raise ConfigError(
            f"{where} cannot be loaded: {type(error).__name__}: {str(error).rstrip('.')}{advice}."
        ) from error
    return module


def known(field: str) -> dict[str, Entry]:
    """Return the entries of a room for members from outside, by name."""
    for path in filter(None, os.environ.get("JFED_LOAD", "").split(os.pathsep)):
        load_file(path)
    base = ROOMS[field].base
    files = by_name(kind for kinds in _files.values() for kind in kinds if issubclass(kind, base))
    return _entry_points(field) | files | registered[field]
