"""Speed of the vmapped lane by number of runs in a block, and the cost of matrix precision.

The rounds are those of `rounds` (20 clients, 1 to 4 epochs), with every second client failing, on one device. `highest`
is float32 throughout; by default some accelerators multiply matrices in fewer bits. The default block size rests on it.
`python -m benchmarks.lanes --seconds 60` measures one case after another, the most telling first, and stops in time.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks import report
from benchmarks.cases import BATCH, CLIENTS, MOMENTUM, RATE, Case
from benchmarks.local_round import setting
from jfed.algorithms import local_sgd
from jfed.core.types import Dims
from jfed.engine.jobs import Carried, Data, Jobs
from jfed.engine.lanes import LANES
from jfed.models import classifier, losses
from jfed.runner.memory import size

SLOTS = 32  # of a run with 20 clients: the default block follows from it
RUNS = {"cpu": (1, 4), "gpu": (1, 4, 16, 64), "tpu": (1, 4, 16, 64)}
NETS = {"cpu": ("MLP 784-200-10",), "gpu": ("CNN e3cs-emnist", "CNN e3cs-cifar"), "tpu": ("CNN e3cs-emnist",)}


class Cell(NamedTuple):
    """One case.

    Attributes:
        net: name of the network and its data.
        lane: name of the lane.
        runs: runs in the block.
        precision: precision of matrix products.
    """

    net: str
    lane: str
    runs: int
    precision: str

    def __str__(self) -> str:
        return f"{self.net}; {self.lane}, {self.runs} run(s), {self.precision} precision"


class Measured(NamedTuple):
    """What was measured of a case.

    Attributes:
        cell: the case.
        rates: client-steps per second of each repeat.
        temporaries: bytes of temporaries.
        compiling: seconds of compilation and of the first run.
    """

    cell: Cell
    rates: list[float]
    temporaries: int
    compiling: float


def cells(backend: str) -> list[Cell]:
    """Return the cases of a backend, the most telling first: the default block, then a single run, then the others."""
    if backend == "cpu":
        nets = [Cell(net, "vmapped", n, "default") for net in NETS[backend] for n in RUNS[backend]]
        return [*nets, *(Cell(net, "sequential", 1, "default") for net in NETS[backend])]
    first = (LANES["vmapped"].runs(SLOTS), 1)
    runs = [*first, *(n for n in RUNS[backend] if n not in first)]
    return [Cell(net, "vmapped", n, p) for n in runs for p in ("highest", "default") for net in NETS[backend]]


def timed(cell: Cell) -> tuple[Callable[[], float], int]:
    """Return a function that returns client-steps per second, and the bytes of temporaries."""
    work, runs = setting(cell.net), cell.runs
    case = work.case
    model = classifier.make(case.options, case.inputs)
    algorithm = local_sgd.Options().make(Dims(CLIENTS, CLIENTS, BATCH), losses.mean_loss(model))
    params = local_sgd.Params(*(jnp.full(runs, x) for x in (RATE, MOMENTUM, 0.0)))
    weights, positions, sizes = (
        jax.tree.map(lambda x: jnp.repeat(x, runs, 0), x)
        for x in (work.weights, work.data.positions, work.data.num_samples)
    )
    data = Data(work.data.images, work.data.labels, positions, sizes, *work.data[4:])
    jobs = _jobs(case, runs)

    def train(weights: Any, data: Data, jobs: Jobs) -> Any:
        return LANES[cell.lane].train(algorithm, Carried(weights), params, data, jobs).move

    with jax.default_matmul_precision(cell.precision):
        compiled = jax.jit(train).lower(weights, data, jobs).compile()
    jax.block_until_ready(compiled(weights, data, jobs))
    steps, found = float(np.sum(case.few)) * runs, compiled.memory_analysis()

    def once() -> float:
        started = time.perf_counter()
        jax.block_until_ready(compiled(weights, data, jobs))
        return steps / (time.perf_counter() - started)

    return once, found.temp_size_in_bytes if found else 0


def _jobs(case: Case, runs: int) -> Jobs:
    return Jobs(
        jnp.repeat(jnp.arange(runs, dtype=jnp.int32), CLIENTS),
        jnp.tile(jnp.arange(CLIENTS, dtype=jnp.int32), runs),
        jnp.tile(jnp.asarray(case.few), runs),
        jax.random.split(jax.random.key(0), runs * CLIENTS),
        jnp.tile(jnp.asarray(case.few) > 0, runs),
    )


def measured(every: Sequence[Cell], repeats: int, seconds: float) -> Iterator[Measured]:
    """Yield one case after another, and begin none after some seconds; a case that fails has no rates."""
    end = time.monotonic() + seconds
    for cell in every:
        if time.monotonic() >= end:
            return
        started = time.perf_counter()
        try:
            once, temporaries = timed(cell)
            compiling = time.perf_counter() - started
            yield Measured(cell, [once() for _ in range(repeats)], temporaries, compiling)
        except jax.errors.JaxRuntimeError as error:  # memory that runs out is an answer, too
            print(f"{cell}: {str(error).partition(chr(10))[0]}", flush=True)
            yield Measured(cell, [], 0, time.perf_counter() - started)


def run(repeats: int) -> tuple[list[report.Row], list[str]]:
    """Run the benchmark, and return its rows and notes."""
    rows: list[report.Row] = []
    notes = []
    backend = jax.default_backend()
    for net in NETS[backend]:
        own = [cell for cell in cells(backend) if cell.net == net]
        made = [timed(cell) for cell in own]
        found = report.interleaved(repeats, *(once for once, _ in made))
        alone = found[next(i for i, cell in enumerate(own) if cell.runs == 1)]
        for cell, rates, (_, temporaries) in zip(own, found, made, strict=True):
            rows.append(report.row(str(cell), "client-steps/s", rates, alone, "1 run, vmapped"))
            notes.append(f"{cell}: {size(temporaries)} of temporaries.")
    return rows, notes


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lanes", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="begin no case after this time (60)")
    parser.add_argument("--repeats", type=int, default=3, help="measurements of each case (3)")
    asked = parser.parse_args()

    from jfed.runner import host

    host.setup()
    for one in measured(cells(jax.default_backend()), asked.repeats, asked.seconds):
        if one.rates:
            found = report.row(str(one.cell), "client-steps/s", one.rates)
            print(
                f"{found.case}: {found.median:,.0f} {found.unit} ({found.low:,.0f} - {found.high:,.0f}),"
                f" {size(one.temporaries)} of temporaries, ready after {one.compiling:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
