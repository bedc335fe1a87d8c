"""CS-UCB and CS-UCB-Q in the wireless cell, Figs. 1, 3, 4, 5 and 7, without training.

There are three studies, each at the printed m_0 = 5e3 bits, where the bandit has hardly anything to learn, and at 5e4:

- ideal: K = 20 clients, N = 2 to 10 channels, T = 5000; Fig. 1 has N = 5, Fig. 3 all N.
- quotas: K = 3, N = 2, c = (0.6, 0.5, 0.4), available in 90 % of the rounds; beta from 0.1 to 1e-5, beside CS-UCB
  without quotas ("modified"), with either bonus. Figs. 4 and 5.
- scaling: K = 20, N = 4 to 10, T = 20000, c_k = rho s_k / sum of s at three rho. Fig. 7.

The cumulative gap Theta is the time spent beyond a reference, of which there are two. That of `gap` is the paper's: T
times the mean time of the slowest of the best N clients or, under quotas, of the optimum of the program (23). No policy
reaches it, since the mean of a maximum is longer than the longest mean. That of `regret` is honest: the best super arm
on the same draws or, under quotas, the program with mean rewards of super arms on these draws.

The values of N, beta, rho and s that the paper does not print are ours: see `Settings` and `scaled`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from rich.console import Console

import jfed
from experiments.cs_ucb import rows
from experiments.cs_ucb.figures import FIRST, ideal_figures, quota_figures, scaling_figures
from experiments.shared.common import Output, command, show
from jfed.analysis import compare
from jfed.commands.drawing import rates
from jfed.commands.seeds import Seeds, listed
from jfed.config import Config
from jfed.core.errors import require
from jfed.envs import wireless
from jfed.paths import parse_settings
from jfed.results.load import part
from jfed.runner.units import plan
from jfed.sweep import Point, changed, methods

IDEAL = ("uniform", "round-robin", "cs-ucb", rows.BEST)
MODIFIED = ("cs-ucb", "cs-ucb-truncated")
QUOTAS = (0.6, 0.5, 0.4)
TABLES = {"ideal": ("uniform", ("gap", "regret", "failed")), "quotas": ("cs-ucb", ("gap", "regret", "slack"))}
METRICS = {
    "gap": "Cumulative gap to the paper's reference, s",
    "regret": "Cumulative regret, s",
    "failed": "Failed clients",
    "slack": "Smallest excess of a client's rate over its quota",
}


@dataclass(frozen=True)
class Settings:
    """Flags of this command.

    Attributes:
        preset: paper: 100 seeds; quick: 10 seeds of a tenth of the rounds.
        seeds: number of seeds (30), or which ones (0 1 5, or 0:30); the preset's by default.
        out: folder of tables and figures, with a folder of results per study; finished runs are not run again.
        model_bits: values of m_0: the printed one, and one at which the results look like the paper's figures.
        num_clients: K of the ideal and the scaling study.
        channels: values of N in Fig. 3; Fig. 1 has N = 5 or, without it, the first.
        betas: weights of the queues; the paper names 1e-5 only.
        scaled_channels: values of N in Fig. 7.
        rho: number of clients per round that all quotas of Fig. 7 promise together; at most the smallest N.
        num_rounds: T; by default 5000 (20000 in Fig. 7), or a tenth of that with the quick preset.
        set: further settings by path, such as environment.radius_m=300.
        data_dir: not used here, since nothing is trained.
    """

    preset: Literal["quick", "paper"] = "paper"
    seeds: Seeds = None
    out: Path = Path("out/cs_ucb_numerical")
    studies: tuple[Literal["ideal", "quotas", "scaling"], ...] = ("ideal", "quotas", "scaling")
    model_bits: tuple[float, ...] = (5e3, 5e4)
    num_clients: int = 20
    channels: tuple[int, ...] = (2, 4, 5, 10)
    betas: tuple[float, ...] = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
    scaled_channels: tuple[int, ...] = (4, 6, 8, 10)
    rho: tuple[float, ...] = (0.0, 2.0, 3.5)
    num_rounds: int | None = None
    set: tuple[str, ...] = ()
    data_dir: str | None = None

    def rounds(self, study: str) -> int:
        """Return T of a study."""
        whole = {"ideal": 5000, "quotas": 5000, "scaling": 20000}[study]
        return whole // {"paper": 1, "quick": 10}[self.preset] if self.num_rounds is None else self.num_rounds


def points(settings: Settings, study: str) -> list[Point]:
    """Return the points of a study."""
    found = []
    for bits in settings.model_bits:
        world = wireless.Options(model_bits=bits, availability=1.0 if study == "ideal" else 0.9)
        num_clients = len(QUOTAS) if study == "quotas" else settings.num_clients
        for n in {"ideal": settings.channels, "quotas": (2,), "scaling": settings.scaled_channels}[study]:
            base = Config(num_clients, n, settings.rounds(study), environment=world)
            where = {"study": study, "model_bits": bits, "num_channels": n}
            found += [Point(p.config, p.coords | where) for p in _schemes(base, study, settings)]
    delta = parse_settings(settings.set, settings)
    fixed = ("environment", "environment.availability", "environment.model_bits")
    for path in ("cohort_size", "num_clients", "num_rounds", "selector.quota", *fixed):
        require(path not in delta, f"{path} is part of the studies here: see --help.")
    limit = delta.get("environment.tau_max_s")  # selectors scale rewards by the limit on a client's time
    if limit is not None:
        delta.setdefault("selector.tau_max_s", limit)
    return changed(found, delta)


def _schemes(base: Config, study: str, settings: Settings) -> list[Point]:
    if study == "ideal":
        return methods(base, IDEAL)
    if study == "quotas":
        kept = methods(base, [f"cs-ucb-q-{beta:g}" for beta in settings.betas])
        return [*(_promised(p, QUOTAS) for p in kept), *methods(base, MODIFIED)]
    (plain,) = methods(base, ["cs-ucb-q-0.001"])
    promised = [(rho, _promised(plain, scaled(base.num_clients, rho))) for rho in settings.rho]
    return [Point(p.config, p.coords | {"rho": rho}) for rho, p in promised]


def _promised(point: Point, quotas: tuple[float, ...]) -> Point:
    return Point(jfed.replace(point.config, {"selector.quota": quotas}), point.coords)


def scaled(num_clients: int, rho: float) -> tuple[float, ...]:
    """Return c_k = rho s_k / sum of s; s falls from 3 to 1, as the three clients' 1500, 1000 and 500 samples do."""
    samples = np.linspace(3, 1, num_clients)
    return tuple((rho * samples / samples.sum()).tolist())


