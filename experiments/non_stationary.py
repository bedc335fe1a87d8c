"""Success rates that change: E3CS at all quotas, its variants for change, and bandits, without training.

E3CS was made for volatile clients, and is built on Exp3, whose rewards may be anything. Published experiments have
rates that never change. Here they stay, jump (the classes are reversed in the middle), rotate (by a class in each
quarter), or wander (reflected steps). Regret is against FedCS, which knows the rates of the present round, on the same
draws.
"""

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
from jfed.analysis import Table, compare_levels, jain, stacked_lines, wide_table
from jfed.commands.seeds import Seeds, listed
from jfed.config import Config
from jfed.core.errors import require
from jfed.envs import composed
from jfed.envs.parts.drift import Drift
from jfed.envs.parts.roles import Jump, Rotate
from jfed.envs.parts.still import Still
from jfed.paths import parse_settings
from jfed.results.load import company, schemes
from jfed.sweep import Point, changed, methods

ORACLE, BASELINE = "fedcs", "uniform"
CHANGES = {
    "none": "rates stay",
    "jump": "reversed in the middle",
    "rotation": "rotated by a class in each quarter",
    "walk": "reflected steps",
}
SCHEMES = (
    BASELINE, ORACLE, "e3cs-0", "e3cs-0.5", "e3cs-0.8", "e3cs-inc", "e3cs-restart-250", "e3cs-share-0.0004", "exp3s",
    "rexp3", "ucb1", "d-ucb-0.99", "sw-ucb-250", "thompson", "discounted-thompson-0.99", "eps-greedy-0.1",
)  # fmt: skip
DRAWN = ("uniform", "fedcs", "e3cs-0", "e3cs-0.5", "e3cs-restart-250", "ucb1", "sw-ucb-250", "discounted-thompson-0.99")
METRICS = {
    "success_ratio": "Share of the selected clients that return",
    "regret": "Regret: models that FedCS, which knows the rates of the round, gets in excess",
    "recovery": "Share of the selected clients that return in the last fifth of the run",
    "jain": "Jain's index of selections",
}
WINDOW = 100  # rounds of the running share in the figure


@dataclass(frozen=True)
class Settings:
    """Flags of this command.

    Attributes:
        preset: paper: 100 seeds of 2500 rounds; quick: 5 seeds of 500.
        seeds: number of seeds (30), or which ones (0 1 5, or 0:30); the preset's by default.
        out: folder of results, tables and figures; runs that are finished there are not run again.
        schemes: schemes to compare; uniform and fedcs are always there.
        changes: none, jump, rotation, walk.
        num_rounds: T; the preset's by default.
        load: Python files with schemes of your own.
        set: further settings by path, such as cohort_size=10.
    """

    preset: Literal["quick", "paper"] = "paper"
    seeds: Seeds = None
    out: Path = Path("out/non_stationary")
    schemes: tuple[str, ...] = SCHEMES
    changes: tuple[str, ...] = tuple(CHANGES)
    num_clients: int = 100
    cohort_size: int = 20
    num_rounds: int | None = None
    load: tuple[Path, ...] = ()
    set: tuple[str, ...] = ()


