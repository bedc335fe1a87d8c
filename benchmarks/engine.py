"""The engine's own economy: steps done and needed, what compiles when, and memory over rounds."""

import json
import resource
import sys
import tempfile
import time

import jax
import jax.numpy as jnp
import numpy as np

import jfed
from benchmarks.report import Row, row
from benchmarks.workers import child
from jfed.engine import simulate
from jfed.engine.host import setup
from jfed.engine.lanes import LANES, Data, Jobs
from jfed.options import as_arrays
from jfed.types import Algorithm, Report


def measure_steps() -> list[Row]:
    """Steps that a lane calls for, counted by an algorithm that counts, over the steps that the jobs need."""
    counting = Algorithm(
        start=lambda key, weights, params, data: jnp.zeros(()),
        step=lambda local, weights, params, data: local + 1,
        finish=lambda local, weights: (local, Report(local)),
        aggregate=lambda weights, updates, share, returned: weights,
    )
    rng = np.random.default_rng(0)
    sizes = rng.integers(0, 500, (1, 100)).astype(np.int32)
    steps = (-(-sizes[0] // 40) * rng.integers(1, 5, 100) * (rng.random(100) < 0.5)).astype(np.int32)
    data = as_arrays(Data, images=np.zeros((1, 1, 1, 1)), labels=[0], positions=np.zeros((1, 100, 500), int),
                     num_samples=sizes, test_positions=[[0]], num_test=[1])  # fmt: skip
    keys = jax.vmap(jax.random.key)(jnp.arange(100))
    jobs = Jobs(jnp.zeros(100, jnp.int32), jnp.arange(100, dtype=jnp.int32), jnp.asarray(steps), keys)
    done, _ = LANES["sequential"].train(counting, jnp.zeros(1), jnp.zeros(1), jax.tree.map(jnp.asarray, data), jobs)
    ratio = float(np.asarray(done).sum() / steps.sum())
    return [row("steps done / needed, sequential lane, half of the jobs fail", "ratio", [ratio], target="<= 1.10")]


def _training(num_rounds: int) -> list[jfed.Point]:
    training = jfed.Training(samples_per_client=35, test_fraction=0.0, test_set="official", batch_size=10)
    base = jfed.Config(num_clients=40, cohort_size=8, num_rounds=num_rounds, eval_every=5, training=training)
    return jfed.methods(base, ["e3cs-0.5"])


def measure_compile(repeats: int) -> list[Row]:
    """Seconds of a first run, of the same run in a new process with a warm cache, and traces of a second sweep."""
    cold, warm = [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(child("engine", "first", JFED_CACHE_DIR=cache)["seconds"])
            warm.append(child("engine", "first", JFED_CACHE_DIR=cache)["seconds"])
    points = _training(10)
    jfed.run(points, [0, 1], progress=False)
    before = len(simulate.TRACES)
    axes = {"selector.eta": [0.1, 0.2], "training.algorithm.learning_rate": [0.2, 0.3], "cohort_size": [5, 6]}
    jfed.run(jfed.product(points, axes), [2, 3], progress=False)
    traced = len(simulate.TRACES) - before
    return [
        row("first run, training, new process, cold cache", "s", cold),
        row("the same, warm cache", "s", warm, cold, "cold", "< 1"),
        row("traces of a second sweep with other values", "", [traced], target="0"),
    ]


def measure_memory(repeats: int) -> list[Row]:
    """Peak memory of a process, few rounds against ten times as many."""
    rows = []
    for kind, few, many in (("selection", 500, 5000), ("training", 50, 500)):
        small, large = [], []
        for _ in range(repeats):
            small.append(child("engine", kind, str(few))["megabytes"])
            large.append(child("engine", kind, str(many))["megabytes"])
        case = f"peak memory, {kind}, {many} rounds"
        rows.append(row(case, "MB", large, small, f"{few} rounds", "<= 1.1"))
    return rows


def main() -> None:
    """One run in a process of its own; prints seconds and peak memory as JSON."""
    kind, *rest = sys.argv[1:]
    setup()
    rounds = int(rest[0]) if rest else 10
    selection = jfed.methods(jfed.Config(num_rounds=rounds), ["e3cs-0.5"])
    points = selection if kind == "selection" else _training(rounds)
    started = time.perf_counter()
    jfed.run(points, range(64 if kind == "selection" else 4), progress=False)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": time.perf_counter() - started, "megabytes": peak}))


if __name__ == "__main__":
    main()
