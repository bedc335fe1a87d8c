"""The stages of `gpu_run`: what runs in which order and for how long, and how one is run without hurting the others."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
GRACE = 8.0  # seconds in which a stage may end by itself after it was asked to
RENEWED = 20.0  # seconds between two archives of a running stage


class Stage(NamedTuple):
    """One stage.

    Attributes:
        name: its name.
        module: what is run by `python -m`.
        most: most seconds; None: all that are left.
        least: seconds without which it is not begun.
    """

    name: str
    module: str
    most: float | None
    least: float


STAGES = (
    Stage("data", "tools.gpu.unpack", 60, 5),
    Stage("facts", "tools.gpu.facts", 120, 20),
    Stage("memory", "tools.gpu.memory", 80, 20),
    Stage("lanes", "tools.gpu.lanes", 90, 20),
    Stage("tables", "tools.gpu.tables", None, 40),
    Stage("selection", "tools.gpu.selection", 60, 20),
)


class Place(NamedTuple):
    """Where stages run.

    Attributes:
        work: folder with a folder per stage.
        pack: the pack; None without one.
        env: environment of the processes.
        small: whether to try everything at a tiny size.
    """

    work: Path
    pack: Path | None
    env: Mapping[str, str]
    small: bool

    def command(self, stage: Stage, seconds: float) -> Sequence[str]:
        """Return the command of a stage that should end by itself after some seconds."""
        pack = () if self.pack is None else ("--pack", str(self.pack))
        small = ("--small",) if self.small else ()
        own = ("--out", str(self.work / stage.name), "--data-dir", str(self.work / "files"))
        return (sys.executable, "-m", stage.module, *own, "--seconds", f"{seconds:.1f}", *pack, *small)


def seconds_of(stage: Stage, left: float) -> float:
    """Return the seconds that a stage gets when so many are left; 0 if it is not worth beginning."""
    return 0.0 if left < stage.least else left if stage.most is None else min(stage.most, left)


def run(stage: Stage, place: Place, seconds: float, renew: Callable[[], None]) -> str:
    """Run a stage, and return in a few words how it ended.

    Args:
        stage: the stage.
        place: where it runs; its output goes to `log.txt` in its folder.
        seconds: after these it is asked to end, and somewhat later killed.
        renew: called from time to time, to save what is there.
    """
    folder = place.work / stage.name
    folder.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + seconds
    own = max(seconds - GRACE, 0.5 * seconds)
    with (folder / "log.txt").open("ab") as log:
        # A group of its own, so that its children end with it; not detached, so that it ends with this one.
        process = subprocess.Popen(
            place.command(stage, own), cwd=ROOT, env=place.env, stdin=subprocess.DEVNULL, stdout=log,
            stderr=subprocess.STDOUT, process_group=0,
        )  # fmt: skip
        late = False
        try:
            while True:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(min(RENEWED, max(end - time.monotonic(), 0.1)))
                    break
                late = time.monotonic() >= end
                if late:
                    break
                renew()
        finally:
            stop(process)
    code = process.returncode
    if late:
        return "stopped at its limit"
    return "finished" if code == 0 else f"failed (exit {code})" if code > 0 else f"killed by signal {-code}"


def stop(process: "subprocess.Popen[bytes]") -> None:
    """End a process and its children: ask first, wait a little, then kill."""
    for number, patience in ((signal.SIGTERM, GRACE), (signal.SIGKILL, None)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)
    # The second signal also reaches children that outlived the process.
