"""Seed-rounds per second of RBCS-F and CS-UCB-Q without training, beside fast NumPy loops of one seed.

The settings are the papers' numerical ones: RBCS-F with N = 40, m = 8, T = 500 in the world of exchange times, and
CS-UCB-Q with K = 20, N = 5, T = 5000 in the wireless cell with clients available in 90 % of the rounds. The mean length
of a simulated round must agree.
"""

import jfed
from benchmarks import beside_loops, report
from benchmarks.beside_loops import Case
from jfed.envs import exchange, wireless
from jfed.selectors import cs_ucb_q, rbcs_f

SEEDS = (1, 64)
CONFIGS = {
    "RBCS-F": jfed.Config(40, 8, 500, environment=exchange.Options(), selector=rbcs_f.Options(V=20.0, beta=0.15)),
    "CS-UCB-Q": jfed.Config(
        20, 5, 5000, environment=wireless.Options(availability=0.9), selector=cs_ucb_q.Options(beta=1e-3)
    ),
}
LOOPS = {
    "RBCS-F": {"loop": "rbcs_f", "rounds": 500, "num_clients": 40, "k": 8, "V": 20.0, "beta": 0.15, "alpha": 0.1},
    "CS-UCB-Q": {"loop": "cs_ucb_q", "rounds": 5000, "num_clients": 20, "k": 5, "beta": 1e-3, "model_bits": 5e3},
}


def run(repeats: int) -> tuple[list[report.Row], list[str]]:
    """Run the benchmark, and return its rows and notes."""
    cases = [(Case(name, LOOPS[name], "round_time_s", "spent"), SEEDS) for name in CONFIGS]
    return beside_loops.run("time_aware", "time_loop", cases, repeats)
