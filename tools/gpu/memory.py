"""What the programs of E3CS's tables need in memory, by number of runs in a block, from XLA's own analysis.

They are compiled, and not run. Images that were not carried here are replaced by noise of the same shape.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import jfed
from experiments import cifar_e3cs, emnist_e3cs
from experiments.e3cs.training import Settings, points
from jfed.commands.mistakes import in_words
from jfed.engine.simulate import clock, program
from jfed.runner import memory
from jfed.runner.ahead import side_by_side
from jfed.runner.units import plan
from tools.gpu import carried
from tools.gpu.child import Asked, Rows, told
from tools.gpu.tables import ROUNDED

SCHEMES = ("e3cs-0", "e3cs-0.5", "e3cs-0.8", "e3cs-inc")  # one program
SEEDS = 10
SHAPES = {"emnist": ((28, 28), 26), "cifar": ((32, 32, 3), 10)}
GIB = 1 << 30


class Case(NamedTuple):
    """A program to compile.

    Attributes:
        table: emnist or cifar.
        runs: runs of a block; None: the default number.
    """

    table: str
    runs: int | None


# With 16 runs it is the program of the tables' first stage, which then finds it compiled.
CASES = [Case(table, runs) for runs in (16, None, 1, 64) for table in ("emnist", "cifar")]


def settings(table: str, asked: Asked) -> Settings:
    """Return the settings of a table, on the data set that is here or on noise."""
    module = {"emnist": emnist_e3cs, "cifar": cifar_e3cs}[table]
    if asked.small:
        return module.PRESETS["quick"]
    chosen = module.PRESETS["paper"]
    named = carried.tables(asked.data_dir).get(table) or str(_noise(table, asked.data_dir, chosen))
    samples = 250 if named == carried.COLOURS[1, True] else chosen.samples_per_client
    return replace(
        chosen, dataset=named, samples_per_client=samples, data_dir=str(asked.data_dir), partitions=("primary",),
        algorithms=("fedavg",), cohort_sizes=(20,),
    )  # fmt: skip


def _noise(table: str, folder: Path, chosen: Settings) -> Path:
    shape, classes = SHAPES[table]
    path, many = folder / "noise" / f"{table}.npz", chosen.num_clients * chosen.samples_per_client
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        rng = np.random.default_rng(0)
        images = rng.integers(0, 256, (many, *shape), dtype=np.uint8)
        np.savez(path, images=images, labels=np.arange(many, dtype=np.int32) % classes)
    return path


def measured(case: Case, asked: Asked) -> Iterator[dict[str, Any]]:
    """Yield a row for each program of a case."""
    chosen = replace(settings(case.table, asked), schemes=SCHEMES)
    layout = jfed.Layout(block_size=case.runs, lane="vmapped")
    unit = plan(points(chosen), range(SEEDS), layout, chosen.data_dir)[0]
    made, pool, block = program(unit.spec), unit.pool(), side_by_side([unit.block()])
    state = made.init(block)
    when = clock(1, 2, unit.config.num_rounds, unit.config.eval_every)
    for name, function, further in (("chunk", made.chunk, (state, when)), ("finish", made.finish, (state,))):
        began = time.perf_counter()
        compiled = function.lower(pool, block, *further).compile()  # type: ignore[attr-defined]
        seconds, found = time.perf_counter() - began, compiled.memory_analysis()
        parts = {f"{part} GiB": getattr(found, f"{part}_size_in_bytes", 0) / GIB for part in ("argument", "temp")}
        yield {
            "table": case.table, "data": chosen.dataset.rpartition("/")[2], "runs": unit.block_size, "program": name,
            "compiled in s": seconds, "needed GiB": memory.needed(compiled) / GIB, **parts,
            "available GiB": memory.available(1) / GIB,
        }  # fmt: skip


def main() -> None:
    """Run the stage."""
    asked = told(__doc__)
    table = Rows(asked.out / "memory.csv")
    cases = [Case("cifar", 2)] if asked.small else CASES
    with in_words((ROUNDED,)):
        for case in cases:
            if asked.left() < 0:
                print(f"no time for {case.table} with {case.runs or 'the default number of'} runs")
                continue
            try:
                for row in measured(case, asked):
                    table.add(row)
            except Exception as error:  # such as memory that runs out: the other cases are still worth a try
                print(f"{case.table} with {case.runs or 'the default number of'} runs: {type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
