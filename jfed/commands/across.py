"""The table of `jfed table --over`: schemes compared over several data sets or worlds."""

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console

from jfed.commands.choices import Choices
from jfed.commands.levels import Level
from jfed.commands.showing import Layout, tell


def show_across(
    levels: Sequence[Level], metric: str, over: str, choices: Choices, layout: Layout, console: Console
) -> None:
    """Print and write a table over all values of a setting, for each combination of the others."""
    from jfed import analysis
    from jfed.report.across import across_table
    from jfed.report.memory import shown

    for level in levels:
        found = analysis.across(
            level.frame, metric, by=over, baseline=level.baseline, higher_is_better=choices.higher_is_better,
            alpha=choices.alpha,
        )  # fmt: skip
        primary, costs = choices.metric[0], ()
        if layout.memory is not None:
            words = [f"against {level.baseline or 'all'}", f"over {over}", level.title]
            seeds = max(one.n for row in found.rows for one in row.on)
            primary, costs = shown(layout.memory, metric, words, seeds, primary, choices.alpha, keeps_level=False)
        made = across_table(found, f"{level.title}, over {over}", primary=primary)
        made = replace(made, notes=(*made.notes, *costs, *level.notes))
        console.print()
        analysis.to_terminal(made, console)
        if layout.folder is not None:
            tell(analysis.write(made, layout.folder, level.stem).values(), console)
