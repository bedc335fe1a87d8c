"""The index of a directory of results: its runs, their places and their names."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from jfed.results import parts, records, store
from jfed.results.parts import Part
from jfed.results.sealed import Damaged

LABELS = "labels.json"

log = logging.getLogger("jfed")
Called = list[dict[str, Any]]


class Found(NamedTuple):
    """The place of a stored run.

    Attributes:
        path: file that holds it.
        at: position among the file's runs.
        kind: id of its kind.
        date: date of the file.
        recorded: whether its cohorts were recorded.
    """

    path: Path
    at: int
    kind: str
    date: str
    recorded: bool


@dataclass
class Index:
    """The runs in a directory of results.

    Attributes:
        runs: places of each run by its id, the newest first.
        kinds: kinds of the runs, as `Part.kinds`.
        labels: last names of those kinds of runs that commands have renamed.
        engines: digests of the engine's code that made the runs, by file.
        parts: content of the files, if it was requested.
    """

    runs: dict[str, list[Found]] = field(default_factory=dict)
    kinds: dict[str, dict[str, Any]] = field(default_factory=dict)
    labels: dict[str, Called] = field(default_factory=dict)
    engines: dict[Path, str] = field(default_factory=dict)
    parts: dict[Path, Part] = field(default_factory=dict)

    def place(self, run: str, recorded: bool = False) -> Found | None:
        """Return the newest place of a run, with recorded cohorts if so requested; None if there is none."""
        return next((found for found in self.runs.get(run, ()) if found.recorded or not recorded), None)

    def called(self, kind: str) -> Called:
        """Return the names of a kind of run: several if one command requested it under several coordinates."""
        return self.labels.get(kind) or self.kinds[kind]["called"]

    def add(self, path: Path, part: Part) -> None:
        """Enter the runs of a file."""
        recorded = "selected" in part.dims
        for at, run in enumerate(part.runs):
            self.runs.setdefault(run.id, []).append(Found(path, at, run.kind, part.date, recorded))
            self.runs[run.id].sort(key=lambda found: found.date, reverse=True)
        for kind, told in part.kinds.items():
            self.kinds.setdefault(kind, told)
        self.engines[path] = str(part.provenance.get("engine_code", ""))

    def rename(self, asked: Mapping[str, Called]) -> bool:
        """Take over the names that a command gives to kinds of runs; return whether anything is new.

        Paths that were left open in a setting under the same coordinates stay open. A kind whose name another one has,
        which was computed or requested later, gets a higher `turn` than that: the name means what was requested last.
        """
        dates: dict[str, str] = {}
        for found in (found for places in self.runs.values() for found in places):
            dates[found.kind] = max(found.date, dates.get(found.kind, ""))
        rivals: dict[str, tuple[int, str]] = {}
        for kind in self.kinds.keys() - asked.keys():
            for one in self.called(kind):
                name, turn = self._name(kind, one), (one.get("turn", 0), dates.get(kind, ""))
                rivals[name] = max(turn, rivals.get(name, turn))
        new = False
        for kind, called in asked.items():
            if kind not in self.kinds:
                continue
            before, now = self.called(kind), []
            for one in called:
                same = [old for old in before if text(old["coords"]) == text(one["coords"])]
                turn, first = max((old.get("turn", 0) for old in same), default=0), rivals.get(self._name(kind, one))
                if first is not None and (turn, dates.get(kind, "")) <= first:
                    turn = first[0] + 1
                left_open = sorted({*one["open"], *(path for old in same for path in old["open"])})
                now.append(one | {"open": left_open} | ({"turn": turn} if turn else {}))
            if text(now) != text(before):
                self.labels[kind] = now
                new = True
        return new

    def _name(self, kind: str, one: Mapping[str, Any]) -> str:
        about = self.kinds[kind]["about"]
        return text([one["coords"], about["world"], about["dataset"]])


def text(value: Any) -> str:
    """Return plain JSON values as text to compare them by, since NaN is not equal to itself."""
    return json.dumps(value, sort_keys=True)


def survey(
    out: Path, files: Iterable[Path], set_aside: bool, with_arrays: bool = False, before: Index | None = None
) -> Index:  # fmt: skip
    """Return the index of all undamaged files.

    Args:
        out: directory of the labels.
        files: files of results.
        set_aside: whether to rename damaged files and continue without them, with a warning for each.
        with_arrays: whether to keep the files' content.
        before: an earlier index, to which only new files are added; None for a new one.

    Raises:
        ValueError: a file is damaged, and `set_aside` is False.
    """
    found = before or Index()
    for path in sorted(path for path in files if path not in found.engines):
        try:
            part = parts.read(path, with_arrays)
            found.add(path, part)
            if with_arrays:
                found.parts[path] = part
        except FileNotFoundError:  # set aside by another process meanwhile
            continue
        except (OSError, Damaged) as error:
            if not set_aside:
                raise ValueError(
                    f"{path} is damaged: run its experiment again, which sets it aside and computes its runs again; or"
                    " delete it."
                ) from error
            store.put_aside(path, "its runs are computed again when they are requested")
    found.labels = _labels(out, set_aside)
    return found


def _labels(out: Path, set_aside: bool) -> dict[str, Called]:
    path = out / LABELS
    try:
        found = records.read(path)
        return {kind: [_named(one) for one in called] for kind, called in found.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        if set_aside:
            store.put_aside(path, "runs have the names under which they were computed")
        else:
            log.warning(f"{path} is damaged: runs have the names under which they were computed.")
        return {}


def _named(one: Mapping[str, Any]) -> dict[str, Any]:
    """Return one name of a kind of runs as a file holds it; raise ValueError, KeyError or TypeError if it is none."""
    coords, left_open, turn = dict(one["coords"]), list(one["open"]), one.get("turn", 0)
    texts = [coords["method"], coords["mode"], *left_open]
    plain = all(isinstance(value, str | int | float) for value in coords.values())
    if not (plain and all(isinstance(word, str) for word in texts) and type(turn) is int):
        raise TypeError("a name has coordinates, paths and a turn")
    return {"coords": coords, "open": left_open} | ({"turn": turn} if "turn" in one else {})


def write_labels(out: Path, index: Index) -> None:
    """Write the current names of runs into the directory of results."""
    try:
        store.write_whole(out / LABELS, json.dumps(index.labels).encode())
    except OSError as error:
        log.warning(f"{out / LABELS} cannot be written ({error.strerror}): jfed.load will give the former names.")
