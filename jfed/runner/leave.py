"""Leaving in good order: Ctrl-C, SIGTERM and a budget of time are answered at the end of a chunk of rounds."""

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

log = logging.getLogger("jfed")


class Leaving:
    """Whether to leave at the end of this chunk.

    Inside `with`, in the main thread, the first SIGINT or SIGTERM asks for it; a second one raises KeyboardInterrupt at
    once. A signal that was ignored before stays ignored.

    Attributes:
        asked: by a signal.
        useful: a chunk has been done. Before that no time is up: a command given again and again gets somewhere.
    """

    def __init__(self, seconds: float | None) -> None:
        """Start the budget of time; None is endless."""
        self.asked = self.useful = False
        self._until = math.inf if seconds is None else time.monotonic() + seconds
        self._before: dict[int, Any] = {}

    def now(self) -> bool:
        """Whether somebody asked, or the time is up."""
        return self.asked or (self.useful and time.monotonic() >= self._until)

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) not in (None, signal.SIG_IGN):  # None: not Python's to give back
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
    """Wait for a pytree of arrays such that signals are answered meanwhile, which a blocking call into XLA does not do.

    A computation cannot be stopped: if the wait is cut short, the process does not wait for it when it exits either.
    """
    _aside(lambda: jax.block_until_ready(computed))


def compile_ahead(function: Any, *args: Any) -> Any:
    """Compile a jitted function for these arguments such that signals are answered meanwhile.

    The call that follows finds it compiled.

    Returns:
        The compiled program; None after an error.
    """
    lowered, compiled = function.lower(*args), []
    _aside(lambda: compiled.append(lowered.compile()))
    return compiled[0] if compiled else None


def _aside(work: Callable[[], Any]) -> None:
    """Do it in a thread and wait for that. Its errors come up again where the outcome is used."""
    done = threading.Event()

    def target() -> None:
        with contextlib.suppress(Exception):
            work()
        done.set()

    threading.Thread(target=target, daemon=True).start()
    try:
        while not done.wait(0.5):  # with a limit, for platforms on which a wait without is deaf
            pass
    except BaseException:
        atexit.register(_exit_unless, done)
        raise


def _exit_unless(done: threading.Event) -> None:
    if not done.is_set():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(130)
