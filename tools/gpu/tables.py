"""As much of E3CS's tables as the time allows, on the data sets that were carried here; see `experiments.e3cs_tables`.

A table whose data set was not carried is left out. Half of CIFAR-10 gives each client half of the published images.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.e3cs_tables import Time, within
from jfed.commands.mistakes import in_words
from jfed.core.errors import require
from tools.gpu import carried
from tools.gpu.child import Asked, told

ROUNDED = Path(__file__).with_name("rounded.py")
HALF = 250  # images of a client: 100 clients share 25,000


def settings(asked: Asked) -> Time:
    """Return the settings of the tables."""
    time = Time(minutes=max(asked.left(), 1.0) / 60, out=asked.out)
    if asked.small:
        return replace(time, preset="quick", num_rounds=2, tables=("cifar",), num_stages=1)
    found = carried.tables(asked.data_dir)
    require(bool(found), "No data set of a table was carried here: pack emnist or cifar.")
    named: dict[str, Any] = {"tables": tuple(found), "data_dir": str(asked.data_dir), "load": (ROUNDED,)}
    half = found.get("cifar") == carried.COLOURS[1, True]
    return replace(time, **named, **found, samples_per_client=HALF if half and len(found) == 1 else None)


def main() -> None:
    """Run the stage."""
    asked = told(__doc__)
    with in_words((ROUNDED,)):
        within(settings(asked))


if __name__ == "__main__":
    main()
