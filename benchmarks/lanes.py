"""Speed of the vmapped lane by number of runs in a block, and the cost of matrix precision.

The rounds are those of `rounds` (20 clients, 1 to 4 epochs), with every second client failing, on one device. `highest`
is float32 throughout; by default some accelerators multiply matrices in fewer bits. The default block size rests on it.
"""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks import report
from benchmarks.cases import BATCH, CLIENTS, MOMENTUM, RATE
from benchmarks.local_round import setting
from jfed.algorithms import local_sgd
from jfed.core.types import Dims
from jfed.engine.jobs import Carried, Data, Jobs
from jfed.engine.lanes import LANES
from jfed.models import classifier, losses
from jfed.runner.memory import size

RUNS = {"cpu": (1, 4), "gpu": (1, 4, 16, 64), "tpu": (1, 4, 16, 64)}
NETS = {"cpu": ("MLP 784-200-10",), "gpu": ("CNN e3cs-emnist", "CNN e3cs-cifar"), "tpu": ("CNN e3cs-emnist",)}


def timed(name: str, runs: int, lane: str, precision: str | None) -> tuple[Callable[[], float], int]:
    """Return a function that returns client-steps per second, and the bytes of temporaries."""
    work = setting(name)
    case = work.case
    model = classifier.make(case.options, case.inputs)
    algorithm = local_sgd.Options().make(Dims(CLIENTS, CLIENTS, BATCH), losses.mean_loss(model))
    params = local_sgd.Params(*(jnp.full(runs, x) for x in (RATE, MOMENTUM, 0.0)))
    weights, positions, sizes = (
        jax.tree.map(lambda x: jnp.repeat(x, runs, 0), x)
        for x in (work.weights, work.data.positions, work.data.num_samples)
    )
    data = Data(work.data.images, work.data.labels, positions, sizes, *work.data[4:])
    jobs = Jobs(
        jnp.repeat(jnp.arange(runs, dtype=jnp.int32), CLIENTS),
        jnp.tile(jnp.arange(CLIENTS, dtype=jnp.int32), runs),
        jnp.tile(jnp.asarray(case.few), runs),
        jax.random.split(jax.random.key(0), runs * CLIENTS),
        jnp.tile(jnp.asarray(case.few) > 0, runs),
    )

    def train(weights: Any, data: Data, jobs: Jobs) -> Any:
        return LANES[lane].train(algorithm, Carried(weights), params, data, jobs).move

    with jax.default_matmul_precision(precision or "default"):
        compiled = jax.jit(train).lower(weights, data, jobs).compile()
    jax.block_until_ready(compiled(weights, data, jobs))
    steps, found = float(np.sum(case.few)) * runs, compiled.memory_analysis()

    def once() -> float:
        started = time.perf_counter()
        jax.block_until_ready(compiled(weights, data, jobs))
        return steps / (time.perf_counter() - started)

    return once, found.temp_size_in_bytes if found else 0


def run(repeats: int) -> tuple[list[report.Row], list[str]]:
    """Run the benchmark, and return its rows and notes."""
    backend = jax.default_backend()
    rows: list[report.Row] = []
    notes = []
    for name in NETS[backend]:
        precisions = ("default",) if backend == "cpu" else ("default", "highest")
        cells = [(lane, n, p) for lane in ("vmapped",) for n in RUNS[backend] for p in precisions]
        if backend == "cpu":
            cells.append(("sequential", 1, "default"))
        made = [timed(name, n, lane, p) for lane, n, p in cells]
        found = report.interleaved(repeats, *(once for once, _ in made))
        for (lane, n, precision), rates, (_, temporaries) in zip(cells, found, made, strict=True):
            case = f"{name}; {lane}, {n} run(s), {precision} precision"
            rows.append(report.row(case, "client-steps/s", rates, found[0], "1 run, vmapped"))
            notes.append(f"{case}: {size(temporaries)} of temporaries.")
    return rows, notes
