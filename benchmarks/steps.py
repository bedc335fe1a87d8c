"""Number of SGD steps that the engine executes, against the number that the returned clients need.

Every step of the algorithm is counted on the host, masked ones too, in whole runs on the shipped digits: clients of
unequal sizes (lognormal, sigma 0.5), 1 to 4 epochs, half of the selected clients failing. Each client that returns
needs ceil(n / B) x epochs steps.
"""

from typing import Any
from unittest import mock

import jax
import numpy as np

import jfed
from benchmarks import report
from jfed.algorithms import local_sgd
from jfed.core.interfaces import Algorithm
from jfed.core.learning import ClientData
from jfed.engine import simulate

CLIENTS, COHORT, ROUNDS, SEEDS, BATCH = 30, 10, 12, 4, 5
TARGET = "<= 1.10"


def counted(lane: str) -> tuple[int, int, int]:
    """Return the steps executed, those that returned clients need, and an estimate for all selected clients."""
    executed = 0

    def tick() -> None:
        nonlocal executed
        executed += 1

    original = local_sgd.Options.make

    def make(*args: Any) -> Algorithm:
        algorithm = original(*args)

        def step(local: Any, weights: Any, params: Any, data: ClientData) -> Any:
            jax.debug.callback(lambda _: tick(), local.step)
            return algorithm.step(local, weights, params, data)

        return algorithm._replace(step=step)

    rng = np.random.default_rng(0)
    sizes = tuple(int(n) for n in np.clip(30 * rng.lognormal(0, 0.5, CLIENTS), 8, 120))
    training = jfed.Training(partition="iid", samples_per_client=sizes, batch_size=BATCH)
    config = jfed.Config(
        num_clients=CLIENTS, cohort_size=COHORT, num_rounds=ROUNDS, eval_every=ROUNDS, training=training
    )
    simulate.program.cache_clear()  # cached programs do not count steps
    with mock.patch.object(local_sgd.Options, "make", make):
        layout = jfed.Layout(lane=lane, record_selected=True)
        points = jfed.methods(config, ["e3cs-0.5"])
        results = jfed.run(points, range(SEEDS), layout=layout, progress=False)
        jax.effects_barrier()
    simulate.program.cache_clear()
    needed = int(results["num_steps"].sum())
    mean_steps = needed / int(results["num_succeeded"].sum())
    return executed, needed, round(mean_steps * int(results["num_selected"].sum()))


def run(repeats: int) -> tuple[list[report.Row], list[str]]:
    """Run the benchmark, and return its rows and notes; counts do not vary, so each lane runs once."""
    rows: list[report.Row] = []
    for lane, target in (("sequential", TARGET), ("vmapped", "")):
        executed, needed, selected = counted(lane)
        case = f"{lane} lane: executed steps"
        rows.append(report.row(case, "steps", [executed], [needed], "returned clients", target))
        rows.append(report.row(case, "steps", [executed], [selected], "all selected clients"))
    return rows, ["Where the ratio to all selected clients is below 1, clients that do not return cost no step."]
