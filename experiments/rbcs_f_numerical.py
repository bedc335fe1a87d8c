"""RBCS-F without training, Figs. 2 to 4: queues, time, selections and promises in the world of linear exchange times.

N = 40 clients in four classes, m = 8 per round, available in 80 % of the rounds, beta = 0.15; RBCS-F at V = 5, 10, 20,
50 and 100, beside random selection and FedCS(3). Regret (Definition 1) is a paired difference of round times on the
same draws, against one policy: RBCS-F with the true expected times at the largest V, which after few rounds has not
kept all promises itself (its `slack`). Under cold start the fair optimum is a Markov decision problem; this reference
takes each round's contexts as they come. The cost of learning is the difference to the true times at the same V.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from rich.console import Console

import jfed
from experiments.shared.common import Output, command, show
from jfed.analysis import compare, jain, lines
from jfed.commands.drawing import by_scheme, rates, selection_map
from jfed.commands.seeds import Seeds, listed
from jfed.config import Config, problem
from jfed.core.errors import require
from jfed.envs import exchange
from jfed.measures.quotas import ROUNDING, last_broken
from jfed.paths import parse_settings
from jfed.results.load import company, schemes
from jfed.selectors import rbcs_f
from jfed.sweep import Point, changed, methods

TRUTH = "rbcs-f-true-"  # followed by V: RBCS-F with the true expected times
WEIGHTS = ("5", "10", "20", "50", "100")  # V
SHOWN = ("uniform", *(f"rbcs-f-{v}" for v in WEIGHTS), "fedcs-3")
METRICS = {
    "time": ("Cumulative exchange time, seconds", False),
    "jain": ("Jain's index of selections", True),
    "lowest_rate": ("Share of rounds of the client selected least", True),
}


@dataclass(frozen=True)
class Settings:
    """Flags of this command.

    Attributes:
        preset: paper: 100 seeds; quick: 10.
        seeds: number of seeds (30), or which ones (0 1 5, or 0:30); the preset's by default.
        out: folder of results, tables and figures; runs that are finished there are not run again.
        num_rounds: T; queues at V = 50 and above settle within 5000 rounds, but not within 500.
        reading: the world as printed (faithful), or corrected: clients that were absent have a cold start, and eta is a
            binary logarithm.
        set: further settings by path, such as selector.alpha=0.5 or environment.availability=0.9.
        data_dir: not used here, since nothing is trained.
    """

    preset: Literal["quick", "paper"] = "paper"
    seeds: Seeds = None
    out: Path = Path("out/rbcs_f_numerical")
    num_rounds: int = 500
    num_clients: int = 40
    cohort_size: int = 8
    reading: Literal["faithful", "corrected"] = "corrected"
    set: tuple[str, ...] = ()
    data_dir: str | None = None


def points(settings: Settings) -> list[Point]:
    """Return all schemes, and for each V also RBCS-F with the true expected times."""
    world = exchange.Options(reading=settings.reading)
    base = Config(settings.num_clients, settings.cohort_size, settings.num_rounds, environment=world)
    names = [*SHOWN, *(TRUTH + v for v in WEIGHTS)]
    named = [Point(p.config, p.coords | {"reading": settings.reading}) for p in methods(base, names)]
    return changed(named, parse_settings(settings.set, settings))


def per_run(
    results: xr.Dataset, every: Sequence[Point], reading: str, kept: tuple[np.ndarray, np.ndarray]
) -> pd.DataFrame:
    """Return one row per run, with all columns that the tables and the claims use; `kept` is that of `promises`.

    Column `kept` is the share of clients whose rate is at least beta after the last round, `last_violation` the last
    round after which any client's rate so far is below it, and `slack` the lowest rate minus beta. `queue_plateau` is
    the mean over the last fifth of the rounds, `queue_slope` the slope there, per round and relative to that mean.
    `regret` (Definition 1), `learning` (the same against the true times at the same V) and `bound` (Theorem 3, which is
    about linear exchange times and NaN in other worlds) are in seconds per round.
    """
    horizon, configs = results.sizes["round"], {p.coords["method"]: p.config for p in every}
    names, seeds = results["method"].values.astype(str), results["seed"].values
    time = results["round_time_s"].values.astype(float).sum(1)
    counts = results["times_selected"].values
    queues = results["selector_queue_sum"].values.astype(float)
    tail = queues[:, -max(2, horizon // 5) :]
    plateau = tail.mean(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.polyfit(np.arange(tail.shape[1]), np.nan_to_num(tail).T, 1)[0] / plateau
        reached = queues >= 0.9 * plateau[:, None]
    share, last = kept
    best = dict(zip(zip(names, seeds, strict=True), time, strict=True))
    learns = np.char.startswith(names, "rbcs-f-") & ~np.char.startswith(names, TRUTH)

    def beyond(reference: Sequence[str]) -> np.ndarray:
        """Return the seconds per round beyond those of a reference on the same seed."""
        theirs = np.array([best[name, seed] for name, seed in zip(reference, seeds, strict=True)])
        return np.where(learns, (time - theirs) / horizon, np.nan)

    same = [name.replace("rbcs-f-", TRUTH) if known else name for name, known in zip(names, learns, strict=True)]
    frame = pd.DataFrame(
        {
            "experiment": "rbcs_f_numerical",
            "scheme": names,
            "reading": reading,
            "seed": seeds,
            "num_rounds": horizon,
            **company(results),
            "time": time,
            "jain": jain(counts),
            "lowest_rate": counts.min(1) / horizon,
            "slack": counts.min(1) / horizon - promised(every),
            "kept": share[:, -1],
            "last_violation": last,
            "mean_cohort": results["num_selected"].values.mean(1),
            "queue_plateau": plateau,
            "queue_slope": slope,
            "rounds to 90 % of the plateau": np.where(np.isnan(plateau), np.nan, reached.argmax(1) + 1),
            "regret": beyond([TRUTH + WEIGHTS[-1]] * len(names)),
            "learning": beyond(same),
            "bound": [
                regret_bound(configs[name]) if known else np.nan for name, known in zip(names, learns, strict=True)
            ],
        }
    )
    return frame


def promised(every: Sequence[Point]) -> float:
    """Return RBCS-F's beta, by which the other schemes are measured too."""
    return next(p.config.selector.beta for p in every if isinstance(p.config.selector, rbcs_f.Options))


