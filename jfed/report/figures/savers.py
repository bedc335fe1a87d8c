"""Processes that save figures while the caller goes on.

Saving a figure takes half a second, most of it for drawing and for the fonts of the PDF, and a report has a dozen.
"""

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any, NamedTuple

from matplotlib.figure import Figure

from jfed.report.figures.style import paths_of, save

MOST = 4  # processes: a report ends before more of them would be ready
_CODE = "from jfed.report.figures.savers import serve; serve()"


class _Job(NamedTuple):
    figure: Figure
    directory: Path
    stem: str


class Savers:
    """Processes that save figures, one for each core but the caller's; on one core the caller saves them itself.

    They are new processes, because a fork would copy the locks of XLA's threads, but not those of `multiprocessing`,
    which would run the caller's script again. They end with the caller.
    """

    def __init__(self) -> None:
        """Start the processes, which load matplotlib meanwhile."""
        self._jobs: queue.Queue[_Job | None] = queue.Queue()  # None: a process ends
        self._unsaved: list[_Job] = []  # by processes; the caller saves them, and meets the error
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self._number = min(MOST, cores - 1)
        for _ in range(self._number):
            threading.Thread(target=self._feed, args=(_started(),), daemon=True).start()

    def save(self, figure: Figure, directory: Path, stem: str) -> list[Path]:
        """Begin to save a figure as `style.save` does, and return the paths. The figure must not change any more."""
        self._jobs.put(_Job(figure, directory, stem))
        return paths_of(figure, directory, stem)

    def finish(self) -> None:
        """Save the remaining figures, together with the processes, which then end; all are saved.

        Raises:
            StorageError: a figure cannot be written.
        """
        while (job := self._next(wait=False)) is not None:
            try:
                save(*job)
            finally:
                self._jobs.task_done()
        self._jobs.join()
        for _ in range(self._number):
            self._jobs.put(None)
        while self._unsaved:
            save(*self._unsaved.pop())

    def _next(self, wait: bool) -> _Job | None:
        try:
            return self._jobs.get(block=wait)
        except queue.Empty:
            return None

    def _feed(self, process: "subprocess.Popen[bytes]") -> None:
        """Give figures to a process until it ends, or is gone."""
        with contextlib.suppress(OSError), process:  # it may be gone before its pipes are closed
            while (job := self._next(wait=True)) is not None:
                saved = False
                with contextlib.suppress(Exception):  # a figure that cannot be pickled, or a broken pipe
                    _send(process.stdin, pickle.dumps(job))
                    saved = process.stdout.read(1) == b"1"  # type: ignore[union-attr]
                if not saved:
                    self._unsaved.append(job)
                self._jobs.task_done()
                if process.poll() is not None:
                    return


def _started() -> "subprocess.Popen[bytes]":
    """Return a new process that runs `serve`, in a session of its own: Ctrl-C is for the caller."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", _CODE], env=environment, start_new_session=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def serve() -> None:
    """Save the figures that arrive on stdin, and answer 1 or 0 to each, until the caller closes it."""
    given, answers = sys.stdin.buffer, sys.stdout.buffer
    while size := given.read(8):
        try:
            save(*pickle.loads(given.read(int.from_bytes(size, "big"))))
            answer = b"1"
        except Exception:  # the caller does it again, and tells the user what is wrong
            answer = b"0"
        answers.write(answer)
        answers.flush()


def _send(to: IO[bytes] | Any, message: bytes) -> None:
    to.write(len(message).to_bytes(8, "big") + message)
    to.flush()
