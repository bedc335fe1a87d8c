"""The small JSON files beside results, which anything may have happened to: each is read whole or not at all."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def read(path: Path) -> Any:
    """Return the values in a JSON file.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no JSON in UTF-8, or is nested too deeply.
    """
    try:
        return json.loads(path.read_bytes())
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def manifest(out: Path) -> list[dict[str, Any]]:
    """Return the entries of a directory's manifest, one per command, the oldest first; none without the file.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is damaged.
    """
    try:
        found = read(out / "manifest.json")
    except FileNotFoundError:
        return []
    if not isinstance(found, list) or not all(map(_is_entry, found)):
        raise ValueError("not a list of commands")
    return found


def _is_entry(entry: Any) -> bool:
    """Return whether a value has the types of a manifest's entry, in those of its facts that are read again."""
    if not isinstance(entry, Mapping):
        return False
    seconds, versions = entry.get("seconds", 0.0), entry.get("versions", {})
    dated = isinstance(entry.get("date", ""), str)
    return dated and type(seconds) in (int, float) and abs(seconds) < float("inf") and isinstance(versions, Mapping)
