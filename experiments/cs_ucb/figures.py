"""Figs. 1, 3, 4, 5 and 7 of CS-UCB."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from experiments.shared.common import Output
from jfed.analysis import box_by_class, lines, stacked_lines
from jfed.commands.drawing import by_scheme

Ideal = Mapping[int, tuple[xr.Dataset, np.ndarray, np.ndarray]]
FIRST = 5  # channels of Fig. 1
GAP, AVERAGE, REGRET = "cumulative gap, s", "average gap, s", "cumulative regret, s"


def ideal_figures(parts: Ideal, runs: pd.DataFrame, output: Output, title: str) -> None:
    """Draw Fig. 1 at N = 5 (or the first N), and Fig. 3.

    Args:
        parts: results, gap and regret (the latter two (runs, rounds)) of each number of channels.
        runs: rows of all parts, with schemes in the order of legends.
        output: the command's output.
        title: description of the setting.
    """
    bits = f"{runs.model_bits.iloc[0]:g}"
    n = FIRST if FIRST in parts else next(iter(parts))
    results, gap, regret = parts[n]
    order, rounds = list(dict.fromkeys(runs.scheme)), results["round"].values
    failed = np.cumsum(results["num_selected"].values - results["num_succeeded"].values, 1)
    panels = {GAP: gap, AVERAGE: gap / rounds, "failed clients": failed, REGRET: regret}
    drawn = {name: by_scheme(results, values, order) for name, values in panels.items()}
    figure = stacked_lines(rounds, drawn, xlabel="communication round", title=f"CS-UCB, N = {n} ({title})")
    output.figure(figure, f"fig1_{bits}")
    if len(parts) > 1:
        figure = lines(list(parts), _over(runs, "gap", "num_channels"), xlabel="channels N", ylabel=GAP,
                       title=f"Gap and channels ({title})")  # fmt: skip
        output.figure(figure, f"fig3_{bits}")


def quota_figures(
    results: xr.Dataset, rate: np.ndarray, quotas: Sequence[float], runs: pd.DataFrame, output: Output, title: str
) -> None:
    """Draw Fig. 4, the gap and each client's share of the rounds, Fig. 5, that share so far, and the queues.

    `rate` is (runs, rounds, clients); the other arguments are those of `ideal_figures`.
    """
    bits = f"{runs.model_bits.iloc[0]:g}"
    order, rounds = list(dict.fromkeys(runs.scheme)), results["round"].values
    spent = np.cumsum(results["round_time_s"].values.astype(float), 1)
    by_seed = runs.drop_duplicates("seed").set_index("seed").loc[results["seed"].values]
    gap, regret = (spent - by_seed[name].to_numpy()[:, None] * rounds for name in ("paper_s", "honest_s"))
    panels = {GAP: gap, AVERAGE: gap / rounds, REGRET: regret}
    drawn = {name: by_scheme(results, values, order) for name, values in panels.items()}
    figure = stacked_lines(rounds, drawn, xlabel="communication round", title=f"CS-UCB-Q ({title})")
    output.figure(figure, f"fig4_{bits}")
    clients = [f"{k + 1} ({quota:g})" for k, quota in enumerate(quotas)]
    share = by_scheme(results, rate[:, -1], order)
    boxes = {name: dict(zip(clients, share[name].T, strict=True)) for name in order}
    figure = box_by_class(boxes, "share of the rounds", f"Selections ({title})", xlabel="client (its quota)")
    output.figure(figure, f"fig4c_{bits}")
    queued = [name for name in order if name.startswith("cs-ucb-q")]
    if queued:
        queues = by_scheme(results, results["selector_queue_sum"].values, queued)
        figure = lines(rounds, queues, xlabel="communication round", ylabel="total queue length",
                       title=f"Queues ({title})", schemes=order)  # fmt: skip
        output.figure(figure, f"queues_{bits}")
    panels = {
        f"share of client {k + 1}, promised {quota:g}": by_scheme(results, rate[:, :, k], order)
        for k, quota in enumerate(quotas)
    }
    output.figure(stacked_lines(rounds, panels, xlabel="communication round", title=f"Share of the rounds ({title})"),
                  f"fig5_{bits}")  # fmt: skip


def scaling_figures(runs: pd.DataFrame, output: Output, title: str) -> None:
    """Draw Fig. 7: total time by channels, for each rho."""
    labelled = runs.assign(scheme=[f"rho = {rho:g}" for rho in runs.rho])
    channels = sorted(set(runs.num_channels))
    figure = lines(channels, _over(labelled, "time", "num_channels"), xlabel="channels N", ylabel="total time, s",
                   title=f"Quotas and channels ({title})")  # fmt: skip
    output.figure(figure, f"fig7_{runs.model_bits.iloc[0]:g}")


def _over(runs: pd.DataFrame, metric: str, setting: str) -> dict[str, np.ndarray]:
    """Return the metric of each scheme, (seeds, values of the setting)."""
    return {
        str(name): group.pivot(index="seed", columns=setting, values=metric).to_numpy()
        for name, group in runs.groupby("scheme", sort=False)
    }
