"""Significance tables made, printed and written."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from jfed.commands.choices import Choices
from jfed.commands.levels import Level
from jfed.commands.plans import record_plan
from jfed.core.errors import ConfigError


@dataclass(frozen=True)
class Layout:
    """Layout of printed and written tables.

    Attributes:
        columns: names of the columns; none for the usual ones.
        sentences: whether a sentence for each comparison is printed and written too.
        folder: folder of the files; None to print only.
        figures: whether figures are written too.
        memory: folder that belongs to the results, where plans and looks are remembered; None to remember nothing.
    """

    columns: tuple[str, ...] = ()
    sentences: bool = False
    folder: Path | None = None
    figures: bool = False
    memory: Path | None = None


def show(
    levels: Sequence[Level],
    metric: str,
    choices: Choices,
    layout: Layout,
    console: Console,
    horizon: float | None = None,
) -> None:
    """Compare schemes at each level, then print all tables and write their files.

    Args:
        levels: the tables to make.
        metric: metric of all of them.
        choices: how schemes are compared.
        layout: how tables are shown.
        console: where to print.
        horizon: end of observation of a metric that is a time; None for other metrics.
    """
    from jfed import analysis
    from jfed.report.memory import remembered

    found = _compared(levels, metric, choices, horizon)
    if layout.folder is not None:
        _make(layout.folder)
    if found:
        record_plan(metric, choices, layout.memory)
    for i, level in enumerate(levels):
        notes = [*_family_notes(len(levels), choices), *level.notes]
        if horizon is not None:
            notes.insert(0, f"A run that never arrives counts with {horizon:g}: means are of restricted times.")
        if i not in found:
            made = analysis.summary_table(analysis.summarise(level.frame, metric, choices.alpha), level.title)
            _put(replace(made, notes=(*made.notes, *level.notes)), None, level.stem, layout, console)
            continue
        primary = choices.metric[0]
        if layout.memory is not None:
            primary, costs = remembered(layout.memory, found[i], [level.title], primary)
            notes += costs
        made = analysis.comparisons_table(found[i], level.title, columns=layout.columns or None, primary=primary)  # type: ignore[arg-type]
        made = replace(made, notes=(*made.notes, *notes))
        _put(made, found[i], level.stem, layout, console, all_arrive=horizon is None)


def _make(folder: Path) -> None:
    """Make the folder of tables before anything is remembered of them."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"Tables cannot be written to {folder}: {error.strerror}.") from error


def _compared(levels: Sequence[Level], metric: str, choices: Choices, horizon: float | None) -> dict[int, Any]:
    """Return the comparisons of each level that has several schemes."""
    from jfed import analysis

    several = {
        i: level for i, level in enumerate(levels) if "scheme" not in level.frame or level.frame.scheme.nunique() > 1
    }
    if horizon is not None:
        return {
            i: analysis.compare_times(level.frame, metric, horizon, baseline=level.baseline, alpha=choices.alpha)
            for i, level in several.items()
        }
    if choices.family == "sweep" and several:
        baselines = {level.baseline for level in several.values()}
        if len(baselines) > 1:
            raise ConfigError(f"--family sweep needs one baseline, and there are {', '.join(map(str, baselines))}.")
        frames = {i: level.frame for i, level in several.items()}
        return analysis.compare_levels(frames, metric, baseline=baselines.pop(), **choices.arguments())
    return {
        i: analysis.compare(level.frame, metric, baseline=level.baseline, **choices.arguments())
        for i, level in several.items()
    }


def _family_notes(num_tables: int, choices: Choices) -> list[str]:
    if num_tables < 2 or choices.family == "sweep":
        return []
    return [f"One of {num_tables} tables of this command, each corrected by itself (family sweep corrects over all)."]


def _put(made: Any, found: Any, stem: str, layout: Layout, console: Console, all_arrive: bool = True) -> None:
    """Print a table, and write its files and figures; a profile would take a censored time for one that arrived."""
    from jfed import analysis
    from jfed.report.sentences import sentences
    from jfed.results.store import writing

    console.print()
    analysis.to_terminal(made, console)
    said = sentences(found) if layout.sentences and found is not None else ()
    for sentence in said:
        console.print(sentence, highlight=False, markup=False)
    if layout.folder is None:
        return
    paths = [*analysis.write(made, layout.folder, stem).values()]
    if said:
        paths.append(layout.folder / f"{stem}.txt")
        with writing(paths[-1], "The sentences") as part:
            part.write_text("\n".join(said) + "\n", encoding="utf-8")
    if layout.figures and found is not None:
        paths += analysis.save(analysis.forest(found, made.title), layout.folder, stem)
        if found.design == "paired":
            paths += analysis.save(analysis.seed_differences(found, made.title), layout.folder, f"{stem}_seeds")
            paths += _profiles(found, made.title, layout.folder, f"{stem}_profiles") if all_arrive else []
        if found.baseline is None and found.omnibus is not None:
            paths += analysis.save(analysis.rank_diagram(found, made.title), layout.folder, f"{stem}_ranks")
    tell(paths, console)


def _profiles(found: Any, title: str, folder: Path, stem: str) -> list[Path]:
    """Write the performance profiles of schemes that share all seeds; none if some runs failed or are missing."""
    import numpy as np

    from jfed import analysis

    if any(row.gaps or not row.n or row.seeds != found.rows[0].seeds for row in found.rows):
        return []
    scores = {row.reference: row.scores_reference for row in found.rows}
    scores |= {row.scheme: row.scores_scheme for row in found.rows}
    ends = [end(values) for values in scores.values() for end in (np.min, np.max)]
    profiles = analysis.performance_profiles(
        scores, np.linspace(min(ends), max(ends), 101), higher_is_better=found.higher_is_better, level=1 - found.alpha
    )
    return analysis.save(analysis.profile_curves(profiles, xlabel=found.metric, title=title), folder, stem)


def tell(paths: Iterable[Path], console: Console) -> None:
    """Print paths, each unbroken on a line of its own."""
    console.print(*map(str, paths), sep="\n", highlight=False, markup=False, soft_wrap=True)
