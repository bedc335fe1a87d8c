"""Checkpoints of unfinished units: the state of a block at the end of a chunk, and everything recorded so far.

A checkpoint is one sealed file in the unit's folder, named by the number of rounds done. A run's bits depend on the
version of jax, so no run resumes from a checkpoint of another version: every result comes from one version.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from jfed.results import records, store
from jfed.results.sealed import Arrays, Damaged, seal, unseal

KEEP = 2  # the newest, and one in case it is damaged

RUNS = "runs.json"

log = logging.getLogger("jfed")


class Saved(NamedTuple):
    """A usable checkpoint of a unit.

    Attributes:
        round: rounds done; 0 without a checkpoint.
        arrays: arrays as given to `save`.
    """

    round: int
    arrays: Arrays


NOTHING = Saved(0, {})


def named(prefix: str, tree: Any) -> dict[str, Any]:
    """Return the leaves of a pytree by name, such as "state.selector.log_w"."""
    return {prefix + _path(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def _path(path: Sequence[Any]) -> str:
    """Return the path to a leaf, with a dot before each field name, key or position."""
    return "".join(f".{getattr(step, 'name', getattr(step, 'key', getattr(step, 'idx', step)))}" for step in path)


def joined(parts: Sequence[Mapping[str, np.ndarray]], axis: int = 0) -> Arrays:
    """Return parts with the same array names concatenated along an axis."""
    return {name: np.concatenate([part[name] for part in parts], axis) for name in parts[0]}


def begin(folder: Path, block: Mapping[str, Any]) -> None:
    """Write which runs a unit's checkpoints hold, and in what layout, unless that has been written.

    Raises:
        ConfigError: the directory of results is gone.
        OSError: the file cannot be written.
    """
    if not (folder / RUNS).exists():
        store.require_there(folder.parent.parent)
        folder.mkdir(parents=True, exist_ok=True)
        store.write_whole(folder / RUNS, json.dumps(block).encode())


def begun(folder: Path) -> Any:
    """Return the runs and the layout that `begin` wrote; None if they cannot be read."""
    try:
        found = records.read(folder / RUNS)
    except (OSError, ValueError):
        return None
    runs = found.get("runs") if isinstance(found, dict) else None
    return found if isinstance(runs, list) and all(isinstance(run, str) for run in runs) else None


def reached(out: Path, unit_id: str) -> int:
    """Return the round of a unit's newest checkpoint, which may turn out to be unusable; 0 if it has none."""
    files = store.checkpoint_folder(out, unit_id).glob("*.npz")
    return max((int(path.stem) for path in files if path.stem.isdecimal()), default=0)


def save(folder: Path, round: int, arrays: Mapping[str, np.ndarray]) -> None:
    """Write a checkpoint and remove all but the newest `KEEP`.

    Raises:
        OSError: the file cannot be written; earlier checkpoints stay.
    """
    folder.mkdir(parents=True, exist_ok=True)
    store.write_whole(folder / f"{round:08d}.npz", seal(arrays, {"jax": jax.__version__}))
    for path in sorted(folder.glob("*.npz"))[:-KEEP]:
        path.unlink(missing_ok=True)
    for part in folder.glob("*.part"):
        store.remove_abandoned(part)


def load(folder: Path, state: Mapping[str, Any], kept: set[str]) -> Saved:
    """Return the newest usable checkpoint; remove newer ones that are unusable, with one warning.

    Args:
        folder: the unit's folder of checkpoints.
        state: leaves of the state by name, with the shapes and types that they must have.
        kept: names of the recorded arrays.
    """
    found, refused = NOTHING, []
    for path in sorted(folder.glob("*.npz"), reverse=True):
        number = path.stem.partition("-")[0]
        arrays, reason = _read(path, state, kept) if number.isdecimal() else ({}, "is none")
        if not reason:
            found = Saved(int(number), arrays)
            break
        at = f"at round {int(number)}" if number.isdecimal() else path.name
        refused.append(f"the checkpoint {at} {reason}")
        path.unlink(missing_ok=True)
    if refused:
        then = f"resumes from round {found.round}" if found.round else "starts again from round 1"
        log.warning(f"Unit {folder.name} {then}: {', '.join(refused)}.")
    return found


def _read(path: Path, state: Mapping[str, Any], kept: set[str]) -> tuple[Arrays, str]:
    """Return a checkpoint's arrays and "", or no arrays and the reason why it is unusable."""
    try:
        arrays, about = unseal(path.read_bytes())
    except (OSError, Damaged):
        return {}, "is damaged"
    made = about.get("jax") if isinstance(about, dict) else None
    if made != jax.__version__:
        return {}, f"was made with jax {made} and this is {jax.__version__}"
    if set(arrays) != set(state) | kept:
        return {}, "was made by another version of jfed"
    for name, like in state.items():
        sized = arrays[name].dtype.itemsize == np.dtype(like.dtype).itemsize
        if arrays[name].dtype.kind == "V" and sized:  # NumPy does not know bfloat16 and its like by name
            arrays[name] = arrays[name].view(like.dtype)
        if (arrays[name].shape, arrays[name].dtype) != (like.shape, like.dtype):
            return {}, "was made by another version of jfed"
    return arrays, ""
