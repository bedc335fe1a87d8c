"""Damaged entries of jax's compile cache, which jax neither removes nor replaces, but warns of in each process."""

import functools
import glob
import logging
import re
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WARNING = r"Error (reading|writing) persistent compilation cache entry for '([^']*)': (.*)"

log = logging.getLogger("jfed")


@functools.cache
def mend(folder: Path) -> None:
    """Remove what jax warns of in a compile cache, and say so once in place of its warnings."""
    shown, said = warnings.showwarning, set[str]()

    def show(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
        found = re.match(WARNING, str(message), re.DOTALL)
        if found is None:
            return shown(message, category, filename, lineno, file, line)
        what, program, reason = found.groups()
        if what == "reading":
            for path in _damaged(folder, program):
                path.unlink(missing_ok=True)
        if what not in said:
            said.add(what)
            log.warning(
                f"A compiled program in {folder} is damaged: it is removed and compiled again."
                if what == "reading"
                else f"Compiled programs cannot be kept in {folder} ({reason}): later commands compile them again."
            )

    warnings.filterwarnings("always", WARNING)
    warnings.showwarning = show


def _damaged(folder: Path, program: str) -> Iterator[Path]:
    """Yield the entries under a program's name that cannot be unpacked; all of them if that is not what is wrong."""
    paths = [*folder.glob(f"{glob.escape(program)}-*-cache")]
    bad = [path for path in paths if not _unpacks(path)]
    yield from bad or paths


def _unpacks(path: Path) -> bool:
    """Return whether zlib unpacks a file. It unpacks none where jax packs by zstandard: then each counts as damaged."""
    try:
        return bool(zlib.decompress(path.read_bytes()))
    except (OSError, zlib.error):
        return False
