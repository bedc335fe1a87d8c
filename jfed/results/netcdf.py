"""Reader of the NetCDF files that former versions wrote.

A damaged file may send HDF5 into an endless loop that ignores signals, or end the process. So another process reads
the files first, and is killed if it hangs.

Files are read with h5py, and xarray for the conventions: through h5netcdf, xarray takes several times as long to open a
file of forty variables, and a sweep may have hundreds of files.
"""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jfed.core.errors import extra

with extra("netcdf"):
    import h5py

if TYPE_CHECKING:
    import xarray as xr

PATIENCE_S = 60.0  # for one file; the first one includes the start of the other process
LOOK = (sys.executable, "-m", "jfed.results.netcdf")

INNER = {"CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties"}
NO_VARIABLE = b"This is a netCDF dimension but not a netCDF variable"


def read_all(files: Sequence[Path]) -> dict[Path, xr.Dataset]:
    """Return the content of files that former versions wrote.

    Raises:
        ValueError: a file is damaged.
    """
    parts, whole = {}, _whole(files)
    for number, file in enumerate(files):
        try:
            if number >= whole:
                raise OSError("the other process could not read it")
            parts[file] = read(file)
        except (OSError, ValueError, KeyError, RuntimeError):
            raise ValueError(f"{file} is damaged: delete it, and run its experiment again to make it anew.") from None
    return parts


def _whole(files: Sequence[Path]) -> int:
    """Return the number of files that another process can read, up to the first one that it cannot."""
    if not files:
        return 0
    path = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])])
    with subprocess.Popen(
        [*LOOK, *map(str, files)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": path},
    ) as child:
        assert child.stdout is not None
        said: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=_lines, args=(child.stdout, said), daemon=True).start()
        good = 0
        try:
            while good < len(files) and said.get(timeout=PATIENCE_S):
                good += 1
        except queue.Empty:  # it hangs on a file
            pass
        finally:
            child.kill()
    return good


def _lines(stream: Any, said: queue.Queue[bytes]) -> None:
    for line in stream:
        said.put(line)
    said.put(b"")


def _look(files: Sequence[str]) -> None:
    """Read everything in files, and print each file's name once it has been read."""
    for file in files:
        with h5py.File(file) as opened:
            for name, item in opened.items():
                _ = _dims(item, name), _values(item), _attributes(item)
        print(file, flush=True)


def read(file: Path) -> xr.Dataset:
    """Return the Dataset that `xarray.load_dataset` would return.

    Raises:
        OSError, ValueError, KeyError, RuntimeError: the file is damaged.
    """
    import xarray as xr

    with h5py.File(file) as opened:
        variables = {
            name: xr.Variable(_dims(item, name), _values(item), _attributes(item))
            for name, item in opened.items()
            if not item.attrs.get("NAME", b"").startswith(NO_VARIABLE)
        }
        raw = xr.Dataset(variables, attrs=_attributes(opened))
    return xr.decode_cf(raw).load()


def _dims(item: Any, name: str) -> tuple[str, ...]:
    if item.is_scale:
        return (name,)
    return tuple(axis[0].name.removeprefix("/") for axis in item.dims)


def _values(item: Any) -> Any:
    return item.asstr()[()].astype(str) if h5py.check_string_dtype(item.dtype) else item[()]


def _attributes(item: Any) -> dict[str, Any]:
    found = {name: value for name, value in item.attrs.items() if name not in INNER}
    return {name: value[0] if np.shape(value) == (1,) else value for name, value in found.items()}  # NetCDF's scalars


if __name__ == "__main__":
    _look(sys.argv[1:])
