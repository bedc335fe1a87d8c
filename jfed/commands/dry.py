"""`jfed run --dry-run`: what a study would take."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console


def tell(points: Sequence[Any], seeds: Sequence[int], out: Path, how: dict[str, Any], console: Console) -> None:
    """Print what would be computed, and an estimate of what that takes on this machine.

    Args:
        points: the points of the study.
        seeds: its seeds.
        out: folder of the results.
        how: further arguments of `jfed.run`.
        console: where to print.
    """
    from jfed.runner.forecast import forecast
    from jfed.runner.memory import size
    from jfed.runner.watch import duration

    found = forecast(points, seeds, out=out, **how)
    lines = [
        f"Runs      {found.runs} in all, {found.done} of them done"
        + (f", {found.resumed} begun" if found.resumed else ""),
        f"Programs  {found.programs} to compile",
    ]
    if found.seconds is not None:
        low, high = (duration(seconds) for seconds in found.seconds)
        span = f"{low} to {high}" if found.seconds[0] >= 1 else f"up to {high}"
        others = "" if found.measured == found.programs else f" of {found.measured} of the programs"
        lines += [
            f"Time      {span}, tables and figures apart (from some rounds{others} on this machine)",
            f"Memory    {size(found.memory)} on each device, {size(found.free)} are free",
            f"Disk      at most {size(found.disk)} in {out}",
        ]
    for line in [*lines, "Nothing of the study was computed." if found.programs else "Nothing is left to compute."]:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
