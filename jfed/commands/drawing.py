"""Figures of several experiments: which clients are selected, how many models return, and how accuracy grows."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from numpy.typing import NDArray

from jfed.analysis import box_by_class, lines, selection_heat, stacked_lines
from jfed.config import digest, normal
from jfed.envs import volatility
from jfed.measures.costs import against, cost_grid
from jfed.measures.quotas import rates_so_far
from jfed.results.alike import require_alike
from jfed.results.load import schemes, shares_seeds
from jfed.sweep import Point

COSTS = {
    "models": ("num_succeeded", "models returned to the server"),
    "steps": ("num_steps", "local steps"),
    "time": ("round_time_s", "simulated time, s"),
}
RATE = "success rate"


def by_class(results: xr.Dataset, points: Sequence[Point]) -> tuple[str, np.ndarray]:
    """Return what tells the classes of clients apart, and its value for each client, (runs, clients).

    It is the success rate in the volatile world, and the number of the class in all others. `points` must include
    those of the results, which share a world.
    """
    own, number = set(results["config"].values.tolist()), results["client_class"].values
    world = next(p.config.environment for p in points if digest(normal(p.config)) in own)
    if isinstance(world, volatility.Options):
        return RATE, np.asarray(world.success_rates)[number]
    return "class", number


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


def names(points: Sequence[Point]) -> list[str]:
    """Return the names of all schemes, by which a scheme looks the same in all figures."""
    return list(dict.fromkeys(str(p.coords["method"]) for p in points))


def class_figures(results: xr.Dataset, order: Sequence[str], points: Sequence[Point], title: str) -> dict[str, Figure]:
    """Draw how often the clients of each class were selected; no figure if all clients are of one class.

    `selections` is E3CS's Fig. 3, seeds pooled. `selection_map` is that of the same name.
    """
    name, values = by_class(results, points)
    known = np.unique(values)
    if len(known) == 1:
        return {}
    selected = by_scheme(results, results["times_selected"].values, order)
    classes = by_scheme(results, values, order)
    panels = {s: {f"{value:g}": selected[s][classes[s] == value] for value in known} for s in order}
    return {
        "selections": box_by_class(panels, "times selected, rounds", title, xlabel=name, schemes=names(points)),
        "selection_map": selection_map(results, order, points, title),
    }


def selection_map(results: xr.Dataset, order: Sequence[str], points: Sequence[Point], title: str) -> Figure:
    """Draw each client's share of the rounds, clients by class and number, or by number if all are of one class."""
    name, values = by_class(results, points)
    numbers = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    ranked = np.lexsort((numbers, values))
    counts = np.take_along_axis(results["times_selected"].values, ranked, 1)
    if len(np.unique(values)) == 1:
        name, values = "number", numbers + 1
    shares = by_scheme(results, counts / results.sizes["round"], order)
    return selection_heat(shares, np.sort(values[0]), xlabel=name, title=title)


def participation(results: xr.Dataset, order: Sequence[str], title: str, schemes: Sequence[str] = ()) -> Figure:
    """Draw E3CS's Fig. 4: the share of selected clients that returned so far, and the number of returned models."""
    returned = np.cumsum(results["num_succeeded"].values, 1)
    chosen = np.cumsum(results["num_selected"].values, 1)
    ratio = np.divide(returned, chosen, out=np.full(chosen.shape, np.nan), where=chosen > 0)
    panels = {
        "success ratio": by_scheme(results, ratio, order),
        "cumulative effective participation, models": by_scheme(results, returned, order),
    }
    band = _band(results)
    return stacked_lines(
        results["round"].values, panels, xlabel="communication round", title=title, schemes=schemes, band=band
    )


def _band(results: xr.Dataset) -> Literal["ci", "range"]:
    """Return what surrounds the mean of curves: a t interval is one of independent runs."""
    return "range" if shares_seeds(results) else "ci"


def until_over(results: xr.Dataset, evaluated: NDArray[np.int32]) -> int:
    """Return the number of evaluations up to the end of the last run; a budget can end runs before the last round."""
    ended = results["ended_round"].values if "ended_round" in results else np.zeros(1)
    last = evaluated[-1] if (ended == 0).any() else ended.max()
    return int(np.searchsorted(evaluated, last)) + 1


def accuracy(results: xr.Dataset, order: Sequence[str], title: str, schemes: Sequence[str]) -> dict[str, Figure]:
    """Draw test accuracy over rounds (E3CS's Figs. 5 and 6), and over returned models, local steps and time."""
    values, evaluated = results["test_accuracy"].values, results["eval_round"].values
    shown = slice(until_over(results, evaluated))
    curves = by_scheme(results, values[:, shown], order)
    rounds, label = evaluated[shown], "test accuracy"
    band = _band(results)
    figures = {
        "accuracy": lines(
            rounds, curves, xlabel="communication round", ylabel=label, title=title, schemes=schemes, band=band
        )
    }
    for stem, (name, xlabel) in COSTS.items():
        each = results[name].values.astype(float)
        if stem == "time" and np.ptp(each) == 0:
            continue  # all rounds take equally long: the figure over rounds shows the same
        spent = np.cumsum(each, 1)[:, evaluated - 1]
        grid = cost_grid(spent)
        curves = by_scheme(results, against(spent, values, grid), order)
        # Without differences: runs have steps at different costs, and those would be seen instead.
        figures[f"accuracy_by_{stem}"] = lines(
            grid, curves, xlabel=xlabel, ylabel=label, title=title, schemes=schemes, differences=False, band=band
        )
    return figures