def promises(results: xr.Dataset, beta: float) -> tuple[np.ndarray, np.ndarray]:
    """Return how far the promise of a rate of beta is kept.

    Returns:
        share of the clients whose rate so far is at least beta, (runs, rounds), and the last round after which not all
        clients have such a rate, (runs,).
    """
    share, last = [], []
    for run in range(results.sizes["run"]):  # one run at a time: the rates of all runs need gigabytes
        (rate,) = rates(results.isel(run=[run]))
        share.append((rate >= beta - ROUNDING).mean(1))
        last.append(last_broken(rate, beta).max())
    return np.array(share), np.array(last)


def regret_bound(config: Config, delta: float = 0.05) -> float:
    """Return the bound of Theorem 3 in seconds per round; NaN in a world that is not one of linear exchange times.

    R is the largest expected time, which bounds the noise; K, which the paper never gives, is 1.
    """
    world, scheme, num_rounds = config.environment, config.selector, config.num_rounds
    if not isinstance(world, exchange.Options):
        return math.nan
    theta = world.params(problem(config)).theta
    largest = np.array([1 / world.capacity[0], 1, world.model_bits / world.bandwidth_hz[0]])
    noise, L, S = float((theta @ largest).max()), np.linalg.norm(largest), np.linalg.norm(theta, axis=1).max()
    width = 2 * noise * np.sqrt(3 * np.log((1 + num_rounds * L**2 / scheme.ridge) / delta))
    zeta = max(width + np.sqrt(scheme.ridge) * S, 1.0)
    learning = zeta * np.sqrt(6 * np.log(1 + num_rounds * L**2 / (3 * scheme.ridge)) / num_rounds)
    return float(config.num_clients * (1 + scheme.beta**2) / (2 * scheme.V) + learning)  # Eq. (24)


def figures(
    results: xr.Dataset, share: np.ndarray, every: Sequence[Point], output: Output, title: str
) -> None:  # fmt: skip
    """Draw Figs. 2, 3 and 4, and the share of clients whose promise is kept."""
    shown = np.isin(results["method"].values.astype(str), SHOWN)
    results, share = results.isel(run=np.flatnonzero(shown)), share[shown]
    labels = schemes(results)
    order = sorted(set(labels), key=lambda x: SHOWN.index(x.split(" ")[0]))
    rounds, x, beta = results["round"].values, "communication round", promised(every)
    queued = [s for s in order if s.startswith("rbcs-f")]
    queues = by_scheme(results, results["selector_queue_sum"].values, queued)
    figure = lines(rounds, queues, xlabel=x, ylabel="total queue length", title=f"Queues ({title})", schemes=order)
    output.figure(figure, "fig2_queues")
    times = by_scheme(results, np.cumsum(results["round_time_s"].values.astype(float), 1), order)
    figure = lines(rounds, times, xlabel=x, ylabel="cumulative time, s", title=f"Exchange time ({title})")
    output.figure(figure, "fig3_time")
    kept = f"share of clients selected in {100 * beta:g} % of the rounds"
    figure = lines(rounds, by_scheme(results, share, order), xlabel=x, ylabel=kept, title=f"Promises kept ({title})")
    output.figure(figure, "promises")
    output.figure(selection_map(results, order, every, f"Selections ({title})"), "fig4_selections")


def main(settings: Settings) -> None:
    """Compute the missing runs, then write tables and figures."""
    console = Console()
    seeds = listed({"paper": 100, "quick": 10}[settings.preset] if settings.seeds is None else settings.seeds)
    given = parse_settings(settings.set, settings)
    for path in ("cohort_size", "num_clients", "num_rounds", "environment.reading"):
        require(path not in given, f"{path} has a flag of its own here: see --help.")
    require(
        settings.reading == "corrected" or "environment" not in given,
        "--reading is about the world of linear exchange times: leave it out, or --set environment.",
    )
    every = points(settings)
    results = jfed.run(every, seeds, out=settings.out, layout=jfed.Layout(record_selected=True))
    title = f"N = {settings.num_clients}, m = {settings.cohort_size}, T = {settings.num_rounds}, {len(seeds)} seeds"
    if settings.reading == "faithful":
        title += ", as printed"
    output = Output(settings.out)
    kept = promises(results, promised(every))
    runs = per_run(results, every, settings.reading, kept)
    output.runs(runs)
    shown: Any = pd.concat([runs.loc[runs.scheme == name] for name in SHOWN])
    for metric, (words, higher) in METRICS.items():
        found = compare(shown, metric, baseline="uniform", higher_is_better=higher)
        table = output.comparisons(found, f"{words} ({title})", metric, next(iter(METRICS)))
        show(table, console)
    figures(results, kept[0], every, output, title)
    output.tell(console)


if __name__ == "__main__":
    command(main, Settings)
