"""E3CS's Figs. 3 and 4: which clients are selected, and how many models return, without training.

There are T = 2500 rounds and K = 100 clients in four classes of success rate, of which k = 20 are selected. E3CS runs
as published and corrected, and once more with the learning rate of Theorem 1, whose regret bound is checked against the
best fixed allocation on the same draws. Only pow-d needs the losses of a model: its clients train a small one, softmax
regression on the digits that ship with jfed, in the same world.
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
from jfed.algorithms import local_sgd
from jfed.analysis import compare, jain
from jfed.catalog import scheme as method
from jfed.commands.drawing import RATE, by_class, class_figures, names, participation
from jfed.commands.seeds import Seeds, listed
from jfed.config import Config, Training
from jfed.paths import parse_settings
from jfed.report.tables import Table
from jfed.results.load import company, schemes
from jfed.runner.feed import dataset
from jfed.selectors.e3cs import quota_schedule
from jfed.sweep import Point, changed, methods

QUOTAS = ("0", "0.5", "0.8", "inc")
ETA = 0.5  # Table I
LEAST_IMAGES = 5  # of a client that trains
# Of tables and legends.
ORDER = ["uniform", "fedcs", "pow-d", *(f"e3cs-{q}" for q in QUOTAS), *(f"best-{q}" for q in QUOTAS)]


@dataclass(frozen=True)
class Settings:
    """Flags of this command.

    Attributes:
        preset: paper: 100 seeds of 2500 rounds; quick: 10 seeds of 400.
        seeds: number of seeds (30), or which ones (0 1 5, or 0:30); the preset's by default.
        out: folder of results, tables and figures; runs that are finished there are not run again.
        num_rounds: T; the preset's by default.
        partition: how the digits are dealt to pow-d's clients: primary (80 % with one label) or iid.
        set: further settings by path, such as environment.success_rates=(0.2,0.8).
        data_dir: not used here, since the digits ship with jfed.
    """

    preset: Literal["quick", "paper"] = "paper"
    seeds: Seeds = None
    out: Path = Path("out/e3cs_numerical")
    num_clients: int = 100
    cohort_size: int = 20
    num_rounds: int | None = None
    partition: Literal["primary", "iid"] = "primary"
    set: tuple[str, ...] = ()
    data_dir: str | None = None


def theorem_eta(config: Config, quota: str) -> float:
    """Return eta = sqrt(K ln K / sum_t R_t), Theorem 1."""
    return math.sqrt(config.num_clients * math.log(config.num_clients) / _residual(config, quota))


def regret_bound(config: Config, quota: str, eta: float | None = None) -> float:
    """Return eta sum_t R_t + K / eta ln K, Eq. (28).

    At Theorem 1's eta, the default, that is 2 sqrt(sum_t K R_t ln K), Eq. (29).
    """
    eta = theorem_eta(config, quota) if eta is None else eta
    return eta * _residual(config, quota) + config.num_clients / eta * math.log(config.num_clients)


def _residual(config: Config, quota: str) -> float:
    """Return sum_t R_t with R_t = k - K sigma_t."""
    share = quota_schedule(quota if quota == "inc" else float(quota), config.num_rounds)
    return float(config.cohort_size * (1 - share).sum())


def small_model(num_clients: int, partition: str) -> Training | None:
    """Return the training on whose losses pow-d selects; None if the digits are too few for so many clients."""
    each = len(dataset("digits", None).labels) // num_clients
    if each < LEAST_IMAGES:
        return None
    rates = {"learning_rate": 0.1, "momentum": 0.9}
    return Training(
        dataset="digits", partition=partition, samples_per_client=each, test_fraction=0.0, test_set="official",
        model="linear", algorithm=jfed.replace(local_sgd.Options(), rates), batch_size=10,
    )  # fmt: skip


def points(base: Config, partition: str) -> list[Point]:
    """Return all schemes of the experiment; `eta` is a coordinate, NaN where a scheme has none."""
    named = [f"e3cs-{q}" for q in QUOTAS]
    plain = methods(base, ["uniform", "fedcs", *(f"best-{q}" for q in QUOTAS)])
    if training := small_model(base.num_clients, partition):
        plain += methods(jfed.replace(base, {"training": training}), ["pow-d"])
    published = methods(base, named) + methods(base, named, "corrected")
    tuned = [
        Point(
            jfed.replace(base, {"selector": method(f"e3cs-{q}", "corrected"), "selector.eta": theorem_eta(base, q)}),
            {"method": f"e3cs-{q}", "mode": "corrected", "eta": round(theorem_eta(base, q), 6)},
        )
        for q in QUOTAS
    ]
    rivals = [Point(p.config, p.coords | {"eta": float("nan")}) for p in plain]
    return rivals + [Point(p.config, p.coords | {"eta": ETA}) for p in published] + tuned


def per_run(results: xr.Dataset, every: Sequence[Point], base: Config) -> pd.DataFrame:
    """Return one row per run, with all columns that the tables and the claims use.

    `tuned` tells E3CS's runs at Theorem 1's eta from those at Table I's, and is missing for schemes without an eta.
    `regret` is the expected participation (Definition 2) lost against the best fixed allocation on the same draws, and
    `bound` its bound by Eq. (28), which is Eq. (29) at Theorem 1's eta. The columns on the class with the highest
    success rate are missing in worlds without such rates.
    """
    horizon, last = results.sizes["round"], min(500, results.sizes["round"])
    turn = horizon // 4
    k, selected = base.cohort_size, results["num_selected"].values
    succeeded = results["num_succeeded"].values
    counts = results["times_selected"].values
    classes = results["client_class"].values
    frame = pd.DataFrame(
        {
            "experiment": "e3cs_numerical",
            "scheme": results["method"].values.astype(str),
            "mode": results["mode"].values.astype(str),
            "eta": results["eta"].values,
            "tuned": [None if np.isnan(eta) else not np.isclose(eta, ETA) for eta in results["eta"].values],
            "seed": results["seed"].values,
            "cep_quarter": succeeded[:, :turn].sum(1),
            "cep": succeeded.sum(1),
            "ratio_last": succeeded[:, -last:].sum(1) / selected[:, -last:].sum(1),
            "ratio_after_turn": succeeded[:, turn:].sum(1) / selected[:, turn:].sum(1),
            "jain": jain(counts),
            **company(results),
            "expected_cep": results["expected_succeeded"].values.astype(np.float64).sum(1),
        }
    )
    name, values = by_class(results, every)
    if name == RATE:
        top = values == values.max()
        frame["top_class_used"] = (top & (counts >= 0.01 * k * horizon)).sum(1)
        frame["lower_median"] = [np.median(c[~t]) for c, t in zip(counts, top, strict=True)]
        frame["lower_max"] = [c[~t].max() if (~t).any() else 0 for c, t in zip(counts, top, strict=True)]
    for j in np.unique(classes):
        frame[f"count_class_{j}"] = [c[cl == j].mean() for c, cl in zip(counts, classes, strict=True)]
    best = frame[frame.scheme.str.startswith("best-")].set_index(["scheme", "seed"]).expected_cep.to_dict()
    rivals = [s.replace("e3cs-", "best-") if s.startswith("e3cs-") else "" for s in frame.scheme]
    frame["regret"] = [best.get(key, math.nan) for key in zip(rivals, frame.seed, strict=True)] - frame.expected_cep
    frame["bound"] = [
        regret_bound(base, s.removeprefix("e3cs-"), eta) if s.startswith("e3cs-") else math.nan
        for s, eta in zip(frame.scheme, frame.eta, strict=True)
    ]
    return frame


def regret_table(runs: pd.DataFrame, title: str) -> Table:
    """Return a table of the regret against the best fixed allocation on the same draws, beside its bound, Eq. (28)."""
    from scipy import stats

    rows, records = [], []
    groups: Any = runs[runs.scheme.str.startswith("e3cs-")].groupby(["scheme", "mode", "eta"])
    for (name, mode, eta), group in groups:
        regret, bound = group.regret.to_numpy(), group.bound.iloc[0]
        n = len(regret)
        half = stats.t.ppf(0.975, n - 1) * regret.std(ddof=1) / math.sqrt(n) if n > 1 else math.nan
        records.append((name, mode, eta, n, regret.mean(), half, regret.max(), bound))
        mean = f"{regret.mean():z.0f}" + (f" ± {half:.0f}" if n > 1 else "")
        rows.append((name, mode, f"{eta:.3g}", mean, f"{regret.max():z.0f}", f"{bound:.0f}"))
    notes = (
        "Regret: expected cumulative effective participation (Definition 2) of the best fixed allocation minus the"
        " scheme's, on the same draws; mean ± half of a pointwise 95 % t interval.",
        "Bound: Eq. (28), which is Eq. (29) at Theorem 1's eta. It is proved for exponents of at most 1 and exact"
        " inclusion, which is the corrected mode.",
    )
    columns = ("scheme", "mode", "eta", "regret", "largest", "bound")
    names = ["scheme", "mode", "eta", "n", "regret", "half_width", "largest", "bound"]
    return Table(title, columns, "llrrrr", tuple(rows), notes, frozenset(),
                 pd.DataFrame(records, columns=pd.Index(names)))  # fmt: skip


def figures(results: xr.Dataset, every: Sequence[Point], output: Output, setting: str) -> None:
    """Draw Figs. 3 and 4, once for each mode of E3CS; the rivals are in both."""
    results = results.isel(run=_at_table_i(results))
    modes, called = results["mode"].values.astype(str), results["method"].values.astype(str)
    for mode in ("faithful", "corrected"):
        rival = np.isin(called, ("fedcs", "uniform", "pow-d"))
        shown = results.isel(run=np.flatnonzero(rival | ((modes == mode) & _starts(called, "e3cs-"))))
        order = sorted(set(schemes(shown)), key=lambda x: ORDER.index(x.split(" ")[0]))
        boxes = class_figures(shown, order, every, f"Selections, {mode} ({setting})").get("selections")
        if boxes is not None:
            output.figure(boxes, f"fig3_selections_{mode}")
        curves = participation(shown, order, f"Success ratio and participation, {mode} ({setting})", names(every))
        output.figure(curves, f"fig4_participation_{mode}")


def _at_table_i(results: xr.Dataset) -> np.ndarray:
    """Return the indices of the runs at Table I's eta, and of those without an eta."""
    eta = results["eta"].values
    return np.flatnonzero(np.isnan(eta) | np.isclose(eta, ETA))


