"""Parsing of settings on a command line: PATH=VALUE, and PATH=VALUE,VALUE for a sweep."""

import ast
import dataclasses
import math
from collections.abc import Iterable, Sequence
from typing import Any

from jfed.core.errors import require

NUMBERS = {"inf": math.inf, "nan": math.nan}
FLAGS = {"environment": "world", "selector": "schemes"}  # where the names differ
OF_SCHEMES = ("selector.", "controller.", "training.algorithm.")  # what belongs to a scheme
AXIS = "An axis is written PATH=VALUE,VALUE, such as selector.eta=0.1,0.5"
SETTING = "A setting is written PATH=VALUE, such as selector.eta=0.1"


def parse_settings(settings: Sequence[str], flags: Any = None) -> dict[str, Any]:
    """Return settings such as "selector.eta=0.1" as a delta; a value that is not a Python literal is taken as text.

    Args:
        settings: the settings.
        flags: dataclass of the command's flags, which may stand in groups. A setting that has a flag of its own is
            refused: what a command calls its results follows the flag.

    Raises:
        ConfigError: a setting has no "=" or no value, is given twice, or has a flag of its own.
    """
    pairs = _split(settings, SETTING)
    for path, _ in pairs:
        flag = _flag(path, set() if flags is None else _names(flags))
        require(not flag, f"{path} has a flag of its own here: give --{flag.replace('_', '-')} in place of --set.")
    return {path: _value(text) for path, text in pairs}


def parse_axes(axes: Sequence[str], fixed: Iterable[str] = ()) -> dict[str, list[Any]]:
    """Return the axes of a sweep such as "selector.eta=0.1,0.5"; tuples as values must be written in a list.

    Args:
        axes: the axes.
        fixed: paths that --set gives one value.

    Raises:
        ConfigError: an axis has no "=" or lacks a value, or its path is given twice or is fixed.
    """
    pairs = _split(axes, AXIS)
    for path, _ in pairs:
        require(path not in fixed, f"{path} is both set and swept: leave it out of --set or of --sweep.")
    found = {path: [_value(one) for one in _listed(text)] for path, text in pairs}
    for path, values in found.items():
        require("" not in values, f"{AXIS}; an empty value was found for {path}.")
    return found


def scheme_axes(paths: Iterable[str]) -> list[str]:
    """Return the axes that belong to the schemes, each of which may have its own best value.

    These are the settings of selector, controller and algorithm, such as `selector.eta` or a learning rate.
    """
    return [path for path in paths if path.startswith(OF_SCHEMES)]


def problem_axes(paths: Iterable[str]) -> list[str]:
    """Return the other axes: k, K, worlds, data sets, algorithms, and whatever else makes another problem.

    To choose a scheme's best problem says nothing about the scheme.
    """
    return [path for path in paths if not path.startswith(OF_SCHEMES)]


def _split(items: Sequence[str], usage: str) -> list[tuple[str, str]]:
    pairs = []
    for item in items:
        path, equals, text = (part.strip() for part in item.partition("="))
        require(bool(path and equals and text), f"{usage}, found {item!r}.")
        twice = f"{path} is given twice, as {dict(pairs).get(path)} and as {text}: write it once."
        require(path not in dict(pairs), twice)
        pairs.append((path, text))
    return pairs


def _names(flags: Any) -> set[str]:
    """Return the names of a command's flags: the fields of a dataclass, and of those within it."""
    found = set()
    for field in dataclasses.fields(flags):
        value = getattr(flags, field.name)
        found |= _names(value) if dataclasses.is_dataclass(value) else {field.name}
    return found


def _flag(path: str, names: Iterable[str]) -> str:
    """Return the name of the flag that gives a setting, "" if there is none; a list of it is in the plural."""
    home, _, last = path.rpartition(".")
    if home not in ("", "training", "training.algorithm"):
        return ""
    own = {last, FLAGS.get(last, "")} | ({f"{last}s"} if home != "training.algorithm" else set())
    return next(iter(sorted(own & set(names))), "")


def _listed(text: str) -> list[str]:
    """Return the texts of the values that commas separate, of which those within brackets are no separators."""
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return text.split(",")
    several = node.elts if isinstance(node, ast.List | ast.Tuple) else [node]
    return [ast.get_source_segment(text, one) or "" for one in several]


class _Numbers(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant(NUMBERS[node.id]) if node.id in NUMBERS else node


def _value(text: str) -> Any:
    """Return a Python literal, in which inf and nan are numbers; any other text as it is."""
    try:
        return ast.literal_eval(_Numbers().visit(ast.parse(text.strip(), mode="eval")))
    except (ValueError, SyntaxError):
        return text.strip()
