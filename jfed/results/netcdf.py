"""Reading the NetCDF files that a run wrote.

By h5py, and xarray for the conventions: through h5netcdf it takes xarray several times as long to open a file of forty
variables, and a sweep may have hundreds of files.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

if TYPE_CHECKING:
    import xarray as xr

INNER = {"CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties"}
NO_VARIABLE = b"This is a netCDF dimension but not a netCDF variable"


def read(file: Path) -> xr.Dataset:
    """What `xarray.load_dataset` would give.

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
