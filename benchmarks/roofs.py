"""How much of a core's arithmetic local training uses, and how far selection is from the cost of its random numbers.

Useful operations of a client-step are counted from the shapes of the layers: a multiplication and an addition are two.
They are set against the fastest product of two 1024 x 1024 matrices in float32 on the same core, by XLA or by NumPy's
OpenBLAS with one thread. A share above 1 is possible, since Winograd's method needs fewer operations than are counted.
Selection of a client in a round is set against a program that only draws two threefry words and takes one logarithm
for each client and round.
"""

import functools
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks import report, workers
from benchmarks.cases import CASES, total_steps
from benchmarks.simulation import LEAST_S, configured
from jfed.core import prng
from jfed.engine import compiler

SIDE = 1024
SEEDS = 64
SELECTION = {"K = 100, sequential": 64, "K = 1,000, sequential": 22, "K = 10,000, sequential": 2}  # runs of a block


def run(repeats: int) -> tuple[list[report.Row], list[str]]:
    """Run the benchmark, and return its rows and notes."""
    rows: list[report.Row] = []
    with ExitStack() as stack:
        core = workers.cores()[0]
        one = stack.enter_context(workers.jfed(core))
        blas = stack.enter_context(workers.script("product_loop.py", core=core, OPENBLAS_NUM_THREADS="1"))

        def best() -> float:
            return max(one.ask(call="roofs.product")["rate"], blas.ask(side=SIDE, seconds=LEAST_S)["rate"])

        for name, case in CASES.items():
            report.say(name)
            measure = partial(_rounds, one, name)
            measure()
            rounds, roof = report.interleaved(repeats, measure, best)
            achieved = [rate * total_steps(name) * case.flops() / 1e9 for rate in rounds]
            rows.append(report.row(
                f"{name}; 1 core, {case.flops() / 1e9:.3g} GFLOP a client-step", "GFLOP/s", achieved, roof,
                "best product of 1024 x 1024", meaning="Useful operations a second, as a share of the best product's.",
            ))  # fmt: skip
        products = [one.ask(call="roofs.product")["rate"], blas.ask(side=SIDE, seconds=LEAST_S)["rate"]]
        for name, block in SELECTION.items():
            clients = configured("selection", name).num_clients
            ask: Callable[[], float] = partial(_selection, one, name, clients)
            bare: Callable[[], float] = partial(_bare, one, block, clients)
            for compiles in (ask, bare):
                compiles()
            ours, least = report.interleaved(repeats, ask, bare)
            rows.append(report.row(
                f"{name}; {SEEDS} seeds, 1 core", "ns a client-round", ours, least, "two words and a logarithm",
                meaning="Time of selection for a client and round, as a multiple of its random numbers' alone.",
            ))  # fmt: skip
    return rows, [f"The products alone: XLA {products[0]:.0f} GFLOP/s, OpenBLAS {products[1]:.0f}."]


def _rounds(worker: workers.Worker, name: str) -> float:
    return worker.ask(call="local_round.measure", name=name)["rate"]


def _selection(worker: workers.Worker, name: str, clients: int) -> float:
    """Return nanoseconds of selection for a client and round."""
    rate = worker.ask(call="simulation.alone", module="selection", name=name, seeds=SEEDS)["rate"]
    return 1e9 / (rate * clients)


def _bare(worker: workers.Worker, runs: int, clients: int) -> float:
    """Return nanoseconds of the bare arithmetic for a client and round."""
    return 1e9 / worker.ask(call="roofs.arithmetic", runs=runs, clients=clients)["rate"]


def _rate(function: Callable[[], Any], done: float) -> dict[str, float]:
    """Return what is done a second by calls that each do a number of things, over at least a second."""
    jax.block_until_ready(function())
    started, calls = time.perf_counter(), 0
    while time.perf_counter() - started < LEAST_S:
        jax.block_until_ready(function())
        calls += 1
    return {"rate": calls * done / (time.perf_counter() - started)}


@functools.cache
def _product() -> Callable[[], Any]:
    a, b = (jnp.asarray(np.random.default_rng(i).random((SIDE, SIDE)), jnp.float32) for i in range(2))
    compiled = jax.jit(jnp.matmul, compiler_options=compiler.options(wide_products=True))
    return lambda: compiled(a, b)


def product() -> dict[str, float]:
    """Return GFLOP/s of XLA's product of two matrices."""
    return _rate(_product(), 2 * SIDE**3 / 1e9)


@functools.cache
def _arithmetic(runs: int, clients: int, rounds: int) -> Callable[[], Any]:
    def one(key: Any) -> Any:
        def body(i: Any, total: Any) -> Any:
            now = jax.random.fold_in(key, i)
            first, second = (prng.words(prng.at(now, j), clients) for j in range(2))
            arrival = -jnp.log((first.astype(jnp.float32) + 0.5) * 2.0**-32)
            return total + jnp.where(second >> 31 == 0, arrival, 0.0)

        return jax.lax.fori_loop(0, rounds, body, jnp.zeros(clients))

    compiled = jax.jit(jax.vmap(one), compiler_options=compiler.options(wide_products=False))
    keys = jax.random.split(jax.random.key(0), runs)
    return lambda: compiled(keys)


def arithmetic(runs: int, clients: int) -> dict[str, float]:
    """Return client-rounds per second of a program that draws two words and takes one logarithm for each."""
    rounds = max(1, 2_000_000 // (runs * clients))
    return _rate(_arithmetic(runs, clients, rounds), float(runs * clients * rounds))
