"""Baselines in processes of their own, which answer one line of JSON with one line of JSON.

A worker stays alive between repeats, so that both sides of a ratio can be measured in turn without its start-up
time. OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE, which some machines set and which slow NumPy down, are unset for workers.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


class Worker:
    """A script of this folder that serves requests; use it as a context manager."""

    def __init__(self, script: str, python: str = sys.executable, **env: str) -> None:
        self._command = [python, str(Path(__file__).parent / script)]
        self._env = {k: v for k, v in os.environ.items() if k not in UNSET} | env

    def __enter__(self) -> "Worker":
        """Start the process."""
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, text=True, env=self._env)
        return self

    def __exit__(self, *error: object) -> None:
        """End the process by closing its input."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)

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
            raise RuntimeError(f"{self._command[-1]} ended without an answer (exit code {self._process.wait()}).")
        return json.loads(line)


def child(module: str, *args: str, **env: str) -> dict[str, Any]:
    """Run a module of this package once in a new process, and return its last line of output, which is JSON."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *args]
    root = Path(__file__).parent.parent
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | env, cwd=root, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"benchmarks.{module} {' '.join(args)} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])
