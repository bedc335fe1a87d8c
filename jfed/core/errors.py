"""Errors for users, each with a message of one sentence; wrong settings are reported before anything compiles."""

import contextlib
import difflib
from collections.abc import Iterable, Iterator


class ConfigError(ValueError):
    """A setting that cannot be run; the message says what to change."""


class DataError(ConfigError):
    """Data that are not available or do not fit the settings."""


class StorageError(ConfigError):
    """Results that cannot be written; those written before are kept."""


class Unfinished(RuntimeError):
    """A command that stopped cleanly before its work was done; the same command resumes it."""


def unknown(kind: str, name: object, choices: Iterable[str]) -> ConfigError:
    """Return the error for an unknown name, with near matches and all choices."""
    choices = sorted(choices)
    near = difflib.get_close_matches(str(name).lower(), choices, n=2, cutoff=0.5)
    hint = f" (did you mean {' or '.join(map(repr, near))}?)" if near else ""
    return ConfigError(f"unknown {kind} {name!r}{hint}; the choices are: {', '.join(choices) or 'none'}")


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