def change_of(name: str, num_rounds: int) -> Any:
    """Return the change of rates in a run of so many rounds."""
    return {"none": Still(), "jump": Jump(), "rotation": Rotate(max(1, num_rounds // 4)), "walk": Drift()}[name]


def points(settings: Settings, num_rounds: int) -> list[Point]:
    """Return every scheme under every change."""
    names = [*dict.fromkeys((BASELINE, ORACLE, *settings.schemes))]
    found = []
    for change in settings.changes:
        require(change in CHANGES, f"A change is one of {', '.join(CHANGES)}, found {change}.")
        world = composed.Options(change=change_of(change, num_rounds))
        base = Config(settings.num_clients, settings.cohort_size, num_rounds, environment=world)
        found += [Point(p.config, {**p.coords, "change": change}) for p in methods(base, names)]
    return changed(found, parse_settings(settings.set, settings))


def per_run(results: xr.Dataset) -> pd.DataFrame:
    """Return one row per run, with the regret against FedCS on the same seed and change."""
    returned, selected = (results[name].values.astype(float) for name in ("num_succeeded", "num_selected"))
    last = results.sizes["round"] * 4 // 5
    frame = pd.DataFrame(
        {
            "experiment": "non_stationary",
            "change": results["change"].values.astype(str),
            "scheme": schemes(results),
            "method": results["method"].values.astype(str),
            "seed": results["seed"].values,
            "cep": returned.sum(1),
            "success_ratio": returned.sum(1) / np.maximum(selected.sum(1), 1),
            "recovery": returned[:, last:].sum(1) / np.maximum(selected[:, last:].sum(1), 1),
            "jain": jain(results["times_selected"].values),
            **company(results),
        }
    )
    best = frame[frame["method"] == ORACLE].set_index(["change", "seed"])["cep"].to_dict()
    frame["regret"] = [best[key] for key in zip(frame["change"], frame["seed"], strict=True)] - frame["cep"]
    return frame


def tables(runs: Any, changes: Sequence[str], title: str) -> dict[str, Table]:
    """Return a table of each metric: schemes in rows, changes in columns, one family of comparisons with Random."""
    order = {name: i for i, name in enumerate(dict.fromkeys(runs["scheme"]))}
    runs = runs.sort_values("scheme", key=lambda names: names.map(order), kind="stable")
    found = {}
    for metric, words in METRICS.items():
        kept = runs if metric != "regret" else runs[runs["method"] != ORACLE]
        own = {CHANGES[change]: kept[kept["change"] == change] for change in changes}
        columns = compare_levels(own, metric, baseline=BASELINE, higher_is_better=metric != "regret")
        found[metric] = wide_table(columns, f"{words} ({title})")
    return found


def figure(results: xr.Dataset, changes: Sequence[str], title: str) -> Any:
    """Draw the share of selected clients that return, over the last rounds, under each change."""
    names, where = results["method"].values.astype(str), results["change"].values.astype(str)
    shown = [name for name in DRAWN if name in set(names)]
    returned, selected = (np.cumsum(results[name].values, 1) for name in ("num_succeeded", "num_selected"))

    def running(rows: np.ndarray) -> np.ndarray:
        wide = max(1, min(WINDOW, returned.shape[1] // 5))
        got, had = (np.concatenate([np.zeros((len(rows), wide)), x[rows]], 1) for x in (returned, selected))
        return (got[:, wide:] - got[:, :-wide]) / np.maximum(had[:, wide:] - had[:, :-wide], 1)

    panels = {
        CHANGES[change]: {
            name: running(np.flatnonzero((names == name) & (where == change))) for name in shown
        }
        for change in changes
    }  # fmt: skip
    return stacked_lines(results["round"].values, panels, xlabel="communication round", title=title, schemes=shown)


def main(settings: Settings) -> None:
    """Compute the missing runs, then write tables and figures."""
    console, output = Console(), Output(settings.out)
    default_seeds, default_rounds = (100, 2500) if settings.preset == "paper" else (5, 500)
    rounds = default_rounds if settings.num_rounds is None else settings.num_rounds
    require(len(settings.changes) > 0, "Give at least one of --changes.")
    every = points(settings, rounds)
    seeds = listed(default_seeds if settings.seeds is None else settings.seeds)
    results = jfed.run(every, seeds, out=settings.out)
    runs = per_run(results)
    output.runs(runs)
    title = f"K = {settings.num_clients}, k = {settings.cohort_size}, T = {rounds}, {len(seeds)} seeds"
    for metric, table in tables(runs, settings.changes, title).items():
        output.table(table, metric)
        show(table, console)
    words = f"Share of the selected clients that return, means of {WINDOW} rounds ({title})"
    output.figure(figure(results, settings.changes, words), "success_ratio")
    output.tell(console)


if __name__ == "__main__":
    command(main, Settings)
