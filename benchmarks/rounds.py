"""Local training of one round, in which all clients return, against the best of FedJAX, bare PyTorch and pfl.

There are 20 clients of 450 images (90 for the larger networks), 1 to 4 epochs, and batches of 45, which divide evenly;
images of the right shapes come from a seeded generator. All sides start from one model and use the same batches with
momentum SGD, and their averages must agree to 1e-4 before anything is timed (2e-4 for wang-cifar, whose weights move
farthest). There is no evaluation and no selection; jfed's time includes drawing its batch orders and scaling its
images, which peers get ready-made. Each peer is measured on one core, in one process on all cores, and in a process on
each core; convolutional networks in both of PyTorch's memory formats. The best one counts, and since it is the best of
several noisy measurements, chance is on the peers' side.
"""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks import report, workers
from benchmarks.cases import CASES, NETWORKS, total_steps
from benchmarks.peers import Peer, Pythons, Way, missing

UNIT = "client-steps/s"


def run(repeats: int, pythons: Pythons) -> tuple[list[report.Row], list[str]]:
    """Run the benchmark, and return its rows and notes."""
    rows: list[report.Row] = []
    notes = missing(pythons)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        one = stack.enter_context(workers.jfed(workers.cores()[0]))
        every = stack.enter_context(workers.jfed())
        peers = [Peer(name, path, stack) for name, path in pythons._asdict().items() if path]
        for name, case in CASES.items():
            report.say(name)
            one.ask(call="local_round.save", name=name, folder=str(folder))
            versions = [peer.load(folder / "round.npz") for peer in peers]
            apart = [peer.check(folder, case.tolerance) for peer in peers]
            if peers:
                names = ", ".join(f"{version} {far:.0e}" for version, far in zip(versions, apart, strict=True))
                notes.append(f"{name}: after a round the weights differ from jfed's by at most: {names}.")
            ways = [way for peer in peers for way in peer.ways(case.convolves, case.times)]
            rows += _case(name, one, every, ways, repeats)
    return rows, notes


def _rate(worker: workers.Worker, name: str, some_fail: bool = False) -> Callable[[], float]:
    """Return a function that returns jfed's rounds per second, after one call that compiles it."""

    def measure() -> float:
        return worker.ask(call="local_round.measure", name=name, some_fail=some_fail)["rate"]

    measure()
    return measure


def _best(ways: list[Way], found: list[list[float]], one_core: bool | None) -> tuple[str, list[float]]:
    """Return the name and the rates of the fastest way by its median, of those on one core or of all."""
    among = [(way.name, rates) for way, rates in zip(ways, found, strict=True) if one_core in (None, way.one_core)]
    return max(among, key=lambda pair: float(np.median(pair[1])), default=("", []))


def _case(
    name: str, one: workers.Worker, every: workers.Worker, ways: list[Way], repeats: int
) -> list[report.Row]:  # fmt: skip
    """Measure a case in turn by all sides, and return its rows, jfed's first."""
    total, case, cores = total_steps(name), CASES[name], len(workers.cores())
    alone, both, few = _rate(one, name), _rate(every, name), _rate(one, name, some_fail=True)
    mine, all_, some, *theirs = report.interleaved(repeats, alone, both, few, *(way.measure for way in ways))

    def steps(rates: list[float]) -> list[float]:
        return [rate * total for rate in rates]

    best, best_rates = _best(ways, theirs, None)
    best_one, one_rates = _best(ways, theirs, True)
    left = float(case.few.sum()) / total
    what = f"jfed trains {NETWORKS[name]}"
    return [
        report.row(f"{name}; {cores} cores", UNIT, steps(all_), steps(best_rates), best,
                   meaning=f"{what}, one run on each core, beside the peer that makes the most of the machine."),
        report.row(f"{name}; 1 core", UNIT, steps(mine), steps(one_rates), best_one,
                   meaning="One run of jfed on one core, beside the best peer on one core."),
        report.row(f"{name}; 1 core, every second client fails", "rounds/s", some, mine, "no client fails",
                   f"about {1 / left:.2g}", f"Failing clients cost no step: {left:.0%} of the steps are left."),
        *(report.row(f"{name}; {way.name}", UNIT, steps(rates), meaning="This peer's own rate.")
          for way, rates in zip(ways, theirs, strict=True)),
    ]  # fmt: skip
