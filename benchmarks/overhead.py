"""Overhead of evaluation, checkpoints, results and progress in a run that trains, relative to its training.

The data are EMNIST letters with E3CS's network if available (`jfed data list`), else the shipped digits with a small
network. One run on each device; evaluation after every second round, as in the experiment.
"""

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import jax

import jfed
from benchmarks import report
from jfed import catalog
from jfed.data import load

ROUNDS = 10


def config() -> jfed.Config:
    """Return the experiment's config, or a small one without EMNIST."""
    if load.where("emnist_letters"):
        training = jfed.Training(dataset="emnist_letters", model="e3cs-emnist")
        return jfed.Config(num_rounds=ROUNDS, training=training)
    training = jfed.Training(samples_per_client=35, test_set="official", model="cnn", batch_size=10)
    return jfed.Config(num_clients=40, cohort_size=8, num_rounds=ROUNDS, training=training)


def run(repeats: int) -> tuple[list[report.Row], list[str]]:
    """Run the benchmark, and return its rows and notes."""
    base, seeds = config(), range(len(jax.devices()))
    assert base.training is not None

    def alone() -> float:
        points = jfed.methods(jfed.replace(base, {"eval_every": ROUNDS}), ["uniform"])
        started = time.perf_counter()
        jfed.run(points, seeds, progress=False)
        return time.perf_counter() - started

    def whole() -> float:
        points = jfed.methods(jfed.replace(base, {"eval_every": 2}), ["uniform"])
        with TemporaryDirectory() as folder:
            started = time.perf_counter()
            jfed.run(points, seeds, out=Path(folder), layout=jfed.Layout(checkpoint_s=5.0))
            return time.perf_counter() - started

    alone()  # compiles
    plain, full = report.interleaved(repeats, alone, whole)
    name = catalog.label(base.training.dataset)
    case = f"{name}, {ROUNDS} rounds: evaluation, checkpoints, results and progress, all in all"
    return [report.row(case, "s", full, plain, "training, one evaluation", "<= 1.10")], []
