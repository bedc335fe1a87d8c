"""Seed-rounds per second of selection-only E3CS, beside fast NumPy loops of one seed.

K clients in four classes that return with probability 0.1, 0.3, 0.6 and 0.9, a cohort of a fifth of them, quota 0.5;
2,500 rounds (500 for K = 10,000). "Sequential" is the paper's sampler; "exact" has the inclusion
probabilities that the paper's formulas assume, and the clip of the exponent. The loop draws from the same
distributions; the mean number of clients that return must agree. One seed cannot be shared between cores, so it is
measured on one. Compilation is excluded (see `compiling`).
"""

import jfed
from benchmarks import beside_loops, report
from benchmarks.beside_loops import Case
from jfed.selectors import e3cs

RATES = (0.1, 0.3, 0.6, 0.9)
ROUNDS = {100: 2500, 1000: 2500, 10_000: 500}
SEEDS = {100: (1, 8, 64, 512), 1000: (1, 64), 10_000: (1, 64)}
SAMPLERS = {"sequential": e3cs.Options(0.5), "exact": e3cs.Options(0.5, 0.5, "exact", True)}
CONFIGS = {
    f"K = {clients:,}, {name}": jfed.Config(clients, clients // 5, rounds, selector=options)
    for name, options in SAMPLERS.items()
    for clients, rounds in ROUNDS.items()
}


def run(repeats: int) -> tuple[list[report.Row], list[str]]:
    """Run the benchmark, and return its rows and notes."""
    cases = []
    for name, config in CONFIGS.items():
        loop = {
            "rounds": config.num_rounds, "num_clients": config.num_clients, "k": config.cohort_size, "quota": 0.5,
            "eta": 0.5, "rates": RATES, "exact": name.endswith("exact"),
        }  # fmt: skip
        cases.append((Case(name, loop, "num_succeeded", "returned"), SEEDS[config.num_clients]))
    return beside_loops.run("selection", "numpy_loop", cases, repeats)
