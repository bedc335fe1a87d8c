"""The meaning of a result's variables: a name in words, a unit, and the values that are possible."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

UNITS = {"_s": "s", "_bits": "bit", "_hz": "Hz", "_j": "J"}
NAMES = {
    "num_selected": "clients selected in the round",
    "num_succeeded": "clients of the cohort that returned",
    "expected_succeeded": "expected number of clients that return, over the draw of the cohort",
    "num_probed": "clients asked for a loss",
    "num_steps": "local SGD steps done in the round",
    "round_time_s": "simulated time of the round",
    "times_selected": "rounds in which the client was selected",
    "times_succeeded": "rounds in which the client was selected and returned",
    "client_class": "class of the client",
    "num_samples": "training examples of the client",
    "selected": "cohort of the round, eight clients a byte",
    "broken_round": "first round after which the model was not finite, 0 if it always was",
    "ended_round": "last round that the budget paid for, 0 if the horizon came first",
    "test_loss": "mean loss on the test examples",
    "test_accuracy": "share of the test examples that are right",
    "client_loss": "loss of the final model on the client's data",
    "client_accuracy": "share of the client's data that the final model gets right",
    "world_energy_j": "energy that the cohort of the round spent",
    "round": "communication round",
    "eval_round": "round after which the model was tested",
}
SCORES = {
    "num_succeeded": "models returned to the server, all rounds",
    "expected_succeeded": "expected number of models returned, all rounds",
    "round_time_s": "simulated time of all rounds, s",
    "test_accuracy": "test accuracy after the last round",
    "test_loss": "test loss after the last round",
    "jain": "Jain's index of selections",
}
ROOMS = ("selector", "controller", "world")
# Words of quantities. A share is in [0, 1], an amount at least 0; signed words make something else of either.
SHARES = frozenset(("accuracy", "acc", "share", "shares", "probability", "precision", "recall", "auc", "f1", "jain"))
AMOUNTS = frozenset(
    [
        "loss", "losses", "error", "errors", "time", "seconds", "s", "minutes", "hours", "rounds", "steps", "models",
        "clients", "number", "count", "times", "participation", "returned", "succeeded", "selected", "queue", "length",
        "variance", "sd", "cost", "costs", "communication", "energy", "j", "bits", "bit", "latency", "tau",
        "perplexity",
    ]
)  # fmt: skip
SIGNED = frozenset(
    [
        "minus", "gap", "difference", "diff", "delta", "change", "regret", "slack", "excess", "log", "gain",
        "improvement", "saved", "drop", "correlation", "skewness", "reward", "utility", "relative", "negative", "neg",
    ]
)  # fmt: skip
RATIOS = ("success ratio", "success rate")


def described(name: str) -> dict[str, str]:
    """Return `units` and `long_name` of a variable; {} for an unknown one."""
    room, _, own = name.partition("_")
    words = NAMES.get(name, f"{own.replace('_', ' ')} that the {room} shows after the round" if room in ROOMS else "")
    if not words:
        return {}
    unit = next((unit for ending, unit in UNITS.items() if name.endswith(ending)), "1")
    return {"units": unit, "long_name": words}


def axis(name: str) -> str:
    """Return the label of an axis: a variable's name in words with its unit; an unknown name with blanks."""
    known = described(name)
    if not known:
        return name.replace("_", " ")
    return known["long_name"] if known["units"] == "1" else f"{known['long_name']}, {known['units']}"


def score_name(metric: str) -> str:
    """Return the name of a run's score in words, with its unit: that of a variable's sum over rounds, or last value."""
    return SCORES.get(metric) or axis(metric)


def possible(words: str, *values: np.ndarray) -> tuple[float, float]:
    """Return the lowest and highest possible value of a quantity, infinite where nothing is known.

    Args:
        words: its name in words or as a variable's, such as "test accuracy" or round_time_s.
        values: observed values, NaN and infinite ones aside; an end that some exceed is none, or 100 for a share in %.
    """
    text = axis(words).lower()
    found = set(re.findall(r"[a-z]+\d*", text))
    low, high = -math.inf, math.inf
    if not found & SIGNED and not re.match(r"\s*1?\s*[-\u2212]", text):
        share = bool(found & SHARES) or any(ratio in text for ratio in RATIOS)
        low = 0.0 if share or found & AMOUNTS else low
        high = 1.0 if share else high
    observed = [one[np.isfinite(one)] for one in values]
    most = max((one.max() for one in observed if one.size), default=-math.inf)
    if most > high:
        high = 100.0 if "%" in text and most <= 100 else math.inf
    if any((one < low).any() for one in observed):
        low = -math.inf
    return low, high


def describe(dataset: xr.Dataset) -> xr.Dataset:
    """Give each variable of a Dataset its unit and its name in words, and return it."""
    for name, variable in dataset.variables.items():
        variable.attrs.update(described(str(name)))
    return dataset
