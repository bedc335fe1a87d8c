"""Clean stops: signals, a time limit and a callback end a command after the current chunk of rounds."""

import atexit
import contextlib
import logging
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

import jax

# Ctrl-C, the end of a job, a closed terminal, and the warning that schedulers such as Slurm can send before the end.
SIGNALS = [number for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1") if (number := getattr(signal, name, None))]

log = logging.getLogger("jfed")


class Leaving:
    """A request to stop at the end of the current chunk.

    Inside `with`, in the main thread, the first of `SIGNALS` makes the request; a second one raises KeyboardInterrupt
    at once. A signal that was ignored before stays ignored.

    Attributes:
        asked: whether a signal has made the request.
        told: whether a callback has made it.
        useful: whether a chunk has been done; no time is up before, so that a repeated command makes progress.
    """

    def __init__(self, seconds: float | None) -> None:
        """Start the time limit; None means no limit."""
        self.asked = self.told = self.useful = False
        self._until = math.inf if seconds is None else time.monotonic() + seconds
        self._before: dict[int, Any] = {}

    def now(self) -> bool:
        """Return whether to stop now: a signal has come, a callback wants it, or the time is up."""
        return self.asked or self.told or (self.useful and time.monotonic() >= self._until)

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if signal.getsignal(number) not in (None, signal.SIG_IGN):  # None: Python cannot restore it
                    self._before[number] = signal.signal(number, self._answer)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _answer(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        log.warning("Stopping after this chunk; press Ctrl-C again to leave at once.")


def wait(computed: Any) -> None:
    """Wait for a pytree of arrays while handling signals, which a blocking call into XLA does not."""
    until(beside(lambda: jax.block_until_ready(computed)))


def beside(work: Callable[[], Any]) -> threading.Event:
    """Begin work in a thread; the event tells its end. Its errors are dropped: they recur where the outcome is used."""
    done = threading.Event()

    def target() -> None:
        with contextlib.suppress(Exception):
            work()
        done.set()

    threading.Thread(target=target, daemon=True).start()
    return done


def until(done: threading.Event) -> None:
    """Wait for work from `beside` while handling signals.

    A computation cannot be stopped: if the wait is interrupted, the process exits without waiting for it.
    """
    try:
        while not done.wait(0.5):  # on some platforms a wait without a timeout blocks signals
            pass
    except BaseException:
        atexit.register(_exit_unless, done)
        raise


def _exit_unless(done: threading.Event) -> None:
    if not done.is_set():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(130)
