"""Parsing of settings on a command line: PATH=VALUE, and PATH=VALUE,VALUE for a sweep."""

import ast
from collections.abc import Sequence
from typing import Any

from jfed.core.errors import require


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """Return settings such as "selector.eta=0.1" as a delta; a value that is not a Python literal is taken as text.

    Raises:
        ConfigError: a setting has no "=".
    """
    return {path: _value(text) for path, text in map(_split, settings)}


def parse_axes(axes: Sequence[str]) -> dict[str, list[Any]]:
    """Return the axes of a sweep such as "selector.eta=0.1,0.5"; tuples as values must be written in a list.

    Raises:
        ConfigError: a setting has no "=".
    """
    found = {}
    for path, text in map(_split, axes):
        values = _value(text)
        if isinstance(values, str):
            values = [_value(one) for one in values.split(",")]
        found[path] = list(values) if isinstance(values, list | tuple) else [values]
    return found


def require_tune_seeds(tune_seeds: Sequence[int], num_seeds: int, axes: Sequence[str]) -> None:
    """Check that there are seeds, that tune seeds are some of them, but not all, and that there is a sweep to tune.

    Raises:
        ConfigError: there is no seed; or there are tune seeds but no axes, some are not run, or none is left to report.
    """
    require(num_seeds >= 1, f"At least one seed is needed, found --seeds {num_seeds}.")
    require(bool(axes) or not tune_seeds, "--tune-seeds are for choosing among settings: name them with --sweep.")
    some = f"--tune-seeds must be some of the {num_seeds} seeds"
    strange = ", ".join(str(seed) for seed in tune_seeds if not 0 <= seed < num_seeds)
    require(not strange, f"{some} (0 to {num_seeds - 1}), found {strange}: choose others, or raise --seeds.")
    require(len(set(tune_seeds)) < num_seeds, f"{some}, not all of them: name fewer, or raise --seeds.")


def _split(item: str) -> tuple[str, str]:
    path, equals, text = item.partition("=")
    require(bool(equals), f"A setting is written PATH=VALUE, such as selector.eta=0.1, found {item!r}.")
    return path.strip(), text.strip()


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text.strip()
