"""Seed-rounds per second of selection-only E3CS, against a fast NumPy loop of one seed.

The setting is the paper's numerical one: K = 100, k = 20, T = 2500, success rates 0.1, 0.3, 0.6, 0.9. Compilation is
excluded (see `compiling`).
"""

import functools
import time
from collections.abc import Callable

import jax
import numpy as np

import jfed
from benchmarks import report, workers
from benchmarks.simulation import shared, simulation
from jfed.engine.round import Record
from jfed.selectors import e3cs

ROUNDS = 2500
BASE = jfed.Config(num_rounds=ROUNDS)
CLIENTS = {"num_clients": BASE.num_clients, "k": BASE.cohort_size, "eta": 0.5, "rates": [0.1, 0.3, 0.6, 0.9]}
TARGET = ">= 8"


def whole_run(options: e3cs.Options, seeds: int) -> float:
    """Return seed-rounds per second of `jfed.run`: `simulation`, and planning, checks and the resulting dataset."""
    points = [jfed.Point(jfed.replace(BASE, {"selector": options}), {"method": "e3cs"})]
    started = time.perf_counter()
    jfed.run(points, range(seeds), progress=False)
    return seeds * ROUNDS / (time.perf_counter() - started)


def run(repeats: int) -> tuple[list[report.Row], list[str]]:
    """Run the benchmark, and return its rows and notes."""
    target = TARGET if len(jax.devices()) >= 2 else ""
    cases = [
        ("quota 0.5", e3cs.Options(0.5), 128, *shared(128, 64), target),
        ("quota 0", e3cs.Options(0.0), 128, *shared(128, 64), target),
        ("quota 0.5", e3cs.Options(0.5), 64, 1, 64, ""),
        ("quota 0.5, exact sampler, clip", e3cs.Options(0.5, 0.5, "exact", True), 128, *shared(128, 64), ""),
        ("quota 0.5", e3cs.Options(0.5), 16, *shared(16, 64), ""),
        ("quota 0.5", e3cs.Options(0.5), 1024, *shared(1024, 64), ""),
    ]
    rows: list[report.Row] = []
    notes = ["The baseline uses one process, with OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE unset."]
    with workers.Worker("numpy_loop.py") as worker:
        for name, options, seeds, used, block, target in cases:
            once = simulation(jfed.replace(BASE, {"selector": options}), seeds, used, block)
            once()
            ours, theirs = [], []

            def measure(
                once: Callable[[], tuple[float, Record]] = once, means: list[float] = ours, number: int = seeds * ROUNDS
            ) -> float:
                rate, total = once()
                if total.num_selected != number * BASE.cohort_size:
                    raise AssertionError("A cohort has the wrong size.")
                means.append(float(total.num_succeeded) / number)
                return rate

            def baseline(quota: object = options.quota, means: list[float] = theirs) -> float:
                answer = worker.ask(seed=len(means), rounds=ROUNDS, quota=quota, **CLIENTS)
                means.append(answer["returned"] / ROUNDS)
                return ROUNDS / answer["seconds"]

            measured, loop = report.interleaved(repeats, measure, baseline)
            case = f"{name}; {seeds} seeds, {used} device{'s' if used > 1 else ''}, block {block}"
            rows.append(report.row(case, "seed-rounds/s", measured, loop, "NumPy loop", target))
            if name == "quota 0.5" and seeds == 128:
                rows.append(report.row("NumPy loop, quota 0.5, one process", "seed-rounds/s", loop))
                notes.append(f"Returned clients a round: jfed {ours[0]:.2f}, NumPy loop {np.mean(theirs):.2f}.")
                call = functools.partial(whole_run, options, seeds)
                call()
                measured, loop = report.interleaved(repeats, call, baseline)
                case = f"{name}; {seeds} seeds, the whole of jfed.run"
                rows.append(report.row(case, "seed-rounds/s", measured, loop, "NumPy loop"))
    return rows, notes
