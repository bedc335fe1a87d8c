"""Wheels of the packages that a machine with jax, pandas and matplotlib lacks, and that jfed's command line needs."""

import re
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path

# tyro with what it needs, and the packages of the extras; tensorflow-datasets is needed for prepared folders only.
LACKING = ("tyro", "docstring_parser", "typeguard", "h5netcdf", "pooch", "platformdirs")
PYTHON = "3.12"


def pins(names: Iterable[str], constraints: Path) -> list[str]:
    """Return `name==version` of some packages, as the constraints have them."""
    text = constraints.read_text()
    found = {name: re.search(rf"^{re.escape(name)}==\S+$", text, re.MULTILINE) for name in names}
    return [name if match is None else match.group() for name, match in found.items()]


def download(folder: Path, constraints: Path) -> str:
    """Download the wheels into a folder, and return what went wrong in a few words; nothing if all are there."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    command += ["--python-version", PYTHON, "--dest", str(folder), *pins(LACKING, constraints)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or [f"exit {done.returncode}"]
        return lines[-1]
    bound = [path.name for path in folder.glob("*.whl") if not path.name.endswith("-none-any.whl")]
    return f"{', '.join(bound)} is for one kind of machine" if bound else ""


def unzip(pack: Path, site: Path) -> list[str]:
    """Unzip the wheels of a pack into a folder for `PYTHONPATH`, and return their names."""
    found = sorted((pack / "wheels").glob("*-none-any.whl"))
    for path in found:
        with zipfile.ZipFile(path) as wheel:
            wheel.extractall(site)
    return [path.name.split("-")[0] for path in found]
