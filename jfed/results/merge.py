"""Directories of results that were filled apart, as one: runs, checkpoints, names and history."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from jfed.core.errors import ConfigError, StorageError, require
from jfed.results import index, parts, records, store
from jfed.results.index import Index
from jfed.results.parts import Part

log = logging.getLogger("jfed")


@dataclass
class Merged:
    """The outcome of a merge.

    Attributes:
        runs: runs in the directory now.
        added: those of them that were added.
        doubled: runs that were in several directories, of which one was taken.
        unlike: those of them whose numbers are not the same in all.
    """

    runs: int = 0
    added: int = 0
    doubled: int = 0
    unlike: int = 0


def merge(sources: Sequence[Path], out: Path) -> Merged:
    """Copy all results into a directory, which may be one of the sources; the sources stay as they are.

    Of a run that several directories have, the newest result counts, as everywhere. Results of former versions of jfed
    (.nc) are copied, too.

    Raises:
        ConfigError: a source has no results, or a process writes to the directory.
        StorageError: a file is damaged, or cannot be written.
    """
    for source in sources:
        begun = any(source.glob("checkpoints/*"))
        require(begun or bool(store.files(source, (".npz", ".nc"))), f"There are no results in {source}.")
    store.prepare(out)
    found = Merged()
    try:
        with store.lock(out):
            whole = index.survey(out, store.files(out), set_aside=False)
            before = len(whole.runs)
            for source in sources:
                if source.resolve() != out.resolve():
                    _runs(source, out, whole, found)
                    _checkpoints(source, out, whole)
            others = [source for source in sources if source.resolve() != out.resolve()]
            _history([out, *others], out)
            for source in others:
                _copy_missing(source / "study.toml", out / "study.toml")
            index.write_labels(out, whole)
    except OSError as error:
        raise StorageError(f"The results cannot be merged into {out}: {error.strerror} ({error.filename}).") from error
    except ValueError as error:  # of a damaged file
        if isinstance(error, ConfigError):
            raise
        raise StorageError(str(error)) from error
    found.runs, found.added = len(whole.runs), len(whole.runs) - before
    _say_versions(whole, out)
    return found


def _runs(source: Path, out: Path, whole: Index, found: Merged) -> None:
    """Copy the files with runs that the directory lacks, or has with older and other numbers, and their names."""
    theirs = index.survey(source, store.files(source), set_aside=False, with_arrays=True)
    for path, part in theirs.parts.items():
        recorded = "selected" in part.dims
        double = [run for run in part.runs if whole.place(run.id, recorded) is not None]
        found.doubled += len(double)
        newer = False
        for run in double:
            place = whole.runs[run.id][0]
            same = _same(part, [r.id for r in part.runs].index(run.id), parts.read(place.path), place.at)
            found.unlike += not same
            newer |= not same and part.date > place.date
        target = out / "results" / path.name
        if newer or (len(double) < len(part.runs) and not target.exists()):
            store.write_whole(target, path.read_bytes())
            whole.add(target, part)
    for kind, called in theirs.labels.items():
        whole.labels.setdefault(kind, called)
    for path in store.files(source, (".nc",)):
        _copy_missing(path, out / "results" / path.name)


def _same(a: Part, i: int, b: Part, j: int) -> bool:
    """Return whether two runs have the same numbers in what both have recorded."""
    common = [name for name in a.arrays if name in b.arrays and a.dims[name][:1] == ("run",)]
    return all(np.array_equal(a.arrays[n][i], b.arrays[n][j], equal_nan=a.arrays[n].dtype.kind == "f") for n in common)


def _checkpoints(source: Path, out: Path, whole: Index) -> None:
    """Copy the checkpoints of blocks with unfinished runs; of a block that both have, the most advanced ones."""
    for folder in sorted(source.glob("checkpoints/*")):
        try:
            runs = list(map(str, records.read(folder / "runs.json")["runs"]))
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if all(run in whole.runs for run in runs):
            continue
        target = out / "checkpoints" / folder.name
        if target.exists() and _reached(target) >= _reached(folder):
            continue
        shutil.copytree(folder, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.part"))


def _reached(folder: Path) -> int:
    return max((int(path.stem) for path in folder.glob("*.npz") if path.stem.isdecimal()), default=0)


def _history(folders: Iterable[Path], out: Path) -> None:
    """Write the manifests as one, in the order of their dates."""
    entries: list[Any] = []
    for folder in folders:
        try:
            entries += [entry for entry in records.manifest(folder) if entry not in entries]
        except ValueError:
            log.warning(f"{folder / 'manifest.json'} is damaged: its commands are not listed in the merged one.")
    if entries:
        entries.sort(key=lambda entry: entry.get("date", ""))
        store.write_whole(out / "manifest.json", (json.dumps(entries, indent=1) + "\n").encode())


def _copy_missing(path: Path, target: Path) -> None:
    if path.exists() and not target.exists():
        store.write_whole(target, path.read_bytes())


def _say_versions(whole: Index, out: Path) -> None:
    """Warn if the runs were made by several versions, or on several kinds of devices."""
    files = {place.path for places in whole.runs.values() for place in places}
    told = [parts.read(path, with_arrays=False).provenance for path in sorted(files)]
    for words, values in (
        ("versions of jax", {str(one.get("versions", {}).get("jax")) for one in told}),
        ("kinds of devices", {str(one.get("device")) for one in told}),
        ("states of the engine's code", {str(one.get("engine_code")) for one in told}),
    ):
        if len(values) > 1:
            which = f"{len(values)} {words} ({', '.join(sorted(values))})"
            log.warning(f"The runs in {out} come from {which}: their last bits may differ.")
