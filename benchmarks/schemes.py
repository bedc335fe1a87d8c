"""Every newer selector beside a fast NumPy loop of its own, at K = 100 and k = 20, and the time to compile it.

Both sides read the same kind of made-up feedback from tables that are drawn beforehand (`scheme_events`), so that
neither drawing a world nor training is measured: clients return with probability 0.1, 0.3, 0.6 and 0.9 by class;
losses, norms of updates and latencies are log-normal; sketches have the 32 dimensions of jfed's default. jfed steps 64
runs, as the engine does but without it, with absent clients provided for; a loop steps one run. All clients are
available, but 90 % of them in the clustered schemes, whose distributions would else never change. Both draw their own
random numbers and return all cohorts; weights of averages are computed where a scheme has them, inclusion
probabilities are not. Means over the rounds of the cohort's size, the clients that return, and the cohort's images,
latencies, losses and weights must agree.

As in `selection`, a loop uses one core: one core of jfed stands beside one loop, and all cores beside a loop on each.
The time to compile is that of the program of 64 runs on one device, in CPU seconds from the start of tracing, with all
of jax's caches empty.
"""

import re
from contextlib import ExitStack
from typing import Any

import numpy as np

import jfed
from benchmarks import report, scheme_rounds
from benchmarks.beside_loops import Calls, Case, Sides
from benchmarks.scheme_events import FIGURES

K, COHORT, RUNS, ROUNDS = 100, 20, 64, 300
FEWER = {"divfl": 100, "divfl-stochastic": 100, "clustered-similarity": 40}
NAMES = (
    "oort", "tifl", "active-fl", "loss-proportional", "optimal-sampling", "optimal-sampling-approximate", "norm-topk",
    "norm-importance", "divfl", "divfl-stochastic", "clustered-size", "clustered-similarity", "f3ast", "eps-greedy-0.1",
    "ucb1", "d-ucb-0.99", "sw-ucb-250", "thompson", "discounted-thompson-0.99", "exp3s", "rexp3", "e3cs-restart-250",
    "e3cs-share-0.0004",
)  # fmt: skip
STATIC = ("tiers", "tau")  # static options that a loop needs
FASTER, SECONDS = 5, 3
ENV = {"JAX_ENABLE_COMPILATION_CACHE": "false"}


def _config(name: str) -> jfed.Config:
    return jfed.methods(jfed.Config(K, COHORT, FEWER.get(name, ROUNDS)), [name])[0].config


CONFIGS = {name: _config(name) for name in NAMES}


def settings(config: jfed.Config) -> dict[str, Any]:
    """Return the settings of a config's selector as numbers, for the loop."""
    params = config.selector.params(scheme_rounds.problem(config))
    found = {name: getattr(config.selector, name) for name in STATIC if hasattr(config.selector, name)}
    for name, value in params._asdict().items():
        found |= value._asdict() if hasattr(value, "_asdict") else {name: value}
    quota = found.pop("quota", np.zeros(1))
    assert not np.any(quota), "The loops of E3CS have no quota."
    return {name: np.asarray(value).item() for name, value in found.items()}


def case(name: str) -> Case:
    """Return the case of a scheme's name."""
    config = CONFIGS[name]
    loop = {
        "loop": re.sub(r"-[\d.]+$", "", name), "settings": settings(config), "rounds": config.num_rounds,
        "num_clients": K, "wants": scheme_rounds.wanted(scheme_rounds.made(config)),
        "availability": scheme_rounds.AVAILABILITY.get(name, 1.0),
    }  # fmt: skip
    return Case(name, loop, "returned", "returned", tuple(x for x in FIGURES if x != "returned"))


def run(repeats: int, names: tuple[str, ...] = NAMES) -> tuple[list[report.Row], list[str]]:
    """Run the benchmark, and return its rows and notes."""
    rows: list[report.Row] = []
    notes: list[str] = []
    with ExitStack() as stack:
        sides = Sides("schemes", "selector_loops", stack, Calls("scheme_rounds.alone", "", f">= {FASTER}"), ENV)
        for name in names:
            report.say(name)
            asked = {"call": "scheme_rounds.compiling", "module": "schemes", "name": name, "seeds": RUNS}
            seconds = [sides.one.ask(**asked)["seconds"] for _ in range(repeats)]
            found, note = sides.rows(case(name), RUNS, repeats)
            rows += found
            rows.append(report.row(
                f"{name}; compilation", "CPU s", seconds, target=f"< {SECONDS}", meaning="From traces to machine code.",
            ))  # fmt: skip
            notes.append(note)
    return rows, notes
