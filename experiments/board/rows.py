"""One row per run: the outcomes by which the leaderboard compares schemes."""

import numpy as np
import pandas as pd
import xarray as xr

from experiments.board.problems import DATA, JOULES, STEPS
from jfed.analysis import jain
from jfed.report.targets import first_reached
from jfed.results import sound
from jfed.results.load import company

LAST = 0.1  # share of the rounds whose evaluations make the final accuracy
CLIENT_J = float(np.sum([STEPS, 1] * np.mean(JOULES.means(3), axis=1)))  # a round of a client, where none are counted

OUTCOMES = {
    "final_accuracy": "Test accuracy, mean of the last tenth of the rounds",
    "mean_accuracy": "Test accuracy, mean over all rounds",
    "worst_clients": "Accuracy of the final model on the worst tenth of the clients",
    "rounds_to_target": "Rounds to the target accuracy",
    "seconds_to_target": "Simulated seconds to the target accuracy",
    "energy_to_target": "Energy to the target accuracy (J)",
    "jain": "Jain's index of selections",
}
LOWER = ("rounds_to_target", "seconds_to_target", "energy_to_target")


def rows(results: xr.Dataset) -> pd.DataFrame:
    """Return one row per run: its problem, scheme and setting, and its outcomes; NaN for a failed run.

    Times to a target are inf where it was never reached. Energy is what the world counts, or `CLIENT_J` for each client
    that was selected, whether it returned or not.
    """
    values, evaluated = results["test_accuracy"].values.astype(float), results["eval_round"].values
    horizon = int(results.sizes["round"])
    data = results["data"].values.astype(str)
    reached = np.array(
        [first_reached(evaluated, row[None], DATA[name].target)[0] for row, name in zip(values, data, strict=True)]
    )
    clients = np.sort(results["client_accuracy"].values.astype(float), axis=1)  # NaN, without data, at the end
    many = np.maximum(1, np.isfinite(clients).sum(1) // 10)
    energy = CLIENT_J * results["num_selected"].values
    if "world_energy_j" in results:
        counted = results["world_energy_j"].values
        energy = np.where(np.isnan(counted), energy, counted)
    found = {
        "final_accuracy": values[:, evaluated > (1 - LAST) * horizon].mean(1),
        "mean_accuracy": values.mean(1),
        "worst_clients": np.array([own[:n].mean() for own, n in zip(clients, many, strict=True)]),
        "rounds_to_target": reached,
        "seconds_to_target": _until(results["round_time_s"].values, reached),
        "energy_to_target": _until(energy, reached),
        "jain": jain(results["times_selected"].values),
    }
    failed = sound.failed(results)
    return pd.DataFrame(
        {
            "experiment": "leaderboard",
            **{name: results[name].values.astype(str) for name in ("world", "data", "variant")},
            "scheme": results["method"].values.astype(str),
            "rate": results["rate"].values.astype(float),
            "seed": results["seed"].values,
            "num_rounds": horizon,
            "oracle": results["oracle"].values.astype(bool),
            **{name: np.where(failed, np.nan, column) for name, column in found.items()},
            "seconds": results["round_time_s"].values.sum(1),
            "energy": energy.sum(1),
            "polls": results["num_probed"].values.sum(1),
            "succeeded": results["num_succeeded"].values.sum(1),
            **company(results),
        }
    )


def _until(spent: np.ndarray, reached: np.ndarray) -> np.ndarray:
    """Return what each run had spent at the end of the round in which it reached the target; inf if it never did."""
    total = np.cumsum(np.asarray(spent, float), axis=1)
    last = np.where(np.isfinite(reached), reached, 1).astype(int) - 1
    return np.where(np.isfinite(reached), total[np.arange(len(total)), last], np.inf)
