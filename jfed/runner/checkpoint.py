"""Checkpoints of unfinished units: the state of a block, and what was recorded so far, at the end of a chunk.

A checkpoint is one npz file in the unit's folder, named by the rounds done and the SHA-256 of its content. Bits of a
run depend on the version of jax: a checkpoint of another version is not gone on from, so that a result is always
what one version computes from the first round to the last.
"""

import hashlib
import io
import logging
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from jfed.results import store

KEEP = 2  # the newest, and one in case it is damaged

log = logging.getLogger("jfed")
Arrays = dict[str, np.ndarray]


class Saved(NamedTuple):
    """A good checkpoint of a unit.

    Attributes:
        round: rounds done; 0 if the unit has none.
        arrays: what was given to `save`.
    """

    round: int
    arrays: Arrays


NOTHING = Saved(0, {})


def named(prefix: str, tree: Any) -> dict[str, Any]:
    """The leaves of a pytree by name, such as "state.selector.log_w"."""
    return {prefix + jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}


def joined(parts: Sequence[Mapping[str, np.ndarray]], axis: int = 0) -> Arrays:
    """Arrays of the same names, one behind the other."""
    return {name: np.concatenate([part[name] for part in parts], axis) for name in parts[0]}


def save(folder: Path, round: int, arrays: Mapping[str, np.ndarray]) -> None:
    """Write a checkpoint and remove all but the newest.

    Raises:
        OSError: it cannot be written; those before are left as they are.
    """
    buffer = io.BytesIO()
    np.savez(buffer, jax=np.array(jax.__version__), **arrays)  # type: ignore[arg-type]
    content = buffer.getvalue()
    folder.mkdir(parents=True, exist_ok=True)
    store.write_whole(folder / f"{round:08d}-{hashlib.sha256(content).hexdigest()}.npz", content)
    old = sorted(folder.glob("*.npz"))[:-KEEP]
    for path in [*old, *folder.glob("*.part")]:  # a killed process leaves its part
        path.unlink(missing_ok=True)


def load(folder: Path, state: Mapping[str, Any], kept: set[str]) -> Saved:
    """The newest good checkpoint. Those that are not good are removed, and a sentence says so.

    Args:
        folder: of the unit.
        state: names, shapes and types that the state must have.
        kept: names of what is recorded.
    """
    found, refused = NOTHING, []
    for path in sorted(folder.glob("*.npz"), reverse=True):
        number, _, digest = path.stem.partition("-")
        arrays, reason = _read(path, digest, state, kept)
        if not reason:
            found = Saved(int(number), arrays)
            break
        refused.append(f"the checkpoint at round {int(number)} {reason}")
        path.unlink(missing_ok=True)
    if refused:
        then = f"goes on from round {found.round}" if found.round else "starts again from round 1"
        log.warning(f"Unit {folder.name} {then}: {', '.join(refused)}.")
    return found


def _read(path: Path, digest: str, state: Mapping[str, Any], kept: set[str]) -> tuple[Arrays, str]:
    """Content, and what is wrong with it: "" if nothing is."""
    try:
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != digest:
            return {}, "is damaged"
        with np.load(io.BytesIO(content), allow_pickle=False) as opened:
            arrays = dict(opened)
    except (OSError, ValueError, zipfile.BadZipFile):
        return {}, "is damaged"
    version = str(arrays.pop("jax", "another version"))
    if version != jax.__version__:
        return {}, f"was made with jax {version} and this is {jax.__version__}"
    if set(arrays) != set(state) | kept:
        return {}, "was made by another version of jfed"
    for name, like in state.items():
        if arrays[name].dtype.kind == "V":  # NumPy does not know bfloat16 and its like by name
            arrays[name] = arrays[name].view(like.dtype)
        if (arrays[name].shape, arrays[name].dtype) != (like.shape, like.dtype):
            return {}, "was made by another version of jfed"
    return arrays, ""
