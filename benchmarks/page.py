"""The page of all saved results, `benchmarks/README.md`, made from the CSV files."""

import importlib
from collections.abc import Sequence

import numpy as np

from benchmarks import report
from benchmarks.report import number

PAGE = report.RESULTS.parent / "README.md"
HEAD = """# Speed and memory of jfed beside other tools

`python -m benchmarks --save` measures everything and writes this page; do not edit it. A median of several repeats is
followed by the smallest and the largest value. In each repeat all sides of a table are measured in turn. A ratio is the
row's value over that of the other side, again the median of the repeats, so that above 1 is better where the unit is a
rate, and below 1 where it is a time or a size. On a shared machine differences under 25 % are ties.

"1 core" means a process that is pinned to a core. One that is not pinned may use all cores even with one CPU device of
jax, whose devices share a pool of threads, and so may PyTorch and FedJAX. Without pinning jfed asks jax for one device
per core.

Peers run in interpreters of their own: `--torch-python`, `--fedjax-python` and `--pfl-python`, or $JFED_TORCH_PYTHON,
$JFED_FEDJAX_PYTHON and $JFED_PFL_PYTHON. They were installed with `pip install torch` (a CPU build), with
`pip install fedjax jax==0.5.3 jaxlib==0.5.3`, and with `pip install pfl torch` (a CPU build first). The budget and
process benchmarks read MNIST from $JFED_DATA_DIR, if it is there. The NumPy loops are in this folder.
"""
NOT_MEASURED = """## Not measured

- Accelerators: all figures are of a CPU. The lane for accelerators is only compared with the one for CPUs (`lanes`).
- More cores than those named above, several machines, and other processors.
- A residual network with group normalisation and deeper networks: jfed does not offer them.
- Flower, FLGo, fluke, TensorFlow Federated and other frameworks.
- FedJAX's pmap backend, which pads each client to the longest of its block.
- Time to a given accuracy: all sides of a table do the same work, so that their results do not differ.
- Partitions, evaluation and reading of data, except as parts of whole processes.
"""


def write(names: Sequence[str]) -> None:
    """Write the page from the saved tables, in the given order."""
    parts = [HEAD]
    for name in names:
        path = report.RESULTS / f"{name}.csv"
        if path.exists():
            parts.append(_section(name, *report.saved(path)))
    PAGE.write_text("\n".join([*parts, NOT_MEASURED]))


def _section(name: str, rows: list[report.Row], notes: list[str], facts: dict[str, str]) -> str:
    """Return the section of a benchmark: what it is, its table, its notes, the machine and the command."""
    about = (importlib.import_module(f"benchmarks.{name}").__doc__ or "").strip()
    lines = [f"## {name}", "", about, ""]
    if rows:
        lines += [
            "| what | median | unit | ratio | against | meaning |",
            "|---|---|---|---|---|---|",
            *map(_line, rows),
            "",
        ]
    lines += [f"- {note}" for note in notes] + [""] * bool(notes)
    command = facts.pop("command", "")
    told = ", ".join(value if fact == "cpu" else f"{fact} {value}" for fact, value in facts.items())
    return "\n".join([*lines, f"{told}. `{command}`", ""])


def _line(row: report.Row) -> str:
    value = number(row.median)
    if row.low != row.high:
        value += f" ({number(row.low)} to {number(row.high)})"
    ratio = ""
    if not np.isnan(row.ratio):
        ratio = f"**{row.ratio:.2f}**"
        if row.ratio_low != row.ratio_high:
            ratio += f" ({row.ratio_low:.2f} to {row.ratio_high:.2f})"
    cells = (row.case, value, row.unit, ratio, row.against, row.meaning)
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"
