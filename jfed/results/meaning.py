"""The meaning of a result's variables: a name in words and a unit for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    "round": "communication round",
    "eval_round": "round after which the model was tested",
}
ROOMS = ("selector", "controller")


def described(name: str) -> dict[str, str]:
    """Return `units` and `long_name` of a variable; {} for an unknown one."""
    room, _, own = name.partition("_")
    words = NAMES.get(name, f"{own.replace('_', ' ')} that the {room} shows after the round" if room in ROOMS else "")
    if not words:
        return {}
    unit = next((unit for ending, unit in UNITS.items() if name.endswith(ending)), "1")
    return {"units": unit, "long_name": words}


def describe(dataset: xr.Dataset) -> xr.Dataset:
    """Give each variable of a Dataset its unit and its name in words, and return it."""
    for name, variable in dataset.variables.items():
        variable.attrs.update(described(str(name)))
    return dataset
