"""Leases: which process works at what in a directory that several share, on one machine or many.

A lease is a file that its holder makes, touches now and then, and removes. One that has not been touched for a while is
that of a dead process, and others may take it over. It needs a file system that makes a file for one process only, as
all do, and no locks. Two processes that take over the same lease in the same instant may both get it: they then do the
same work twice, which changes no result.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import secrets
import threading
from collections.abc import Iterator
from pathlib import Path

from jfed.core.errors import StorageError

HOST = re.sub(r"[^A-Za-z0-9-]", "-", platform.node()) or "unnamed"
TOUCH_S = 15.0
DEAD_S = 120.0  # without a touch


class Leases:
    """The leases of one process; in `with`, a thread touches them, and the end gives them back."""

    def __init__(self, folder: Path) -> None:
        """Take the folder of the leases."""
        self._folder, self._mine, self._end = folder, dict[str, Path](), threading.Event()
        self._holder = f"process {os.getpid()} on {HOST}, {secrets.token_hex(4)}\n"

    def __enter__(self) -> Leases:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"Leases cannot be written to {self._folder} ({error.strerror}).") from error
        self._thread = threading.Thread(target=self._touch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end.set()
        for name in [*self._mine]:
            self.give_back(name)

    def take(self, name: str) -> bool:
        """Take a lease unless a living process has it; return whether it has been taken.

        Raises:
            StorageError: it cannot be written.
        """
        path = self._folder / name
        try:
            if not self._make(path):
                if not self._dead(path):
                    return False
                aside = path.with_name(f"{name}.{HOST}.{os.getpid()}.{secrets.token_hex(4)}.part")
                with contextlib.suppress(FileNotFoundError):  # another process has been faster
                    os.rename(path, aside)
                    aside.unlink()
                if not self._make(path):
                    return False
        except OSError as error:
            raise StorageError(f"A lease cannot be written to {self._folder} ({error.strerror}).") from error
        self._mine[name] = path
        return True

    def others(self, pattern: str) -> list[Path]:
        """Return the leases of other living processes whose names match a pattern."""
        return [path for path in self._folder.glob(pattern) if path.name not in self._mine and not self._dead(path)]

    def give_back(self, name: str) -> None:
        """Give a lease back."""
        path = self._mine.pop(name)
        with contextlib.suppress(OSError, ValueError):
            if path.read_text() == self._holder:  # another process may have taken it over
                path.unlink()

    def _make(self, path: Path) -> bool:
        try:
            file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        except FileExistsError:
            return False
        os.write(file, self._holder.encode())
        os.close(file)
        return True

    def _dead(self, path: Path) -> bool:
        """Return whether a lease has not been touched for long, by the clock of the file system."""
        now = self._folder / f"clock.{HOST}.{os.getpid()}.{secrets.token_hex(4)}.part"
        try:
            now.touch()
            return now.stat().st_mtime - path.stat().st_mtime > DEAD_S
        except FileNotFoundError:  # given back meanwhile
            return True
        finally:
            now.unlink(missing_ok=True)

    def _touch(self) -> None:
        while not self._end.wait(TOUCH_S):
            for path in [*self._mine.values()]:
                with contextlib.suppress(OSError):
                    os.utime(path)


@contextlib.contextmanager
def alone(folder: Path, name: str) -> Iterator[None]:
    """Hold a lease, after waiting for it."""
    with Leases(folder) as leases:
        pause = threading.Event()
        while not leases.take(name):
            pause.wait(0.05)
        yield
