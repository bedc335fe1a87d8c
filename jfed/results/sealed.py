"""Sealed files: NumPy arrays and a JSON text in one npz, with a checksum over every bit of it.

A sealed file is a plain npz without pickles, which `numpy.load` reads. Its last 64 characters, the end of the archive's
comment, are the SHA-256 of everything before them.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

TEXT = "about.json"
DIGITS = 64
SMALL = 1024  # bytes; up to this size compression is not worth while

Arrays = dict[str, np.ndarray]


class Damaged(ValueError):
    """Content without a valid seal; the message says what is wrong with it."""


def seal(arrays: Mapping[str, np.ndarray], about: Any) -> bytes:
    """Return the content of a file that holds arrays by name and plain JSON values."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        _add(archive, TEXT, json.dumps(about, separators=(",", ":")).encode())
        for name, array in arrays.items():
            member = io.BytesIO()
            np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
            _add(archive, f"{name}.npy", member.getbuffer())
        archive.comment = b"sha256 " + b"0" * DIGITS
    content = buffer.getvalue()[:-DIGITS]
    return content + hashlib.sha256(content).hexdigest().encode()


def _add(archive: zipfile.ZipFile, name: str, content: Any) -> None:
    info = zipfile.ZipInfo(name)  # dated 1980, so that equal files have equal bits
    info.compress_type = zipfile.ZIP_DEFLATED if len(content) > SMALL else zipfile.ZIP_STORED
    archive.writestr(info, content)


def unseal(content: bytes, with_arrays: bool = True) -> tuple[Arrays, Any]:
    """Return the sealed arrays, or none of them, and the sealed JSON values.

    Raises:
        Damaged: the content has changed since it was sealed, or jfed did not write it.
    """
    if hashlib.sha256(content[:-DIGITS]).hexdigest().encode() != content[-DIGITS:]:
        raise Damaged("is damaged")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            about = json.loads(archive.read(TEXT))
            names = [n for n in archive.namelist() if n != TEXT] if with_arrays else []
            return {n.removesuffix(".npy"): _array(archive, n) for n in names}, about
    except Exception as error:  # whatever the readers of zip files, JSON and arrays raise
        raise Damaged("was not written by jfed") from error


def _array(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    return np.lib.format.read_array(io.BytesIO(archive.read(name)), allow_pickle=False)
