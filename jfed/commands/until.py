"""`jfed run --until-decided`: seeds are added at planned looks, for each scheme until it is decided."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from jfed.commands.choices import Choices
from jfed.commands.levels import of_results
from jfed.commands.plans import record_plan, under_plan
from jfed.commands.showing import Layout, show
from jfed.core.errors import require

SHARES = (0.1, 0.2, 0.4, 0.7, 1.0)  # of the most seeds, at which to look by default
FEWEST = 5  # seeds of the first look by default
MOST = 200  # seeds of the last look by default
DECIDED = ("better", "worse", "equal within margin", "not worse")


def planned(max_seeds: int | None, looks: tuple[int, ...]) -> tuple[int, ...]:
    """Return the numbers of seeds at which to look.

    Args:
        max_seeds: number of seeds of the last look; None for that of `looks`, or 200 without any.
        looks: numbers of seeds; none for five up to the last one.

    Raises:
        ConfigError: there are too few seeds, the looks do not increase, or their last is not `max_seeds`.
    """
    if not looks:
        most = MOST if max_seeds is None else max_seeds
        require(most >= 2, f"--max-seeds must be at least 2, found {most}.")
        return tuple(sorted({min(most, max(FEWEST, round(share * most))) for share in SHARES}))
    require(all(a < b for a, b in itertools.pairwise((1, *looks))), "--looks must increase, from at least 2 seeds.")
    require(
        max_seeds in (None, looks[-1]),
        f"--looks end at {looks[-1]} seeds and --max-seeds is {max_seeds}: leave out --max-seeds.",
    )
    return looks


def until_decided(
    points: Sequence[Any], metric: str, looks: tuple[int, ...], out: Path, console: Console, **how: Any
) -> dict[str, int]:
    """Run all schemes to the first look, then the undecided ones to the next, and print the last table.

    Args:
        points: one per scheme, the baseline first.
        metric: score to compare.
        looks: numbers of seeds at which to look, increasing.
        out: folder for the results.
        console: where to print.
        how: further arguments of `jfed.run`.

    Returns:
        the number of seeds of each scheme, by its name among the points.
    """
    import pandas as pd

    import jfed
    from jfed import analysis

    baseline = points[0].coords["method"]
    choices = Choices(metric=(metric,), baseline=baseline, looks=looks)
    memory = out / "tables"
    under_plan(metric, choices, memory)
    frames: dict[str, pd.DataFrame] = {}
    had: dict[str, int] = {}
    rest, level, found = list(points), None, None
    for n in looks:
        results = jfed.run(rest, range(n), out=out, **how)
        had |= {point.coords["method"]: n for point in rest}
        (level,) = of_results(results, metric, baseline, ())
        frames |= {str(scheme): part for scheme, part in level.frame.groupby("scheme", sort=False)}
        whole = pd.concat(list(frames.values()), ignore_index=True)
        level = replace(level, frame=whole)
        found = analysis.compare(whole, metric, baseline=level.baseline, **choices.arguments())
        undecided = [row.scheme for row in found.rows if row.verdict not in DECIDED]
        decided = ", ".join(f"{row.scheme} {row.verdict}" for row in found.rows if row.verdict in DECIDED)
        record_plan(metric, choices, memory)  # before anything of the results is told
        console.print(f"{n} seeds: {decided or 'nothing is decided'}; {len(undecided)} undecided.", highlight=False)
        names = {str(m): str(s) for m, s in zip(results["method"].values, _labels(results), strict=True)}
        rest = [p for p in rest if p.coords["method"] == baseline or names[p.coords["method"]] in undecided]
        if not undecided:
            break
    assert level is not None
    show([level], metric, choices, Layout(folder=memory, memory=memory), console)
    return had


def _labels(results: Any) -> Any:
    from jfed.results.load import schemes

    return schemes(results)
