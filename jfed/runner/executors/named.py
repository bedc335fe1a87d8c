"""Executors by name, as a command line has them: "here", "processes:4", "ray:workers=8,gpus=1"."""

from typing import Any

from jfed.core.errors import ConfigError, require, unknown
from jfed.runner.executors.executor import Executor
from jfed.runner.executors.processes import Processes
from jfed.runner.executors.ray import Ray

KINDS: dict[str, tuple[type[Any], dict[str, type[Any]]]] = {
    "processes": (Processes, {"workers": int, "gpus": int}),
    "ray": (Ray, {"workers": int, "cpus": int, "gpus": int, "address": str}),
}


def named(text: str) -> Executor | None:
    """Return the executor that a text names; None for "here", which is this process.

    Raises:
        ConfigError: the text names none, or a setting of it is impossible.
    """
    name, _, rest = text.partition(":")
    if name == "here" and not rest:
        return None
    if name not in KINDS:
        raise unknown("executor", name, ["here", *KINDS])
    kind, fields = KINDS[name]
    given: dict[str, Any] = {}
    for word in filter(None, rest.split(",")):
        key, equals, value = word.partition("=")
        key, value = (key, value) if equals else ("workers", word)
        if key not in fields:
            raise unknown(f"setting of {name}", key, fields)
        require(key not in given, f"--on {text} gives {key} twice.")
        try:
            given[key] = fields[key](value)
        except ValueError:
            raise ConfigError(f"--on {text}: {key} must be a whole number, found {value!r}.") from None
    return kind(**given)
