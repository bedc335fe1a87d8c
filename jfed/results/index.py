"""Which runs a directory of results holds, where, and what they are called."""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from jfed.results import parts, store
from jfed.results.parts import Part
from jfed.results.sealed import Damaged

LABELS = "labels.json"

log = logging.getLogger("jfed")
Called = list[dict[str, Any]]


class Found(NamedTuple):
    """A run that is in place: its file, place, kind and date, and whether it has its cohorts."""

    path: Path
    at: int
    kind: str
    date: str
    recorded: bool


@dataclass
class Index:
    """What a directory holds.

    Attributes:
        runs: places of each run by its id, the newest first.
        kinds: of the runs, as `Part.kinds`.
        labels: what the last command called a kind of run, where that is not what its file says.
        engines: digests of the engine's code that made the runs, by file.
        parts: the files' content, where it was asked for.
    """

    runs: dict[str, list[Found]] = field(default_factory=dict)
    kinds: dict[str, dict[str, Any]] = field(default_factory=dict)
    labels: dict[str, Called] = field(default_factory=dict)
    engines: dict[Path, str] = field(default_factory=dict)
    parts: dict[Path, Part] = field(default_factory=dict)

    def place(self, run: str, recorded: bool = False) -> Found | None:
        """Return the newest place of a run, if asked so of one whose cohorts were recorded; None: there is none."""
        return next((found for found in self.runs.get(run, ()) if found.recorded or not recorded), None)

    def called(self, kind: str) -> Called:
        """Return the coordinates by which a kind of run is called now; more than one where a command asked it twice."""
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
        """Take over what a command calls some kinds of runs; return whether that is new.

        What was left open in their setting under the same coordinates stays so.
        """
        new = False
        for kind, called in asked.items():
            if kind not in self.kinds:
                continue
            before = self.called(kind)
            now = [one | {"open": _open(one, before)} for one in called]
            if text(now) != text(before):
                self.labels[kind] = now
                new = True
        return new


def _open(one: Mapping[str, Any], before: Called) -> list[str]:
    same = [old["open"] for old in before if text(old["coords"]) == text(one["coords"])]
    return sorted({*one["open"], *(path for paths in same for path in paths)})


def text(value: Any) -> str:
    """Return plain JSON values as one text, equal for equal ones: NaN is not equal to itself."""
    return json.dumps(value, sort_keys=True)


def survey(out: Path, files: Iterable[Path], set_aside: bool, with_arrays: bool = False) -> Index:
    """Return what files hold that were read and found whole.

    Args:
        out: where the labels are.
        files: of results.
        set_aside: rename damaged files and go on without them, with a sentence for each.
        with_arrays: keep the files' content.

    Raises:
        ValueError: a file is damaged and is not to be set aside.
    """
    found = Index()
    for path in sorted(files):
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
                    f"{path} is damaged: run its experiment again, which sets it aside and computes its runs anew; or"
                    " delete it."
                ) from error
            put_aside(path, "what it held is computed again where it is asked for")
    found.labels = _labels(out, set_aside)
    return found


def put_aside(path: Path, then: str) -> None:
    """Rename a damaged file so that nothing reads it again, and say so."""
    aside = path.with_name(f"{path.name}.damaged")
    with contextlib.suppress(OSError):  # a directory that is only read
        os.replace(path, aside)
    log.warning(f"{path} is damaged: it is called {aside.name} now, and {then}.")


def _labels(out: Path, set_aside: bool) -> dict[str, Called]:
    path = out / LABELS
    try:
        found = json.loads(path.read_bytes())
        return {str(kind): [{"coords": dict(c["coords"]), "open": list(c["open"])} for c in called]
                for kind, called in found.items()}  # fmt: skip
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        if set_aside:
            put_aside(path, "runs have the names under which they were computed")
        else:
            log.warning(f"{path} is damaged: runs have the names under which they were computed.")
        return {}


def write_labels(out: Path, index: Index) -> None:
    """Write what runs are called now beside them."""
    try:
        store.write_whole(out / LABELS, json.dumps(index.labels).encode())
    except OSError as error:
        log.warning(f"{out / LABELS} cannot be written ({error.strerror}): jfed.load gives the former names.")
