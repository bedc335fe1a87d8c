"""Figures of several experiments: which clients are selected, how many models return, and how accuracy grows."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from numpy.typing import NDArray

from jfed.analysis import box_by_class, lines, selection_heat, stacked_lines
from jfed.measures.costs import against, cost_grid
from jfed.measures.quotas import rates_so_far
from jfed.results.alike import require_alike
from jfed.results.load import schemes
from jfed.sweep import Point

COSTS = {
    "models": ("num_succeeded", "models returned to the server"),
    "steps": ("num_steps", "local steps"),
    "time": ("round_time_s", "simulated time, s"),
}


def success_rates(points: Sequence[Point]) -> tuple[float, ...]:
    """Return the success rate of each class of clients in the volatile world that all points share."""
    return points[0].config.environment.success_rates


def by_scheme(results: xr.Dataset, values: np.ndarray, order: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the values of each scheme's runs, schemes in the given order."""
    labels = schemes(results)
    if "setting" in results.coords:
        require_alike(labels, results["setting"].values)
    return {scheme: values[labels == scheme].astype(float) for scheme in order}


def rates(results: xr.Dataset) -> np.ndarray:
    """Return the share of the rounds so far in which each client was selected, (runs, rounds, clients)."""
    packed = results["selected"].values.astype(np.uint8)
    return rates_so_far(np.unpackbits(packed, axis=2, count=results.sizes["client"]))


def selections(results: xr.Dataset, order: Sequence[str], rates: Sequence[float], title: str) -> Figure:
    """Draw E3CS's Fig. 3: how often each client was selected, by success rate, seeds pooled."""
    counts = by_scheme(results, results["times_selected"].values, order)
    classes = by_scheme(results, results["client_class"].values, order)
    panels = {s: {f"{rate:g}": counts[s][classes[s] == c] for c, rate in enumerate(rates)} for s in order}
    return box_by_class(panels, "times selected, by success rate", title)


def selection_map(results: xr.Dataset, order: Sequence[str], rates: Sequence[float], title: str) -> Figure:
    """Draw each client's share of the rounds; within a class, each seed's most selected client comes first."""
    counts, classes = results["times_selected"].values, results["client_class"].values
    ranked = np.lexsort((-counts, classes))
    shares = np.take_along_axis(counts, ranked, 1) / results.sizes["round"]
    rate = np.asarray(rates)[np.sort(classes[0])]
    return selection_heat(by_scheme(results, shares, order), rate, xlabel="success rate", title=title)


def participation(results: xr.Dataset, order: Sequence[str], title: str) -> Figure:
    """Draw E3CS's Fig. 4: the share of selected clients that returned so far, and the number of returned models."""
    returned = np.cumsum(results["num_succeeded"].values, 1)
    chosen = np.cumsum(results["num_selected"].values, 1)
    panels = {
        "success ratio": by_scheme(results, returned / chosen, order),
        "cumulative effective participation": by_scheme(results, returned, order),
    }
    return stacked_lines(results["round"].values, panels, xlabel="communication round", title=title)


def until_over(results: xr.Dataset, evaluated: NDArray[np.int32]) -> int:
    """Return the number of evaluations up to the end of the last run; a budget can end runs before the last round."""
    ended = results["ended_round"].values if "ended_round" in results else np.zeros(1)
    last = evaluated[-1] if (ended == 0).any() else ended.max()
    return int(np.searchsorted(evaluated, last)) + 1


def accuracy(results: xr.Dataset, order: Sequence[str], title: str) -> dict[str, Figure]:
    """Draw test accuracy over rounds (E3CS's Figs. 5 and 6), and over returned models, local steps and time."""
    values, evaluated = results["test_accuracy"].values, results["eval_round"].values
    shown = slice(until_over(results, evaluated))
    curves = by_scheme(results, values[:, shown], order)
    rounds, label = evaluated[shown], "test accuracy"
    figures = {"accuracy": lines(rounds, curves, xlabel="communication round", ylabel=label, title=title)}
    for stem, (name, xlabel) in COSTS.items():
        each = results[name].values.astype(float)
        if stem == "time" and np.ptp(each) == 0:
            continue  # all rounds take equally long: the figure over rounds shows the same
        spent = np.cumsum(each, 1)[:, evaluated - 1]
        grid = cost_grid(spent)
        curves = by_scheme(results, against(spent, values, grid), order)
        figures[f"accuracy_by_{stem}"] = lines(grid, curves, xlabel=xlabel, ylabel="test accuracy", title=title)
    return figures
