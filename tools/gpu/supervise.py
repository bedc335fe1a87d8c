"""The command `gpu_run`: stages one after another, their archives, and a log that outlives them."""

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.gpu import stages, tars, wheels
from tools.gpu.stages import ROOT, STAGES, Place, Stage

RESERVE = 10.0  # seconds for the last archives
SHOWN = 2400  # characters of a stage's output that are repeated in the log


class Stopped(Exception):
    """A signal asked the command to end."""


class Log:
    """Lines that are printed and kept in OUT."""

    def __init__(self, path: Path) -> None:
        """Begin the file."""
        self._path = path
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        """Print and keep a line, with the time."""
        line = f"[{time.monotonic() - self._began:6.1f} s] {text}"
        print(line, flush=True)
        with self._path.open("a") as file:
            print(line, file=file)

    def quote(self, path: Path) -> None:
        """Print and keep the end of a stage's output."""
        text = path.read_text(errors="replace").rstrip() if path.exists() else ""
        cut = text if len(text) <= SHOWN else "...\n" + text[-SHOWN:].partition("\n")[2]
        if cut:
            print(cut, flush=True)
            with self._path.open("a") as file:
                print(cut, file=file)


def main(description: str | None, arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code: 0 if every stage that began has finished."""
    asked = _asked(description, arguments)
    end = time.monotonic() + 60 * asked.minutes - RESERVE
    asked.out.mkdir(parents=True, exist_ok=True)
    log = Log(asked.out / "log.txt")
    signal.signal(signal.SIGTERM, _stopped)
    work = Path(tempfile.mkdtemp(prefix="gpu-run-"))
    try:
        place = _place(asked, work, log)
        ended = _run_all(asked, place, end, log)
        log.say("; ".join(f"{name} {how}" for name, how in ended.items()) or "nothing was run")
        return 0 if all(how == "finished" for how in ended.values()) else 1
    except (Stopped, KeyboardInterrupt):
        log.say("Stopped by a signal; the archives hold what there was.")
        return 130
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _asked(description: str | None, arguments: Sequence[str] | None) -> Any:
    parser = argparse.ArgumentParser(prog="python tools/gpu_run.py", description=description)
    parser.add_argument("--pack", type=Path, help="folder that `python -m tools.gpu_pack` made")
    parser.add_argument("--out", type=Path, required=True, help="folder for at most six files below 15 MiB each")
    parser.add_argument("--minutes", type=float, default=9.5, help="time for everything (9.5)")
    parser.add_argument("--small", action="store_true", help="try all stages at a tiny size, on any machine")
    names = [stage.name for stage in STAGES[1:]]
    parser.add_argument("--stages", nargs="+", choices=names, default=names, help="only these stages")
    asked = parser.parse_args(arguments)
    if not asked.minutes > RESERVE / 60:
        parser.error(f"--minutes must be above {RESERVE / 60:.2g}, found {asked.minutes:g}.")
    if asked.pack is None and not asked.small:
        parser.error("--pack is needed (make one with `python -m tools.gpu_pack`), or --small.")
    if asked.pack is not None and not asked.pack.is_dir():
        parser.error(f"there is no pack {asked.pack}: make one with `python -m tools.gpu_pack`.")
    if asked.out.exists() and not asked.out.is_dir():
        parser.error(f"--out {asked.out} is no folder.")
    return asked


def _stopped(*_: Any) -> None:
    raise Stopped


def _place(asked: Any, work: Path, log: Log) -> Place:
    pack = None if asked.pack is None else asked.pack.resolve()
    site = work / "site"
    names = [] if pack is None else wheels.unzip(pack, site)
    log.say(f"Python {sys.version.split()[0]}; wheels: {', '.join(names) or 'none'}; work in {work}")
    paths = [str(ROOT), *([str(site)] if names else []), os.environ.get("PYTHONPATH", "")]
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "PYTHONUNBUFFERED": "1",
        "JFED_DATA_DIR": str(work / "files"),
        "JFED_CACHE_DIR": str(work / "cache"),  # a later stage finds what an earlier one compiled
        "COLUMNS": "120",
    }
    return Place(work, pack, env, asked.small)


def _run_all(asked: Any, place: Place, end: float, log: Log) -> dict[str, str]:
    """Run the stages that were asked for, and return how each ended."""
    ended = {}
    for stage in STAGES:
        if stage is not STAGES[0] and stage.name not in asked.stages:
            continue
        left = end - time.monotonic()
        seconds = stages.seconds_of(stage, left)
        if not seconds:
            log.say(f"{stage.name}: not begun, {max(left, 0):.0f} s are left and {stage.least:g} are needed")
            continue
        log.say(f"{stage.name}: begins, at most {seconds:.0f} s")
        ended[stage.name] = _run_one(stage, place, seconds, asked.out, log)
    return ended


def _run_one(stage: Stage, place: Place, seconds: float, out: Path, log: Log) -> str:
    folder, target = place.work / stage.name, out / f"{stage.name}.tar.gz"

    def renew() -> None:
        # The first stage leaves data sets alone: its words are in the log.
        if stage is not STAGES[0]:
            left_out[:] = tars.pack(folder, target)

    left_out: list[str] = []
    began = time.monotonic()
    try:
        how = stages.run(stage, place, seconds, renew)
    finally:
        renew()
        log.quote(folder / "log.txt")
    log.say(f"{stage.name}: {how} after {time.monotonic() - began:.0f} s")
    if left_out:
        log.say(f"{stage.name}: left out of {target.name} for its size: {', '.join(left_out)}")
    return how
