"""Sides of a comparison in processes of their own, which answer one line of JSON with one line of JSON.

A worker stays alive between repeats, so that both sides of a ratio can be measured in turn without its start-up time.
It may be pinned to one core, so that no library can use a second one unseen. OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE,
which some machines set and which slow NumPy down, are unset for workers.
"""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


def cores() -> list[int]:
    """Return the numbers of the cores that this process may use."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


@contextlib.contextmanager
def pinned(core: int | None) -> Iterator[None]:
    """Keep this thread, and the processes that it starts meanwhile, on one core, where the system can."""
    if core is None or not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Worker:
    """A process that serves requests; use it as a context manager."""

    def __init__(self, command: Sequence[str], core: int | None = None, **env: str) -> None:
        self._command, self._core = list(command), core
        self._env = {k: v for k, v in os.environ.items() if k not in UNSET} | env

    def __enter__(self) -> "Worker":
        """Start the process."""
        pipe = subprocess.PIPE
        with pinned(self._core):
            self._process = subprocess.Popen(
                self._command, stdin=pipe, stdout=pipe, text=True, env=self._env, cwd=HERE.parent
            )
        return self

    def __exit__(self, *error: object) -> None:
        """End the process by closing its input."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)

    def ask(self, **request: Any) -> dict[str, Any]:
        """Send one request and return its answer."""
        self.send(**request)
        return self.receive()

    def send(self, **request: Any) -> None:
        """Send a request whose answer is received later, so that workers can work at the same time."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """Return the answer to the earliest unanswered request."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{' '.join(self._command)} ended without an answer (exit {self._process.wait()}).")
        return json.loads(line)


def script(name: str, python: str = sys.executable, core: int | None = None, **env: str) -> Worker:
    """Return a worker that runs a script of this folder, for interpreters that lack jfed."""
    return Worker([python, str(HERE / name)], core, **env)


def module(name: str, core: int | None = None, env: Mapping[str, str] | None = None) -> Worker:
    """Return a worker that runs a module of this package."""
    return Worker([sys.executable, "-m", f"benchmarks.{name}"], core, **(env or {}))


def jfed(core: int | None = None, env: Mapping[str, str] | None = None) -> Worker:
    """Return a worker that runs jfed: on one core with one device, else with a device on each core; see `serve`."""
    return module("serve", core, env)


def together(workers: Sequence[Worker], **request: Any) -> list[dict[str, Any]]:
    """Send the same request to all workers and return their answers."""
    for worker in workers:
        worker.send(**request)
    return [worker.receive() for worker in workers]


def child(module: str, *args: str, **env: str) -> dict[str, Any]:
    """Run a module of this package once in a new process, and return its last line of output, which is JSON."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *args]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | env, cwd=HERE.parent, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"benchmarks.{module} {' '.join(args)} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])
