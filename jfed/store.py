"""Results on disk: one NetCDF file per unit, written whole and renamed, and a manifest beside them.

A file holds nothing that differs between two identical computations; dates, seconds and devices stand in the
manifest. Never imports jax.
"""

import datetime
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import xarray as xr

import jfed
from jfed.errors import ConfigError

PACKAGES = ("jax", "jaxlib", "flax", "optax", "numpy", "xarray")


def prepare(out: Path) -> Path:
    """Make the directory of results.

    Raises:
        ConfigError: it cannot be made or written to.
    """
    try:
        (out / "results").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"Results cannot be written to {out}: {error.strerror}.") from error
    return out


def unit_path(out: Path, unit_id: str) -> Path:
    """Where a unit's file stands."""
    return out / "results" / f"{unit_id}.nc"


def write_unit(out: Path, unit_id: str, dataset: xr.Dataset) -> Path:
    """Write a unit whole, then rename it into place, so that a file that exists is complete."""
    path = unit_path(out, unit_id)
    part = path.with_suffix(f".{os.getpid()}.part")
    encoding = {name: {"zlib": True, "complevel": 1} for name, v in dataset.data_vars.items() if v.size > 1024}
    try:
        dataset.to_netcdf(part, engine="h5netcdf", encoding=encoding)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return path


def write_manifest(out: Path, entry: Mapping[str, Any]) -> None:
    """Add what a command did to `manifest.json`: versions, device, commit, and the entry's own fields."""
    path = out / "manifest.json"
    history = json.loads(path.read_text()) if path.exists() else []
    history.append(
        {
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "versions": {name: metadata.version(name) for name in PACKAGES} | {"jfed": jfed.__version__},
            "python": platform.python_version(),
            "machine": f"{platform.machine()}, {os.cpu_count()} cores",
            "commit": _commit(),
            **entry,
        }
    )
    part = path.with_suffix(".part")
    part.write_text(json.dumps(history, indent=1) + "\n")
    os.replace(part, path)


def _commit() -> str | None:
    here = Path(__file__).parent
    try:
        done = subprocess.run(
            ["git", "-C", str(here), "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
        )
    except OSError:  # no git
        return None
    return done.stdout.strip() or None
