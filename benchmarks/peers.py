"""Interpreters that have the peers, and the ways in which a peer trains a round on this machine."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import workers


class Pythons(NamedTuple):
    """Paths of Python interpreters; None where a peer is not at hand.

    Attributes:
        torch: has PyTorch.
        fedjax: has FedJAX, and the jax that it needs.
        pfl: has pfl-research and PyTorch.
    """

    torch: str | None
    fedjax: str | None
    pfl: str | None

    @classmethod
    def of_environment(cls) -> "Pythons":
        """Return $JFED_TORCH_PYTHON, $JFED_FEDJAX_PYTHON and $JFED_PFL_PYTHON."""
        return cls(*(os.environ.get(variable(name)) for name in cls._fields))


NAMES = {"torch": "PyTorch", "fedjax": "FedJAX", "pfl": "pfl"}


def variable(name: str) -> str:
    """Return the environment variable that names a peer's interpreter."""
    return f"JFED_{name.upper()}_PYTHON"


def missing(pythons: Pythons) -> list[str]:
    """Return a note for each peer that is skipped."""
    return [
        f"{NAMES[name]} is skipped: name an interpreter that has it by --{name}-python or ${variable(name)}."
        for name, python in pythons._asdict().items()
        if python is None
    ]


class Way(NamedTuple):
    """One way to train rounds with a peer.

    Attributes:
        name: what is shown.
        one_core: whether it uses one core, rather than all.
        measure: returns rounds per second.
    """

    name: str
    one_core: bool
    measure: Callable[[], float]


class Peer:
    """A peer's workers: one pinned to each core, and one that may use all cores."""

    def __init__(self, name: str, python: str, stack: ExitStack) -> None:
        self.name, self.cores = name, workers.cores()
        self.formats = name != "fedjax"  # PyTorch's memory formats
        start = partial(workers.script, f"{name}_loop.py", python)
        self.pinned = [stack.enter_context(start(core)) for core in self.cores]
        self.free = stack.enter_context(start()) if len(self.cores) > 1 else None

    def load(self, path: Path) -> str:
        """Load a round in all workers, which compile it where they must, and return the peer's version."""
        loaded = [worker.ask(load=str(path)) for worker in [*self.pinned, *([self.free] if self.free else [])]]
        version = loaded[0]["version"]
        return f"{NAMES[self.name]} {version}" + (f" (jax {loaded[0]['jax']})" if "jax" in loaded[0] else "")

    def check(self, folder: Path, tolerance: float) -> float:
        """Return the largest difference between the peer's weights after a round and jfed's.

        Raises:
            AssertionError: it is above the tolerance.
        """
        saved = folder / "weights.npz"
        self.pinned[0].ask(threads=1, channels_last=False, times=1, save=str(saved))
        with np.load(saved) as theirs, np.load(folder / "jfed.npz") as ours:
            apart = max(float(np.abs(ours[name] - theirs[name]).max()) for name in ours.files)
        if not apart < tolerance:
            raise AssertionError(f"{self.name}: the round's weights differ by {apart:.2g} from jfed's.")
        return apart

    def ways(self, convolves: bool, times: int) -> list[Way]:
        """Return the ways to run the peer; convolutional networks in both memory formats of PyTorch."""
        found, title, all_ = [], NAMES[self.name], len(self.cores)
        for last in (False, True) if self.formats and convolves else (False,):
            kind = ", channels last" if last else ""

            def one(last: bool = last) -> float:
                return self.pinned[0].ask(threads=1, channels_last=last, times=times)["rate"]

            def free(last: bool = last) -> float:
                assert self.free is not None
                return self.free.ask(threads=all_, channels_last=last, times=times)["rate"]

            def processes(last: bool = last) -> float:
                answers = workers.together(self.pinned, threads=1, channels_last=last, times=times)
                return len(answers) * min(answer["rate"] for answer in answers)

            found.append(Way(f"{title}, 1 core{kind}", True, one))
            if self.free:
                found.append(Way(f"{title}, 1 process on {all_} cores{kind}", False, free))
                found.append(Way(f"{title}, {all_} processes of 1 core{kind}", False, processes))
        return found
