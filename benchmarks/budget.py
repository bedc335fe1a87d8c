"""Eiffel under a budget of 15 simulated seconds, 100 clients with the squared SVM on MNIST, against a NumPy loop.

jfed's side is `jfed.run` on ten seeds without compilation: the clients' data, every round, tests every five rounds, and
each client's loss at the end. The loop runs one seed, with the same tests. The cost of the search over tau is measured
too.
"""

import dataclasses
import os
import time

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


def run(repeats: int) -> tuple[list[report.Row], list[str]]:
    """Run the benchmark, and return its rows and notes."""
    try:
        found = where("mnist")
    except DataError:
        found = None
    if found is None:
        return [], ["Not measured: MNIST is missing. Get it by `jfed data get mnist`, or set $JFED_DATA_DIR."]
    settings = dataclasses.replace(PRESETS["small"], schemes=("eiffel",), eval_every=EVERY)
    (point,) = points(settings)
    rounds, told = [], []

    def ours() -> float:
        started = time.perf_counter()
        results = jfed.run([point], range(SEEDS), progress=False)
        seconds = time.perf_counter() - started
        rounds.append(seconds / int((results["num_selected"].values > 0).sum()))
        told.append((float(results["num_steps"].sum()) / SEEDS, float(results["client_loss"].mean())))
        return SEEDS / seconds

    with workers.Worker("edge_loop.py", **dict(os.environ)) as worker:
        answers = []

        def theirs() -> float:
            answers.append(worker.ask(seed=len(answers), num_clients=100, k=50, budget=15.0, every=EVERY))
            return 1 / answers[-1]["seconds"]

        ours()  # compiles
        rounds.clear()
        measured, loop = report.interleaved(repeats, ours, theirs)
    devices = len(jax.devices())
    case = f"Eiffel, 100 clients, {SEEDS} seeds, {devices} device{'s' if devices > 1 else ''}"
    share = [search_s(point.config) / s for s in rounds]
    notes = [
        f"Client-steps a run: jfed {told[0][0]:.0f}, loop {sum(a['steps'] for a in answers) / len(answers):.0f};"
        f" loss {told[0][1]:.3f} and {sum(a['loss'] for a in answers) / len(answers):.3f}."
    ]
    return [
        report.row(case, "runs/s", measured, loop, "NumPy loop", ">= 5" if devices >= 2 else ""),
        report.row("search over tau, share of a round", "", share, target="<= 0.05"),
    ], notes


def search_s(config: jfed.Config) -> float:
    """Return the seconds that one search over tau takes."""
    options = config.controller
    params = jax.tree.map(jnp.asarray, options.params(configs.problem(config)))
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
    return (time.perf_counter() - started) / CALLS
