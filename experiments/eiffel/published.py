"""Tables 3, 4 and 5 of Eiffel as printed, block by block, and Markdown that compares jfed's results."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from jfed.claims.reduced import data_sets

Printed = dict[str, tuple[Any, ...]]
TAUS, SIZES = (0, 1, 30, 70), (20, 60)


@dataclass(frozen=True)
class Block:
    """The rows of the tables on one model and data set, and the runs that stand beside them.

    Attributes:
        title: heading of the section.
        dataset: data set of our runs.
        suffix: ending of the names of their tables of runs.
        losses: Table 3 by scheme, 100 clients, non-iid: average loss, worst and best 10 % in percent, variance, and
            skewness.
        taus: Table 4 by partition: average tau of adaptive FL and of Eiffel, improvement of communication, in two
            settings in their printed order.
        excess: Table 5 by partition: loss beyond that of centralised descent, no unit, of Eiffel and adaptive FL at
            adaptive tau and tau = 1, 30, 70.
        notes: remarks on the numbers.
    """

    title: str
    dataset: str
    suffix: str = ""
    losses: Printed = field(default_factory=dict)
    taus: Printed = field(default_factory=dict)
    excess: Printed = field(default_factory=dict)
    notes: tuple[str, ...] = ()


BLOCKS = (
    Block(
        title="The SVM on MNIST (Tables 3 to 5)",
        dataset="mnist",
        losses={
            "eiffel": (22.3, 43.0, 5.5, 0.0101, 0.067),
            "lls": (21.4, 44.0, 5.0, 0.0216, 1.806),
            "uniform": (23.2, 45.0, 5.4, 0.1240, 2.105),
            "q-ffl": (23.5, 42.8, 5.1, 0.0159, 1.055),
        },
        taus={
            "iid": ((29.65, 35.23, 2.06), (87.31, 94.45, 3.05)),
            "non-iid": ((4.31, 7.89, 2.44), (6.33, 8.74, 1.57)),
        },
        excess={
            "iid": ((-0.0829, -0.077), (2.109, 2.137), (-0.099, -0.089), (-0.116, -0.124)),
            "non-iid": ((3.43, 3.63), (2.366, 2.54), (5.61, 5.81), (7.66, 82.9)),
        },
        notes=(
            "Losses are those of the SVM, which are not bounded by 1; the paper prints those of Table 3 in percent and"
            " does not say of which quantity, those of Table 5 without a unit; which of its two numbers of clients"
            " comes first in Table 4 it does not say. Its settings (kappa, the budgets of a round, powers, demands)"
            " are not printed either.",
            "Random's variance of 0.1240 (Table 3) cannot be: losses between 5 and 45 % have one of at most 0.04. 82.9"
            " in Table 5 may be 8.29.",
        ),
    ),
    Block(
        title="The network on CIFAR-10 (Tables 3 to 5), reduced: images of 16 x 16 pixels and a small network",
        dataset="cifar10_16x16",
        suffix="_reduced",
        losses={
            "eiffel": (29.2, 35.4, 7.0, 0.0120, 0.036),
            "lls": (30.4, 45.7, 9.0, 0.1640, 0.734),
            "uniform": (28.1, 43.8, 7.0, 0.0192, 0.167),
            "q-ffl": (25.2, 34.4, 7.4, 0.0179, 0.0673),
        },
        taus={
            "iid": ((80.28, 100.50, 5.77), (70.28, 90.50, 6.45)),
            "non-iid": ((101.52, 179.75, 6.19), (89.65, 120.79, 4.98)),
        },
        excess={
            "iid": ((-6.2, -6.2), (-55.62, -53.95), (-4.6, -4.3), (0.045, -0.03)),
            "non-iid": ((25.7, 20.7), (31.52, 30.47), (35.57, 28.13), (34.53, 33.70)),
        },
        notes=(
            "The small network has hardly learned after 60 s: losses are near 230, as by guessing, and LLS's above it.",
            "Averages of tau above 100, the greatest tau, need another limit than the one that the paper takes over."
            " LLS's variance of 0.1640 cannot be, as above.",
        ),
    ),
    Block(
        title="The network on Fashion-MNIST (Table 5), reduced: images of 14 x 14 pixels and a small network",
        dataset="fashion_mnist_14x14",
        suffix="_reduced",
        excess={
            "iid": ((4.41, 4.81), (23.46, 23.46), (2.343, 2.383), (1.386, 1.701)),
            "non-iid": ((8.21, 8.694), (19.3, 18.35), (12.809, 14.809), (13.328, 14.328)),
        },
    ),
)


def _row(*cells: Any) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _head(*cells: str) -> list[str]:
    return [_row(*cells), "|" + "---|" * len(cells)]


def fairness(runs: Any, block: Block) -> list[str]:
    """Return the Markdown lines of Table 3; our skewness is that of a population."""
    columns = ("mean_loss", "worst10", "best10", "loss_variance", "skewness")
    names = ("average loss, %", "worst 10 %", "best 10 %", "variance", "skewness", "clients a round")
    lines = ["Table 3, 100 clients, one label each: mean over seeds \\| printed.", "", *_head("mode", "scheme", *names)]
    groups = runs[runs.partition == "non-iid"].groupby(["mode", "scheme"], sort=False)
    for (mode, scheme), part in groups:
        cells = []
        for i, (column, scale) in enumerate(zip(columns, (100, 100, 100, 1, 1), strict=True)):
            ours = scale * part[column].mean()
            printed = f" \\| {block.losses[scheme][i]:g}" if scheme in block.losses else ""
            cells.append(f"{ours:.3g}{printed}")
        lines.append(_row(mode, scheme, *cells, f"{part.participants.mean():.1f}"))
    return lines


def local_steps(runs: Any, block: Block) -> list[str]:
    """Return the Markdown lines of Table 4."""
    title = (
        "Table 4, corrected, 15 s: mean over seeds (over steps instead of rounds) \\| printed, in the order printed."
    )
    names = ("tau of adaptive FL", "tau of Eiffel", "improvement of communication")
    lines = [title, "", *_head("partition", "clients", *names)]
    for partition, printed in block.taus.items():
        part = runs[(runs.partition == partition) & (runs["mode"] == "corrected")]
        for size, theirs in zip(SIZES, printed, strict=True):
            mean = part[part["size"] == size].groupby("scheme").mean(numeric_only=True)
            tau, weighted, sent = mean.average_tau, mean.average_tau_weighted, mean.communication
            ours = [f"{tau[s]:.2f} ({weighted[s]:.2f})" for s in ("adaptive-fl", "eiffel")]
            ours.append(f"{sent['adaptive-fl'] / sent['eiffel']:.2f}")
            lines.append(_row(partition, size, *(f"{x} \\| {y:g}" for x, y in zip(ours, theirs, strict=True))))
    return lines


def beyond_centralised(runs: Any, block: Block) -> list[str]:
    """Return the Markdown lines of Table 5."""
    title = "Table 5, corrected, loss beyond that of descent on one machine, in hundredths: mean \\| printed."
    lines = [title, "", *_head("partition", "scheme", "adaptive tau", *(f"tau = {tau}" for tau in TAUS[1:]))]
    for partition, printed in block.excess.items():
        part = runs[(runs.partition == partition) & (runs["mode"] == "corrected")]
        alone = part[part.curve == "centralised"].set_index("seed").mean_loss
        for i, scheme in enumerate(("eiffel", "adaptive-fl")):
            cells = []
            for tau, theirs in zip(TAUS, printed, strict=True):
                own = part[(part.curve == scheme) & (part.tau == tau)].set_index("seed").mean_loss
                cells.append(
                    f"{100 * (own - alone).mean():.2f} \\| {theirs[i]:g}" if len(own) else f"- \\| {theirs[i]:g}"
                )
            lines.append(_row(partition, scheme, *cells))
    return lines


TABLES: dict[str, Callable[[Any, Block], list[str]]] = {
    "fairness": fairness,
    "tau": local_steps,
    "accuracy": beyond_centralised,
}


def sections(folder: Path) -> list[str]:
    """Return the Markdown lines of all tables that have runs, and their notes."""
    lines: list[str] = []
    for block in BLOCKS:
        tables = [line for name, table in TABLES.items() for line in _of(folder, name, table, block)]
        if tables:
            lines += ["", f"### {block.title}", "", *tables, *(f"- {note}" for note in block.notes)]
    return lines


def _of(folder: Path, name: str, table: Callable[[Any, Block], list[str]], block: Block) -> list[str]:
    """Return the lines of one table of a block; none without runs."""
    path = folder / f"eiffel_{name}{block.suffix}.csv"
    if not path.exists():
        return []
    every = pd.read_csv(path)
    runs: Any = every[data_sets(every) == block.dataset]
    return [*table(runs, block), ""] if len(runs) else []
