"""Analysis of seven schemes, 100 seeds, 2500 rounds: from files to all tables and figures, in a new process.

Selections and returns are simulated; accuracies, of every tenth round, are made up, since the training of 700 models is
not measured.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import jfed
from benchmarks import report, workers
from jfed.runner.run import run as simulate

SEEDS, ROUNDS, EVERY = 100, 2500, 10
SCHEMES = ("uniform", "fedcs", "e3cs-0", "e3cs-0.2", "e3cs-0.5", "e3cs-0.8", "e3cs-inc")


def points() -> list[jfed.Point]:
    """Return one point per scheme, with the coordinates of a training experiment."""
    where = {"partition": "made up", "algorithm": "fedavg", "k": 20}
    return [jfed.Point(p.config, p.coords | where) for p in jfed.methods(jfed.Config(num_rounds=ROUNDS), SCHEMES)]


def write_results(out: Path) -> None:
    """Write one file per scheme, as a training experiment does."""
    rng = np.random.default_rng(0)
    rounds = np.arange(EVERY, ROUNDS + 1, EVERY)
    (out / "results").mkdir()
    for i, point in enumerate(points()):
        one = simulate([point], range(SEEDS), progress=False)
        height = 0.7 + 0.02 * i + rng.normal(0, 0.01, (SEEDS, 1))
        accuracy = height * (1 - np.exp(-rounds / 600)) + rng.normal(0, 0.005, (SEEDS, len(rounds)))
        one["test_accuracy"] = (("run", "eval_round"), accuracy.astype(np.float32))
        one["test_loss"] = (("run", "eval_round"), -np.log(np.maximum(accuracy, 0.01)).astype(np.float32))
        one["broken_round"] = ("run", np.zeros(SEEDS, np.int32))
        one.assign_coords(eval_round=rounds).to_netcdf(out / "results" / f"{i}.nc", engine="h5netcdf")


def run(repeats: int) -> tuple[list[report.Row], list[str]]:
    """Run the benchmark, and return its rows and notes."""
    with TemporaryDirectory() as folder:
        write_results(Path(folder))
        found = [workers.child("analysing", folder) for _ in range(repeats)]
    case = f"{len(SCHEMES)} schemes x {SEEDS} seeds x {ROUNDS} rounds"
    rows = [
        report.row(f"{case}: tables and figures, start included", "s", [f["total"] for f in found], target="< 30"),
        report.row("of which loading", "s", [f["load"] for f in found]),
        report.row("peak memory", "MB", [f["peak"] / 2**20 for f in found], target="< 2000"),
        report.row("all runs as Parquet, a row per round", "s", [f["export"] for f in found]),
    ]
    return rows, [f"{found[0]['tables']} files of tables, {found[0]['figures']} of figures"]
