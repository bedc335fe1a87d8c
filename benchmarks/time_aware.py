"""RBCS-F and CS-UCB-Q without training against NumPy loops of one seed; RBCS-F's ridge and its choice by themselves.

The settings are the papers' numerical ones: RBCS-F with N = 40, m = 8, T = 500 in the world of exchange times, and
CS-UCB-Q with K = 20, N = 5, T = 5000 in the wireless cell with clients available in 90 % of the rounds.
"""

import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import jfed
from benchmarks import report, workers
from benchmarks.simulation import shared, simulation
from jfed.config import problem
from jfed.engine.round import Record
from jfed.envs import exchange, wireless
from jfed.selectors import cs_ucb_q, rbcs_f

SEEDS, BLOCK = 128, 64
RBCS_F = jfed.Config(40, 8, 500, environment=exchange.Options(), selector=rbcs_f.Options(V=20.0, beta=0.15))
CS_UCB_Q = jfed.Config(
    20, 5, 5000, environment=wireless.Options(availability=0.9), selector=cs_ucb_q.Options(beta=1e-3)
)
LOOPS = {
    "rbcs_f": {"num_clients": 40, "k": 8, "V": 20.0, "beta": 0.15, "alpha": 0.1},
    "cs_ucb_q": {"num_clients": 20, "k": 5, "beta": 1e-3, "model_bits": 5e3},
}
RUNS, CLIENTS = 128, 40  # for the ridge
CALLS = 20  # calls of a small function in one measurement


def run(repeats: int) -> tuple[list[report.Row], list[str]]:
    """Run the benchmark, and return its rows and notes."""
    (devices, block), rows, notes = shared(SEEDS, BLOCK), [], []
    target = ">= 5" if devices >= 2 else ""
    with workers.Worker("time_loop.py") as worker:
        for name, config in (("rbcs_f", RBCS_F), ("cs_ucb_q", CS_UCB_Q)):
            once = simulation(config, SEEDS, devices, block)
            once()
            ours, theirs = [], []

            def measure(
                once: Callable[[], tuple[float, Record]] = once,
                times: list[float] = ours,
                rounds: int = config.num_rounds,
            ) -> float:
                rate, total = once()
                times.append(float(total.round_time_s) / (SEEDS * rounds))
                return rate

            def baseline(loop: str = name, times: list[float] = theirs, rounds: int = config.num_rounds) -> float:
                answer = worker.ask(loop=loop, seed=len(times), rounds=rounds, **LOOPS[loop])
                times.append(answer["spent"] / rounds)
                return rounds / answer["seconds"]

            measured, loop = report.interleaved(repeats, measure, baseline)
            case = f"{name}; {SEEDS} seeds, {devices} device{'s' if devices > 1 else ''}, block {block}"
            rows.append(report.row(case, "seed-rounds/s", measured, loop, "NumPy loop", target))
            notes.append(f"Seconds a simulated round of {name}: jfed {ours[0]:.3f}, NumPy loop {np.mean(theirs):.3f}.")
    rows.append(_ridge(repeats))
    rows += [_choice(num_clients, repeats) for num_clients in (40, 1000, 10_000)]
    notes.append(f"The ridge is for {RUNS} runs of {CLIENTS} clients; the choice is for one run of a block of 16.")
    return rows, notes


def _rate(function: Callable[..., Array], *arguments: Array) -> Callable[[], float]:
    """Return a function that measures calls per second of a compiled function."""
    compiled = jax.jit(function)
    compiled(*arguments).block_until_ready()

    def measure() -> float:
        started = time.perf_counter()
        for _ in range(CALLS):
            compiled(*arguments).block_until_ready()
        return CALLS / (time.perf_counter() - started)

    return measure


def _ridge(repeats: int) -> report.Row:
    """Time the lower confidence bounds, by unrolled Cholesky factors and by `jnp.linalg.solve`."""
    rng = np.random.default_rng(0)
    played = jnp.asarray(rng.random((RUNS, CLIENTS, 30, 3)), jnp.float32)
    gram, moment = jnp.einsum("rcij,rcik->rcjk", played, played), played.sum(2)
    context = jnp.asarray(rng.random((RUNS, CLIENTS, 3)), jnp.float32)
    params = jax.tree.map(jnp.asarray, RBCS_F.selector.params(problem(RBCS_F)))

    def unrolled(gram: Array, moment: Array, context: Array) -> Array:
        state = rbcs_f.State(jnp.zeros(CLIENTS), gram.transpose(1, 2, 0), moment.T)
        return rbcs_f.lower_bound(state, params, context)

    def solved(gram: Array, moment: Array, context: Array) -> Array:
        both = jnp.linalg.solve(gram + params.ridge * jnp.eye(3), jnp.stack([moment, context], -1))
        mean, width = jnp.sum(context * both[:, 0]), jnp.sum(context * both[:, 1])
        return jnp.maximum(mean - params.alpha * jnp.sqrt(width), 0.0)

    ours, theirs = jax.vmap(unrolled), jax.vmap(jax.vmap(solved))
    np.testing.assert_allclose(ours(gram, moment, context), theirs(gram, moment, context), rtol=1e-4, atol=1e-5)
    measured, loop = report.interleaved(
        repeats, _rate(ours, gram, moment, context), _rate(theirs, gram, moment, context)
    )
    return report.row("RBCS-F's bounds", "calls/s", measured, loop, "vmapped linalg.solve", ">= 4")


def _choice(num_clients: int, repeats: int) -> report.Row:
    """Time the choice of a cohort (Algorithm 1), for 16 runs at a time."""
    rng, runs = np.random.default_rng(0), 16
    times, queues, ties = (jnp.asarray(rng.random((runs, num_clients)), jnp.float32) for _ in range(3))
    available = jnp.asarray(rng.random((runs, num_clients)) < 0.8)
    k = max(1, num_clients // 5)

    def choose(time: Array, queue: Array, here: Array, tie: Array) -> Array:
        return rbcs_f.choose(time, queue, here, jnp.int32(k), jnp.float32(20.0), tie)

    rate = _rate(jax.vmap(choose), times, queues, available, ties)
    return report.row(
        f"RBCS-F's choice, N = {num_clients:,}, k = {k:,}", "choices/s", [runs * rate() for _ in range(repeats)]
    )
