"""As much of E3CS's tables as the time allows, on the data sets that were carried here; see `experiments.e3cs_tables`.

A table whose data set was not carried is left out. Half of CIFAR-10 gives each client half of the published images.
"""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

import jfed
from experiments.e3cs_tables import Time, within
from jfed.commands.mistakes import in_words
from jfed.core.errors import require
from tools.gpu import carried
from tools.gpu.child import Asked, told

WHERE = ("dataset", "partition", "algorithm", "k")
ROUNDED = Path(__file__).with_name("rounded.py")
REPORT = 20.0  # seconds: a program that is being compiled cannot be stopped
HALF = 250  # images of a client: 100 clients share 25,000


def settings(asked: Asked) -> Time:
    """Return the settings of the tables."""
    time = Time(minutes=max(asked.left() - REPORT, 1.0) / 60, out=asked.out)
    if asked.small:
        return replace(time, preset="quick", num_rounds=2, tables=("cifar",), num_stages=1)
    found = carried.tables(asked.data_dir)
    require(bool(found), "No data set of a table was carried here: pack emnist or cifar.")
    named: dict[str, Any] = {"tables": tuple(found), "data_dir": str(asked.data_dir), "load": (ROUNDED,)}
    half = found.get("cifar") == carried.COLOURS[1, True]
    return replace(time, **named, **found, samples_per_client=HALF if half and len(found) == 1 else None)


def so_far(folder: Path, out: Path) -> None:
    """Write a row for each finished run of a table, also of those stages that are not complete."""
    rows = []
    for path in sorted((folder / "results").glob("*.npz")):  # one by one: stages have other numbers of rounds
        alone = out / "alone" / "results"
        alone.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, alone)
        results = jfed.load(out / "alone")
        shutil.rmtree(out / "alone")
        names = [name for name in ("method", "seed", *WHERE) if name in results.coords]
        frame = pd.DataFrame({name: results[name].values for name in names})
        frame["rounds"] = results.sizes["round"]
        frame["cep"] = results["num_succeeded"].values.sum(1)
        frame["final_accuracy"] = results["test_accuracy"].values[:, -1]
        rows.append(frame)
    if rows:
        pd.concat(rows).to_csv(out / f"{folder.name}_runs.csv", index=False, float_format="%.6g")


def main() -> None:
    """Run the stage."""
    asked = told(__doc__)
    with in_words((ROUNDED,)):
        chosen = settings(asked)
        within(chosen)
    for table in chosen.tables:
        so_far(asked.out / table, asked.out)


if __name__ == "__main__":
    main()
