"""The page of a sweep: all points in their order, and pictures of what the settings do."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from jfed.commands.choices import Choices
from jfed.commands.levels import Level
from jfed.commands.showing import Layout, tell

MOST_SIDES = 2  # problem settings that a picture can have


def show_ranking(
    level: Level, axes: Sequence[str], metric: str, choices: Choices, layout: Layout, console: Console,
    tune_seeds: Sequence[int] = (),
) -> list[Path]:  # fmt: skip
    """Print and write the ranking of all points of the schemes' settings, and its picture; return the files.

    Args:
        level: runs of one problem.
        axes: columns of the schemes' settings.
        metric: metric to rank by.
        choices: how points are compared.
        layout: how tables are shown.
        console: where to print.
        tune_seeds: seeds on which the ranking is made, so that the others can report the best; none for all.
    """
    from jfed import analysis
    from jfed.comparisons.ranking import of_ranking

    frame: Any = level.frame[level.frame["seed"].isin(tune_seeds)] if tune_seeds else level.frame
    ranking = analysis.rank(frame, metric, axes, **of_ranking(choices.arguments()))
    where = f"{len(ranking.rows)} points" + (", tune seeds" if tune_seeds else "")
    made = analysis.ranking_table(ranking, f"{level.title}: {where}")
    console.print()
    analysis.to_terminal(replace(made, notes=(*made.notes, *level.notes)), console)
    if layout.folder is None:
        return []
    paths = [*analysis.write(made, layout.folder, f"{level.stem}_ranking").values()]
    picture = analysis.sweep_picture(frame, metric, axes, level.title, ranking)
    if picture is not None:
        paths += analysis.save(picture, layout.folder, f"{level.stem}_sweep")
    return paths


def show_problems(levels: Sequence[Level], metric: str, stem: str, layout: Layout, console: Console) -> None:
    """Write a picture of each scheme over the problem's settings, if there are one or two of them.

    There is none where some problems lack a setting, such as a number of a part that others have.
    """
    import pandas as pd

    from jfed import analysis
    from jfed.results.meaning import axis, score_name

    names = [name for name in levels[0].setting if len({level.setting.get(name) for level in levels}) > 1]
    alike = all(level.setting.keys() == levels[0].setting.keys() for level in levels)
    if layout.folder is None or not alike or not 1 <= len(names) <= MOST_SIDES:
        return
    parts = [level.frame.assign(**{name: level.setting[name] for name in names}) for level in levels]
    frame = pd.concat(parts, ignore_index=True)
    where = ", ".join(dict.fromkeys(level.data for level in levels))
    name = score_name(metric)
    title = f"{name[0].upper()}{name[1:]}, over {' and '.join(map(axis, names))} ({where})"
    picture = analysis.sweep_picture(frame, metric, names, title)
    if picture is not None:
        tell(analysis.save(picture, layout.folder, stem), console)
