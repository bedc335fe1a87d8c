"""Errors for users, each with a message of one sentence; wrong settings are reported before anything compiles."""

import contextlib
import dataclasses
import difflib
import re
import reprlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

NUMBER = "-NUMBER"  # the end of a name that takes a number
LIKE = 0.5  # least ratio of `difflib` for a name to be proposed


class ConfigError(ValueError):
    """A setting that cannot be run; the message says what to change."""


class DataError(ConfigError):
    """Data that are not available or do not fit the settings."""


class StorageError(ConfigError):
    """Results that cannot be written; those written before are kept."""


class Unfinished(RuntimeError):
    """A command that stopped cleanly before its work was done; the same command resumes it."""


def require_columns(frame: Any, columns: Iterable[str]) -> None:
    """Check that a table has columns.

    Args:
        frame: the table.
        columns: names of columns.

    Raises:
        ValueError: it lacks one; the sentence names all that there are.
    """
    for column in columns:
        if column not in frame.columns:
            raise ValueError(f"the frame has no column {column!r}; there are {', '.join(map(str, frame.columns))}")


def unknown(kind: str, name: object, choices: Iterable[str], also: str = "") -> ConfigError:
    """Return the error for an unknown name, with near matches, all choices and, in words, what is `also` possible."""
    choices = sorted(set(choices))
    near = _near(str(name).lower(), choices)
    hint = f" (did you mean {' or '.join(map(repr, near))}?)" if near else ""
    others = f", or {also}" if also else ""
    return ConfigError(f"unknown {kind} {name!r}{hint}; the choices are: {', '.join(choices) or 'none'}{others}")


def _near(name: str, choices: Iterable[str]) -> list[str]:
    """Return up to two choices that a name is like, the nearest first; beside NUMBER its own number does not count."""

    def likeness(choice: str) -> float:
        stem = choice.removesuffix(NUMBER).lower()
        own = name if stem == choice.lower() else re.sub(r"[-_ ]*[0-9.]*$", "", name)
        return difflib.SequenceMatcher(None, own, stem).ratio()

    found = sorted(((likeness(choice), choice) for choice in choices), key=lambda one: -one[0])[:2]
    return [choice for ratio, choice in found if ratio >= LIKE and (found[0][0] < 1 or ratio == 1)]


@contextlib.contextmanager
def extra(name: str) -> Iterator[None]:
    """Turn a failed import of an optional dependency into one sentence.

    Raises:
        ConfigError: a module is missing; the message has the command that installs it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise ConfigError(f"This needs {error.name}, which is not installed: pip install 'jfed[{name}]'.") from error


def require(condition: bool, sentence: str) -> None:
    """Raise `ConfigError` with the sentence unless the condition holds."""
    if not condition:
        raise ConfigError(sentence)


def require_folder(folder: Any, sentence: str) -> None:
    """Raise `ConfigError` with a sentence, and what was found, unless something can be the name of a folder."""
    named = isinstance(folder, str | Path) and str(folder).strip() and "\0" not in str(folder)
    require(bool(named), f"{sentence}{shown(folder)}.")


LONGEST = 200  # letters of a library's error


class _Short(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = 100

    def repr_instance(self, x: Any, level: int) -> str:
        """Return the class and the shape of an array, the class of options, and start and end of other long texts."""
        if shape := getattr(x, "shape", ()):
            return f"{type(x).__name__} of shape {shape}"
        if dataclasses.is_dataclass(x) and not isinstance(x, type):
            return f"{type(x).__qualname__}(...)"
        return " ".join(super().repr_instance(x, level).split())


shown = _Short().repr
"""Return a value as messages show it: in one short line, without the values of arrays."""


def reason(error: BaseException) -> str:
    """Return what an error of a library says, in one line of at most 200 letters; its type if it says nothing.

    Such an error may hold a part of a file, whatever is in it.
    """
    line = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    line = "".join(letter if letter.isprintable() else "?" for letter in line).rstrip(".")
    return (line if len(line) <= LONGEST else f"{line[:LONGEST].rstrip()}...") or type(error).__name__
