"""The share of training in the steps of the leaderboard, for each of its schemes.

The problem is digits in the world of heavy tails, where all clients return: every scheme trains as many clients as
uniform selection does. What training takes is the time of uniform selection with training, less its time alone; the
share is that over the scheme's own time. Evaluation, every second round, counts as training.
"""

import jfed
from benchmarks import report, simulation
from experiments.board.candidates import families
from experiments.board.problems import problem

SEEDS, LEAST = 10, 0.8
BASE = problem("heavy-tails", "digits", 100, 0.2)
SCHEMES = {family: names[0] for family, names in families(()).items()}
ALONE = "uniform, without training"


def _config(name: str) -> jfed.Config:
    selector = jfed.catalog.scheme(name)
    reading = selector.average_over() or "returned"
    return jfed.replace(BASE, {"selector": selector, "training.average_over": reading})


CONFIGS = {name: _config(name) for name in SCHEMES.values()} | {ALONE: jfed.replace(BASE, {"training": None})}


def run(repeats: int) -> tuple[list[report.Row], list[str]]:
    """Run the benchmark, and return its rows and notes."""

    def seconds(name: str) -> float:
        return 1 / simulation.alone("board", name, SEEDS)["rate"]

    rows, low = [], []
    for name in SCHEMES.values():
        shares = []
        for _ in range(repeats):  # in turn, so that other load on the machine affects all alike
            plain, alone, own = seconds("uniform"), seconds(ALONE), seconds(name)
            shares.append((plain - alone) / own)
        rows.append(report.row(f"{name}: share of training", "of the time", shares, target=f">= {LEAST:g}"))
        low += [name] if rows[-1].median < LEAST else []
    return rows, [f"Below {LEAST:g}: {', '.join(low) or 'none'}. {SEEDS} seeds, 100 rounds; compilation is excluded."]
