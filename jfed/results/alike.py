"""What runs must have in common to be compared: their setting, and what they say if they have not.

The setting of a run is its configuration without the selector, with its data, precision and the code of its world and
training. Left open in it is whatever the command that asked for the run varied on purpose: results name that by method
and coordinates. Every door through which schemes are set side by side asks `require_alike`.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from jfed.core.errors import ConfigError

COLUMNS = ("setting", "versions")
MOST = 4  # differences that a sentence names

_known: dict[str, dict[str, Any]] = {}


def facts(what: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a run's setting is made of, by dotted path.

    Args:
        what: a run's identity without its seeds, as results hold it.
    """
    config = {name: value for name, value in what["config"].items() if name not in ("", "selector")}
    code = {f"code of the {room}": text for room, text in what["code"].items() if room != "selector"}
    return _flat("", config) | {"data": what["data"], "precision": what["precision"]} | code


def everything(what: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a run's identity is made of, by dotted path."""
    code = {f"code of the {room}": text for room, text in what["code"].items()}
    return _flat("", {k: v for k, v in what["config"].items() if k}) | {
        "data": what["data"], "precision": what["precision"], "backend": what["backend"], "engine": what["engine"],
    } | code  # fmt: skip


def _flat(path: str, node: Any) -> dict[str, Any]:
    if not isinstance(node, dict):
        return {path: node}
    found: dict[str, Any] = {}
    for name, value in node.items():
        found |= _flat(f"{path}.{name}".strip("."), value)
    return found


def setting(what: Mapping[str, Any], left_open: Iterable[str]) -> str:
    """Return the digest of a run's setting, and remember what it says for this process."""
    told = facts(what) | dict.fromkeys(left_open, "*")
    text = json.dumps(told, sort_keys=True)
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    _known[name] = told
    return name


def difference(a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    """Return in words what two settings, or two runs, differ in; "" if in nothing that is known."""
    other = {path for path in {*a, *b} if a.get(path, "*") != b.get(path, "*")}
    own = [path for path in sorted(other) if not path.startswith("code of ")]
    paths = own or sorted(other)  # code differs wherever a member is another one
    words = [
        path if path.startswith("code of ") else f"{path} ({_word(a, path)} and {_word(b, path)})" for path in paths
    ]
    return ", ".join([*words[:MOST], *(["..."] if len(words) > MOST else [])])


def _word(told: Mapping[str, Any], path: str) -> str:
    value = told.get(path, "nothing")
    return "several values" if value == "*" else "none" if value is None else str(value)


def require_alike(schemes: Iterable[Any], settings: Iterable[Any]) -> None:
    """Refuse schemes that ran under different settings which no coordinate tells apart.

    Args:
        schemes: of each run.
        settings: `setting` of each run; empty for a run of which it is not known, which is let pass.

    Raises:
        ConfigError: with what differs.
    """
    first: dict[str, str] = {}
    for scheme, one in zip(schemes, settings, strict=True):
        if isinstance(one, str) and one:
            first.setdefault(one, str(scheme))
    if len(first) > 1:
        (a, one), (b, other) = list(first.items())[:2]
        what = difference(_known[a], _known[b]) if a in _known and b in _known else ""
        who = f"{one} and {other}" if one != other else f"Runs of {one}"
        raise ConfigError(
            f"{who} ran under different settings{': ' + what if what else ''}. Compare them in one command that"
            " varies this on purpose, or give each setting an --out of its own."
        )


def notes(versions: Iterable[Any]) -> tuple[str, ...]:
    """Return a note for a table of runs that were made by several versions of the engine, of jax or of a backend."""
    several = sorted({one for one in versions if isinstance(one, str) and one})
    return (f"Made by several versions: {'; '.join(several)}.",) if len(several) > 1 else ()
