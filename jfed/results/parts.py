"""Parts of a result: runs that were computed together, their identities, and the file that holds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from jfed.results.sealed import Arrays, Damaged, seal, unseal

FORMAT = 1
KIND = ("what", "about", "called")  # what a file tells of a kind of runs


class Stored(NamedTuple):
    """The identity of one run in a file.

    Attributes:
        id: id of the run.
        kind: id of its kind, a key of `Part.kinds`.
        seeds: seeds of the run, the data, the model and the environment.
    """

    id: str
    kind: str
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class Part:
    """Runs that were computed together.

    Attributes:
        arrays: variables by name; the first axis is the runs, except in the coordinates round and eval_round.
        dims: names of the axes of each variable.
        runs: runs in the order of the first axis.
        kinds: kinds of the runs by id: "what" (the identity without seeds), "about" (config, world, oracle, dataset)
            and "called" (coordinates, and paths left open; see `alike`).
        layout: block size and lane.
        provenance: date, versions, device, commit, seconds and digest of the engine's code; no part of the runs'
            identities.
    """

    arrays: Arrays
    dims: Mapping[str, tuple[str, ...]]
    runs: tuple[Stored, ...]
    kinds: Mapping[str, dict[str, Any]]
    layout: Mapping[str, Any]
    provenance: Mapping[str, Any]

    def content(self) -> bytes:
        """Return the content of the part's file."""
        about = {
            "format": FORMAT, "dims": self.dims, "runs": self.runs, "kinds": self.kinds, "layout": self.layout,
            "provenance": self.provenance,
        }  # fmt: skip
        return seal(self.arrays, about)

    @property
    def date(self) -> str:
        """The time at which the part was done, as text that sorts by time."""
        return str(self.provenance.get("date", ""))

    def versions(self, kind: str) -> str:
        """Return in words the versions that made the runs of a kind."""
        what = self.kinds[kind]["what"]
        jax = self.provenance.get("versions", {}).get("jax", "?")
        return f"engine {what['engine']}, jax {jax}, {what['backend']}"


def read(file: Path, with_arrays: bool = True) -> Part:
    """Return the part that a file holds, with or without its arrays.

    Raises:
        Damaged: the file has changed since it was written, or this version of jfed did not write it.
        OSError: the file cannot be read.
    """
    arrays, about = unseal(file.read_bytes(), with_arrays)
    try:
        part = Part(
            arrays=arrays,
            dims={name: tuple(dims) for name, dims in about["dims"].items()},
            runs=tuple(Stored(name, kind, tuple(seeds)) for name, kind, seeds in about["runs"]),
            kinds={kind: {name: told[name] for name in KIND} for kind, told in about["kinds"].items()},
            layout=dict(about["layout"]),
            provenance=dict(about["provenance"]),
        )
        if about["format"] == FORMAT and _fits(part):
            return part
    except (KeyError, TypeError, ValueError, AttributeError):
        pass
    raise Damaged("was not written by this version of jfed")


def _fits(part: Part) -> bool:
    """Return whether the arrays have the axes that the file names, and the runs are of its kinds."""
    named = all(array.ndim == len(part.dims[name]) for name, array in part.arrays.items())
    long = all(len(a) == len(part.runs) for name, a in part.arrays.items() if part.dims[name][:1] == ("run",))
    runs = all(isinstance(run.id, str) and run.kind in part.kinds for run in part.runs)
    return named and long and runs and all(type(seed) is int for run in part.runs for seed in run.seeds)
