"""The file that holds the flags of `jfed run`: it is read by --config and kept beside the results."""

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from jfed.commands.flags import Settings, changed, flags
from jfed.core.errors import ConfigError, unknown
from jfed.core.options import cast, hints, require_type
from jfed.core.version import __version__
from jfed.results.store import writing

NAME = "study.toml"
WORDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false", Path: "a path", Any: "a seed"}
HEAD = f"""\
# The flags of a study, by jfed {__version__}: `jfed run --config` with this file repeats or resumes it, and flags given
# besides override it. Without `out`, results are in the folder of this file, if it is in one.
"""


def asked(arguments: Sequence[str]) -> Path | None:
    """Return the file that --config names among a command's arguments; tyro judges the flag itself."""
    words = [word for argument in arguments for word in argument.split("=", 1)]
    places = [i for i, word in enumerate(words) if word == "--config"]
    return Path(words[places[-1] + 1]) if places and places[-1] + 1 < len(words) else None


def named(path: Path) -> dict[str, Any]:
    """Return the flags that a file names, by name.

    Raises:
        ConfigError: the file cannot be read, or a name or a value in it is not one of the flags.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"The file of --config cannot be read: {path}: {error.strerror}.") from error
    except ValueError as error:
        raise ConfigError(f"{path} is not TOML: {error}.") from error
    except RecursionError as error:
        raise ConfigError(f"{path} is not TOML: its values are nested too deeply.") from error
    base = Settings()
    known = {name: hints(type(getattr(base, group)))[name] for group, name, _ in flags(base)}
    for name in found:
        if name not in known:
            raise unknown(f"setting in {path}:", name, known)
    return {name: _typed(value, known[name], f"{path}: {name}") for name, value in found.items()}


def read(path: Path) -> Settings:
    """Return the flags of a file; those that it does not name have their defaults.

    Raises:
        ConfigError: as in `named`.
    """
    given = named(path)
    if "out" not in given and (path.parent / "results").is_dir():
        given["out"] = path.parent
    return changed(Settings(), **given)


def write(settings: Settings) -> Path:
    """Write the flags beside the results, and return the file's path.

    Raises:
        StorageError: the file cannot be written.
    """
    lines, before = [HEAD.rstrip()], ""
    for group, name, value in flags(settings):
        if value is None or name == "out":
            continue
        value = _anywhere(name, value)
        lines += [""] * (group != before) + [f"{name} = {json.dumps(value, default=str, ensure_ascii=False)}"]
        before = group
    path = settings.results.out / NAME
    with writing(path, "The study's flags") as part:
        part.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _anywhere(name: str, value: Any) -> Any:
    """Return a flag's value with whole paths, so that the file is right in any folder."""
    if name == "load":
        return [str(path.resolve()) for path in value]
    file = name == "data_dir" or (name == "dataset" and str(value).endswith(".npz"))
    return str(Path(value).resolve()) if file else value


def _typed(value: Any, hint: Any, name: str) -> Any:
    """Return a value of the file as a flag has it: arrays as tuples, and paths."""
    value = tuple(value) if isinstance(value, list) else value
    if get_origin(hint) is tuple and isinstance(value, str | int | float):
        value = (value,)
    if Path in (hint, *get_args(hint)):
        value = tuple(map(_path, value)) if isinstance(value, tuple) else _path(value)
    require_type(value, hint, name, _words(hint))
    return cast(value, hint)


def _words(hint: Any) -> str:
    """Return what a flag takes in words."""
    kind, inner = get_origin(hint), [arg for arg in get_args(hint) if arg not in (None, type(None), ...)]
    if kind is tuple:
        return f"a list, each {_words(inner[0])}"
    if kind is Literal:
        return " or ".join(map(json.dumps, inner))
    return WORDS.get(hint) or " or ".join(map(_words, inner))


def _path(value: Any) -> Any:
    return Path(value) if isinstance(value, str) else value
