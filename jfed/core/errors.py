"""Errors for users, each with a message of one sentence; wrong settings are reported before anything compiles."""

import contextlib
import dataclasses
import difflib
import reprlib
from collections.abc import Iterable, Iterator
from typing import Any


class ConfigError(ValueError):
    """A setting that cannot be run; the message says what to change."""


class DataError(ConfigError):
    """Data that are not available or do not fit the settings."""


class StorageError(ConfigError):
    """Results that cannot be written; those written before are kept."""


class Unfinished(RuntimeError):
    """A command that stopped cleanly before its work was done; the same command resumes it."""


def unknown(kind: str, name: object, choices: Iterable[str], also: str = "") -> ConfigError:
    """Return the error for an unknown name, with near matches, all choices and, in words, what is `also` possible."""
    choices = sorted(choices)
    near = difflib.get_close_matches(str(name).lower(), choices, n=2, cutoff=0.5)
    hint = f" (did you mean {' or '.join(map(repr, near))}?)" if near else ""
    others = f", or {also}" if also else ""
    return ConfigError(f"unknown {kind} {name!r}{hint}; the choices are: {', '.join(choices) or 'none'}{others}")


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
