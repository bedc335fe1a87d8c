"""Client-steps per second of local training in jfed's own lane, by block and precision; see `benchmarks.lanes`."""

import jax
import numpy as np

from benchmarks.lanes import Cell, cells, measured
from jfed.runner.memory import size
from tools.gpu.child import Rows, told

REPEATS = 3


def main() -> None:
    """Run the stage."""
    asked = told(__doc__)
    table = Rows(asked.out / "lanes.csv")
    net = "softmax 784-10"
    every = [Cell(net, "vmapped", 2, "default")] if asked.small else None
    for one in measured(every or cells(jax.default_backend()), REPEATS, asked.left()):
        rates = one.rates or [float("nan")]
        table.add(
            {**one.cell._asdict(), "client-steps/s": float(np.median(rates)), "least": min(rates), "most": max(rates),
             "temporaries": size(one.temporaries), "ready after s": one.compiling}
        )  # fmt: skip


if __name__ == "__main__":
    main()
