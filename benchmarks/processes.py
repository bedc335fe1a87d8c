"""Whole processes: softmax regression on MNIST, 20 rounds, from the start of Python to the result.

100 clients of 450 images, 20 of them in each round, 1 to 4 epochs of batches of 45, momentum SGD, a test on the 10,000
test images after every fifth round. MNIST is read if it is at hand, else generated images of its shape. FedJAX does
the same in one process, or in two that share the seeds and run at the same time. Each side starts with an empty compile
cache and then again with the one that it left; both keep it in a folder. Memory is the largest sum of the resident
sizes of all processes, read every 20 ms; libraries that two processes share count twice.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psutil

from benchmarks import report, workers
from benchmarks.peers import Pythons
from jfed.core.errors import DataError
from jfed.data.load import load

SEEDS = (1, 4, 16)
ROUNDS = 20
PAUSE_S = 0.02
MB = 2**20
ALIKE = 0.03  # largest difference between the two sides' accuracies


class Finished(NamedTuple):
    """Processes that ran side by side.

    Attributes:
        seconds: from the first start to the last end.
        peak: largest sum of resident sizes, in bytes.
        answers: the last line of each process, which is JSON.
    """

    seconds: float
    peak: int
    answers: list[dict[str, float]]


def resident(process: psutil.Process) -> int:
    """Return the resident size of a process and its children; 0 for those that have ended."""
    total = 0
    try:
        for one in (process, *process.children(recursive=True)):
            total += one.memory_info().rss
    except psutil.Error:
        pass
    return total


def watched(commands: Sequence[Sequence[str]], **env: str) -> Finished:
    """Run commands side by side and return how long they took and how much memory they held together."""
    kept = {k: v for k, v in os.environ.items() if k not in workers.UNSET} | env
    started, peak = time.perf_counter(), 0
    with tempfile.TemporaryFile("w+") as said:
        running = [
            subprocess.Popen(c, stdout=subprocess.PIPE, stderr=said, text=True, env=kept, cwd=workers.HERE.parent)
            for c in commands
        ]
        seen = [psutil.Process(process.pid) for process in running]
        while any(process.poll() is None for process in running):
            peak = max(peak, sum(resident(one) for one in seen))
            time.sleep(PAUSE_S)
        seconds = time.perf_counter() - started
        lines = [process.communicate()[0].splitlines() for process in running]
        if any(process.returncode for process in running):
            said.seek(0)
            raise RuntimeError(f"A process failed:\n{said.read()[-2000:]}")
    return Finished(seconds, peak, [json.loads(line[-1]) for line in lines])


def write_data(path: Path) -> str:
    """Write MNIST, or generated images of its shape, as an npz file that both sides read, and return its name."""
    try:
        mnist = load("mnist")
        images, test_images = (x.reshape(-1, 28, 28) for x in (mnist.images, mnist.test_images))
        parts = (images, mnist.labels, test_images, mnist.test_labels)
        name = "MNIST"
    except DataError:
        rng = np.random.default_rng(0)
        coarse = rng.random((10, 7, 7)).repeat(4, axis=1).repeat(4, axis=2)
        labels = rng.integers(0, 10, 70_000)
        pixels = (160 * coarse[labels] + rng.normal(0, 60, (70_000, 28, 28))).clip(0, 255).astype(np.uint8)
        parts = (pixels[:60_000], labels[:60_000], pixels[60_000:], labels[60_000:])
        name = "generated images"
    np.savez(path, **dict(zip(("images", "labels", "test_images", "test_labels"), parts, strict=True)))  # type: ignore[arg-type]
    return name


def run(repeats: int, pythons: Pythons) -> tuple[list[report.Row], list[str]]:
    """Run the benchmark, and return its rows and notes."""
    rows: list[report.Row] = []
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "data.npz")
        notes = [f"The images: {write_data(data)}."]
        for seeds in SEEDS:
            report.say(f"{seeds} seeds")
            found, agreed = _seeds(seeds, data, repeats, pythons.fedjax)
            rows += found
            notes.append(f"{seeds} seed(s): {agreed}.")
    if pythons.fedjax is None:
        notes.append("FedJAX is skipped: name an interpreter that has it by --fedjax-python or $JFED_FEDJAX_PYTHON.")
    return rows, notes


def _seeds(seeds: int, data: Path, repeats: int, fedjax: str | None) -> tuple[list[report.Row], str]:
    """Measure both sides with some seeds, cold and warm, and return the rows and a note on what both computed."""
    share = min(seeds, len(workers.cores()))
    parts = [range(i, seeds, share) for i in range(share)]
    mine = [[sys.executable, "-m", "benchmarks.jfed_process", str(data), str(ROUNDS), *map(str, range(seeds))]]
    script = str(workers.HERE / "fedjax_process.py")
    theirs = [[fedjax or "", script, str(data), str(ROUNDS), *map(str, part)] for part in parts]
    sides = {"jfed": mine} | ({"FedJAX": theirs} if fedjax else {})
    done: dict[tuple[str, str], list[Finished]] = {}
    for _ in range(repeats):
        for name, commands in sides.items():
            with tempfile.TemporaryDirectory() as cache:
                env = {
                    "JFED_CACHE_DIR": cache, "JAX_COMPILATION_CACHE_DIR": cache,
                    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
                    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
                }  # fmt: skip
                for state in ("cold", "warm"):
                    done.setdefault((name, state), []).append(watched(commands, **env))
    first = {name: done[name, "cold"][0].answers for name in sides}
    accuracy, steps = (
        {name: np.mean([a[what] for a in first[name]]) for name in sides} for what in ("accuracy", "steps")
    )
    if fedjax and abs(accuracy["jfed"] - accuracy["FedJAX"]) > ALIKE:
        raise AssertionError(f"The accuracies are too far apart: {accuracy}.")
    units: dict[str, tuple[str, Callable[[Finished], float]]] = {
        "wall time": ("s", lambda one: one.seconds), "peak memory": ("MB", lambda one: one.peak / MB),
    }  # fmt: skip
    rows = []
    many = f"{seeds} seed{'s' if seeds > 1 else ''}"
    for state in ("cold", "warm"):
        for what, (unit, value) in units.items():
            ours = [value(one) for one in done["jfed", state]]
            other = [value(one) for one in done.get(("FedJAX", state), [])]
            rows.append(report.row(
                f"{many}, {state} cache: {what}", unit, ours, other, f"FedJAX, {share} process(es)" if other else "",
                meaning=f"{what.capitalize()} of jfed's whole process; below 1 it needs less than FedJAX.",
            ))  # fmt: skip
            if other:
                rows.append(report.row(f"{many}, {state} cache: FedJAX's {what}", unit, other, meaning="FedJAX's own."))
    agreed = [f"{name} accuracy {accuracy[name]:.3f} after {steps[name]:,.0f} client-steps a seed" for name in sides]
    return rows, ", ".join(agreed)
