"""Measures of Eiffel's runs, and tables and figures of them over a setting such as tau or the budget."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.figure import Figure
from rich.console import Console

from experiments.eiffel.settings import FLAGS, Settings
from experiments.shared.common import Output, show
from experiments.shared.training import computed
from jfed.analysis import compare, compare_levels, lines, stacked_lines, summarise, summary_table, wide_table
from jfed.commands.drawing import by_scheme, names
from jfed.commands.study import Study, in_words, per_run
from jfed.config import digest
from jfed.core.errors import require
from jfed.measures.fairness import fairness
from jfed.results.load import part
from jfed.runner.feed import dataset
from jfed.sweep import Point

MEASURES = {
    "mean_loss": "Average loss over clients",
    "loss_variance": "Variance of the clients' losses",
    "abs_skewness": "Absolute skewness of the clients' losses",
    "worst10": "Loss of the worst 10 % of the clients",
    "best10": "Loss of the best 10 % of the clients",
    "final_accuracy": "Test accuracy after the last round",
    "average_tau": "tau, averaged over rounds",
    "communication": "Communication, seconds of all clients together",
}
WORSE_IF_MORE = ("mean_loss", "loss_variance", "abs_skewness", "worst10", "best10", "communication")


def taus(results: xr.Dataset) -> np.ndarray:
    """Return tau of each round, (runs, rounds); 0 in rounds without training."""
    steps, many = results["num_steps"].values.astype(float), results["num_succeeded"].values
    return steps / np.maximum(many, 1)


def columns(points: Sequence[Point], results: xr.Dataset) -> dict[str, Any]:
    """Return fairness of losses and (with the prefix `accuracy_`) of accuracies, tau and costs of each run.

    `average_tau` is the mean over rounds, `average_tau_weighted` that over steps (sum tau^2 / sum tau), as in Wang's
    code; `communication`, which is missing if a world states no costs, is participants times aggregations times
    expected seconds of an exchange. `points` must include those of the results.
    """
    costs = {digest(p.config): p.config.environment.costs(p.config.num_clients) for p in points}
    own = [costs[name] for name in results["config"].values.tolist()]
    loss = fairness(results["client_loss"].values, higher_is_better=False)
    accuracy = fairness(results["client_accuracy"].values, higher_is_better=True)
    tau = taus(results)
    rounds = (tau > 0).sum(1)
    selected = np.where(tau > 0, results["num_selected"].values, 0).sum(1)
    exchange_s = [each.exchange[0].mean() for each in own if each is not None]
    communication = {} if None in own else {"communication": selected * np.array(exchange_s)}
    with np.errstate(divide="ignore"):
        log_variance = np.log(loss["variance"])
    return {
        "mode": results["mode"].values,
        "mean_loss": loss["mean"],
        **{name: loss[name] for name in ("worst10", "best10", "skewness", "skewness_adjusted", "cosine", "jain")},
        "loss_variance": loss["variance"],
        "log_loss_variance": log_variance,
        "abs_skewness": np.abs(loss["skewness"]),
        **{f"accuracy_{name}": values for name, values in accuracy.items()},
        "average_tau": tau.sum(1) / np.maximum(rounds, 1),
        "average_tau_weighted": (tau**2).sum(1) / np.maximum(tau.sum(1), 1),
        "aggregations": rounds,
        "participants": selected / np.maximum(rounds, 1),
        **communication,
        "spent": results["round_time_s"].values.astype(float).sum(1),
        "ended_round": results["ended_round"].values,
    }


def figures(results: xr.Dataset, order: Sequence[str], title: str, points: Sequence[Point]) -> dict[str, Figure]:
    """Draw Fig. 2, and tau over rounds."""
    losses = np.sort(results["client_loss"].values.astype(float), 1)
    place = (np.arange(losses.shape[1]) + 0.5) / losses.shape[1]
    tau = np.where(taus(results) > 0, taus(results), np.nan)
    return {
        "client_losses": lines(place, by_scheme(results, losses, order), xlabel="share of clients, lowest loss first",
                               ylabel="loss of the final model", title=f"Losses over clients ({title})", band="range",
                               schemes=names(points)),
        "tau": lines(results["round"].values, by_scheme(results, tau, order), xlabel="communication round",
                     ylabel="local steps of a client, tau", title=f"Local steps ({title})", schemes=names(points)),
    }  # fmt: skip


def study(name: str, settings: tuple[str, ...], measures: Sequence[str], points: Sequence[Point]) -> Study:
    """Return the description of the report of an experiment with these points, comparing schemes by `measures`."""
    chosen = {measure: MEASURES[measure] for measure in measures}
    worse = tuple(m for m in chosen if m in WORSE_IF_MORE)
    return Study(
        name, settings, metrics=chosen, columns=partial(columns, points), figures=figures, lower_is_better=worse
    )


def frame(settings: Settings, points: Sequence[Point], name: str, keep: Sequence[str]) -> pd.DataFrame:
    """Compute the missing runs and return one row per run, with the coordinates in `keep` as columns."""
    require(
        not settings.sweep and not settings.tune_seeds,
        "This experiment is a sweep: leave out --sweep and --tune-seeds.",
    )
    results = computed(settings, points, FLAGS)
    clients = results["times_selected"].notnull().sum("client").values
    about = Study(name, (), {}, partial(columns, points), figures)
    rows = [np.flatnonzero(clients == k) for k in np.unique(clients)]
    runs = pd.concat([per_run(part(results, row), (), [], about, keep) for row in rows], ignore_index=True)
    rank = {p.coords["method"]: i for i, p in reversed(list(enumerate(points)))}
    return runs.sort_values("scheme", key=lambda names: names.map(rank), kind="stable", ignore_index=True)


def over(
    runs: pd.DataFrame, x: str, curve: str, panels: Mapping[str, str], xlabel: str, title: str
) -> Figure:  # fmt: skip
    """Draw a panel per metric over the column `x`, with a curve per value of `curve`; a curve without x is flat.

    Args:
        runs: one row per (curve, x, seed); x is NaN where a curve does not depend on it.
        x: column of the horizontal axis.
        curve: column that names curves.
        panels: metrics, with their names in the figure.
        xlabel: label of the horizontal axis.
        title: title of the figure.
    """
    places = np.unique(runs[x].dropna().to_numpy(float))

    def values(rows: pd.DataFrame, metric: str) -> np.ndarray:
        if np.isnan(rows[x].to_numpy(float)).all():
            flat = rows.sort_values("seed")[metric].to_numpy(float)
            return np.broadcast_to(flat[:, None], (len(flat), len(places)))
        return rows.pivot(index="seed", columns=x, values=metric).reindex(columns=places).to_numpy(float)

    drawn = {
        words: {str(name): values(rows, metric) for name, rows in runs.groupby(curve, sort=False)}
        for metric, words in panels.items()
    }
    return stacked_lines(places, drawn, xlabel=xlabel, title=title, differences=False)


def compared(
    runs: pd.DataFrame, metric: str, baseline: str, title: str, stem: str, output: Output, console: Console
) -> None:  # fmt: skip
    """Write and print the comparison of the schemes with one of them."""
    titled = f"{MEASURES[metric]} ({title})"
    if runs.scheme.nunique() == 1:
        table = summary_table(summarise(runs, metric), titled)
        output.table(table, stem)
    else:
        found = compare(runs, metric, baseline=baseline, higher_is_better=metric not in WORSE_IF_MORE)
        table = output.comparisons(found, titled, stem, metric)
    show(table, console)


def side_by_side(
    runs: pd.DataFrame, by: Sequence[str], metric: str, baseline: str, title: str, output: Output, console: Console
) -> None:  # fmt: skip
    """Write and print one table of the schemes in all settings, columns `by`; none for one setting or scheme."""
    groups: Any = runs.groupby(list(by), sort=False)
    frames = {", ".join(map(in_words, by, key)): rows for key, rows in groups if rows.scheme.nunique() > 1}
    if len(frames) > 1:
        higher = metric not in WORSE_IF_MORE
        found = compare_levels(frames, metric, baseline=baseline, higher_is_better=higher)
        table = wide_table(found, f"{MEASURES[metric]} ({title})", name=MEASURES[metric])
        output.table(table, f"wide_{metric}")
        show(table, console)


def written(runs: pd.DataFrame, settings: Settings, output: Output) -> str:
    """Write the table of runs, and return the data set's name in titles."""
    output.runs(runs)
    return dataset(settings.dataset, settings.data_dir).title