def run_study(study: str, settings: Settings, seeds: Sequence[int], output: Output, console: Console) -> pd.DataFrame:
    """Run a study, draw its figures, and return its rows."""
    every = points(settings, study)
    layout = jfed.Layout(record_selected=study == "quotas")
    results = jfed.run(every, seeds, out=settings.out / study, layout=layout)
    frames = []
    for bits in settings.model_bits:
        one = part(results, np.flatnonzero(results["model_bits"].values == bits))
        title = f"K = {one.sizes['client']}, m0 = {bits:g} bits, T = {settings.rounds(study)}, {len(seeds)} seeds"
        config = next(p.config for p in every if p.coords["model_bits"] == bits)
        if study == "ideal":
            expected_s = jfed.outcomes(jfed.replace(config, {"num_rounds": 1}), seeds).expected_latency_s[:, 0]
            channels = one["num_channels"].values
            each = [(n, one.isel(run=np.flatnonzero(channels == n))) for n in sorted(set(channels.tolist()))]
            parts = {n: (own, *rows.gaps(own, expected_s)) for n, own in each}
            found = _in_order(pd.concat([rows.ideal(*own) for own in parts.values()]), every, study)
            ideal_figures(parts, found, output, title)
        elif study == "quotas":
            known = rows.references(config, QUOTAS, seeds)
            so_far = rates(one)
            found = _in_order(rows.quota(one, so_far, QUOTAS, known), every, study)
            quota_figures(one, so_far, QUOTAS, found, output, title)
        else:
            found = rows.base(one, "cs_ucb_q_channels")
            scaling_figures(found, output, title)
        if study != "scaling":
            _tables(study, found, title, output, console)
        frames.append(found)
    return pd.concat(frames)


def _in_order(found: pd.DataFrame, every: Sequence[Point], study: str) -> pd.DataFrame:
    """Return the rows with schemes in the order of the points, not of the alphabet, and the tables' baseline first."""
    names = list(dict.fromkeys([TABLES[study][0], *(p.coords["method"] for p in every)]))
    rank = found.scheme.str.removesuffix(" (oracle)").map(names.index)
    return found.iloc[np.argsort(rank, kind="stable")]


def _tables(study: str, found: pd.DataFrame, title: str, output: Output, console: Console) -> None:
    baseline, metrics = TABLES[study]
    channels, bits = found.num_channels, found.model_bits.iloc[0]
    shown: Any = found[channels == (FIRST if (channels == FIRST).any() else channels.iloc[0])]
    for metric in metrics:
        compared = compare(shown, metric, baseline=baseline, higher_is_better=metric == "slack")
        titled = f"{METRICS[metric]} ({title}, N = {shown.num_channels.iloc[0]})"
        table = output.comparisons(compared, titled, f"{study}_{metric}_{bits:g}", metrics[0])
        show(table, console)


def main(settings: Settings) -> None:
    """Compute the missing runs, then write tables and figures."""
    console = Console()
    seeds = listed({"paper": 100, "quick": 10}[settings.preset] if settings.seeds is None else settings.seeds)
    for name in ("studies", "model_bits", "channels", "betas", "scaled_channels", "rho"):
        require(len(getattr(settings, name)) > 0, f"Give at least one of --{name.replace('_', '-')}.")
    studies = list(dict.fromkeys(settings.studies))
    for study in studies:  # every study's settings are checked before the first one runs
        plan(points(settings, study), seeds, jfed.Layout())
    output = Output(settings.out)
    runs = pd.concat([run_study(study, settings, seeds, output, console) for study in studies])
    first = runs[(runs.experiment == "cs_ucb_channels") & (runs.num_channels == FIRST)]
    runs = pd.concat([first.assign(experiment="cs_ucb_numerical"), runs])
    output.runs(runs)
    output.tell(console, [settings.out / study for study in studies])


if __name__ == "__main__":
    command(main, Settings)
