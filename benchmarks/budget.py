"""Eiffel under a budget of 15 simulated seconds, 100 clients with the squared SVM on MNIST, beside NumPy loops.

jfed's side is `jfed.run` without compilation: the clients' data, every round, tests every five rounds, and each
client's loss at the end. The loop runs one seed after another with the same tests, in one process per core. The mean
number of client-steps of a run must agree. The cost of the search over tau is measured too.
"""

import dataclasses
import functools
import statistics
import sys
import time
from contextlib import ExitStack
from typing import Any

import jax
import jax.numpy as jnp

import jfed
from benchmarks import report, workers
from experiments.eiffel_fairness import PRESETS, points
from jfed import config as configs
from jfed.controllers import adaptive
from jfed.core.errors import DataError
from jfed.core.types import Costs
from jfed.data.load import where

SEEDS, CALLS, EVERY = 10, 1000, 5
LOOP = {"num_clients": 100, "k": 50, "budget": 15.0, "every": EVERY, "seconds": 3.0}
ALIKE = 0.1  # largest relative difference between the two sides' client-steps


def run(repeats: int) -> tuple[list[report.Row], list[str]]:
    """Run the benchmark, and return its rows and notes."""
    try:
        found = where("mnist")
    except DataError:
        found = None
    if found is None:
        return [], ["Not measured: MNIST is missing. Get it by `jfed data get mnist`, or set $JFED_DATA_DIR."]
    with ExitStack() as stack:
        return _measured(repeats, stack)


def _measured(repeats: int, stack: ExitStack) -> tuple[list[report.Row], list[str]]:
    cores = workers.cores()
    one, every = stack.enter_context(workers.jfed(cores[0])), stack.enter_context(workers.jfed())
    loop = [sys.executable, "-m", "benchmarks.edge_loop"]
    loops = [stack.enter_context(workers.Worker(loop, core)) for core in cores]
    told: list[dict[str, float]] = []
    heard: list[dict[str, float]] = []

    def ours(worker: workers.Worker, seeds: int) -> float:
        told.append(worker.ask(call="budget.whole", seeds=seeds))
        return told[-1]["rate"]

    def theirs(loops: list[workers.Worker]) -> float:
        answers = workers.together(loops, **LOOP)
        heard.extend(answers)
        return sum(answer["rate"] for answer in answers)

    sides = [
        functools.partial(ours, every, SEEDS), functools.partial(ours, one, SEEDS), functools.partial(ours, one, 1),
        functools.partial(theirs, loops), functools.partial(theirs, loops[:1]),
    ]  # fmt: skip
    for compiles in sides[:3]:
        compiles()
    told.clear()
    both, ten, single, all_loops, one_loop = report.interleaved(repeats, *sides)
    full = told[1::3]  # ten seeds on one core
    steps, steps_loop = (statistics.fmean(side["steps"] for side in sides) for sides in (full, heard))
    if abs(steps - steps_loop) > ALIKE * steps_loop:
        raise AssertionError(f"A run has {steps:.0f} client-steps, in the loop {steps_loop:.0f}.")
    search = one.ask(call="budget.search")["seconds"]
    n, loss = len(cores), statistics.fmean(side["loss"] for side in heard)
    against, against_all = "NumPy loop, 1 core", f"NumPy loop, {n} processes of 1 core"
    return [
        report.row(f"{SEEDS} seeds; {n} cores", "runs/s", both, all_loops, against_all,
                   meaning="`jfed.run` on all cores, beside a loop on each."),
        report.row(f"{SEEDS} seeds; 1 core", "runs/s", ten, one_loop, against,
                   meaning="`jfed.run` on one core, beside one loop."),
        report.row("1 seed; 1 core", "runs/s", single, one_loop, against,
                   meaning="`jfed.run` of one seed on one core, beside one loop."),
        report.row("NumPy loop, 1 core", "runs/s", one_loop, meaning="The loop's own rate."),
        report.row("search over tau, share of a round", "", [search / side["round_s"] for side in full],
                   target="<= 0.05", meaning="What the controller's search takes of a round of ten seeds on one core."),
    ], [
        f"Client-steps a run: jfed {steps:.0f}, loop {steps_loop:.0f};"
        f" loss {full[0]['loss']:.3f} and {loss:.3f}."
    ]  # fmt: skip


@functools.cache
def _point() -> jfed.Point:
    (point,) = points(dataclasses.replace(PRESETS["small"], schemes=("eiffel",), eval_every=EVERY))
    return point


def whole(seeds: int) -> dict[str, float]:
    """Return runs per second of `jfed.run`, the seconds of a round of a run, and means of the results."""
    started = time.perf_counter()
    results = jfed.run([_point()], range(seeds), progress=False)
    seconds = time.perf_counter() - started
    rounds = int((results["num_selected"].values > 0).sum())
    steps, loss = float(results["num_steps"].sum()) / seeds, float(results["client_loss"].mean())
    return {"rate": seeds / seconds, "round_s": seconds / rounds, "steps": steps, "loss": loss}


def search() -> dict[str, float]:
    """Return the seconds that one search over tau takes."""
    options: Any = _point().config.controller
    params = jax.tree.map(jnp.asarray, options.params(configs.problem(_point().config)))
    one, no = jnp.float32(1.0), jnp.bool_(False)
    start = adaptive.State(
        tau=jnp.int32(50), before=jnp.int32(0), spent=jnp.zeros(1), step=jnp.full(1, 0.013), exchange=jnp.full(1, 0.26),
        known=Costs(jnp.zeros((1, 100)), jnp.zeros((1, 100))),
        rho=one, beta=one, delta=one, alpha=one, last=no, looks=no, over=no,
    )  # fmt: skip

    @jax.jit
    def many(state: adaptive.State) -> jax.Array:
        def once(i: jax.Array, total: jax.Array) -> jax.Array:
            moved = state._replace(rho=state.rho + total * 1e-6)
            return total + adaptive.search(moved, params, jnp.full(1, 10.0))

        return jax.lax.fori_loop(0, CALLS, once, jnp.int32(0))

    many(start).block_until_ready()
    started = time.perf_counter()
    many(start).block_until_ready()
    return {"seconds": (time.perf_counter() - started) / CALLS}