def _starts(names: np.ndarray, prefix: str) -> np.ndarray:
    return np.array([n.startswith(prefix) for n in names])


def main(settings: Settings) -> None:
    """Compute the missing runs, then write tables and figures."""
    console = Console()
    default_seeds, default_rounds = (100, 2500) if settings.preset == "paper" else (10, 400)
    seeds = listed(default_seeds if settings.seeds is None else settings.seeds)
    rounds = settings.num_rounds if settings.num_rounds is not None else default_rounds
    base = Config(settings.num_clients, settings.cohort_size, rounds, eval_every=rounds)
    delta = parse_settings(settings.set, settings)
    of_schemes = {path: value for path, value in delta.items() if path.startswith("selector")}
    base = changed([Point(base)], {k: v for k, v in delta.items() if k not in of_schemes})[0].config
    every = changed(points(base, settings.partition), of_schemes)
    results = jfed.run(every, seeds, out=settings.out)
    title = f"K = {base.num_clients}, k = {base.cohort_size}, T = {base.num_rounds}, {len(seeds)} seeds"

    runs = per_run(results, every, base)
    output = Output(settings.out)
    output.runs(runs)
    at_table_i = _at_table_i(results)
    frame = runs.iloc[at_table_i].assign(method=runs.scheme, scheme=schemes(results.isel(run=at_table_i)))
    frame = frame[~_starts(frame.method.to_numpy(), "best-")]
    frame = frame.sort_values(["method", "mode", "seed"], key=lambda c: c.map(ORDER.index) if c.name == "method" else c)
    for metric, name in (("cep", "Cumulative effective participation"), ("jain", "Jain's index of selections")):
        table = output.comparisons(compare(frame, metric, baseline="uniform"), f"{name} ({title})", metric, "cep")
        show(table, console)
    regret = regret_table(runs, f"Regret ({title})")
    output.table(regret, "regret")
    show(regret, console)
    figures(results, every, output, title)
    output.tell(console)


if __name__ == "__main__":
    command(main, Settings)
