"""The settings that runs must share to be compared, and the error when they do not.

The setting of a run is its configuration without the selector, with its data, precision and the code of its other
members. Values that the run's command varied on purpose are left open in it: results name them by method and
coordinates. Every comparison of schemes calls `require_alike`.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from jfed.core.errors import ConfigError

COLUMNS = ("setting", "versions", "varied")
MOST = 4  # differences that a message names

_known: dict[str, dict[str, Any]] = {}


def facts(what: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a run's setting, by dotted path.

    Args:
        what: identity of the run without its seeds, as results hold it.
    """
    config = {name: value for name, value in what["config"].items() if name not in ("", "selector")}
    code = {f"code of the {room}": text for room, text in what["code"].items() if room != "selector"}
    return _flat("", config) | {"data": what["data"], "precision": what["precision"]} | code


def everything(what: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a run's identity without its seeds, by dotted path."""
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
    """Return the digest of a run's setting, whose values this process remembers."""
    return _remembered(facts(what) | dict.fromkeys(left_open, "*"))


def varied(what: Mapping[str, Any], left_open: Iterable[str]) -> str:
    """Return the digest of the values of a run that its setting leaves open, which this process remembers."""
    told = facts(what)
    return _remembered({path: told[path] for path in left_open if path in told})


def _remembered(told: dict[str, Any]) -> str:
    text = json.dumps(told, sort_keys=True)
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    _known[name] = told
    return name


def difference(a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    """Return in words the known differences between two settings, or two runs; "" if there are none."""
    other = {path for path in {*a, *b} if a.get(path, "*") != b.get(path, "*")}
    own = [path for path in sorted(other) if not path.startswith("code of ")]
    paths = own or sorted(other)  # another member always has other code
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
        schemes: scheme of each run.
        settings: `setting` of each run; a run passes if its setting is empty, that is, unknown.

    Raises:
        ConfigError: the settings differ.
    """
    if words := _apart(schemes, settings, "ran under different settings"):
        raise ConfigError(
            f"{words}. Compare them in one command that varies this on purpose, or give each setting an --out of its"
            " own."
        )


def notes(columns: Mapping[str, Iterable[Any]]) -> tuple[str, ...]:
    """Return notes for a table of runs that differ in more than their schemes.

    They name several versions of the engine or of jax, several backends, and settings that the runs' command varied
    together with the scheme.

    Args:
        columns: `scheme` and those of `COLUMNS` that are known, one value per run.
    """
    found = []
    several = sorted({one for one in columns.get("versions", ()) if isinstance(one, str) and one})
    if len(several) > 1:
        found.append(f"Made by several versions: {'; '.join(several)}.")
    if "varied" in columns:
        words = _apart(columns["scheme"], columns["varied"], "differ in more than the scheme")
        found += [f"{words}."] if words else []
    return tuple(found)


def _apart(schemes: Iterable[Any], digests: Iterable[Any], how: str) -> str:
    """Return in words the first difference between runs of different digests; "" if there is none. "" is unknown."""
    first: dict[str, str] = {}
    for scheme, one in zip(schemes, digests, strict=True):
        if isinstance(one, str) and one:
            first.setdefault(one, str(scheme))
    if len(first) < 2:
        return ""
    (a, one), (b, other) = list(first.items())[:2]
    what = difference(_known[a], _known[b]) if a in _known and b in _known else ""
    who = f"{one} and {other}" if one != other else f"Runs of {one}"
    return f"{who} {how}{': ' + what if what else ''}"
